"""The commands: each a few lines of the library. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from cclab.backends import BACKENDS
from cclab.cli.algorithms import ALGORITHMS
from cclab.cli.compare import compare
from cclab.cli.emulate import emulate
from cclab.cli.files import EXAMPLES, KeptFolder, NewFolder, ScenarioFile, in_file, kind_of, kind_of_file, refuse_study
from cclab.cli.group import Commands
from cclab.cli.live import live
from cclab.cli.model import Whole, model
from cclab.cli.plot import plot
from cclab.cli.trace import trace
from cclab.errors import ScenarioError, StudyError

USERS_MISTAKE, FAILURE, INTERRUPTED = 2, 1, 130
_FOLDER = click.Path(path_type=Path)
_ENTRIES = (
    "algorithms", "couplings", "queues", "topologies", "schedulers", "routing", "profiles", "mobility", "studies",
    "examples",
)  # fmt: skip


def _changes(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """Values by path; one that is TOML is what TOML says, any other is text, and so are dates, infinities and NaN.

    No field is any of these, and of text the message says what the field is.
    """
    if not given:
        return {}
    import tomllib

    from cclab.scenario import names_on

    found: dict[str, Any] = {}
    known = set()
    for text in given:
        path, value = _parted(text)
        if not path:
            raise click.BadParameter(f"{text!r} is not PATH=VALUE, e.g. network.rtt=100ms", ctx, param)
        names = names_on(path)
        if names in known:
            raise click.BadParameter(f"{path} is there twice", ctx, param)
        known.add(names)
        found[path] = value.strip()
        try:
            read = tomllib.loads(f"v = {value}")["v"]
        except ValueError:
            continue
        except RecursionError:
            raise click.BadParameter(f"{path}: nested too deeply", ctx, param) from None
        if isinstance(read, str | int | list | dict) or (isinstance(read, float) and math.isfinite(read)):
            found[path] = read
    return found


def _parted(text: str) -> tuple[str, str]:
    """Path and value: before and after the first = that is in no name in quotes."""
    from cclab.scenario import names_on

    for at in (found.start() for found in re.finditer("=", text)):
        with contextlib.suppress(ScenarioError):
            names_on(text[:at])
            return text[:at].strip(), text[at + 1 :]
    path, equals, value = text.partition("=")
    return path.strip() if equals else "", value


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from cclab import _core

        click.echo(f"cclab {_core.__version__}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def cli() -> None:
    """A laboratory for congestion control.

    Write down a network and its flows, run it packet by packet, look at what happened; or run a published experiment
    again and see its numbers beside ours.

    \b
    First steps:
      cclab init                       write an example scenario, scenario.toml
      cclab run scenario.toml          run it and print a table
      cclab run scenario.toml --out r  ... and keep everything in folder r
      cclab report r                   make a page with figures from it
      cclab reproduce santa-cruz       a published study, page included
    """


@cli.command(short_help="Write an example scenario to start from.")
@click.argument("file", required=False, type=_FOLDER)
@click.option("--examples", is_flag=True, help="Instead, copy the examples that are listed; FILE is a new folder then.")
def init(file: Path | None, examples: bool) -> None:
    """Write a commented example scenario to FILE (default scenario.toml; - is stdout)."""
    from cclab import _core

    if str(file) == "-" and not examples:
        click.echo(_core.example(), nl=False)
        return
    from cclab import folders

    file = file or Path("examples" if examples else "scenario.toml")
    if os.path.lexists(file):
        raise click.UsageError(f"{file} is there already; name another one, or remove it first.")
    if examples:
        import shutil

        shutil.copytree(EXAMPLES, file, ignore=shutil.ignore_patterns("__pycache__"))
        click.echo(f"Wrote the folder {file}. What is in it: cclab list examples", err=True)
        return
    folders.write_text(file, _core.example())
    click.echo(f"Wrote {file}. Run it with: cclab run {file}", err=True)


@cli.command(short_help="Run a scenario and print what happened.")
@click.argument("scenario", type=ScenarioFile())
@click.option("--seed", type=Whole(0, 2**64 - 1), help="Instead of the scenario's own.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="PATH=VALUE",
    callback=_changes,
    help='Another value of a field, e.g. network.rtt="100 ms", flows.0.cc=reno; may be given more than once.',
)
@click.option(
    "--backend",
    type=click.Choice(list(BACKENDS)),
    default="sim",
    help=f"What runs it: {'; '.join(f'{name}, {what}' for name, what in BACKENDS.items())} (default sim).",
)
@click.option("--out", type=NewFolder(), help="Keep tables, scenario and manifest in this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@ALGORITHMS
def run(
    scenario: Path, seed: int | None, changes: dict[str, Any], backend: str, out: Path | None, as_json: bool
) -> None:
    """Run SCENARIO, a TOML file (- is stdin) or example:NAME; print what its flows and links did."""
    from cclab import backends, console, results
    from cclab.scenario import Scenario, read_text

    text = sys.stdin.read() if str(scenario) == "-" else read_text(scenario)  # once: it may be a pipe
    refuse_study(scenario, kind_of(text))
    loaded = in_file(scenario, lambda: Scenario.from_toml(text, folder=scenario.parent, changes=changes))
    if out is not None:
        from cclab.folders import refuse_foreign

        if refuse_foreign(out, results.SCHEMA):  # better now than after the run
            console.note(f"The earlier result in {out} will be replaced.")
    with console.Progress(f"Running {loaded.name}") as progress:
        result = loaded.run(seed=seed, backend=backend, progress=progress)
    if out is not None:
        result.save(out)
    if as_json:
        click.echo(results.to_json(result.json()))
    else:
        for part in console.result_tables(result):
            console.show(part)
    if remark := backends.find(backend).remark(result):
        console.note(remark)
    how = "of real time" if backend == "live" else "simulated"
    console.note(f"{result.engine['simulated_s']:g} s {how} in {result.engine['wall_s']:.2f} s.")
    if out is not None:
        console.note(f"Kept in {out}. A page with figures: cclab report {out}")
    if backend == "model" and not any(math.isfinite(row["goodput_bps"]) for row in result.rows("flows", "goodput_bps")):
        click.get_current_context().exit(FAILURE)  # there is no formula, which the remark says


@cli.command("list", short_help="List algorithms, queues, studies, examples, columns, events.")
@click.argument(
    "kind", required=False, metavar="[KIND]", type=click.Choice([*_ENTRIES, "columns", "events", "validation"])
)
@click.option("--markdown", is_flag=True, help="As in docs/models/README.md; columns, events, validation as on theirs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: for each kind a list of entries.")
@ALGORITHMS
def list_(kind: str | None, markdown: bool, as_json: bool) -> None:
    """List what there is, one line each, with its source; or only what is of this KIND.

    KIND is algorithms, queues, topologies, studies, examples; of connections over several paths couplings, schedulers;
    of stations that share the air routing, profiles, mobility.

    Only where it is asked for: columns of results and what a law is told of events, with units; and validation, what
    each algorithm, queue and mechanism of the endpoint was compared with.
    """
    from cclab import console, results
    from cclab.cli import catalogue

    if markdown:
        click.echo(catalogue.markdown(kind), nl=False)
        return
    if as_json:
        click.echo(results.to_json(catalogue.data(kind)))
        return
    if kind in ("columns", "events"):
        for title, rows in catalogue.fields(kind):
            table = console.table(title, "Name", "Unit" if kind == "columns" else "Type", "What it is")
            for row in rows:
                table.add_row(*row)
            console.show(table)
        return

    if kind == "validation":
        for title, rows in catalogue.data(kind).items():
            table = console.table(title.capitalize().replace("-", " "), "Name", "Validated by", "Not validated")
            for row in rows:
                table.add_row(row["name"], catalogue.levels(row), " ".join(row["lacks"]))
            console.show(table, one_line_each=True)
        return

    entries = catalogue.everything()
    for name in [kind] if kind else entries:
        validated = ["Validated by"] if name in catalogue.VALIDATED else []
        last = "command" if name == "examples" else "source"
        heading = None if kind else name.capitalize()
        table = console.table(heading, "Name", "What it is", last.capitalize(), *validated)
        for entry in entries[name]:
            cells = [catalogue.levels(entry["validation"])] if validated else []
            table.add_row(entry["name"], entry["summary"], entry[last], *cells)
        console.show(table, one_line_each=True)
    if not kind:
        click.echo("Parameters, defaults and bounds of any of them: cclab describe NAME", err=True)


@cli.command(short_help="Show parameters, defaults, bounds and source of one of them.")
@click.argument("name")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object: for each kind that has the name an entry."
)
@ALGORITHMS
def describe(name: str, as_json: bool) -> None:
    """Describe NAME, an algorithm, queue, topology, study or what else is listed: parameters, bounds, source.

    Of an example, the whole file.
    """
    from cclab import registry, results
    from cclab.cli import catalogue

    everything = [(kind, entry) for kind, entries in catalogue.everything().items() for entry in entries]
    found = [(kind, entry) for kind, entry in everything if entry["name"] == name]
    if not found:
        raise registry.unknown("name", name, dict.fromkeys(entry["name"] for _, entry in everything))
    if as_json:
        click.echo(results.to_json(dict(found)))
        return
    for i, (kind, entry) in enumerate(found):  # an algorithm and a study may share a name
        click.echo("\n" if i else "", nl=False)
        catalogue.describe(kind, entry)


@cli.command(short_help="Print the JSON Schema of scenario or study files, for editors.")
@click.argument("of", type=click.Choice(["scenario", "study"]), default="scenario")
def schema(of: str) -> None:
    """Print the JSON Schema of scenario files, or of study files: editors complete TOML with it and mark mistakes."""
    from cclab import results, schema

    click.echo(results.to_json(schema.scenario() if of == "scenario" else schema.study()))


cli.add_command(model)
cli.add_command(live)
cli.add_command(emulate)
cli.add_command(trace)


@cli.command(short_help="Run a published experiment again.")
@click.argument("study")
@click.option(
    "--quick", is_flag=True, help="Fewer points and replications, every part present; what is shorter is said first."
)
@click.option("--out", type=NewFolder(), help="Folder for page, tables and figures (default out/STUDY).")
@click.option("--force", is_flag=True, help="Run again even if nothing has changed since the last time.")
@click.option("--part", "parts", multiple=True, help="Only this part of it; may be given more than once.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="PATH=VALUE",
    callback=_changes,
    help='Another value in its study.toml, e.g. full.duration="600 s"; may be given more than once.',
)
def reproduce(
    study: str, quick: bool, out: Path | None, force: bool, parts: tuple[str, ...], changes: dict[str, Any]
) -> None:
    """Run the published experiment STUDY again and put its numbers beside ours.

    It says first how many runs are to do and about how long they take on this machine's cores, and again where others
    follow from what they found.
    """
    _reproduce(study, quick, out, force, parts, changes)


@cli.command(short_help="Compare cclab with theory and other simulators.")
@click.argument("what", metavar="WHAT", type=click.Choice(["wireless"]))
@click.option("--quick", is_flag=True, help="Fewer points and replications, every part present.")
@click.option("--out", type=NewFolder(), help="Folder for page, tables and figures (default out/WHAT-validation).")
@click.option("--force", is_flag=True, help="Run again even if nothing has changed since the last time.")
@click.option("--part", "parts", multiple=True, help="Only this part of it; may be given more than once.")
def validate(what: str, quick: bool, out: Path | None, force: bool, parts: tuple[str, ...]) -> None:
    """Put WHAT (wireless) beside formulas and ns-2.35: a verdict for each number, and a page."""
    _reproduce(f"{what}-validation", quick, out, force, parts, {})


def _reproduce(
    study: str, quick: bool, out: Path | None, force: bool, parts: tuple[str, ...], changes: dict[str, Any]
) -> None:
    from cclab import console, published
    from cclab.sweep.display import Display, stopping
    from cclab.sweep.store import Store, is_store

    found = published.find(study).replace(changes)
    place = out or Path("out") / found.slug

    def kept() -> str:
        runs = published.runs_of(place)
        done = len(Store(runs).log().done) if is_store(runs) else 0
        return f"{done:,} finished {'run is' if done == 1 else 'runs are'} kept in {runs}." if done else ""

    with stopping(kept, "Go on with the same command."), Display(f"Reproducing {found.title}") as progress:
        found_now, fresh = published.reproduce(
            found, place, quick=quick, force=force, progress=progress, parts=parts, note=console.note
        )
    for table in published.tables(found_now):
        console.show(table)
    if quick:
        console.note(f"Quick version: {found_now['shorter']}.")
    if not fresh:
        console.note(
            "Nothing has changed since the last time, so this is what was measured then (--force runs it again)."
        )
    console.note(f"{published.conclusion(found_now)}. Which, and why:")
    click.echo(str(place / "report.html"))


@cli.command(short_help="Make a page with figures from a kept result.")
@click.argument("folder", type=KeptFolder())
def report(folder: Path) -> None:
    """Make a page, report.html, from what `run --out`, `sweep` or `reproduce` left in FOLDER."""
    from cclab.report import write_report

    click.echo(str(write_report(folder)))


cli.add_command(plot)


@cli.command(short_help="Run a study: a scenario with parameters varied and replications.")
@click.argument("study", type=ScenarioFile())
@click.option("--out", type=NewFolder(), help="The store, a folder (default out/NAME of STUDY).")
@click.option("--workers", type=Whole(1, 4096), help="How many runs at once (default: one for each core).")
@click.option("--processes", is_flag=True, help="In processes instead of threads: for laws written in Python.")
@click.option("--dask", metavar="ADDRESS", help="On a Dask cluster: its scheduler's address, or its scheduler file.")
@click.option("--retry-failed", is_flag=True, help="Run those again that failed before.")
@click.option("--mend", is_flag=True, help="Keep what is whole of a damaged store, and run the rest again.")
@click.option("--dry-run", is_flag=True, help="Check everything, say how many runs it is and how long they will take.")
@ALGORITHMS
def sweep(
    study: Path, out: Path | None, workers: int | None, processes: bool, dask: str | None, retry_failed: bool,
    mend: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Run STUDY, a TOML file or example:NAME, or what is left of one in the folder of an earlier sweep.

    Finished runs are kept one by one. Interrupted or killed, the same command goes on where it was; what is finished
    is never run again.
    """
    from cclab.sweep import command

    if dask and (processes or workers):
        raise click.UsageError("--dask brings its own workers; leave --workers and --processes out.")
    if kind_of_file(study) == "scenario":
        raise StudyError(f"{study}: this is a scenario; run it with: cclab run {shlex.quote(str(study))}")
    place = out or (study if study.is_dir() else Path("out") / study.stem)
    if dry_run:
        command.dry_run(study, place, workers, retry_failed)
    elif command.sweep(study, place, workers, processes, dask, retry_failed, mend):
        click.get_current_context().exit(FAILURE)


