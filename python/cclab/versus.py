"""Two congestion controls on one bottleneck: each alone, among its own, beside the other and beside what is there.

Every mixture runs with the same seeds, so that two of them are compared seed by seed. What is said of them is a
sentence each, with its interval and the number of runs.
"""

from __future__ import annotations

import itertools
import json
import math
import shlex
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cclab import _core, folders, registry
from cclab.analysis import stats
from cclab.analysis.stats import Estimate
from cclab.errors import ResultError, ScenarioError
from cclab.scenario import Dumbbell, Flow, Scenario
from cclab.sweep import Study

if TYPE_CHECKING:
    from cclab.analysis.figures import Distribution
    from cclab.analysis.plots import Chart
    from cclab.results import Result
    from cclab.sweep.run import Progress

Mix = tuple[tuple[str, int], ...]  # laws and how many flows of each
_OPTIONS = ("rate", "rtt", "buffer", "queue", "threshold", "flows", "against", "duration", "seeds", "within")
_QUESTION = "question.json"
WITHIN = 0.02  # what is less apart is called the same


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        a: The law that is there, by name.
        b: The one in question.
        rate: Of the bottleneck.
        rtt: Base RTT of every flow.
        buffer: Limit of the bottleneck's queue.
        queue: Its discipline.
        threshold: Of the discipline `step`: a packet that finds more than this waiting is marked.
        flows: How many share the bottleneck, two or more.
        against: A third law, the incumbent, that both meet.
        duration: Simulated time of a run.
        seeds: Replications.
        send_jitter: Each packet leaves its host later by a uniform draw from 0 to this.
        ecn: Whether the flows ask for ECN.
        within: Differences up to this share are called none.
    """

    a: str
    b: str
    rate: str = "100 Mbit/s"
    rtt: str = "40 ms"
    buffer: str = "1 BDP"
    queue: str = "droptail"
    flows: int = 2
    against: str | None = None
    duration: str = "60 s"
    seeds: int = 10
    send_jitter: str = "50 us"
    ecn: bool = False
    within: float = WITHIN
    threshold: str | None = None

    @property
    def warmup(self) -> str:
        """Left out of every figure: a quarter of a run."""
        return f"{self._seconds() / 4:.3g} s"

    @property
    def start_jitter(self) -> str:
        """Each flow starts later by a uniform draw from 0 to this: a third of the warm-up."""
        return f"{self._seconds() / 12:.3g} s"

    def _seconds(self) -> float:
        try:
            return _core.quantity("time", self.duration)
        except ValueError as error:
            raise ScenarioError(f"duration: {error}") from None

    def mixes(self) -> dict[str, Mix]:
        """The mixtures that run, by name."""
        n, a, b, r = self.flows, self.a, self.b, self.against
        laws = [a, b] + ([r] if r is not None and r not in (a, b) else [])
        wanted: list[Mix] = [((law, 1),) for law in laws]
        wanted += [((law, n),) for law in laws]
        pairs = [(a, b), (b, a)] + [(law, r) for law in (a, b) if r is not None and r != law]
        for one, other in pairs:
            wanted += [((one, 1), (other, n - 1)), ((other, n - 1),)]
        found: dict[str, Mix] = {}
        for mix in wanted:
            found.setdefault(called(mix), mix)
        return found

    def command(self) -> str:
        """What to type to ask it again, also of a version that has other defaults."""
        told = {name: getattr(self, name) for name in _OPTIONS}
        words = [f"--{name} {shlex.quote(str(value))}" for name, value in told.items() if value is not None]
        return " ".join(["cclab compare", self.a, self.b, *words, *(["--ecn"] if self.ecn else [])])

    def study(self) -> Study:
        """All mixtures as a sweep.

        Raises:
            ScenarioError, StudyError: a quantity or a law is not allowed.
        """
        queue = {"discipline": self.queue, "limit": self.buffer}
        queue |= {"threshold": self.threshold} if self.threshold is not None else {}
        scenario = Scenario(
            name=f"{self.a} and {self.b}",
            duration=self.duration,
            warmup=self.warmup,
            network=Dumbbell(rate=self.rate, rtt=self.rtt, queue=queue),
            flows=[self._flow(self.a, 1)],
            record={"samples": "100 ms"},
        )
        points = {name: {"flows": [self._flow(*part) for part in mix]} for name, mix in self.mixes().items()}
        return Study(scenario, keep="samples").vary({"mix": points}).replicate(self.seeds)

    def _flow(self, law: str, count: int) -> Flow:
        more: dict[str, Any] = {"ecn": True} if self.ecn else {}
        return Flow(
            cc=law, count=count, label=law, start_jitter=self.start_jitter, send_jitter=self.send_jitter, **more
        )


def called(mix: Mix) -> str:
    """A mixture in words: `1 bbr3 + 3 cubic`, in a fixed order."""
    return " + ".join(f"{count} {law}" for law, count in sorted(mix))


@dataclass(frozen=True)
class Answer:
    """What came of it.

    Attributes:
        question: What was asked.
        study: What ran.
        remarks: What a reader should know before believing it.
    """

    question: Question
    study: Study
    remarks: list[str] = field(default_factory=list)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """A row for each run and law in it.

        Columns `mix`, `seed`, `law`, `flows`; of the law `goodput_bps` (of all its flows), `rtt_p95_s` (their mean),
        `resent` (share of segments); of the run `total_bps`, `share` (of the law in the total), `jain`,
        `loss` (share of the packets offered to the bottleneck), `queue_s` (mean time in the queue).
        """
        at = ["mix", "seed"]
        flows = self.study.table("flows").with_columns(law=pl.col("cc"))
        laws = flows.group_by(*at, "law", maintain_order=True).agg(
            flows=pl.len(),
            goodput_bps=pl.col("goodput_bps").sum(),
            rtt_p95_s=pl.col("rtt_p95_s").mean(),
            resent=pl.col("segments_retransmitted").sum() / pl.col("segments_sent").sum(),
        )
        x = pl.col("goodput_bps")
        of_all = flows.group_by(at, maintain_order=True).agg(
            total_bps=x.sum(), jain=x.sum() ** 2 / (pl.len() * (x**2).sum())
        )
        link = self.study.table("links").filter(pl.col("name") == "bottleneck")
        link = link.select(
            *at, queue_s="sojourn_mean_s",
            loss=(pl.col("drops") + pl.col("losses")) / pl.col("arrived"),
        )  # fmt: skip
        joined = laws.join(of_all, on=at).join(link, on=at)
        return joined.with_columns(share=x / pl.col("total_bps"))

    def values(self, mix: Mix, column: str, law: str | None = None) -> list[float]:
        """One for each seed, in order; of a law in the mixture, or of its first."""
        of = self.runs.filter((pl.col("mix") == called(mix)) & (pl.col("law") == (law or mix[0][0])))
        return [float(x) for x in of.sort("seed")[column]]

    def estimate(self, mix: Mix, column: str, law: str | None = None, most: float = math.inf) -> Estimate:
        """Mean with its interval."""
        return stats.mean(self.values(mix, column, law), bounds=(0.0, most))

    def relative(self, a: Mix, b: Mix, column: str) -> Estimate:
        """(b − a) / a, seed by seed, of what the whole mixture has."""
        x, y = self.values(a, column), self.values(b, column)
        return stats.mean([(v - u) / u if u else math.nan for u, v in zip(x, y, strict=True)])

    def harm(self, victim: str, by: str) -> Estimate:
        """The share of their goodput that n − 1 flows lose when one flow of another law, or of their own, joins them.

        (solo − mixed) / solo (Ware et al., HotNets 2019), solo being the same n − 1 flows without it.
        """
        n = self.question.flows
        solo = self.values(((victim, n - 1),), "goodput_bps")
        if by == victim:  # of n equal flows all but one
            mixed = [x * (n - 1) / n for x in self.values(((victim, n),), "goodput_bps")]
        else:
            mixed = self.values(((by, 1), (victim, n - 1)), "goodput_bps", victim)
        return stats.mean([(u - v) / u if u else math.nan for u, v in zip(solo, mixed, strict=True)])

    @cached_property
    def sentences(self) -> list[str]:
        """The answer in words."""
        q = self.question
        a, b, n = q.a, q.b, q.flows
        said = [
            f"Alone: {_than(self.relative(((a, 1),), ((b, 1),), 'goodput_bps'), 'goodput', a, b, q.within)}. "
            + self._costs(((a, 1),), ((b, 1),)),
            f"{n} of a kind: "
            + _than(self.relative(((a, n),), ((b, n),), "total_bps"), "goodput together", a, b, q.within)
            + f"; Jain's index {_cell(self.estimate(((b, n),), 'jain', most=1.0), 1)} with {b}, "
            f"{_cell(self.estimate(((a, n),), 'jain', most=1.0), 1)} with {a}. " + self._costs(((a, n),), ((b, n),)),
        ]
        pairs = [(b, a)] if n == 2 else [(b, a), (a, b)]
        said += [self._beside(one, other) for one, other in pairs]
        if q.against is not None:
            said += [self._beside(law, q.against) for law in (a, b) if law != q.against]
        return said

    def _beside(self, one: str, other: str) -> str:
        n = self.question.flows
        mix: Mix = ((one, 1), (other, n - 1))
        share = self.estimate(mix, "share", one, most=1.0)
        harm, own = self.harm(other, one), self.harm(other, other)
        among = f"One {one} beside one {other}" if n == 2 else f"One {one} among {n - 1} {other}"
        verdict = _fair(share, 1 / n, self.question.within)
        return (
            f"{among} takes {_cell(share, 100)} % of the goodput, {verdict} (an equal share is {100 / n:.3g} %). "
            f"Harm to {other}: {_cell(harm, 1)}, where one more {other} does {_cell(own, 1)}."
        )

    def _costs(self, a: Mix, b: Mix) -> str:
        """Losses and the queue of both, with intervals; that they are apart is said only where the runs tell."""
        parts = []
        for column, scale, unit, what in (
            ("loss", 100, " %", "of the packets lost"),
            ("queue_s", 1e3, " ms", "in the queue"),
        ):
            most = 1.0 if column == "loss" else math.inf
            ours, theirs = (_cell(self.estimate(mix, column, most=most), scale) for mix in (b, a))
            apart = stats.paired(self.values(b, column), self.values(a, column))
            same = apart.a.value == apart.b.value
            told = "" if same or apart.differs else ", which these runs cannot tell apart"
            parts.append(f"{ours}{unit} {what} where {a[0][0]} has {theirs}{unit}{told}")
        return f"{b[0][0]}: {'; '.join(parts)}."

    def tables(self) -> list[Any]:
        """What the terminal shows: the sentences, then every mixture."""
        from cclab.console import table

        q = self.question
        headings, rows = self.cells()
        mixture, _, *figures = headings
        made = table(f"{q.rate}, {q.rtt}, {self.bottleneck()}: every mixture, {q.seeds} runs each", mixture, *figures)
        made.columns[0].no_wrap = True
        for name, of, *cells in rows:  # a mixture of two has a row of its own, and one for each law
            mixed = name and "+" in name
            if mixed:
                made.add_row(name, "", "", *cells[2:5], "", "")
            own = [*cells[:2], "", "", "", *cells[5:]] if "+" in name or not name else cells
            made.add_row(f"  {of}" if mixed or not name else name, *own)
        return ["\n".join(f"- {s}" for s in self.sentences), made, "\n".join([self.footing(), *self.remarks])]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Headings, those of numbers begin with |, and rows as text; a row for each law of a mixture."""
        headings = [
            "Mixture", "Law", "|Goodput|(Mbit/s)", "|Share|(%)", "|Jain's|index", "|Lost|(%)", "|Queue|mean (ms)",
            "|RTT p95|(ms)", "|Resent|(%)",
        ]  # fmt: skip
        rows = []
        for name, mix in self.question.mixes().items():
            for k, (law, count) in enumerate(mix):
                of_law = [("goodput_bps", 1e-6, math.inf), ("share", 100, 1.0)]
                of_all = [("jain", 1, 1.0), ("loss", 100, 1.0), ("queue_s", 1e3, math.inf)]
                of_path = [("rtt_p95_s", 1e3, math.inf), ("resent", 100, 1.0)]
                cells = [
                    _cell(self.estimate(mix, column, law, most), scale)
                    for column, scale, most in (*of_law, *of_all, *of_path)
                ]
                cells[1] = cells[1] if len(mix) > 1 else "–"
                cells[2] = cells[2] if sum(c for _, c in mix) > 1 else "–"
                rows.append([name, f"{count} {law}", *cells] if not k else
                            ["", f"{count} {law}", *cells[:2], "", "", "", *cells[5:]])  # fmt: skip
        return headings, rows

    def bottleneck(self) -> str:
        """The bottleneck's queue: discipline, limit and, where it has one, its threshold."""
        known = {"flows.*.cc": "reno"}  # a law written in Python need not be at hand
        checked = Scenario.from_toml(self.study.scenario_toml(), changes=known).to_dict(full=True)["network"]["queue"]
        marks = f", which marks above {checked['threshold']}" if "threshold" in checked else ""
        return f"{self.question.queue} of {self.question.buffer}{marks}"

    def footing(self) -> str:
        """What the figures rest on."""
        q = self.question
        return (
            f"Means of {q.seeds} runs of {q.duration}, the first {q.warmup} left out, with 95 % intervals (Student's "
            f"t); mixtures are compared seed by seed. Flows start within {q.start_jitter} and each packet leaves up to "
            f"{q.send_jitter} late, by random draws of its own. Differences up to {q.within:.3g} of the figure are "
            "called none; the figures without an interval have one below 0.1 %."
        )

    def json(self) -> dict[str, Any]:
        """Question, sentences and every figure."""
        return {
            "schema": "cclab.versus/1", "question": asdict(self.question), "answer": self.sentences,
            "remarks": self.remarks, "runs": self.runs.to_dicts(),
        }  # fmt: skip

    # Figures.

    def shares(self) -> Chart:
        """Share of the goodput that one flow takes beside others, beside an equal share."""
        from cclab.analysis.plots import COLOURS, Chart, styled

        mixes = [mix for mix in self.question.mixes().values() if len(mix) > 1]
        n = self.question.flows
        with styled():
            chart = Chart(height_in=1.2 + 0.42 * len(mixes))
            axes = chart.subplots()
            for law in [law for law in self._laws() if law in {mix[0][0] for mix in mixes}]:
                at = [i for i, mix in enumerate(mixes) if mix[0][0] == law]
                found = [self.estimate(mixes[i], "share", law, most=1.0) for i in at]
                middle = [100 * e.value for e in found]
                ends = [[100 * (e.value - e.low) for e in found], [100 * (e.high - e.value) for e in found]]
                axes.errorbar(middle, at, xerr=_finite(ends), fmt="o", ms=5, capsize=3, lw=1,
                              color=COLOURS[self._laws().index(law)], label=f"one {law}")  # fmt: skip
            axes.axvline(100 / n, color="#666666", ls="--", lw=1, label=f"an equal share, {100 / n:.3g} %")
            axes.set_yticks(range(len(mixes)), [f"one {m[0][0]} beside {m[1][1]} {m[1][0]}" for m in mixes])
            axes.set_ylim(len(mixes) - 0.5, -0.5)
            axes.set_xlim(0, 100)
            axes.set_xlabel("Share of the goodput (%)")
            chart.legend_below()
        return chart

    def trade(self) -> Chart:
        """Goodput and time in the queue, a point for each run, and the ellipse that holds a further one with 95 %."""
        from cclab.analysis import figures

        n = self.question.flows
        mixes: list[Mix] = [((law, count),) for count in dict.fromkeys((1, n)) for law in self._laws()]
        points = {
            called(mix): (
                [1e3 * x for x in self.values(mix, "queue_s")],
                [x / 1e6 for x in self.values(mix, "total_bps")],
            )
            for mix in mixes
        }
        return figures.trade(points, "Mean time in the queue (ms)", "Goodput of all flows (Mbit/s)")

    def heat(self) -> Chart:
        """Who takes what from whom: of each law's one flow beside others of each law, its share and its Harm."""
        import numpy as np

        from cclab.analysis import figures
        from cclab.analysis.plots import Chart, styled

        laws, n, mixes = self._laws(), self.question.flows, self.question.mixes()
        share, harm = (np.full((len(laws), len(laws)), np.nan) for _ in range(2))
        for (i, one), (j, other) in itertools.product(enumerate(laws), enumerate(laws)):
            mix: Mix = ((one, 1), (other, n - 1))
            if one == other:
                share[i, j], harm[i, j] = 100 / n, self.harm(one, one).value
            elif called(mix) in mixes:
                share[i, j] = 100 * self.estimate(mix, "share", one, most=1.0).value
                harm[i, j] = self.harm(other, one).value
        with styled():
            chart = Chart(7.2, 1.6 + 0.45 * len(laws))
            axes = chart.subplots(1, 2)
            names = [f"{n - 1} {law}" for law in laws], [f"1 {law}" for law in laws]
            figures.heat(chart, axes[0], share, names[1], names[0], "Share of the one (%)", 0.0, 100.0)
            figures.heat(chart, axes[1], harm, names[1], names[0], "Harm to the others", 0.0, 1.0)
            for on in axes:
                on.set_xlabel("beside")
        return chart

    @cached_property
    def delays(self) -> dict[str, Distribution]:
        """RTT samples after the warm-up in ms, of each law in every mixture, all runs together."""
        from cclab.analysis import metrics
        from cclab.analysis.figures import Distribution

        found: dict[str, Distribution] = {}
        for mix, result in self._results():
            rtts_s = metrics.rtts_s(result)
            for law, count in mix:
                name = called(mix) if len(mix) == 1 else f"{count} {law} in {called(mix)}"
                found.setdefault(name, Distribution()).add(rtts_s[law] * 1e3)
        return found

    def delay_cdf(self) -> Chart:
        """Cumulative distribution of the RTT samples of each law among its own; milliseconds."""
        from cclab.analysis import figures

        own = {called(((law, self.question.flows),)) for law in self._laws()}
        return figures.cdf({k: x for k, x in self.delays.items() if k in own}, "Round-trip time (ms)")

    def delay_box(self) -> Chart:
        """Box plots of the RTT samples of each law in every mixture; milliseconds."""
        from cclab.analysis import figures

        return figures.boxes(self.delays, "Round-trip time (ms)")

    def convergence(self) -> Chart:
        """How long it took until all flows of a mixture were near an equal share, a point for each run."""
        from cclab.analysis import figures, metrics

        found: dict[str, list[float]] = {}
        for mix, result in self._results():
            if sum(count for _, count in mix) == self.question.flows:
                found.setdefault(called(mix), []).append(metrics.convergence_time_s(result))
        return figures.dots(found, "Time to an equal share ± 20 % (s)")

    def over_time(self) -> dict[str, Result]:
        """A run each, of the first seed that did not fail: one law beside the other, and beside the incumbent."""
        q = self.question
        pairs = [(q.b, q.a)] + [(law, q.against) for law in (q.a, q.b) if q.against not in (None, law, q.a, q.b)]
        wanted = [called(((one, 1), (str(other), q.flows - 1))) for one, other in pairs]
        first: dict[str, Result] = {}
        for mix, result in self._results():
            if called(mix) in wanted:
                first.setdefault(called(mix), result)
        return {name: first[name] for name in wanted if name in first}

    def figures(self) -> dict[str, Chart]:
        """Every figure, by name."""
        charts = {
            "shares": self.shares(), "heatmap": self.heat(), "trade": self.trade(), "delay-cdf": self.delay_cdf(),
            "delay-box": self.delay_box(), "convergence": self.convergence(),
        }  # fmt: skip
        for i, (mix, result) in enumerate(self.over_time().items()):
            chart = charts[f"throughput-{i}"] = result.plot.throughput()
            chart.axes[0].set_title(f"{mix}, seed {result.seed}", loc="left", color="#555555")
        return charts

    def _results(self) -> Iterator[tuple[Mix, Result]]:
        """Whole runs, read one by one: all of them would not fit into memory."""
        mixes = self.question.mixes()
        return ((mixes[at["mix"]], result) for at, result in self.study.results())

    def _laws(self) -> list[str]:
        q = self.question
        return list(dict.fromkeys([q.a, q.b, *([q.against] if q.against else [])]))


