// Figures that answer: the value under the pointer, series on and off by the legend, a part magnified by dragging.
// The picture is the SVG that is there without this script; `data-series` has its points, in the SVG's own coordinates.
for (const plot of document.querySelectorAll("[data-series]")) {
  const { axes, series } = JSON.parse(plot.dataset.series);
  const svg = plot.querySelector("svg");
  const whole = svg.getAttribute("viewBox");
  const hidden = new Set();
  const shape = (name, looks) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(looks)) element.setAttribute(key, value);
    svg.append(element);
    return element;
  };
  const mark = shape("circle", { r: 3.5, fill: "none", stroke: "#000", "stroke-width": 1.2, visibility: "hidden" });
  const box = shape("rect", { fill: "#0072B2", "fill-opacity": 0.12, stroke: "#0072B2", visibility: "hidden" });
  const tip = document.createElement("output");
  tip.className = "tip";
  tip.hidden = true;
  const reset = document.createElement("button");
  reset.type = "button";
  reset.textContent = "whole figure";
  reset.hidden = true;
  plot.append(tip, reset);

  const number = (x) => (x === null ? "–" : typeof x === "string" ? x : String(Number(x.toPrecision(4))));
  const at = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const forget = () => {
    tip.hidden = true;
    tip.textContent = "";
    mark.setAttribute("visibility", "hidden");
  };

  const nearest = (point) => {
    let best = null, distance = 24 ** 2;
    series.forEach((one, index) => {
      if (hidden.has(index)) return;
      for (const p of one.points) {
        const d = (p[0] - point.x) ** 2 + (p[1] - point.y) ** 2;
        if (d < distance) [best, distance] = [{ one, p }, d];
      }
    });
    return best;
  };

  const tell = (event) => {
    const found = nearest(at(event));
    if (!found) return forget();
    const { one, p: [px, py, x, y, low, high] } = found;
    const label = axes[one.axes];
    const interval = low === undefined ? "" : ` [${number(low)}, ${number(high)}]`;
    tip.textContent = `${one.name}\n${label.x}: ${number(x)}\n${label.y}: ${number(y)}${interval}`;
    tip.hidden = false;
    const frame = plot.getBoundingClientRect();
    const right = event.clientX - frame.left > frame.width / 2;
    tip.style.left = right ? "auto" : `${event.clientX - frame.left + 14}px`;
    tip.style.right = right ? `${frame.right - event.clientX + 14}px` : "auto";
    tip.style.top = `${event.clientY - frame.top + 14}px`;
    mark.setAttribute("cx", px);
    mark.setAttribute("cy", py);
    mark.setAttribute("visibility", "visible");
  };

  let from = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && !event.target.closest("[data-legend]")) from = at(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!from) return tell(event);
    const to = at(event);
    const [x, y, w, h] = [Math.min(from.x, to.x), Math.min(from.y, to.y), Math.abs(to.x - from.x), Math.abs(to.y - from.y)];
    for (const [key, value] of Object.entries({ x, y, width: w, height: h })) box.setAttribute(key, value);
    box.setAttribute("visibility", w > 5 && h > 5 ? "visible" : "hidden");
  });
  addEventListener("pointercancel", () => { // the browser scrolls instead
    from = null;
    box.setAttribute("visibility", "hidden");
  });
  addEventListener("pointerup", () => {
    if (from && box.getAttribute("visibility") === "visible") {
      svg.setAttribute("viewBox", ["x", "y", "width", "height"].map((key) => box.getAttribute(key)).join(" "));
      reset.hidden = false;
    }
    from = null;
    box.setAttribute("visibility", "hidden");
  });
  svg.addEventListener("pointerleave", forget);
  reset.addEventListener("click", () => {
    svg.setAttribute("viewBox", whole);
    reset.hidden = true;
  });

  series.forEach((one, index) => {
    const parts = [...svg.querySelectorAll(`[id*="-series-${index}-"]`)];
    const keys = [...svg.querySelectorAll(`[id*="-legend-${index}-"]`)];
    const toggle = () => {
      const off = !hidden.delete(index);
      if (off) hidden.add(index);
      for (const part of parts) part.style.visibility = off ? "hidden" : "";
      for (const key of keys) key.style.opacity = off ? 0.3 : "";
      keys[0].setAttribute("aria-pressed", String(!off));
      forget();
    };
    keys.forEach((key, n) => {
      key.dataset.legend = index;
      key.addEventListener("click", toggle);
      if (n > 0) return;
      key.setAttribute("role", "button");
      key.setAttribute("tabindex", "0");
      key.setAttribute("aria-pressed", "true");
      key.setAttribute("aria-label", one.name);
      key.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle();
      });
    });
  });
}
