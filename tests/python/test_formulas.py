"""Formulas against the tables of their papers, worked by hand or by others; and against each other in their limits."""

import itertools
import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cclab import formulas as f

GOLDEN = Path(__file__).parents[1] / "golden"
R = 0.1  # s, of all tables below
MBPS = 8 * 1460 / 1e6  # a segment per second

# Mbit/s at RTT 0.1 s, 1460 bytes: C = 1, √(3/2), 1.31, 0.93, √(3/4).
MATHIS = {
    1e-4: ("11.680", "14.305", "15.301", "10.862", "10.115"),
    1e-3: ("3.6935", "4.5236", "4.8385", "3.4350", "3.1987"),
    0.01: ("1.1680", "1.4305", "1.5301", "1.0862", "1.0115"),
    0.05: ("0.5223", "0.6397", "0.6843", "0.4858", "0.4524"),
}
# (b = 1, b = 2) at RTT 0.1 s, T0 = 1 s: full, approximate, E[W], full with a receiver's window of 44. The table has 267.84 for 267.83: eq. 33
# gives 267.8348.
PFTK = {
    1e-4: (("1219.6", "861.63"), ("1222.0", "864.08"), ("164.3", "116.1"), ("426.57", "416.84")),
    1e-3: (("376.60", "265.57"), ("378.78", "267.83"), ("52.62", "37.17"), ("337.24", "265.57")),
    0.01: (("98.829", "69.524"), ("99.92", "70.654"), ("17.28", "12.18"), ("98.83", "69.52")),
    0.05: (("26.045", "18.603"), ("24.728", "17.485"), ("8.19", "5.74"), ("26.05", "18.60")),
}


def close(printed):
    """What rounds to these digits, zeros at the end among them."""
    return pytest.approx(float(printed), rel=0, abs=0.5 * 10.0 ** Decimal(printed).as_tuple().exponent)


@pytest.mark.parametrize("p", MATHIS)
def test_mathis(p):
    of = f.MATHIS_C
    constants = (1.0, of["periodic", 1], of["random", 1], of["random", 2], of["periodic", 2])
    for c, expected in zip(constants, MATHIS[p], strict=True):
        assert f.mathis(p, R, c) * MBPS == close(expected)
    assert f.to_bps(f.mathis(0.01, R, 1.22)) / 1e6 == pytest.approx(1.425, abs=5e-4)


@pytest.mark.parametrize("p", PFTK)
def test_pftk(p):
    for i, b in enumerate((1, 2)):
        full, approximate, window, limited = (of[i] for of in PFTK[p])
        assert f.pftk(p, R, 1.0, b) == close(full)
        assert f.pftk(p, R, 1.0, b, approximate=True) == close(approximate)
        assert f.pftk_window(p, b) == close(window)
        assert f.pftk(p, R, 1.0, b, w_max=44) == close(limited)


def test_the_parts_of_pftk():
    assert f.pftk_window(0.01, 1) == pytest.approx(1 + math.sqrt(265))  # worked by hand
    for b, share in ((1, "0.2105"), (2, "0.2799")):
        assert f.pftk_timeout_share(0.01, f.pftk_window(0.01, b)) == close(share)
    for b, rate in ((1, "113.28"), (2, "79.43")):
        assert f.pftk(0.01, R, 0.3, b) == close(rate)
    assert f.pftk(0.0, R, w_max=44) == pytest.approx(440)
    assert f.pftk(0.0, R, w_max=44, approximate=True) == pytest.approx(440)
    assert f.pftk(1e-12, R, w_max=44) == pytest.approx(440, rel=1e-3)
    assert f.pftk_timeout_share(0.1, 2.5) == 1
    assert f.pftk_timeout_share(0.0, 30) == pytest.approx(f.pftk_timeout_share(1e-9, 30), rel=1e-6)


def test_the_bracket_in_the_wrong_place():
    # The web form of b = 2: Q 0.0448 instead of 0.2799, 81.6 packets a second instead of 69.5
    w = f.pftk_window(0.01, 2)
    assert f.pftk_timeout_share(0.01, w, cottrell=True) == pytest.approx(0.0448, abs=2e-4)
    assert f.pftk(0.01, R, 1.0, 2, cottrell=True) == pytest.approx(81.6, abs=0.2)


