"""How scenarios, results and studies show themselves in a notebook, and how far they are."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cclab.results import Result
    from cclab.scenario import Scenario
    from cclab.sweep.study import Study

_MOST_ROWS = 50
_EVERY = 0.2  # seconds between two looks of a bar


def here() -> bool:
    """Whether this program runs in the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class Bar:
    """A bar below the cell, which is gone when the work is done."""

    def __init__(self, what: str) -> None:
        self._what, self._shown = what, 0.0
        self._handle: Any = None

    def __call__(self, share: float, said: str = "") -> None:
        """The share done, from 0 to 1, and what is to be said beside it."""
        if time.monotonic() < self._shown + _EVERY:
            return
        self._shown = time.monotonic()
        self._show(f'{escape(self._what)} <progress value="{share:.3f}"></progress> {escape(said)}')

    def stop(self) -> None:
        """Take it away."""
        if self._handle is not None:
            self._show("")

    def _show(self, html: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(html), display_id=True)
        else:
            self._handle.update(HTML(html))


def table(headings: Iterable[str], rows: list[list[str]], title: str = "") -> str:
    """A table in HTML; headings of numbers begin with |, as `console.table` takes them."""
    right = [heading.startswith("|") for heading in headings]

    def line(cells: Iterable[str], tag: str) -> str:
        aligned = (("right" if r else "left", escape(c)) for r, c in zip(right, cells, strict=True))
        return "<tr>" + "".join(f'<{tag} style="text-align:{side}">{cell}</{tag}>' for side, cell in aligned) + "</tr>"

    names = [heading.removeprefix("|").replace("|", " ") for heading in headings]
    body = "".join(line(row, "td") for row in rows[:_MOST_ROWS])
    more = f"<p>The first {_MOST_ROWS} of {len(rows)}.</p>" if len(rows) > _MOST_ROWS else ""
    caption = f'<caption style="text-align:left">{escape(title)}</caption>' if title else ""
    return f"<table>{caption}<thead>{line(names, 'th')}</thead><tbody>{body}</tbody></table>{more}"


def of_scenario(scenario: Scenario) -> str:
    """Its flows, and all of it to be opened."""
    of = scenario.resolved()
    rows: dict[tuple[str, ...], int] = {}
    for flow in of["flows"]:
        sent = flow["traffic"]
        law = sent["cc"]["name"] if sent.get("cc") else sent["kind"]
        key = (str(law), _seconds(flow.get("base_rtt_s")))
        rows[key] = rows.get(key, 0) + 1
    flows = table(["Law", "|Base RTT", "|Flows"], [[*key, str(count)] for key, count in rows.items()])
    head = f"<b>{escape(scenario.name)}</b>: {len(of['links'])} links, seed {scenario.seed}"
    return f"{head}{flows}<details><summary>as TOML</summary><pre>{escape(scenario.to_toml())}</pre></details>"


def _seconds(value: Any) -> str:
    return f"{1e3 * value:g} ms" if isinstance(value, int | float) else ""


def of_result(result: Result) -> str:
    """The tables that `cclab run` prints."""
    from rich.table import Table

    from cclab import console

    parts = console.result_tables(result)
    shown = [
        table(*console.headings_and_rows(part), str(part.title or "")) if isinstance(part, Table) else
        f"<p>{escape(str(part))}</p>"
        for part in parts
    ]  # fmt: skip
    return "".join(shown) or f"<p>{escape(result.summary())}</p>"


def of_study(study: Study) -> str:
    """What it varies, and how far it is."""
    axes = [[", ".join(axis.names), ", ".join(" / ".join(map(str, row)) for row in axis.values)] for axis in study.axes]
    head = f"<b>{escape(study.name)}</b>: {len(study)} runs, {len(study.seeds)} of each point"
    if study.place is not None:
        head += "; " + ", ".join(f"{count} {what}" for what, count in study.status().items())
    return head + table(["Varied", "Values"], axes)