cli.add_command(compare)


@cli.command(short_help="Ask the tables of a sweep or a result in SQL.")
@click.argument("folder", type=KeptFolder())
@click.argument("sql")
@click.option("--format", "kind", type=click.Choice(["table", "csv", "json"]), default="table", help="Default table.")
def query(folder: Path, sql: str, kind: str) -> None:
    """Ask the tables in FOLDER, what `sweep` or `run --out` left there, in SQL (Polars' dialect).

    \b
    Tables of a sweep: runs, flows, links, failures, timings. Names with dots are quoted:
      cclab query DIR 'SELECT "network.rtt", avg(goodput_bps) FROM flows GROUP BY "network.rtt"'
    """
    from cclab import console
    from cclab.sweep import query as querying

    rows = querying.query(folder, sql)
    if kind == "table":
        console.show(querying.shown(rows), one_line_each=True)
    else:
        click.echo(querying.written(rows, kind), nl=False)


@cli.command(short_help="Write the tables of a sweep as Parquet files.")
@click.argument("study", type=KeptFolder())
@click.option("--out", type=NewFolder(), required=True, help="Where to: a new folder, or an earlier export.")
def export(study: Path, out: Path) -> None:
    """Write the tables of STUDY, the folder of a sweep, as Parquet files, one for each."""
    from cclab.sweep.export import export as write

    for name in write(study, out):
        click.echo(str(out / f"{name}.parquet"))


