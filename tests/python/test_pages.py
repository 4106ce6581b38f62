"""Every kind of page in a browser, at the width of a desk and of a phone: nothing is cut, tables sort and search."""

import pytest

import cclab
from cclab import comparison, published, report, versus
from test_published import ANALYSIS, STUDY
from test_report import CHROMIUM

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian package chromium)")
KINDS = ("run", "sweep", "study", "versus", "compare")
WIDTHS = (1400, 400)


@pytest.fixture(scope="module")
def pages(tmp_path_factory, small, background):
    """The page of a run with background, of 512 points, of a published study, of two laws, of two sweeps."""
    place = tmp_path_factory.mktemp("pages")
    background.save(place / "run")
    tiny = small.replace(
        {"duration": "200 ms", "warmup": "50 ms", "flows.*.start_jitter": "10 ms", "record.samples": "off"}
    )
    grid = {
        "network.queue.limit": [f"{n} packets" for n in range(1, 65)],
        "network.rtt": ["5 ms", "10 ms", "20 ms", "40 ms"],
        "flows.0.cc": ["cubic", "reno"],
    }
    cclab.Study(tiny, name="512 points").vary(grid).run(out=place / "sweep")
    few = (
        cclab.Study(tiny)
        .vary({"flows.0.cc": ["cubic", "reno", "vegas"], "network.rtt": ["5 ms", "20 ms"]})
        .replicate(3)
    )
    few.run(out=place / "few")
    few.vary({"network.rate": ["11 Mbit/s"]}).run(out=place / "others")
    folder = place / "library/little-one"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(STUDY)
    (folder / "analysis.py").write_text(ANALYSIS)
    found = published.find("little-one", place / "library")
    published.reproduce(found, place / "study", quick=True, force=False, progress=lambda _: None)
    question = versus.Question("cubic", "bbr", rate="5 Mbit/s", duration="4 s", flows=3, against="reno", seeds=3)
    return {
        "run": report.write_report(place / "run"),
        "sweep": report.write_report(place / "sweep"),
        "study": place / "study/report.html",
        "versus": report.write_versus(versus.ask(question, place / "versus/runs"), place / "versus"),
        "compare": report.write_comparison(comparison.compare(place / "few", place / "others"), place / "compare"),
    }


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as started,
    ):
        yield started


@pytest.fixture
def opened(browser, pages):
    made = []

    def open_(kind, width):
        page = browser.new_page(viewport={"width": width, "height": 900})
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(pages[kind].as_uri())
        made.append((page, said))
        return page

    yield open_
    for page, said in made:
        page.close()
        assert said == []


# What stands beyond the right edge of the window, or of the box that it is in; code and figures may be scrolled.
BEYOND = """() => [...document.querySelectorAll("body *")].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width > 0 && box.right > innerWidth + 1 && !e.closest("pre, .wide > svg") && !e.closest("clipPath, defs");
}).map(e => e.tagName + "." + e.className + ": " + e.textContent.slice(0, 40))"""
# Text of figures that ends outside its figure.
CUT = """() => [...document.querySelectorAll("figure svg")].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('[id*="text_"]')].filter(t => {
    const box = t.getBoundingClientRect();
    return box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1
      || box.bottom > frame.bottom + 1);
  }).map(t => svg.ariaLabel + ": " + t.id);
})"""

# Sizes of the letters of figures in px: matplotlib draws glyphs of size 100, scaled.
LETTERS = """() => [...document.querySelectorAll("figure svg [id*='text_'] > g[transform]")].map(g => {
  const m = g.getScreenCTM();
  return 100 * Math.hypot(m.a, m.b);
})"""
# Boxes with more to the right that do not fade out there.
SILENT = """() => [...document.querySelectorAll(".scroll, .wide, pre")].filter(e => e.checkVisibility() &&
  (e.scrollWidth > e.clientWidth + 2) !== (getComputedStyle(e).maskImage !== "none")).map(e => e.textContent.slice(0, 40))"""

# Figures of which it is not said that they can be scrolled, though they can, or the other way round.
UNTOLD = """() => [...document.querySelectorAll(".plot")].filter(e => {
  const box = e.querySelector(".wide"), said = getComputedStyle(e, "::after").content;
  return (box.scrollWidth > box.clientWidth + 2) !== said.includes("scrolls");
}).map(e => e.parentElement.id)"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_cut(opened, kind, width):
    page = opened(kind, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(BEYOND) == []
    assert page.evaluate(CUT) == []
    letters = page.evaluate(LETTERS)
    assert len(letters) > 10
    assert min(letters) > 8.95
    assert max(letters) < 24
    page.wait_for_timeout(100)  # a box is told of its size after the first layout
    assert page.evaluate(SILENT) == []
    assert page.evaluate(UNTOLD) == []
    assert page.locator("figure svg").count() > 0


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["study", "compare"])
def test_verdicts_are_in_view(opened, kind, width):
    found = opened(kind, width).locator("table .verdict")
    assert found.count() > 2
    for i in range(found.count()):
        box = found.nth(i).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


# Figures of a row as a block that are broken over lines though a line of their own would hold them.
BROKEN = """() => [...document.querySelectorAll(".blocks td.n")].filter(e => e.checkVisibility()
  && e.getBoundingClientRect().height > 1.7 * parseFloat(getComputedStyle(e).lineHeight)
  && e.getBoundingClientRect().width < 0.9 * e.parentElement.getBoundingClientRect().width)
  .map(e => e.dataset.h + ": " + e.textContent)"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_is_not_broken_while_there_is_room(opened, kind):
    assert opened(kind, 400).evaluate(BROKEN) == []


def test_what_is_no_verdict_does_not_look_like_one(opened):
    assert opened("run", 400).locator(".verdict").count() == 0


def test_512_rows_sort_and_search(opened):
    page = opened("sweep", 1400)
    table = page.locator("table").first
    rows = table.locator("tbody tr")
    assert rows.count() == 512

    def column(place):
        return rows.evaluate_all(f"rows => rows.filter(r => !r.hidden).map(r => r.cells[{place}].textContent)")

    heads = table.locator("thead th")
    assert heads.nth(0).inner_text() == "network.queue.limit"
    heads.nth(0).click()
    assert column(0) == sorted(column(0), key=lambda cell: int(cell.split()[0]))
    heads.nth(0).click()
    assert column(0)[0] == "64 packets"
    assert heads.nth(0).get_attribute("aria-sort") == "descending"
    goodput = [h.startswith("Goodput of all") for h in heads.all_inner_texts()].index(True)
    heads.nth(goodput).press("Enter")  # without a mouse
    values = [float(cell.split()[0]) for cell in column(goodput)]
    assert values == sorted(values)
    assert heads.nth(0).get_attribute("aria-sort") is None
    page.locator(".find input").first.fill("pack RENO")
    assert len(column(0)) == 256
    assert set(column(2)) == {"reno"}
    assert page.locator(".find output").first.inner_text().strip() == "256 of 512"
    page.locator(".find input").first.fill("")
    assert len(column(0)) == 512


def test_items_of_a_study_move_as_a_whole(opened):
    """A row's note, and the item that it belongs to, stay with it."""
    page = opened("compare", 1400)
    table = page.locator("table").first
    table.locator("thead th", has_text="Verdict").click()
    verdicts = table.locator(".verdict").all_inner_texts()
    assert verdicts == sorted(verdicts)
