"""The comparison with a kernel: its clock, its tests, its set-ups."""

from __future__ import annotations

from dataclasses import asdict

import polars as pl
import pytest

from cclab import Scenario, ScenarioError, published, stats

STUDY = published.find("linux")


@pytest.fixture(scope="module")
def analysis():
    return STUDY.analysis()


@pytest.mark.parametrize(
    ("few", "chance"),
    [
        ([1, 2, 3], 0.1),
        ([1, 2, 5], 0.4),
        ([3, 4, 5], 0.7),
    ],  # Mann and Whitney 1947, n = m = 3: U = 0, 2, 6 are 2, 8, 14 of 20
)
def test_the_rank_test_is_exact(analysis, few, chance):
    rest = [x for x in range(1, 7) if x not in few]
    assert analysis.rank_test(few, rest) == pytest.approx(chance)


def test_the_clock_starts_when_the_handshake_is_over(analysis):
    """One SYN-ACK lost: it comes again after a second, and what is counted is the same as without (10 Mbit/s of 1400 bytes)."""
    plain = STUDY.about | {"scenario": STUDY.about["scenario"] | {"duration": "30 s"}}
    case = {"law": "cubic", "rtt_ms": 20, "loss_on": "ack", "loss": {"packets": [1]}}
    lost = analysis.scenario(plain, case)
    whole = analysis.scenario(plain, case | {"loss": 0})
    assert isinstance(lost, Scenario)
    late, early = (run.run(seed=1) for run in (lost, whole))
    assert late.flows["fct_s"][0] - early.flows["fct_s"][0] == pytest.approx(1, abs=0.01)
    rates = [analysis.measure(run, 120)["goodput"] for run in (late, early)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-3)
    assert rates[1] == pytest.approx(10 * 1348 / 1400, rel=2e-3)


def test_bounds_are_those_of_the_study(analysis):
    def verdict(loss_on, loss, theirs, ours):
        row = analysis.Row({"loss_on": loss_on, "loss": loss}, theirs, ours, ours, ([10.0] * 3, [10.0] * 3))
        analysis.judge(row, STUDY.about["tolerance"])
        return row.goodput

    assert verdict("data", 0.03, [5.0] * 3, [4.76] * 3) == stats.AGREES
    assert verdict("data", 0.03, [5.0] * 3, [4.74] * 3) == stats.DIFFERS
    assert verdict("data", 0.05, [5.0] * 3, [4.26] * 3) == stats.AGREES
    assert verdict("data", 0.10, [5.0] * 3, [1.0] * 3) == analysis.ORDER
    assert verdict("ack", 0.5, [5.0] * 3, [4.89] * 3) == stats.DIFFERS
    assert verdict("ack", 0.8, [9.0] * 3, [8.99, 9.0, 9.0, 9.0, 9.01]) == stats.AGREES
    assert verdict("ack", 0.8, [0.1, 5.0, 9.0], [0.2, 4.0, 8.0, 8.5, 9.1]) == stats.CANNOT_TELL
    assert verdict("ack", 0.8, [0.1, 0.2, 0.3], [7.0, 8.0, 8.5, 9.0, 9.1]) == stats.DIFFERS
    assert verdict("ack", 0.8, [0.1, 0.2, 0.3], [7.0, 8.0, 9.0]) == stats.NOT_TESTED, "p is at least 2/20"
    assert verdict("ack", 0.8, [9.0] * 3, [8.99, 9.0, 9.01]) == stats.NOT_TESTED, "nothing could have differed"


def test_a_table_shows_what_can_be(analysis):
    about = {"law": "reno", "rtt_ms": 1, "loss_on": "ack", "loss": 0.8}
    row = analysis.Row(about, [9.62386666, 9.62386667, 9.62386668], [0.1, 9.0, 9.6], [9.0], ([1.0], [1.0]))
    analysis.judge(row, STUDY.about["tolerance"])
    shown = analysis.comparison(row)
    assert (shown.reference, shown.verdict) == (9.624, stats.NOT_TESTED)
    assert (shown.ci_low, shown.ci_high) == (0, pytest.approx(10 * 1348 / 1400))  # the mean is 6.2, t s/√n 13
    claims = {c.check: c.verdict for c in analysis.checks([row], [])}
    assert claims["more than half of the ACKs lost: goodput like the kernel's"] == stats.NOT_TESTED
    assert "rank test" in published.findings.meanings([asdict(shown)])[stats.DIFFERS]
    assert "rank" not in published.findings.meanings([{**asdict(shown), "tolerance": "±5 %"}])[stats.DIFFERS]


def flow(**options):
    """The normal form of one, and of the scenario around it."""
    top = options.pop("top", {})
    network = {"rate": "10 Mbit/s", "rtt": "20 ms"}
    made = Scenario.from_dict({"duration": "10 s", "network": network, "flows": [{"cc": "reno", **options}], **top})
    assert Scenario.from_dict(made.to_dict(full=True)) == made
    return made.to_dict(full=True)["flows"][0]