def test_a_table_over_rtts_and_losses():
    # 60 points, computed independently: PingER's formula, and PFTK with b = 2, T0 = 3 s and three receivers' windows
    table = pl.read_csv(GOLDEN / "throughput-equations.csv")
    p, rtt = table["loss_percent"].to_numpy() / 100, table["rtt_ms"].to_numpy() / 1e3
    printed = {"rel": 0, "abs": 0.51e-5}  # half of the fifth decimal
    assert f.pinger_bps(p, rtt) / 1e6 == pytest.approx(table["mathis_mbps"].to_numpy(), **printed)
    for column, w_max in (("unlimited", math.inf), ("wmax_131072B", 131072 / 1460), ("wmax_8192B", 8192 / 1460)):
        ours = f.pftk(p, rtt, 3.0, b=2, w_max=w_max) * MBPS
        assert ours == pytest.approx(table[f"padhye_{column}_mbps"].to_numpy(), **printed)


def padhye(p, rtt, rto, b, w_max):
    """Padhye et al., ToN 8(2), 2000, as eq. 13, 22, 29 and 30 to 32 are printed, with forty digits."""
    q, k = 1 - p, (2 + b) / (3 * b)
    free = k + (8 * q / (3 * b * p) + k**2).sqrt()
    w = min(free, w_max)
    share = min(Decimal(1), (1 - q**3) * (1 + q**3 * (1 - q ** (w - 3))) / (1 - q**w)) if w > 3 else Decimal(1)
    backoff = 1 + sum(2 ** (i - 1) * p**i for i in range(1, 7))
    rounds = b / 2 * free + 1 if free < w_max else b / 8 * w_max + q / (p * w_max) + 2
    return (q / p + w + share / q) / (rtt * rounds + share * backoff * rto / q)


def test_formulas_to_nine_digits_of_the_equations_as_printed():
    with localcontext(prec=40):
        for p, rtt, rto, b, w_max in itertools.product(
            map(Decimal, ("1e-6", "1e-4", "0.003", "0.02", "0.2")), map(Decimal, ("0.001", "0.08", "0.6")),
            map(Decimal, ("0.2", "3")), map(Decimal, (1, 2)), map(Decimal, (4, 44, 10**6)),
        ):  # fmt: skip
            given, free = (float(p), float(rtt), float(rto), float(b)), (2 * b * p / 3).sqrt() * rtt
            assert f.pftk(*given, float(w_max)) == nine(padhye(p, rtt, rto, b, w_max))
            timeouts = 3 * (3 * b * p / 8).sqrt(), p * (1 + 32 * p**2)
            approximate = min(w_max / rtt, 1 / (free + rto * min(1, timeouts[0]) * timeouts[1]))  # eq. 33
            assert f.pftk(*given, float(w_max), approximate=True) == nine(approximate)
            assert f.tfrc(float(p), float(rtt), float(b)) == nine(1 / (free + 4 * rtt * timeouts[0] * timeouts[1]))
            c = (Decimal(3) / (2 * b)).sqrt()
            assert f.mathis(float(p), float(rtt), f.MATHIS_C["periodic", int(b)]) == nine(c / (rtt * p.sqrt()))
            assert f.pinger_bps(float(p), float(rtt)) == nine(8 * 1460 / (rtt * p.sqrt()))


def nine(value):
    return pytest.approx(float(value), rel=1e-9)


def test_tfrc_and_pinger():
    assert f.tfrc(0.01, R) == close("112.33")
    assert f.tfrc(0.01, R, b=2) == close("79.43")
    # identical to PFTK's approximation while 3 √(3bp/8) < 1
    assert f.tfrc(0.02, R, 2) == pytest.approx(float(f.pftk(0.02, R, 0.4, 2, approximate=True)))
    assert f.pinger_bps(0.01, R) == pytest.approx(1.168e6)
    assert f.pinger_bps(0.0, R, sent=50) == f.pinger_bps(0.01, R)  # half a ping of fifty
    assert f.pinger_bps(0.0, R) == math.inf


# Mean windows at p = 1e-3, 1e-5, 1e-7; RTT 0.1 s.
RESPONSES = {"reno": (38.7, 387, 3873), "hstcp": (None, 1795, 83981), "scalable": (80, 8000, 8e5),
             "cubic": (38.7, 1054, 33325), "compound": (64, 2553, None), "dctcp": (2e3, 2e5, 2e7)}  # fmt: skip