@cli.command(short_help="Run timeline tests in packetdrill's language.")
@click.argument("files", nargs=-1, required=True, type=_FOLDER)
@click.option("--report", is_flag=True, help="Only count: passed, failed, not understood, by folder.")
def script(files: tuple[Path, ...], report: bool) -> None:
    """Run timeline tests in packetdrill's language against the TCP endpoint, in virtual time.

    A folder stands for all scripts (.pkt) below it; what cannot be read there is not understood.
    """
    import json

    from cclab import _core, console
    from cclab.scenario import read_text

    found: list[Path] = []
    for file in files:
        below = sorted(file.rglob("*.pkt")) if file.is_dir() else [file]
        if not below:
            raise click.UsageError(f"there is no script (.pkt) below {file}")
        found += below

    def run(file: Path) -> dict[str, Any]:
        try:
            return dict(json.loads(_core.run_script(read_text(file), str(file))))
        except ScenarioError as error:
            if file in files:
                raise
            return {"passed": False, "understood": False, "line": None, "message": str(error), "notes": []}

    if report:
        verdicts = [(file.parent, run(file)) for file in found]
        click.echo(_script_report(verdicts))
        if not all(verdict["passed"] for _, verdict in verdicts):
            click.get_current_context().exit(FAILURE)
        return
    failed = 0
    for file in found:
        verdict = run(file)
        failed += not verdict["passed"]
        click.echo(f"{'pass' if verdict['passed'] else 'FAIL'}  {file}")
        if not verdict["passed"]:
            where = f"{file}:{verdict['line']}: " if verdict["line"] else ""
            click.echo("\n".join("      " + line for line in f"{where}{verdict['message']}".splitlines()))
        for said in verdict["notes"]:
            console.note(f"      {file}: note: {said}")
    console.note(f"{len(found) - failed} passed, {failed} failed.")
    if failed:
        click.get_current_context().exit(FAILURE)


