"""`cclab compare`: two results or studies beside each other, or two congestion controls on one bottleneck."""

from __future__ import annotations

import contextlib
import math
import traceback
from pathlib import Path
from typing import Any

import click

from cclab.cli.algorithms import ALGORITHMS
from cclab.cli.files import NewFolder, refuse_file
from cclab.cli.model import Quantity, Whole, Written
from cclab.errors import ScenarioError, StudyError, UnknownNameError

STATUS = {"agrees": 0, "differs": 1, "cannot tell": 3}
_FAILED = 2  # whatever the reason: 1 is a difference


@click.command(short_help="Put two results, studies or congestion controls side by side.")
@click.argument("a")
@click.argument("b")
@click.option("--quantity", "quantities", multiple=True, help="What to compare; may be given more than once, or all.")
@click.option(
    "--within", type=Quantity("probability"), help="Tolerance, relative to B (default 5 %; of congestion controls 2 %)."
)
@click.option(
    "--deviations", type=click.FloatRange(0), default=0.0, help="Tolerance in standard deviations of B's runs."
)
@click.option("--rate", type=Written("rate"), help="Of the bottleneck of congestion controls (default 100 Mbit/s).")
@click.option("--rtt", type=Written("time"), help="Base RTT of their flows (default 40 ms).")
@click.option("--buffer", help="Limit of the bottleneck's queue (default 1 BDP).")
@click.option("--queue", help="Its discipline (default droptail).")
@click.option("--threshold", help="Of --queue step: more than this waiting is marked (default 20 packets).")
@click.option("--flows", type=Whole(2, 1000), help="How many share it (default 2).")
@click.option("--against", metavar="LAW", help="An incumbent that both meet, e.g. reno.")
@click.option("--ecn", is_flag=True, default=None, help="The flows ask for ECN.")
@click.option("--duration", type=Written("time"), help="Of a run (default 60 s, a quarter of which is left out).")
@click.option("--seeds", type=Whole(3, 10_000), help="Runs of each mixture (default 10).")
@click.option("--out", type=NewFolder(), help="Keep page, tables and figures in this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@ALGORITHMS
@click.pass_context
def compare(ctx: click.Context, /, a: str, b: str, **given: Any) -> None:
    """Compare A with B: two folders of `run --out`, of `sweep`, or of `reproduce`; or two congestion controls.

    Of folders, runs of the same point and seed are a pair; where fewer than three seeds are common, means are compared.
    Two figures agree if the whole 95 % interval of their difference is within the tolerance, and differ if none of it
    is; else nobody can tell, and more runs would.

    \b
    The exit status is for tests:
      0  all agree
      1  something differs
      2  they could not be compared
      3  nothing differs, but something cannot be told

    Of congestion controls, each runs alone, among its own, beside the other and beside an incumbent, over one
    bottleneck: what the one gains or loses is said in sentences, with intervals.

    \b
      cclab compare cubic bbr3 --rate "1 Gbit/s" --rtt "30 ms" --buffer "0.2 BDP" \\
          --flows 4 --against reno --out DIR
    """
    if not (Path(a).exists() or Path(b).exists()):
        if not _are_laws(a, b):
            raise click.UsageError(f"{a}, {b}: no such folders, nor congestion controls (cclab list algorithms)")
        _laws(a, b, given)
    else:
        ctx.exit(STATUS[_told(ctx, Path(a), Path(b), given)])


def _are_laws(a: str, b: str) -> bool:
    from cclab import registry

    laws = registry.registered()["algorithms"]
    known = dict.fromkeys(entry["name"] for entry in laws if not entry["coupled"])
    if coupled := [entry["name"] for entry in laws if entry["coupled"] and entry["name"] in (a, b)]:
        raise UnknownNameError(
            f"{coupled[0]}: couples several paths, and flows have one here; allowed: {', '.join(known)}"
        )
    if (a in known) != (b in known):
        one = b if a in known else a
        raise registry.unknown("algorithm", one, known)
    return a in known


_OF_LAWS = ("rate", "rtt", "buffer", "queue", "threshold", "flows", "against", "ecn", "duration", "seeds")


def _laws(a: str, b: str, given: dict[str, Any]) -> None:
    from cclab import console, results, versus
    from cclab.sweep import executors
    from cclab.sweep.display import Display, expected, on_cores

    if a == b:
        raise click.UsageError(f"A and B are both {a}; name two different congestion controls")
    if given["quantities"] or given["deviations"]:
        raise click.UsageError("--quantity and --deviations are for folders; of congestion controls all is compared")
    chosen = {name: given[name] for name in (*_OF_LAWS, "within") if given[name] is not None}
    if "against" in chosen and not _are_laws(a, chosen["against"]):
        raise UnknownNameError(f"--against: unknown algorithm {chosen['against']!r}")
    question = versus.Question(a, b, **chosen)
    place = given["out"]
    runs = None if place is None else place / "runs"
    if place is not None:
        from cclab.report import refuse_others, write_versus

        refuse_others(place)
    with _stopping(runs):
        try:
            study = question.study()
            distinct, todo, seconds = study._left(runs)
        except (ScenarioError, StudyError) as error:
            raise _by_option(error) from None
        workers = min(executors.cores(), todo)
        rest = on_cores(seconds / workers, workers) if todo else ""
        console.note(expected(f"{distinct:,} runs of {len(question.mixes())} mixtures", distinct, todo, rest))
        with Display(f"{a} and {b}") as progress:
            answer = versus.ask(question, runs, progress=progress)
        if place is not None:
            console.note(f"A page with figures: {write_versus(answer, place)}")
    if given["as_json"]:
        click.echo(results.to_json(answer.json()))
    else:
        console.show(*answer.tables())


def _stopping(runs: Path | None) -> contextlib.AbstractContextManager[None]:
    from cclab.sweep import Study
    from cclab.sweep.display import kept, stopping

    if runs is None:
        return stopping(lambda: "Nothing is kept.", "With --out DIR finished runs are, and the same command goes on.")
    return stopping(lambda: kept(Study.load(runs)), "Go on with the same command.")


def _by_option(error: ScenarioError | StudyError) -> click.UsageError:
    """A mistake in the scenario that options make, by their names."""
    text = str(error).partition(" (at mix")[0]
    for field, option in (
        ("network.queue.discipline", "--queue"), ("network.queue.limit", "--buffer"),
        ("network.queue.threshold", "--threshold"),
    ):  # fmt: skip
        text = text.replace(field, option)
    return click.UsageError(text)


def _told(ctx: click.Context, a: Path, b: Path, given: dict[str, Any]) -> str:
    """The verdict; a failure of any kind is told and ends with a status of its own."""
    from cclab.errors import CclabError, ResultError

    try:
        return _folders(a, b, given)
    except (click.ClickException, click.Abort, CclabError):
        raise
    except OSError as error:
        raise ResultError(f"{error.filename or given['out']}: {error.strerror}") from None
    except Exception as error:  # which would end with 1
        traceback.print_exception(error)
        ctx.exit(_FAILED)


def _folders(a: Path, b: Path, given: dict[str, Any]) -> str:
    from cclab import comparison, console, results

    if wrong := [name for name in _OF_LAWS if given[name] is not None]:
        raise click.UsageError(f"--{wrong[0]} is for congestion controls, and {a} and {b} are folders")
    for folder in (a, b):
        refuse_file(folder)
    quantities, deviations = given["quantities"], given["deviations"]
    chosen = quantities or comparison.BY_DEFAULT
    if quantities == ("all",):
        chosen = tuple(q.name for q in comparison.QUANTITIES)
    if not math.isfinite(deviations):
        raise click.UsageError(f"--deviations: {deviations} is not a number from 0 on")
    within = comparison.WITHIN if given["within"] is None else given["within"]
    found = comparison.compare(a, b, chosen, within=within, deviations=deviations)
    if given["out"] is not None:
        from cclab.report import write_comparison

        console.note(f"A page with the figure: {write_comparison(found, given['out'])}")
    if given["as_json"]:
        click.echo(results.to_json(found.json()))
    else:
        console.show(*found.tables())
    return found.verdict