def test_a_sysctl_is_another_name_of_a_field():
    same = [
        ({"tcp_sack": 0}, {"sack": False}),
        ({"tcp_recovery": 0}, {"recovery": "sack"}),
        (
            {"tcp_comp_sack_delay_ns": 1_000_000, "tcp_comp_sack_slack_ns": 5000, "tcp_comp_sack_nr": 9},
            {"comp_sack_delay": "1 ms", "comp_sack_slack": "5 us", "comp_sack_nr": 9},
        ),
        ({"tcp_recovery": 7}, {"reo_wnd_adapts": False, "rack_dupthresh": False}),
        ({"tcp_reordering": 5, "tcp_max_reordering": 20}, {"dupthresh": 5, "max_reordering": 20}),
        ({"tcp_ecn": 1, "tcp_early_retrans": 0}, {"ecn": True, "tlp": False}),
        (
            {"tcp_rmem": [4096, 131072, 6291456], "tcp_adv_win_scale": 2},
            {"receive_buffer": "6 MiB", "initial_receive_buffer": "128 KiB", "adv_win_scale": 2},
        ),
        ({"tcp_rto_min_us": 5000, "tcp_rto_max_ms": 60000}, {"rto": {"min": "5 ms", "max": "60 s"}}),
    ]
    for sysctl, fields in same:
        assert flow(sysctl=sysctl) == flow(**fields) == flow(top={"sysctl": sysctl})
    assert flow(sack=True, top={"sysctl": {"tcp_sack": 0}}) == flow(), "a flow's own word is the last"


def test_a_profile_is_what_its_table_says():
    old = {
        "recovery": "sack", "max_reordering": 127, "prr": False, "tlp": False, "initial_window": 3, "rto": {"initial": "3 s"}, "growth_per_ack": True,
    }  # fmt: skip
    assert flow(profile="linux-2.6") | {"profile": "linux"} == flow(**old)
    assert flow(top={"profile": "linux-2.6"}) == flow(profile="linux-2.6")
    assert flow(**old)["cc"] == flow(cc="reno")["cc"] | {"ack_counting": True}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sysctl": {"tcp_sack": 2}}, "flows[0].sysctl.tcp_sack: 2 is not a whole number from 0 to 1"),
        ({"sysctl": {"tcp_sack": 0}, "sack": True}, "flows[0].sysctl.tcp_sack: flows[0].sack is given too"),
        ({"sysctl": {"tcp_rmem": 5}}, "flows[0].sysctl.tcp_rmem: 5 is not three ascending whole numbers"),
        ({"top": {"sysctl": {"tcp_sak": 0}}}, 'flows[0].sysctl.tcp_sak: unknown field (did you mean "tcp_sack"?)'),
        ({"top": {"sysctl": 1}}, "sysctl: 1 is not a table"),
    ],
)
def test_what_is_wrong_with_a_sysctl_is_said(options, message):
    with pytest.raises(ScenarioError) as error:
        flow(**options)
    assert message in str(error.value)


def test_a_window_without_scaling_is_64_kib():
    """65,535 bytes in 100 ms are 5.24 Mbit/s (RFC 7323 1.1), of a buffer of 64 KiB three quarters are window (ip-sysctl: bytes - bytes/2^2)."""
    network = {"rate": "100 Mbit/s", "rtt": "100 ms"}

    def goodput(**sysctl):
        made = {"duration": "20 s", "warmup": "5 s", "network": network, "flows": [{"cc": "cubic", "sysctl": sysctl}]}
        return Scenario.from_dict(made).run(seed=1).flows["goodput_bps"][0] / 1e6

    assert goodput(tcp_window_scaling=0) == pytest.approx(5.24, rel=0.03)
    # Linux keeps the room of one segment (tcp_init_buffer_space): 32 whole segments of 1448 bytes.
    assert goodput(tcp_rmem="4096 65536 65536", tcp_adv_win_scale=2) == pytest.approx(3.707, rel=0.02)


@pytest.mark.parametrize(
    ("law", "rate", "rtt", "most", "mbps"),
    [
        ("cubic", "100 Mbit/s", "100 ms", 65_536, 17.651),
        ("cubic", "100 Mbit/s", "100 ms", 1_000_000, 61.860),
        ("bbr", "100 Mbit/s", "100 ms", 262_144, 18.097),
        ("reno", "100 Mbit/s", "20 ms", 65_536, 50.889),
        ("cubic", "50 Mbit/s", "40 ms", 16_384, 24.993),
        ("reno", "20 Mbit/s", "100 ms", 65_536, 9.905),
    ],
)
def test_a_send_buffer_of_memory_is_the_kernels(law, rate, rtt, most, mbps):
    """Linux 6.18 over the same link (`--backend live`), its last sixteen seconds of twenty."""
    flow = {"cc": law, "tso": 2, "sysctl": {"tcp_wmem": f"4096 16384 {most}"}}
    made = {"duration": "20 s", "warmup": "4 s", "network": {"rate": rate, "rtt": rtt}, "flows": [flow]}
    assert Scenario.from_dict(made).run(seed=1).flows["goodput_bps"][0] / 1e6 == pytest.approx(mbps, rel=0.03)


