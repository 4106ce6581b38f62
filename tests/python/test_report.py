"""The page: one file, nothing fetched, no script but ours, opened and used in a real browser where there is one."""

import base64
import hashlib
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

import cclab
from cclab import report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


class Page(HTMLParser):
    """Every tag with its attributes, and what is open at the end."""

    VOID = ("meta", "link", "br", "img", "hr", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(small, tmp_path_factory):
    evil = small.replace(name='<script>alert("x")</script>&<img src=x onerror=alert(1)>')
    place = tmp_path_factory.mktemp("page") / "r"
    evil.run(seed=7).save(place)
    return report.write_report(place)


def test_it_is_well_formed_and_executes_nothing_but_our_script(page):
    text = page.read_text()
    parsed = Page(text)
    assert parsed.open == []
    assert not {tag for tag, _ in parsed.tags} & {"img", "iframe", "object", "link", "base", "form"}
    assert [tag for tag, _ in parsed.tags].count("script") == 1
    script = text.split("<script>")[1].split("</script>")[0]
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in text.split("script-src")[1][:80]
    assert "innerHTML" not in script
    assert not [name for _, attrs in parsed.tags for name in attrs if name.startswith("on")]
    assert "&lt;script&gt;alert" in page.read_text()


def test_nothing_is_fetched(page):
    text = page.read_text()
    loaded = [
        value
        for _, attrs in Page(text).tags
        for name, value in attrs.items()
        if name in ("src", "href", "xlink:href", "srcset", "data", "poster", "action")
    ]
    assert loaded
    assert all(value and value.startswith(("#", "data:")) for value in loaded)
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    assert "default-src 'none'" in text  # and a browser would refuse


def test_ids_are_unique_or_equal(page):
    ids = [attrs["id"] for _, attrs in Page(page.read_text()).tags if "id" in attrs]
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', page.read_text())
    assert set(used) <= set(ids)
    assert len(set(ids)) == len(ids)


def test_figures_have_names_captions_and_n(page):
    text = page.read_text()
    parsed = Page(text)
    figures = [attrs for tag, attrs in parsed.tags if tag == "svg"]
    assert len(figures) == 4
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in figures)
    assert text.count("n = 1, seed 7") == 4
    assert text.count('download="') == 8


def test_how_to_run_it_again(page):
    assert "cclab run scenario.toml --seed 7" in page.read_text()


def test_it_says_from_when_on_is_counted(page, small, tmp_path):
    assert "after the warm-up" not in page.read_text()  # there is none
    small.replace({"warmup": "500 ms"}).run().save(tmp_path / "r")
    assert "are of the time after the warm-up (500 ms)" in report.write_report(tmp_path / "r").read_text()


def test_a_column_of_figures_with_a_gap_is_still_one():
    assert all(map(report._is_number, ("", "–", "× 3.71", "1.2 [0.9, 1.5]", "−3")))
    assert not any(map(report._is_number, ("an ACK for each", "n = 3 runs of it")))


def test_formulas_have_no_seed(tmp_path):
    given = {"network": {"rate": "10 Mbit/s", "rtt": "40 ms", "loss": {"data": "1%"}}, "flows": [{"cc": "reno"}]}
    cclab.Scenario.from_dict({"duration": "60 s", **given}).run(backend="model").save(tmp_path / "r")
    text = report.write_report(tmp_path / "r").read_text()
    assert "1 flow, 60 s by closed formulas.</p>" in text
    assert "no seed changes these means" in text
    assert "another seed" not in text


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian package chromium)")
def test_a_browser_shows_it_and_asks_for_nothing(page, tmp_path):
    log = tmp_path / "net.json"
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", f"--log-net-log={log}", "--dump-dom"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "Congestion window" in done.stdout
    assert done.stdout.count("<svg") == 4
    requested = set(re.findall(r'"url":"(https?://[^"]+)"', log.read_text()))
    assert not {url for url in requested if "google" not in url and "gstatic" not in url}


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian package chromium)")
def test_figures_answer(small, tmp_path):
    from playwright.sync_api import sync_playwright

    evil = small.replace({"flows.1.label": "<b>reno</b>'\""})
    evil.run(seed=7).save(tmp_path / "r")
    address = report.write_report(tmp_path / "r").as_uri()
    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as browser,
    ):
        page = browser.new_page(viewport={"width": 1000, "height": 900})
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        plot = page.locator(".plot").first
        plot.scroll_into_view_if_needed()
        points = plot.evaluate("p => JSON.parse(p.dataset.series).series[2].points")
        assert plot.evaluate("p => JSON.parse(p.dataset.series).series.map(s => s.name)")[:3] == [
            "cubic-1", "cubic-2", "<b>reno</b>'\"",
        ]  # fmt: skip
        x, y = plot.evaluate(
            "(p, [x, y]) => { const q = new DOMPoint(x, y).matrixTransform(p.querySelector('svg').getScreenCTM()); return [q.x, q.y] }",
            points[-1][:2],
        )
        page.mouse.move(x, y)
        told = plot.locator(".tip").inner_text()
        assert "Congestion window (kB)" in told
        names = plot.locator("[role=button]")
        assert names.count() >= 3
        names.nth(2).press("Enter")
        assert names.nth(2).get_attribute("aria-pressed") == "false"
        assert plot.evaluate("p => getComputedStyle(p.querySelector('[id*=\"-series-2-\"]')).visibility") == "hidden"
        page.mouse.move(x + 30, y)
        page.mouse.move(x, y)
        assert "<b>reno" not in plot.locator(".tip").inner_text()
        frame = plot.locator("svg").bounding_box()
        whole = plot.locator("svg").get_attribute("viewBox")
        page.mouse.move(frame["x"] + 200, frame["y"] + 60)
        page.mouse.down()
        page.mouse.move(frame["x"] + 500, frame["y"] + 260, steps=4)
        page.mouse.up()
        assert plot.locator("svg").get_attribute("viewBox") != whole
        plot.get_by_text("whole figure").click()
        assert plot.locator("svg").get_attribute("viewBox") == whole
        assert said == []
        assert asked == [address]


def test_difference():
    def row(reference, measured):
        return {"reference": reference, "measured": measured}

    assert report._difference(row(2.0, 3.0)) == "+1 (+50.0 %)"
    assert report._difference(row(2.0, 1.5)) == "−0.500 (−25.0 %)"
    assert report._difference(row(0.0, 1.5)) == "+1.50"
    assert report._difference(row(None, 1.5)) == "–"
    assert report._difference(row(1.5, None)) == "–"