@pytest.mark.parametrize("law", RESPONSES)
def test_response_functions(law):
    for p, expected in zip((1e-3, 1e-5, 1e-7), RESPONSES[law], strict=True):
        if expected is not None:
            assert f.RESPONSES[law](p, R) == pytest.approx(expected, rel=4e-3)


def test_response_functions_of_the_rfcs():
    # RFC 9438 §5.1, table 1 and 2: the curve alone at RTT 0.1 s, and Reno where that is larger
    for p, w in {1e-4: 187, 1e-5: 1054, 1e-6: 5926, 1e-7: 33325, 1e-8: 187400}.items():
        assert f.cubic(p, R) == pytest.approx(w, rel=3e-3)
    assert f.cubic(1e-6, 0.01, reno_friendly=False) == pytest.approx(1054, rel=1e-3)
    assert f.cubic(1e-6, 0.01) == pytest.approx(1225, rel=1e-3)
    assert f.reno(1e-4, b=2) == pytest.approx(86.6, rel=1e-3)
    # RFC 3649 §5: through (1e-3, 38) and (1e-7, 83000)
    assert f.hstcp(1e-7, rounded=False) == pytest.approx(83000)
    assert f.hstcp(1e-3 * (1 - 1e-12), rounded=False) == pytest.approx(38)
    assert f.hstcp(1e-2) == pytest.approx(12.25, rel=1e-3)
    with pytest.raises(ValueError, match="bic"):
        f.RESPONSES["bic"](0.01, R)


def test_the_table_of_hstcp():
    # RFC 3649 appendix B: w, a(w), b(w)
    for w, a, b in [(38, 1, 0.5), (118, 2, 0.44), (221, 3, 0.41), (495, 5, 0.37), (1058, 8, 0.33), (84035, 71, 0.10)]:
        assert f.hstcp_increase(w) == pytest.approx(a, abs=0.03, rel=2e-3)
        assert f.hstcp_decrease(w) == pytest.approx(b, abs=0.005)
    assert f.hstcp_increase(39) >= 1


def test_periodic_loss_in_the_textbook():
    p = 10.0 ** -np.arange(2, 8)
    assert f.periodic("reno", p, tcp=False) == pytest.approx(math.sqrt(1.5) / np.sqrt(p), rel=1e-4)
    # Scalable between 7/8 W and W: 12.5 W packets in ln(8/7)/0.01 round trips
    assert f.periodic("scalable", p[1:], tcp=False) * p[1:] == pytest.approx(0.01 / math.log(8 / 7), rel=1e-4)
    assert f.periodic("compound", p[2:], tcp=False) == pytest.approx(f.ctcp(p[2:]), rel=1e-3)
    # CUBIC: its RFC's own derivation has each loss at W_max
    alone = f.periodic("cubic", p, R, tcp=False, reno_friendly=False)
    assert alone == pytest.approx(f.cubic(p, R, reno_friendly=False), rel=1e-3)
    # and RFC 3649's power law is fitted to its a(w), b(w) within two percent
    assert f.periodic("hstcp", p[2:], tcp=False) == pytest.approx(f.hstcp(p[2:]), rel=0.02)


def test_periodic_loss_as_a_tcp_sends_it():
    # a Reno from W/2 to W by hand at 1/p = 1000: 3/8 W² + W/2 - 1/2 = 1000 packets in 1 + W/2 + ½ ln((W - ½)/(W/2 - ½)) RTT
    w = (-0.5 + math.sqrt(0.25 + 1.5 * 1000.5)) / 0.75
    rounds = 1 + w / 2 + 0.5 * math.log((w - 0.5) / (w / 2 - 0.5))
    assert float(f.periodic("reno", 1e-3)) == pytest.approx(1000 / rounds, rel=1e-4)
    for law in (*f.SAWTEETH, "cubic"):
        p = np.geomspace(1e-6, 1e-3, 7)
        tcp, fluid = f.periodic(law, p), f.periodic(law, p, tcp=False)
        assert (tcp < fluid).all()
        assert (np.diff(tcp) < 0).all()
    for wrong in ({"law": "bic"}, {"law": "reno", "beta": 0.7}):
        with pytest.raises(ValueError, match="periodic response"):
            f.periodic(p=1e-3, **wrong)


def test_two_cycles_of_scalable():
    # p = 1e-2, fluid, from above the legacy window of 16: top W, low 7/8 W, (16² - low²)/2 + 100 (W - 16) = 100 packets
    low = lambda top: 0.875 * top  # noqa: E731
    tops = np.linspace(16, 17, 100_001)
    top = tops[np.argmin(np.abs((16**2 - low(tops) ** 2) / 2 + 100 * (tops - 16) - 100))]
    rounds = (16 - low(top)) + 100 * math.log(top / 16)
    assert f.periodic("scalable", 0.01, tcp=False) == pytest.approx(100 / rounds, rel=1e-3)


