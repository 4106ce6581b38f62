"""`cclab emulate`: any programs across the links of a scenario."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from cclab.cli.files import NewFolder, ScenarioFile, in_file, kind_of_file, refuse_study
from cclab.cli.model import Whole


@click.command(short_help="Run any program across the links of a scenario.")
@click.argument("scenario", type=ScenarioFile())
@click.option("--serve", metavar="COMMAND", help="Runs at the other end, a line for the shell, until the command ends.")
@click.option("--out", type=NewFolder(), help="Keep tables, scenario and manifest in this folder.")
@click.option("--seed", type=Whole(0, 2**64 - 1), help="Instead of the scenario's own.")
@click.option("--from", "source", metavar="NODE", help="Where the command runs, of a scenario without flows.")
@click.option("--to", "destination", metavar="NODE", help="Where the other end is, of a scenario without flows.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def emulate(
    scenario: Path, serve: str | None, out: Path | None, seed: int | None, source: str | None,
    destination: str | None, command: tuple[str, ...],
) -> int:  # fmt: skip
    """Run COMMAND in the source host of SCENARIO's first flow, with the links of SCENARIO to the destination host.

    \b
      cclab emulate link.toml --serve 'iperf3 -s' -- iperf3 -c 10.77.0.2

    The destination is 10.77.0.2 and $CCLAB_SERVER, the source 10.77.0.1 and $CCLAB_CLIENT; there is no other network.
    The run ends with COMMAND, whose exit status it has, or after SCENARIO's duration. Figures are on stderr.
    """
    from cclab import console, results
    from cclab.backends import emulate as emulating
    from cclab.backends import live

    if shutil.which(command[0]) is None:
        raise click.UsageError(f"{command[0]}: there is no such program.")
    refuse_study(scenario, kind_of_file(scenario))
    loaded, remarks = in_file(scenario, lambda: emulating.load(scenario, source, destination))
    if out is not None:
        from cclab.folders import refuse_foreign

        if refuse_foreign(out, results.SCHEMA):
            console.note(f"The earlier result in {out} will be replaced.")
    for remark in remarks:
        console.note(remark)
    with emulating.Display() as display:
        result, status, flaw = emulating.run(
            loaded, loaded.seed if seed is None else seed, list(command), serve, display
        )
    console.note(console.as_text(*console.result_tables(result)).rstrip("\n"))
    console.note(
        f"This machine could not keep up, and the figures are worth little: {flaw}"
        if flaw
        else str(live.remark(result))
    )
    if out is not None:
        result.save(out)
        console.note(f"Kept in {out}. A page with figures: cclab report {out}")
    return status