def test_what_is_remembered_ends_slow_start_in_time():
    """Linux 6.18 sends 66 segments again in its first transfer, and one in a later one that begins with the threshold of the first."""

    def resent(**remembers):
        flows = [{"cc": "reno", "size": "3 MB", "start": start, **remembers} for start in ("0 s", "10 s")]
        network = {"rate": "10 Mbit/s", "rtt": "40 ms", "queue": {"limit": "30 packets"}}
        result = Scenario.from_dict({"duration": "20 s", "network": network, "flows": flows}).run(seed=1)
        return result.flows["segments_retransmitted"].to_list()

    first, second = resent()
    assert first == second
    assert first > 40
    assert resent(no_metrics_save=False) == [first, second], "without a threshold nothing changes here"
    first, second = resent(sysctl={"tcp_no_metrics_save": 0, "tcp_no_ssthresh_metrics_save": 0})
    assert first > 40
    assert second <= 2


def test_a_limit_of_what_is_out():
    """100,000 bytes in 100 ms are 8 Mbit/s."""
    flow = {"cc": "cubic", "send_buffer": "100 kB"}
    made = {"duration": "20 s", "warmup": "5 s", "network": {"rate": "100 Mbit/s", "rtt": "100 ms"}, "flows": [flow]}
    assert Scenario.from_dict(made).run(seed=1).flows["goodput_bps"][0] / 1e6 == pytest.approx(8, rel=0.02)


def test_bursts_are_acknowledged_at_their_end():
    """Linux 6.18, 20 ms, 1 % of the data lost: 0.53 ACKs a segment, for the last of a burst has PSH and is acknowledged at once."""
    network = {"rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"limit": "100 packets"}, "loss": {"data": 0.01}}

    def growth(**options):
        law = {"name": "reno", "ack_counting": True}
        made = {"duration": "60 s", "network": network, "flows": [{"cc": law, "packet_size": "1400 B", **options}]}
        return sum(Scenario.from_dict(made).run(seed=seed).flows["goodput_bps"][0] for seed in range(1, 9))

    assert 1.02 < growth(sysctl={"tcp_min_tso_segs": 2}) / growth() < 1.12


def bursts(cc: str, **options: object) -> list[int]:
    """How many segments leave together, burst by burst, at 100 Mbit/s and 20 ms, the window twice the BDP at most."""
    network = {"rate": "100 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 BDP"}}
    flow = {"cc": cc, "tso": 2, **options}
    made = {"duration": "4 s", "network": network, "flows": [flow], "record": {"packets": True}}
    sent = (
        Scenario.from_dict(made).run(seed=1).packets.filter((pl.col("event") == "sent") & (pl.col("payload_bytes") > 0))
    )
    return sent.filter(pl.col("time_s") > 3).group_by("time_s").len()["len"].to_list()


def test_a_host_hands_over_a_millisecond_of_its_rate():
    """Linux `tcp_tso_autosize`: 1/1024 s of 1.2 W/srtt (Reno at a full link: 1.2 times 96.5 Mbit/s of payload), or of BBR's own rate;
    what the window has no room for yet waits for the ACKs that are near (`tcp_tso_should_defer`)."""
    reno = bursts("reno")
    assert max(reno) == 1.2 * 96.53e6 / 8 / 1024 // 1448 == 9
    assert sorted(reno)[len(reno) // 2] >= 6
    bbr = bursts("bbr")
    assert sorted(bbr)[len(bbr) // 2] == 0.99 * 96.53e6 / 8 / 1024 // 1448 == 8
    assert max(bursts("reno", tso="off")) <= 4


def test_bursts_meet_a_short_queue_as_the_kernels_do():
    """Linux 6.18, twelve runs: Reno gets 81.0 of 96.5 Mbit/s in the median where the buffer is a fifth of the BDP; 83.2 if ACKs alone clock the segments out."""
    network = {"rate": "100 Mbit/s", "rtt": "20 ms", "queue": {"limit": "0.2 BDP"}}
    flow = {"cc": "reno", "tso": 2, "send_jitter": "20 us"}
    made = {"duration": "20 s", "warmup": "5 s", "network": network, "flows": [flow]}
    assert Scenario.from_dict(made).run(seed=1).flows["goodput_bps"][0] / 1e6 == pytest.approx(81.0, rel=0.015)
