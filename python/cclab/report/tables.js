// Tables that can be searched and sorted: a word above a long one, a click on any heading. Without this script they stand
// as they were written. What moves together is a row, or all rows of one item (a `tbody` with a heading of its own).
for (const table of document.querySelectorAll("table")) {
  const bodies = [...table.tBodies];
  const grouped = bodies.length > 1;
  const units = grouped ? bodies : [...(bodies[0]?.rows ?? [])];
  if (units.length < 3) continue;
  const order = new Map(units.map((unit, place) => [unit, place]));
  const text = (unit, column) => ((grouped ? unit.rows[0] : unit).cells[column]?.textContent ?? "").trim();
  const prefix = { n: 1e-9, u: 1e-6, "µ": 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
  const figure = (cell) => {
    const found = /^([+±−-]?)([\d,]*\.?\d+(?:e[+-]?\d+)?)\s*(?:([nuµmkMGT])(?=bit|B\b|s\b))?/.exec(cell);
    if (!found) return /^(–|)$/.test(cell) || cell.startsWith("– (") ? null : NaN;
    const size = Number(found[2].replaceAll(",", "")) * (prefix[found[3]] ?? 1);
    return found[1] === "−" || found[1] === "-" ? -size : size;
  };

  const sort = (heading, column, falls) => {
    const keys = new Map(units.map((unit) => [unit, figure(text(unit, column))]));
    const numeric = [...keys.values()].every((key) => !Number.isNaN(key));
    const compare = (a, b) => {
      if (!numeric) return text(a, column).localeCompare(text(b, column), "en", { numeric: true }) * (falls ? -1 : 1);
      const [x, y] = [keys.get(a), keys.get(b)];
      if (x === null || y === null) return (x === null) - (y === null); // what there is not is last, either way
      return falls ? y - x : x - y;
    };
    const sorted = [...units].sort((a, b) => compare(a, b) || order.get(a) - order.get(b));
    (grouped ? table : bodies[0]).append(...sorted);
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
  };
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    heading.tabIndex = 0;
    heading.title = "sort by this";
    const act = () => sort(heading, column, heading.getAttribute("aria-sort") === "ascending");
    heading.addEventListener("click", act);
    heading.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      act();
    });
  });

  if (units.length < 12) continue;
  const label = document.createElement("label");
  label.className = "find";
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "words that a row has";
  const told = document.createElement("output");
  label.append("Find ", field, told);
  table.closest(".scroll").before(label);
  const spaced = (unit) => [...unit.querySelectorAll("th, td")].map((cell) => cell.textContent).join(" ").replace(/\s+/g, " ");
  const words = new Map(units.map((unit) => [unit, ` ${spaced(unit).toLowerCase()}`]));
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase().trim().split(/\s+/);
    let shown = 0;
    for (const unit of units) {
      unit.hidden = !wanted.every((word) => words.get(unit).includes(` ${word}`));
      shown += !unit.hidden;
    }
    told.textContent = shown === units.length ? "" : ` ${shown} of ${units.length}`;
  });
}
// What is wider than its box fades out where there is more of it.
for (const box of document.querySelectorAll(".scroll, .wide, pre")) {
  const tell = () => {
    box.classList.toggle("over", box.clientWidth < box.scrollWidth - 2);
    box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
  };
  box.addEventListener("scroll", tell, { passive: true });
  new ResizeObserver(tell).observe(box);
}
