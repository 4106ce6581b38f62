"""The comparison with other simulators: each number has a set-up of ours, each verdict follows from its tolerance."""

from __future__ import annotations

import math

import pytest

from cclab import published
from cclab.published import Context

STUDY = published.find("peers")


@pytest.fixture(scope="module")
def analysis():
    return STUDY.analysis()


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return Context(STUDY.folder, STUDY.about, True, tmp_path_factory.mktemp("out"), lambda _: None)


@pytest.fixture(scope="module")
def reference(analysis, context):
    return analysis.published(context)


def line(scenario, peer, agent, metric, value, **more):
    about = {"scenario": scenario, "peer": peer, "agent": agent, "metric": metric, "value": value, "unit": ""}
    return about | {"rtt_ms": 42, "loss_on": None, "loss": None} | more


def judge(analysis, lines, ours, why=()):
    """Verdicts of reference numbers where ours are as given."""
    runs = {}
    for one, value in zip(lines, ours, strict=True):
        (runs.setdefault(analysis.key(one), [{}])[0])[one["metric"]] = value
    return [row.verdict for row in analysis.judged(STUDY.about, lines, runs, list(why))]


def test_every_number_has_a_checked_set_up(analysis, reference):
    assert len(reference) == 527
    assert not reference.select(*analysis.CASE, "metric").is_duplicated().any()
    assert {a for of in STUDY.about["agents"].values() for a in of} >= set(reference["agent"])
    for case in reference.select(analysis.CASE).unique(maintain_order=True).to_dicts():
        for made, _ in analysis.jobs(STUDY.about, case, True):
            assert made.to_dict(full=True)["flows"]


def test_the_set_ups_are_those_of_the_reference_runs(analysis, reference):
    cases = reference.select(analysis.CASE).unique(maintain_order=True).to_dicts()
    for case in cases:
        made = analysis.scenario(STUDY.about, case, jitter=False)
        flow = made.to_dict(full=True)["flows"][0]
        written = made.to_dict()
        sized = {"w1": "1000 B", "w2": "1500 B", "w4": "1400 B"}
        assert written["flows"][0]["packet_size"] == sized[case["scenario"]]
        if case["scenario"] == "w1":
            every = 2 if "delayed ACK 2" in case["agent"] else 1
            assert (flow["initial_window"], flow["delayed_ack"]["every"], flow["rto"]["min"]) == (2, every, "200 ms")
        if case["scenario"] == "w2":
            ends = {"ns-2.35": ("200 s", "50 s"), "ns-3.48": ("30 s", "10 s")}
            assert (written["duration"], written["warmup"]) == ends[case["peer"]]
            assert [f.get("start", "0 s") for f in written["flows"]] == ["0 s", "1 s"]


def test_every_reason_is_of_rows_there_are(analysis, context, reference):
    for reason in analysis.reasons(context):
        assert reason["kind"] in analysis.KINDS
        assert reason["text"].endswith(".")
        fields = {name: wanted for name, wanted in reason.items() if name not in ("kind", "text")}
        assert any(all(analysis.matches(row, *field) for field in fields.items()) for row in reference.to_dicts()), (
            reason
        )


def test_reno_alone_agrees_with_ns2(analysis, context, reference):
    lines = [r for r in reference.to_dicts() if (r["scenario"], r["peer"], r["agent"]) == ("w1", "ns-2.35", "reno")]
    (made, seed), *_ = analysis.jobs(STUDY.about, lines[0], True)
    measured = analysis.measure(made.run(seed=seed))
    rows = analysis.judged(STUDY.about, lines, {analysis.key(lines[0]): [measured]}, analysis.reasons(context))
    assert [(r.about["metric"], r.verdict) for r in rows if r.verdict != "agrees"] == []
    assert len(rows) == 5


def test_a_transfer_is_timed_from_its_first_data(analysis, reference):
    for on in ("data", "ack"):
        (line,) = [
            r
            for r in reference.to_dicts()
            if (r["scenario"], r["peer"], r["agent"], r["rtt_ms"], r["loss_on"], r["loss"])
            == ("w4", "Linux 6.18", "cubic", 20, on, 0.0 if on == "data" else 0.1)
        ]
        (made, seed), *_ = analysis.jobs(STUDY.about, line, True)
        assert analysis.measure(made.run(seed=seed))["goodput"] == pytest.approx(line["value"], rel=0.01)


def test_tolerances_are_neither_wider_nor_narrower(analysis):
    def rate(value, ours, **more):
        return judge(analysis, [line("w4", "Linux 6.18", "cubic", "goodput", value, loss_on="data", **more)], [ours])

    assert rate(5.0, 5.49, loss=0.03) == ["agrees"]
    assert rate(5.0, 5.51, loss=0.03) == ["not explained"]
    assert rate(5.0, 5.99, loss=0.05) == ["agrees"]
    assert rate(5.0, 6.01, loss=0.05) == ["not explained"]
    assert rate(5.0, 1.0, loss=0.1) == ["no tolerance"]


def test_two_flows_at_42_ms_by_15_percent_and_at_162_ms_by_order(analysis):
    metrics = ("goodput, flow 1", "goodput, flow 2", "Jain's index")

    def both(theirs, ours, rtt):
        lines = [
            line("w2", "ns-2.35", "linux:bic", metric, value, rtt_ms=rtt)
            for metric, value in zip(metrics, (*theirs, analysis.jain(*theirs)), strict=True)
        ]
        return judge(analysis, lines, (*ours, analysis.jain(*ours)))

    assert both((100, 100), (114, 86), 42) == ["agrees"] * 3
    assert both((100, 100), (116, 100), 42) == ["not explained", "agrees", "agrees"]
    assert both((100, 100), (150, 50), 42) == ["not explained"] * 3
    assert both((150, 50), (110, 90), 162) == ["agrees", "agrees", "no tolerance"]
    assert both((150, 50), (90, 110), 162) == ["not explained", "not explained", "no tolerance"]
    assert both((100, 100), (110, 90), 162) == ["not explained", "not explained", "no tolerance"]


def test_beyond_five_percent_the_order_of_the_agents_decides(analysis):
    lines = [
        line("w4", "Linux 6.18", agent, "goodput", value, loss_on="data", loss=0.1, rtt_ms=1)
        for agent, value in (("reno", 5.3), ("cubic", 3.1), ("reno, growth per ACK", 5.2))
    ]
    assert judge(analysis, lines, (9.0, 2.0, 9.5)) == ["agrees"] * 3
    assert judge(analysis, lines, (1.0, 2.0, 9.5)) == ["not explained", "not explained", "agrees"]


def test_peers_disagree_only_where_ours_is_at_one_of_them_or_between(analysis):
    lines = [
        line("w2", "ns-2.35", "linux:htcp", "utilisation", 0.99),
        line("w2", "ns-3.48", "TcpHtcp", "utilisation", 0.85),
    ]
    assert judge(analysis, lines, (0.99, 0.99)) == ["agrees", "peers disagree"]
    assert judge(analysis, lines, (0.99, 0.70)) == ["agrees", "not explained"]
    reason = {"agent": "TcpHtcp", "kind": "set-up", "text": "So."}
    assert judge(analysis, lines, (0.99, 0.70), [reason]) == ["agrees", "different set-ups"]


def test_jain_of_equal_flows_can_be_one(analysis):
    low, high = analysis.jain_within((100.0, 100.0), 0.15)
    assert high == 1
    assert low == pytest.approx(4 / (2 * (1.15**2 + 0.85**2)))
    assert not math.isnan(low)
