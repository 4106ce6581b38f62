"""`cclab compare`: two results or studies beside each other."""

from __future__ import annotations

import math
import traceback
from pathlib import Path

import click

from cclab.cli.model import Quantity

_FOLDER = click.Path(path_type=Path)
STATUS = {"agrees": 0, "differs": 1, "cannot tell": 3}
_FAILED = 2  # whatever the reason: 1 is a difference


@click.command(short_help="Put two results or studies beside each other.")
@click.argument("a", type=_FOLDER)
@click.argument("b", type=_FOLDER)
@click.option("--quantity", "quantities", multiple=True, help="What to compare; may be given more than once, or all.")
@click.option(
    "--within", type=Quantity("probability"), default="5%", show_default=True, help="Tolerance, relative to B."
)
@click.option(
    "--deviations", type=click.FloatRange(0), default=0.0, help="Tolerance in standard deviations of B's runs."
)
@click.option("--out", type=_FOLDER, help="Keep page, table and figure in this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.pass_context
def compare(
    ctx: click.Context, a: Path, b: Path, quantities: tuple[str, ...], within: float, deviations: float,
    out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Compare A with B: two folders of `run --out`, of `sweep`, or of `reproduce`.

    Runs of the same point and seed are a pair; where fewer than three seeds are common, means are compared. Two figures
    agree if the whole 95 % interval of their difference is within the tolerance, and differ if none of it is; else
    nobody can tell, and more runs would.

    \b
    The exit status is for tests:
      0  all agree
      1  something differs
      2  they could not be compared
      3  nothing differs, but something cannot be told
    """
    from cclab.errors import CclabError, ResultError

    try:
        verdict = _compared(a, b, quantities, within, deviations, out, as_json)
    except (click.ClickException, click.Abort, CclabError):
        raise
    except OSError as error:
        raise ResultError(f"{error.filename or out}: {error.strerror}") from None
    except Exception as error:  # which would end with 1
        traceback.print_exception(error)
        ctx.exit(_FAILED)
    ctx.exit(STATUS[verdict])


def _compared(
    a: Path, b: Path, quantities: tuple[str, ...], within: float, deviations: float, out: Path | None, as_json: bool
) -> str:
    from cclab import comparison, console, results

    chosen = quantities or comparison.BY_DEFAULT
    if quantities == ("all",):
        chosen = tuple(q.name for q in comparison.QUANTITIES)
    if not math.isfinite(deviations):
        raise click.UsageError(f"--deviations: {deviations} is not a number from 0 on")
    found = comparison.compare(a, b, chosen, within=within, deviations=deviations)
    if out is not None:
        from cclab.report import write_comparison

        console.note(f"A page with the figure: {write_comparison(found, out)}")
    if as_json:
        click.echo(results.to_json(found.json()))
    else:
        console.show(*found.tables())
    return found.verdict