def _script_report(verdicts: list[tuple[Path, dict[str, Any]]]) -> str:
    """A table: for each folder how many scripts passed, failed, were not understood."""
    folders: dict[str, list[int]] = {}
    for folder, verdict in verdicts:
        place = 0 if verdict["passed"] else 1 if verdict["understood"] else 2
        for name in (str(folder), "all"):
            folders.setdefault(name, [0, 0, 0])[place] += 1
    folders["all"] = folders.pop("all", [0, 0, 0])
    width = max(len(name) for name in folders)
    lines = [f"{'folder':{width}}  {'pass':>5}  {'fail':>5}  not understood"]
    lines += [f"{name:{width}}  {ok:5}  {bad:5}  {unknown:14}" for name, (ok, bad, unknown) in folders.items()]
    return "\n".join(lines)


@cli.command(short_help="Measure the simulator's speed.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead of a table.")
@click.option("--peers", is_flag=True, help="Also run the same cases in ns-2 and ns-3, where they are installed.")
@click.option("--repeat", type=Whole(1, 100), default=3, help="Runs of a case; the median is shown (default 3).")
@click.option("--case", "cases", multiple=True, help="Only this case; may be given more than once.")
@click.option("--each-algorithm", is_flag=True, help="The case single-800M with each congestion control.")
def bench(as_json: bool, peers: bool, repeat: int, cases: tuple[str, ...], each_algorithm: bool) -> None:
    """Measure the simulator's speed: data packets over the bottleneck per second of CPU time.

    Cases that run only when asked for: long-800M (ten minutes), python-aimd (a law written in Python), sweep-10000
    (what it costs to keep a short run), single-800M/NAME with any congestion control, and on the air adhoc-chain-8,
    adhoc-random-50, adhoc-random-50-tcp, adhoc-field-100, adhoc-field-1000 and adhoc-field-10000.
    """
    from cclab import bench as benches
    from cclab import console, results

    if each_algorithm:
        cases = (*cases, *benches.each_algorithm())

    with console.Progress("Measuring") as progress:
        if peers:
            measured, others = benches.beside(cases, repeat, progress)
        else:
            measured, others = benches.measure(cases, repeat, progress), None
    if as_json:
        click.echo(results.to_json(measured if others is None else [*measured, *others]))
    else:
        for table in benches.tables(measured, others):
            console.show(table)