def ask(
    question: Question,
    out: str | Path | None = None,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> Answer:
    """Run every mixture of a question.

    Args:
        question: What to ask.
        out: A folder for the store; what is finished there is not run again.
        progress: Called now and then.

    Raises:
        ScenarioError, StudyError: a quantity or a law is not allowed.
    """
    return _answered(question, question.study().run(out, progress=progress))


def _answered(question: Question, study: Study) -> Answer:
    failed = study.status()["failed"]
    remarks = [f"{failed} runs failed and are left out."] if failed else []
    laws = (law for law in (question.a, question.b, question.against) if law is not None)
    return Answer(question, study, remarks + registry.lacking(laws))


def keep(answer: Answer, folder: Path) -> None:
    """Keep what was asked beside the store of the runs, for `load`."""
    folders.write_text(folder / _QUESTION, json.dumps(asdict(answer.question), indent=1) + "\n")


def is_kept(folder: Path) -> bool:
    """Whether an answer was kept there."""
    return (folder / _QUESTION).is_file()


def load(folder: str | Path) -> Answer:
    """The answer that `cclab compare LAW LAW --out` kept.

    Raises:
        ResultError: the folder has none, or not the runs.
    """
    place = Path(folder)
    try:
        question = Question(**json.loads((place / _QUESTION).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise ResultError(f"{place}: no answer of `cclab compare LAW LAW --out` is kept there") from None
    return _answered(question, Study.load(place / "runs"))


def _than(relative: Estimate, what: str, a: str, b: str, within: float) -> str:
    """A relative difference of b from a in words."""
    if math.isnan(relative.value):
        return f"whether {b} has more or less {what} than {a} cannot be told (nothing was delivered)"
    size = abs(relative.value) * 100
    ends = sorted(abs(x) * 100 for x in (relative.low, relative.high))
    interval = f" [{ends[0]:.3g}, {ends[1]:.3g}]" if math.isfinite(relative.low) else ""
    if relative.against(-within, within) == stats.AGREES:
        return f"{b} has the {what} of {a} within {within * 100:g} % ({relative.value * 100:+.2g} %)"
    if relative.low > 0 or relative.high < 0:
        return f"{b} has {size:.3g} % {'more' if relative.value > 0 else 'less'} {what}{interval} than {a}"
    between = f"between {relative.low * 100:+.2g} and {relative.high * 100:+.2g} %"
    return f"whether {b} has more or less {what} than {a} cannot be told ({between})"


def _fair(share: Estimate, equal: float, within: float) -> str:
    if share.against(equal - within, equal + within) == stats.AGREES:
        return "an equal share"
    if share.low > equal:
        return "more than an equal share"
    return "less than an equal share" if share.high < equal else "an equal share or not, these runs cannot tell"


def _cell(e: Estimate, scale: float) -> str:
    """The estimate, without an interval that nobody would read."""
    if e.n and e.half_width <= 1e-3 * abs(e.value):
        return f"{e.value * scale:.4g}"
    return e.brief(scale)


def _finite(ends: list[list[float]]) -> list[list[float]]:
    return [[x if math.isfinite(x) else 0.0 for x in side] for side in ends]