def test_htcp_against_a_sum():
    # second by second: W gains 2 (1 - β) α(Δ) / RTT per second from β W on
    top, d, step, sent, w = 1000.0, 0.0, 1e-4, 0.0, 500.0
    while w < top:
        alpha = 1.0 if d <= 1 else 1 + 10 * (d - 1) + ((d - 1) / 2) ** 2
        sent, w, d = sent + w * step / R, w + 2 * 0.5 * alpha * step / R, d + step
    assert f.htcp(1 / sent, R) == pytest.approx(sent * R / d, rel=1e-3)


def test_short_flows():
    for d, free, lossy in [(10, "0.2419", "0.3027"), (100, "0.7082", "1.2877"), (1000, "1.2632", "13.87")]:
        assert f.latency_s(d, 0, R, 1.0, 2, 3) == close(free)
        assert f.latency_s(d, 0.01, R, 1.0, 2, 3) == close(lossy)
    for d, free in [(10, 0.100), (100, 0.3459), (1000, 0.6658)]:
        assert f.latency_s(d, 0, R) == pytest.approx(free, abs=6e-5)
    assert f.handshake_s(0.01, R) == close("0.1204")
    assert [f.transfer_rounds(d) for d in (10, 11, 30, 31, 70, 100, 1000)] == [1, 2, 2, 3, 3, 4, 7]
    # a receiver's window slows it down, and one that is never reached does not
    assert f.latency_s(100, 0, R, 1.0, 2, 3, w_max=8) > f.latency_s(100, 0, R, 1.0, 2, 3)
    assert f.latency_s(100, 0, R, 1.0, 2, 3, w_max=1e9) == f.latency_s(100, 0, R, 1.0, 2, 3)
    with pytest.raises(ValueError, match=r"0\.5"):
        f.handshake_s(0.5, R)


def test_convergence_of_aimd():
    assert f.aimd_convergence_rtts(100) == 81
    assert f.aimd_convergence_rtts(1000) == 807


def test_pingers_projection_and_distances():
    # SLAC's page on throughput versus loss: 2.5 % at the start, three years; distances in km, RTTs in ms
    months = f.improved(0.025, np.arange(11) / 100, 36) * 100
    expected = [2.5, 1.741, 1.208, 0.835, 0.575, 0.394, 0.270, 0.183, 0.124, 0.084, 0.056]
    assert months == pytest.approx(expected, abs=6e-4)
    rates = [0.739, 0.885, 1.063, 1.278, 1.540, 1.860, 2.250, 2.728, 3.314, 4.034, 4.922]
    assert f.pinger_bps(months / 100, R) / 1e6 == pytest.approx(rates, abs=6e-4)
    yearly = [0, 11.4, 21.5, 30.6, 38.7, 46.0, 52.4, 58.1, 63.2, 67.8, 71.8]
    assert 100 * (1 - f.improved(1, np.arange(11) / 100, 12)) == pytest.approx(yearly, abs=0.06)
    km = np.array([10, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 25000])
    assert f.rtt_of_distance_s(km) * 1e3 == pytest.approx([0.25, 1.25, 2.5, 6.25, 12.5, 25, 62.5, 125, 250, 625])
    assert f.normalised_bps(1e6, 0.2, 0.1) == 2e6


def test_the_largest_loss_inverts_a_formula():
    rtt = np.array([0.03, 0.08, 0.3])
    for rate in (lambda p: f.pftk(p, rtt, 1.0, 2), lambda p: f.mathis(p, rtt), lambda p: f.pftk(p, rtt, w_max=1000)):
        p = f.largest_loss(rate, 100.0)
        assert rate(p) == pytest.approx(np.full(3, 100.0), rel=1e-9)
    assert f.largest_loss(lambda p: f.mathis(p, R), 100.0) == pytest.approx(1.5 / 100)  # p = (C / (RTT x))², by hand
    assert np.isnan(f.largest_loss(lambda p: f.pftk(p, R, w_max=44), 441.0))  # 440 a second without any loss
    assert f.largest_loss(lambda p: f.mathis(p, R), 1.0, most=0.5) == 0.5
