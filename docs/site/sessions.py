"""Pages that are run: sessions at the prompt with what is printed, and the pictures of the gallery.

python docs/site/sessions.py docs/gallery.md    runs the page, writes its outputs and pictures anew
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from cclab import stats
from cclab.analysis import studies
from cclab.analysis.plots import Chart
from cclab.cli import run_cli
from cclab.results import Result
from cclab.sweep.query import load

ROOT = Path(__file__).parents[2]
WIDTH = "118"
IMAGE = re.compile(r'!\[[^]]*\]\((\S+) "([^"]*)"\)')


@dataclass
class Command:
    """A line after `$ `, what the page says that it prints, and what it did print."""

    line: str
    said: str
    printed: str = ""


def commands(block: str) -> list[Command]:
    """The commands of a session, in order."""
    lines = re.split(r"^\$ ", block, flags=re.M)[1:]
    return [Command(*part) for part in (line.split("\n", 1) for line in lines)]


FENCE = re.compile(r'```(\w+)(?: title="([^"]+)")?\n(.*?)```', re.S)


def walk(page: str) -> Iterator[tuple[str, str]]:
    """Does what a page says: files with a title are written, sessions and programs run.

    Yields each text that the page says is printed, and what is printed now; of what ends with "…", as many lines.
    Blocks of `sh` are not run.
    """
    names: dict[str, object] = {"__name__": "page"}
    printed = ""
    for language, title, text in FENCE.findall(page):
        if title:
            Path(title).write_text(text)
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, "page", "exec"), names)
            printed = out.getvalue()
        elif language == "text":
            yield text, printed
        elif language == "console":
            for command in follow(text):
                lines, (*_, last) = command.said.count("\n"), ["", *command.said.splitlines()]
                if last == "…" and lines > 1:
                    command.printed = "".join(command.printed.splitlines(keepends=True)[: lines - 1]) + "…\n"
                if command.said:
                    yield command.said, command.printed


def follow(block: str) -> Iterator[Command]:
    """Runs the commands of a session in this process, and yields each when it is done; their notes go to stderr."""
    for command in commands(block):
        words = shlex.split(command.line, comments=True)
        assert words[0] == "cclab", command.line
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()) as told:
            status = run_cli(words[1:])
        if command.said.startswith("error:"):
            printed = told
        assert (status == 0) == (printed is not told), f"{command.line}\n{told.getvalue()}"
        command.printed = "\n".join(line.rstrip() for line in printed.getvalue().strip("\n").splitlines()) + "\n"
        yield command


@contextlib.contextmanager
def place() -> Iterator[Path]:
    """A folder to work in, with the examples, at a terminal of one width."""
    old, width = Path.cwd(), os.environ.get("COLUMNS")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["COLUMNS"] = WIDTH
        Path("examples").symlink_to(ROOT / "examples")
        try:
            yield Path(folder)
        finally:
            os.chdir(old)
            os.environ.pop("COLUMNS") if width is None else os.environ.update(COLUMNS=width)


OF_A_FLOW = {
    "goodput_bps": studies.Metric("goodput_bps", "Goodput (Mbit/s)", 1e-6),
    "rtt_mean_s": studies.Metric("rtt_mean_s", "Mean round-trip time (ms)", 1e3),
    "owd_mean_s": studies.Metric("owd_mean_s", "Mean one-way delay (ms)", 1e3),
    "fct_s": studies.Metric("fct_s", "Mean completion time (s)"),
}
FIGURE = re.compile(r"(?P<column>\S+)(?: over (?P<along>\S+))?(?: by (?P<by>\S+))?(?: of (?P<label>\S+))?")


def picture(figure: str, folder: str) -> Chart:
    """A figure of what is in a folder: `rtt of download` of a run; of a study `fct_s over network.rtt by law of cubic`.

    The last word is what labels begin with, in a run the one flow or link; flows of one run are averaged first.
    """
    kept = load(folder)
    column, along, by, label = FIGURE.fullmatch(figure).group("column", "along", "by", "label")
    if isinstance(kept, Result):
        only = {"links" if column == "queue" else "flows": [label]} if label else {}
        return getattr(kept.plot, column)(**only)
    others = [by] if by else []
    if column in OF_A_FLOW:
        metric = OF_A_FLOW[column]
        if label:
            metric = replace(metric, label=metric.label.replace(" (", f" of {label.rstrip('-')} ("))
        flows = kept.table("flows").filter(pl.col("label").str.starts_with(label or ""))
        frame = flows.group_by(along, *others, "replication", maintain_order=True).agg(pl.col(column).mean())
    else:
        frame, metrics, _ = studies.per_run(kept)
        metric = next(m for m in metrics if m.column == column)
    return studies.over(stats.summarise(frame, column, [along, *others]), along, others, metric)


def sections(page: str) -> Iterator[str]:
    """The parts of a page that begin with a heading of the second level."""
    yield from re.split(r"^(?=## )", page, flags=re.M)[1:]


def rewritten(page: str, folder: Path) -> str:
    """The page with what is printed now where it shows what is printed, its pictures made anew."""
    made, at = page, 0
    for said, printed in walk(page):
        at = made.index(said, at)
        made = made[:at] + printed + made[at + len(said) :]
        at += len(printed)
    for part in sections(page):
        for name, figure in IMAGE.findall(part):
            picture(figure, re.findall(r"--out (\S+)", part)[-1]).save(folder / name)
    return made


if __name__ == "__main__":
    for name in sys.argv[1:]:
        file = Path(name).resolve()
        with place():
            file.write_text(rewritten(file.read_text(), file.parent))
