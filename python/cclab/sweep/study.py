"""What is varied and how often; the user's handle on a study before, while and after it runs."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import json
import re
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from cclab import _core, laws
from cclab.backends import BACKENDS
from cclab.errors import ResultError, ScenarioError, StudyError
from cclab.scenario import Scenario, names_on, plain, readable, take_in_traces, to_toml
from cclab.sweep import plan as planning
from cclab.sweep.plan import Axis, Design, Plan

if TYPE_CHECKING:
    import polars as pl

    from cclab.analysis.studies import StudyPlots
    from cclab.results import Result
    from cclab.sweep.run import Progress
    from cclab.sweep.store import Store

KEEP = ("summary", "samples")
# Columns of the tables that a parameter cannot be called; names with a dot never meet one.
RESERVED = frozenset(
    {"key", "point", "replication", "seed", "label", "cc", "name", "error", "jain", "digest", "events"}
)
_MOST_RUNS = 10_000_000


class Study:
    """A scenario with parameters varied and replications; immutable, every method returns another one.

    >>> import cclab
    >>> network = cclab.Dumbbell(rate="10 Mbit/s", rtt="40 ms")
    >>> flow = cclab.Flow(cc="reno", start_jitter="100 ms")  # something has to be left to chance
    >>> scenario = cclab.Scenario(duration="2 s", network=network, flows=[flow])
    >>> study = cclab.Study(scenario).vary({"network.rtt": ["10 ms", "100 ms"], "flows.0.cc": ["reno", "cubic"]})
    >>> study = study.replicate(3)
    >>> len(study)
    12
    >>> study.run().table("flows").height
    12

    Args:
        scenario: What is varied.
        name: For people; unless given, that of the scenario.
        keep: `"summary"`, the tables with a row for each flow, link and run; or `"samples"`, each run's whole
            `Result`, too.
        backend: What runs it.

    Raises:
        StudyError: `keep` or `backend` is none of these.
    """

    def __init__(
        self, scenario: Scenario, *, name: str | None = None, keep: str = "summary", backend: str = "sim"
    ) -> None:
        if not isinstance(scenario, Scenario):
            raise StudyError(f"scenario: {scenario!r} is not a Scenario; load one with Scenario.load(PATH)")
        _one_of("keep", keep, KEEP)
        _one_of("backend", backend, BACKENDS)
        name = _readable("name", name or scenario.name)
        self._design = Design(name, scenario.to_dict(), (), (scenario.seed,), keep, backend)
        self._files = scenario._folder
        self._kept: tuple[Store, Plan] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def _of(cls, design: Design) -> Self:
        study = cls.__new__(cls)
        study._design, study._files, study._kept, study._folder = design, Path(), None, None
        return study

    # What to run.

    def vary(self, changes: Mapping[str, Any] | None = None, /, *, together: bool = False, **more: Any) -> Self:
        """One more direction of the grid for each name; the last one varies fastest.

        Args:
            changes: By name, either a path into the scenario and a list of its values
                (`{"network.rtt": ["10 ms", "100 ms"], "flows.*.cc": ["reno", "cubic"]}`; `0` is the first of a list,
                `*` all of them), or a name of one's own and a table of points, each a table of paths and values
                (`{"algorithm": {"tuned": {"flows.0.cc": "cubic", "flows.0.pacing": True}, "plain": {...}}}`).
            together: Vary all of them at once, first with first, second with second.
            **more: The same, as keywords.

        Raises:
            StudyError: there are no values, a value is there twice, a name has been varied already, or a path would
                overwrite what an earlier one sets.
        """
        given = {**(changes or {}), **more}
        if not given:
            raise StudyError("vary: name a path and its values, e.g. vary({'network.rtt': ['10 ms', '100 ms']})")
        axes = [_axis(name, values) for name, values in given.items()]
        if together:
            axes = [_together(axes)]
        taken = self._design.parameters
        for name in (name for axis in axes for name in axis.names):
            if name in taken:
                raise StudyError(f"{name}: is varied already")
            if name in RESERVED:
                raise StudyError(f"{name}: is a column of the tables; " + _INSTEAD.get(name, "choose another name"))
            taken.append(name)
        for number, axis in enumerate(axes, len(self._design.axes)):
            _overwrites_nothing(axis, [*self._design.axes, *axes][:number])
        scenario = copy.deepcopy(self._design.scenario)
        for change in (change for axis in axes for change in axis.changes):
            for path, value in change.items():  # what files say is part of what is varied
                *field, last = names_on(path)
                take_in_traces(scenario, {last: value}, ".".join(field), self._files)
        return self._with(axes=(*self._design.axes, *axes), scenario=scenario)

    def replicate(self, n: int | None = None, *, seeds: Iterable[int] | None = None) -> Self:
        """Run every point several times, with other random numbers each time.

        Replication k has the same seed at every point (common random numbers), so that two points can be compared
        pair by pair.

        Args:
            n: How often; seeds count up from the scenario's own.
            seeds: The seeds themselves, instead.

        Raises:
            StudyError: not a whole number from 1 to ten million, or a seed twice.
        """
        if (n is None) == (seeds is None):
            raise StudyError("replicate: give either a number of replications or seeds=[...]")
        if seeds is None:
            if type(n) is not int or not 1 <= n <= _MOST_RUNS:
                raise StudyError(f"replications: {n!r} is not a whole number from 1 to {_MOST_RUNS}")
            first = int(self._design.scenario.get("seed", 1))
            seeds = range(first, first + n)
        chosen = tuple(plain(seed, "seeds") for seed in seeds)
        if wrong := [seed for seed in chosen if type(seed) is not int or not 0 <= seed < 1 << 64]:
            raise StudyError(f"seeds: {wrong[0]!r} is not a whole number from 0 to 2^64 - 1")
        if not chosen or len(set(chosen)) < len(chosen):
            raise StudyError("seeds: " + ("there are none" if not chosen else "one is there twice"))
        return self._with(seeds=chosen)

    def _with(self, **fields: Any) -> Self:
        study = self._of(dataclasses.replace(self._design, **fields))
        study._files = self._files
        return study

    @property
    def name(self) -> str:
        """For people."""
        return self._design.name

    @property
    def backend(self) -> str:
        """What runs it."""
        return self._design.backend

    @property
    def parameters(self) -> list[str]:
        """Names of what is varied, columns of every table."""
        return self._design.parameters

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The directions of its grid; the last one varies fastest."""
        return self._design.axes

    def scenario_toml(self) -> str:
        """The scenario that it varies, as TOML."""
        return to_toml(self._design.scenario)

    def to_toml(self) -> str:
        """The study as a file that `load` reads, scenario included.

        Raises:
            StudyError: it varies named points together with others, or before others, which a file has no words for.
        """
        from cclab.sweep.file import written

        return to_toml(written(self._design))

    @property
    def seeds(self) -> list[int]:
        """One for each replication, the same at every point."""
        return list(self._design.seeds)

    def points(self) -> list[dict[str, Any]]:
        """The values of the parameters at every point of the grid, in order."""
        return [dict(zip(self.parameters, values, strict=True)) for values, _ in self._design.points()]

    def __len__(self) -> int:
        """How many runs it is."""
        points = 1
        for axis in self._design.axes:
            points *= len(axis.values)
        return points * len(self._design.seeds)

    def check(self) -> Self:
        """Check the scenario of every point, as `run` does before anything runs.

        Raises:
            StudyError: each mistake once, with the points that have it.
        """
        planning.make(self._design, "")
        return self

    # Running it.

    def run(
        self,
        out: str | Path | None = None,
        *,
        workers: int | None = None,
        executor: Executor | None = None,
        progress: Callable[[Progress], None] | None = None,
        retry_failed: bool = False,
    ) -> Self:
        """Run what is not in the store yet.

        Finished runs are kept one by one; interrupted or killed at any moment, the same call goes on where it was.
        A run that fails is kept as a failure and does not stop the others.

        Args:
            out: A folder, the store. Unless given, one that lasts as long as the study returned.
            workers: How many threads; unless given, one for each core.
            executor: Any `concurrent.futures.Executor` instead: a process pool, or a Dask cluster's
                `Client.get_executor()`.
            progress: Called now and then, in this thread. Unless given, a notebook shows a bar.
            retry_failed: Run those again that failed before.

        Returns:
            The study with its tables.

        Raises:
            StudyError: a scenario cannot be.
            ResultError: `out` holds something that is not a sweep.
            RunError: the workers were lost; what was finished is kept.
        """
        from cclab import notebook
        from cclab.folders import temporary
        from cclab.results import versions
        from cclab.sweep.display import Display
        from cclab.sweep.run import Sweep
        from cclab.sweep.store import Store, Writer

        if progress is None and notebook.here():
            with Display(f"Running {self.name}") as bar:
                return self.run(out, workers=workers, executor=executor, progress=bar, retry_failed=retry_failed)
        folder = temporary("cclab-study-") if out is None else None
        place = Path(folder.name if folder else out)  # type: ignore[arg-type]
        with contextlib.ExitStack() as if_it_fails:
            if folder:
                if_it_fails.enter_context(folder)
            plan, current = self._planned(place, retry_failed, progress)
            with contextlib.closing(Writer(place)) as writer:
                if not current:
                    about = {"design": self._design.to_json(), "plan": plan.to_json(), "versions": versions()}
                    writer.put_study(about | {"laws": laws.sources(plan.laws)})
                sweep = Sweep(self._design, plan, writer.log, progress, place / "samples")
                sweep.go(writer, workers, executor, retry_failed)
            if_it_fails.pop_all()
        study = self._of(self._design)
        study._kept, study._folder = (Store(place), plan), folder
        return study

    def _planned(
        self, place: Path | None, retry_failed: bool, progress: Callable[[Progress], None] | None
    ) -> tuple[Plan, bool]:
        """Every point checked, every run with its key; and whether the store in `place` has this very plan."""
        from cclab.sweep.job import core_digest
        from cclab.sweep.run import Progress, Sweep
        from cclab.sweep.store import Store, is_store

        if len(self) > _MOST_RUNS:
            raise StudyError(f"{len(self):,} runs are more than {_MOST_RUNS:,}; split the study")
        store = Store(place) if place is not None and is_store(place) else None
        earlier = store.study() if store else None
        if earlier and earlier["plan"].get("identity") == planning.identity(self._design, core_digest()):
            return Plan(**earlier["plan"]), True  # checked when it was made
        if store and earlier and earlier["design"] == self._design.to_json():
            plan = Plan(**earlier["plan"])
            if set(plan.laws) - laws.registered().keys():
                sweep = Sweep(self._design, plan, store.log())
                if not sweep.todo(retry_failed):
                    return plan, True  # a law that is not there is not missed where nothing is left to run

        def report(checked: float) -> None:
            if progress:
                progress(Progress(len(self), 0, 0, 0.0, None, checked))

        return planning.make(self._design, core_digest(), report), False

    def left(
        self,
        place: str | Path | None = None,
        *,
        retry_failed: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> tuple[int, float]:
        """How many runs `run(place)` would run now, and how long they would take one worker, in seconds.

        The time is extrapolated from the beginnings of a few runs, watched for a second each. Nothing is written.
        `progress` is called now and then while points are checked.

        Raises:
            StudyError: a scenario cannot be.
        """
        _, todo, seconds = self._left(place, retry_failed=retry_failed, progress=progress)
        return todo, seconds

    def _left(
        self,
        place: str | Path | None = None,
        *,
        retry_failed: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> tuple[int, int, float]:
        """The same after how many runs there are, of which equal ones are one."""
        from cclab.sweep.run import Sweep
        from cclab.sweep.store import Log, Store, is_store

        place = None if place is None else Path(place)
        plan, _ = self._planned(place, retry_failed, progress)
        sweep = Sweep(self._design, plan, Store(place).log() if place is not None and is_store(place) else Log())
        todo = sweep.todo(retry_failed)
        return plan.distinct, len(todo), sweep.probe(todo)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The study in a TOML file, or the one in a store, finished or not.

        Raises:
            StudyError: the file is no study.
            ResultError: the folder is no store.
        """
        from cclab.sweep.database import NotBegun
        from cclab.sweep.file import read
        from cclab.sweep.store import Store

        path = Path(path)
        if not path.is_dir():
            return read(path, cls._read)
        store = Store(path)
        about = store.study()
        if about is None:
            raise NotBegun(store.file)
        study = cls._of(Design.from_json(about["design"]))
        study._kept = (store, Plan(**about["plan"]))
        return study

    @classmethod
    def _read(cls, parts: Mapping[str, Any]) -> Self:
        study = cls(parts["scenario"], name=parts.get("name"), keep=parts["keep"], backend=parts["backend"])
        for changes, together in parts["vary"]:
            study = study.vary(changes, together=together)
        if "seeds" in parts:
            return study.replicate(seeds=parts["seeds"])
        return study.replicate(parts["replications"]) if "replications" in parts else study

    # What came of it.

    @property
    def place(self) -> Path | None:
        """The folder it is kept in; `None` before it runs."""
        return self._kept[0].place if self._kept else None

    @property
    def versions(self) -> dict[str, str]:
        """Of what planned it last: `cclab`, and what that was made with.

        Raises:
            ResultError: the study has not been run.
        """
        return dict(self._about().get("versions", {}))

    @property
    def laws(self) -> dict[str, dict[str, str]]:
        """Of the laws written in Python that it ran, by name: their `file` and its `text`, with what that imports.

        Raises:
            ResultError: the study has not been run.
        """
        return dict(self._about().get("laws", {}))

    def _about(self) -> dict[str, Any]:
        return self._results()[0].study() or {}

    def _results(self) -> tuple[Store, Plan]:
        if self._kept is None:
            raise ResultError(
                f"{self.name}: has not been run; run(out=DIR) first, or load a store with Study.load(DIR)"
            )
        return self._kept

    def warmups(self) -> pl.DataFrame:
        """The warm-up of each run, `_warmup_s`, beside parameters, replication and seed.

        Raises:
            ResultError: the study has not been run.
        """
        import polars as pl

        from cclab.sweep import tables

        seconds: dict[Any, float] = {}
        column = []
        for _, changes in self._design.points():
            written = changes.get("warmup", self._design.scenario.get("warmup", "0 s"))
            if written not in seconds:
                zero = float(re.match(r"[\s\d.]*", written)[0]) == 0  # type: ignore[index]
                seconds[written] = 0.0 if zero else _core.quantity("time", written)
            column += [seconds[written]] * len(self.seeds)
        runs = tables.design(self._results()[1]).drop("_order", "key")
        return runs.with_columns(pl.Series("_warmup_s", column, dtype=pl.Float64))

    def tables(self) -> list[str]:
        """Names of its tables."""
        from cclab.sweep import tables

        return tables.names(self._results()[0])

    def table(self, name: str) -> pl.DataFrame:
        """A table over all finished runs, with the parameters and the seed as columns; equal studies, equal tables.

        Args:
            name: `"flows"`, `"links"` and so on, one row for each flow or link of a run; `"runs"`, one for each run;
                `"failures"`, the errors of those that failed; `"timings"`, how long they took.

        Raises:
            UnknownNameError: there is no such table.
            ResultError: the study has not been run.
        """
        from cclab.sweep import tables

        return tables.make(name, *self._results())

    def summary(
        self, metric: str, by: Sequence[str] | None = None, *, table: str = "flows", level: float = 0.95
    ) -> pl.DataFrame:
        """Mean of a column with Student's t interval over the replications, for each point or other group.

        The rows of a group in one replication are averaged first: flows of one run are no independent measurements.

        Args:
            metric: The column, e.g. `"goodput_bps"`; nulls and NaN do not count, and with an infinite value the mean is
                infinite and has no interval.
            by: The columns that make a group; unless given, the parameters. `[*study.parameters, "cc"]` tells the laws
                within a run apart.
            table: Where the column is.
            level: Confidence level.

        Returns:
            Columns of `by`, then `mean`, `low`, `high` (NaN where n is 1) and `n`, the replications. Where all runs are
            the same, a warning says so.

        Raises:
            UnknownNameError: there is no such table or column.
        """
        import polars as pl

        from cclab.analysis import stats
        from cclab.registry import unknown

        rows = self.table(table)
        groups = self.parameters if by is None else list(by)
        for name in (metric, *groups):
            if name not in rows.columns:
                raise unknown("column", name, rows.columns)
        x = pl.col(metric).cast(pl.Float64)
        means = rows.group_by(*groups, "replication", maintain_order=True).agg(x.filter(x.is_not_nan()).mean())
        bounds = (0.0, 1.0) if metric in ("jain", "utilisation") else stats.ANY
        made = stats.summarise(means, metric, groups, level, bounds)
        bare = made.filter((pl.col("n") > 1) & (pl.col("low") == pl.col("high"))).height
        if bare and (same := self.identical()):
            from cclab.chance import CURE

            warnings.warn(
                f"at {same} of {len(self.points())} points all runs are the same, so intervals of no width there say "
                f"nothing of chance; {CURE}",
                stacklevel=2,
            )
        return made

    def identical(self) -> int:
        """At how many points all of several runs are the same to the last bit: nothing there is left to chance."""
        import polars as pl

        runs = self.table("runs")
        of = runs.group_by(self.parameters) if self.parameters else runs.group_by(pl.lit(0))
        told = of.agg(runs=pl.len(), kinds=pl.col("digest").n_unique())
        return told.filter((pl.col("runs") > 1) & (pl.col("kinds") == 1)).height

    def certain(self, most: int = 200) -> int:
        """At how many points, of the first `most`, nothing is left to chance; before anything runs."""
        from cclab.chance import nothing

        if self.backend != "sim" or len(self.seeds) < 2:
            return 0
        first = itertools.islice(self._design.points(), most)
        return sum(nothing(self._design.scenario_at(changes)) for _, changes in first)

    @property
    def keeps_samples(self) -> bool:
        """Whether each run's whole result is kept."""
        return self._design.keep == "samples"

    @cached_property
    def plot(self) -> StudyPlots:
        """Figures: `.plot.over()`, `.plot.share()`, `.plot.trade()`, `.plot.heatmap()`, `.plot.facets()` and others.

        Raises:
            ResultError: the study has not been run.
        """
        from cclab.analysis.studies import StudyPlots

        self._results()
        return StudyPlots(self)

    def status(self) -> dict[str, int]:
        """How far it is: `points`, `runs`, `finished`, `failed`."""
        store, plan = self._results()
        wanted, log = {key for keys in plan.keys for key in keys}, store.log()
        runs, finished, failed = len(wanted), len(log.done & wanted), len(log.failed & wanted)
        return {"points": len(plan.points), "runs": runs, "finished": finished, "failed": failed}

    def result(self, point: int = 0, replication: int = 0) -> Result:
        """The whole result of a run, where the study keeps samples.

        Args:
            point: Its number in `points()`.
            replication: From 0 on.

        Raises:
            ResultError: it is not there.
        """
        from cclab.results import Result

        folder, plan = self._samples()
        return Result.load(folder / plan.keys[point][replication])

    def results(self) -> Iterator[tuple[dict[str, Any], Result]]:
        """Every whole result that is there, with its parameters; runs that failed or are still to come have none.

        Raises:
            ResultError: the study keeps none, or has not been run.
        """
        folder, plan = self._samples()
        for point, at in enumerate(self.points()):
            for replication, key in enumerate(plan.keys[point]):
                if (folder / key).is_dir():
                    yield at, self.result(point, replication)

    def _samples(self) -> tuple[Path, Plan]:
        store, plan = self._results()
        if not self.keeps_samples:
            raise ResultError(f'{store.place}: only summaries are kept; ask for more with keep = "samples"')
        return store.place / "samples", plan

    def _repr_html_(self) -> str:
        from cclab import notebook

        return notebook.of_study(self)

    def __repr__(self) -> str:
        varied = ", ".join(self.parameters) or "nothing"
        return f"Study({self.name!r}, varies {varied}; {len(self)} runs)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Study) and self._design == other._design

    __hash__ = None  # type: ignore[assignment]


_INSTEAD = {"seed": "seeds are replicate's: replicate(n), or replicate(seeds=[1, 2, 3])"}


def _overwrites_nothing(axis: Axis, earlier: Sequence[Axis]) -> None:
    """Raises: StudyError: a path of it covers one that is set before, whose values then say nothing of the runs."""
    paths = dict.fromkeys(path for change in axis.changes for path in change)
    before = dict.fromkeys(path for other in earlier for change in other.changes for path in change)
    inside = dict.fromkeys(pair for change in axis.changes for pair in itertools.combinations(change, 2))
    names = {path: names_on(path) for path in (*before, *paths)}
    for set_before, path in itertools.chain(itertools.product(before, paths), inside):
        whole, part = names[path], names[set_before]
        if len(whole) <= len(part) and all(a in (b, "*") for a, b in zip(whole, part, strict=False)):
            raise StudyError(f"{path}: would overwrite what {set_before} sets; vary it before {set_before}")


def _axis(name: str, values: Any) -> Axis:
    """A path with its values, or a name with its points."""
    if isinstance(values, Mapping):
        _readable("vary", name)
        labels = [_readable(name, str(label)) for label in values]
        changes = [_plain(name, change) for change in values.values()]
        for label, change in zip(labels, changes, strict=True):
            if not isinstance(change, dict) or not change:
                raise StudyError(f"{name}.{label}: {change!r} is not a table of paths and values")
    elif isinstance(values, Iterable) and not isinstance(values, str | bytes):
        labels = [_plain(name, value) for value in values]
        changes = [{name: value} for value in labels]
    else:
        raise StudyError(f"{name}: {values!r} is not a list of values; write [{values!r}]")
    if not labels:
        raise StudyError(f"{name}: there are no values")
    seen: set[str] = set()
    for label in labels:
        text = json.dumps(label, sort_keys=True)  # 1, 1.0 and true are three values
        if text in seen:
            raise StudyError(f"{name}: {label!r} is there twice")
        seen.add(text)
    return Axis((name,), tuple((label,) for label in labels), tuple(changes))


def _plain(name: str, value: Any) -> Any:
    try:
        return plain(value, name)
    except ScenarioError as error:
        raise StudyError(str(error)) from None


def _readable(where: str, name: str) -> str:
    try:
        return readable(name, where)
    except ScenarioError as error:
        raise StudyError(str(error)) from None


def _together(axes: Sequence[Axis]) -> Axis:
    lengths = {axis.names[0]: len(axis.values) for axis in axes}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise StudyError(f"what varies together needs equally many values; {said}")
    values = tuple(tuple(v[0] for v in at) for at in zip(*(axis.values for axis in axes), strict=True))
    merged = tuple(
        {k: v for change in at for k, v in change.items()} for at in zip(*(a.changes for a in axes), strict=True)
    )
    return Axis(tuple(axis.names[0] for axis in axes), values, merged)


def _one_of(field: str, value: Any, allowed: Collection[str]) -> None:
    if value not in allowed:
        raise StudyError(f"{field}: {value!r} is not one of {', '.join(allowed)}")
