"""`cclab model`: closed formulas at the command line."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from cclab.cli.group import Commands

_EXAMPLES = {"time": '"80 ms"', "rate": '"100 Mbit/s"', "size": '"100 kB"', "probability": "0.1% or 0.001"}


class Quantity(click.ParamType[float]):
    """A quantity as scenarios have them, in SI units."""

    def __init__(self, kind: str) -> None:
        self.name = kind

    def get_metavar(self, *_: Any, **__: Any) -> str:
        """What it is, where help names the value."""
        return "SHARE" if self.name == "probability" else self.name.upper()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The value in SI units; what is wrong with it is told as scenarios tell it."""
        from cclab import _core

        if isinstance(value, float):
            return value
        try:
            return _core.quantity(self.name, value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Whole(click.IntRange):
    """A whole number, from one to another."""

    name = "whole number"


class Written(click.ParamType[str]):
    """A quantity as scenarios have them, as it was written."""

    def __init__(self, kind: str) -> None:
        self.name = kind

    def get_metavar(self, *_: Any, **__: Any) -> str:
        """What it is, where help names the value."""
        return self.name.upper()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value; what is wrong with it is told as scenarios tell it."""
        Quantity(self.name).convert(value, param, ctx)
        return str(value)


_MORE = "May be given more than once."


def _quantity(name: str, kind: str, more: bool = True, **given: Any) -> Callable[[Any], Any]:
    if more:
        given = {
            "multiple": True,
            "required": "default" not in given,
            "help": f"E.g. {_EXAMPLES[kind]}. {_MORE}",
        } | given
    return click.option(f"--{name}", type=Quantity(kind), **given)


def _connection(command: Callable[..., None]) -> Callable[..., None]:
    """Options of every formula."""
    shown = {"more": False, "show_default": True}
    for option in (
        _quantity("window", "size", more=False, help="The receiver's window (default: no limit)."),
        click.option(
            "--ack-every", type=Whole(1, 100), default=1, show_default=True,
            help="b, packets per ACK; 1 where the sender counts bytes, as Linux does.",
        ),
        _quantity("rto", "time", default="1 s", help="T0, the first timeout of a series.", **shown),
        _quantity("mss", "size", default="1460 B", help="Payload of a segment.", **shown),
    ):  # fmt: skip
        command = option(command)
    return command


_cottrell = click.option(
    "--cottrell", is_flag=True, help="Padhye with a bracket where a form on the web has it, only to draw its figures."
)


@click.group(cls=Commands, short_help="Ask closed formulas: rates, loss, short transfers, distances.")
def model() -> None:
    """Ask closed formulas (docs/models/formulas.md), without a scenario.

    \b
    cclab model throughput --rtt "80 ms" --loss 0.1% --loss 1%
    cclab model loss --rate "100 Mbit/s" --rtt "80 ms"
    cclab model latency --size "100 kB" --rtt "80 ms" --loss 1%
    cclab model distance --km 5000
    cclab model projection --loss 2.5% --monthly 10% --months 36 --rtt "80 ms"
    cclab model normalised --rate "1 Mbit/s" --rtt "200 ms" --reference "100 ms"

    A scenario is answered by formulas with cclab run FILE --backend model.
    """


@model.command()
@_quantity("rtt", "time")
@_quantity("loss", "probability")
@_connection
@_cottrell
def throughput(rtt: tuple[float, ...], loss: tuple[float, ...], **connection: Any) -> None:
    """What a TCP gets at these loss rates: Mathis, Padhye (PFTK), TFRC, PingER's derived throughput."""
    from cclab import console

    if max(loss) >= 1:
        raise click.BadParameter("a loss of 100% has no throughput; write one below, e.g. 1%", param_hint="--loss")
    formulas = _formulas(**connection)
    table = console.table("Throughput, Mbit/s of payload", "|RTT|ms", "|Loss|%", *(f"|{name}" for name in formulas))
    for r, p in itertools.product(rtt, loss):
        rates = [_mbps(float(f(p, r))) for f in formulas.values()]
        table.add_row(console.number(r * 1e3), console.number(p * 100), *rates)
    console.show(table)
    if 0.0 in loss:
        console.note("No loss: what the receiver's window allows, if it has a limit (--window).")


@model.command()
@_quantity("rate", "rate")
@_quantity("rtt", "time")
@_connection
@_cottrell
def loss(rate: tuple[float, ...], rtt: tuple[float, ...], **connection: Any) -> None:
    """How much loss a TCP may have that is to get this rate of payload."""
    from cclab import console
    from cclab.theory.formulas import largest_loss

    formulas = _formulas(**connection)
    title = "Largest loss rate: one packet in …"
    table = console.table(title, "|Rate|Mbit/s", "|RTT|ms", *(f"|{name}" for name in formulas))
    missing = False
    for wanted, r in itertools.product(rate, rtt):
        found = [float(largest_loss(partial(f, rtt=r), wanted)) for f in formulas.values()]
        missing |= any(map(math.isnan, found))
        table.add_row(_mbps(wanted), console.number(r * 1e3), *map(_one_in, found))
    console.show(table)
    if missing:
        console.note("A dash: not even without loss; the receiver's window is in the way.")


@model.command()
@_quantity("size", "size")
@_quantity("rtt", "time")
@_quantity("loss", "probability", default=("0",), help=f"{_MORE} Default 0.")
@click.option("--initial-window", type=Whole(1, 10_000), default=10, show_default=True, help="Segments.")
@_connection
def latency(
    size: tuple[float, ...], rtt: tuple[float, ...], loss: tuple[float, ...], initial_window: int, mss: float,
    rto: float, ack_every: int, window: float | None,
) -> None:  # fmt: skip
    """How long a transfer takes on an idle path: handshake and data (Cardwell, Savage, Anderson, INFOCOM 2000)."""
    from cclab import console, formulas

    if (worst := max(loss)) >= 0.5:
        said = f"{worst} is not below 50%: the mean handshake is infinite there"
        raise click.BadParameter(said, param_hint="--loss")
    table = console.table("Latency, s", "|Size|bytes", "|RTT|ms", "|Loss|%", "|Handshake", "|Data", "|Together")
    most = _segments(window, mss)
    for bytes_, r, p in itertools.product(size, rtt, loss):
        data = formulas.latency_s(math.ceil(bytes_ / mss), p, r, rto, ack_every, min(initial_window, most), most)
        opening = formulas.handshake_s(p, r, rto)
        figures = (bytes_, r * 1e3, p * 100, opening, data, opening + data)
        table.add_row(*map(console.number, figures))
    console.show(table)


@model.command()
@click.option("--km", type=Whole(1, 1_000_000), required=True, multiple=True, help=f"E.g. 5000. {_MORE}")
def distance(km: tuple[int, ...]) -> None:
    """The smallest RTT over a distance in fibre, as PingER takes it: 2.5 ms for each 100 km."""
    from cclab import console, formulas

    table = console.table("Smallest RTT over a distance", "|Distance|km", "|RTT|ms")
    for length in km:
        table.add_row(console.number(length), console.number(1e3 * float(formulas.rtt_of_distance_s(length))))
    console.show(table)


@model.command()
@_quantity("loss", "probability")
@_quantity("monthly", "probability", more=False, required=True, help="What goes of it each month, e.g. 10%.")
@click.option("--months", type=Whole(0, 1200), required=True, multiple=True, help=f"After so many, e.g. 36. {_MORE}")
@_quantity("rtt", "time")
@_quantity("mss", "size", more=False, default="1460 B", show_default=True, help="Payload of a segment.")
def projection(
    loss: tuple[float, ...], monthly: float, months: tuple[int, ...], rtt: tuple[float, ...], mss: float
) -> None:
    """Loss that falls by the same share each month, and what PingER's throughput is then."""
    from cclab import console, formulas

    table = console.table("Projection", "|Loss|%", "|Months", "|Loss then|%", "|RTT|ms", "|PingER|Mbit/s")
    for p, n, r in itertools.product(loss, months, rtt):
        then = float(formulas.improved(p, monthly, n))
        rate = _mbps(float(formulas.pinger_bps(then, r, mss)))
        table.add_row(*map(console.number, (p * 100, n, then * 100, r * 1e3)), rate)
    console.show(table)


@model.command()
@_quantity("rate", "rate", help=f"Derived throughput, e.g. {_EXAMPLES['rate']}. {_MORE}", required=True)
@_quantity("rtt", "time", more=False, required=True, help="The smallest RTT of the path.")
@_quantity("reference", "time", more=False, required=True, help="The smallest RTT of the path it is compared with.")
def normalised(rate: tuple[float, ...], rtt: float, reference: float) -> None:
    """PingER's throughput with distance taken out: times the smallest RTT over that of a reference."""
    from cclab import console, formulas

    table = console.table("Normalised throughput", "|Rate|Mbit/s", "|RTT|ms", "|Reference|ms", "|Normalised|Mbit/s")
    for bps in rate:
        found = float(formulas.normalised_bps(bps, rtt, reference))
        table.add_row(*map(console.number, (bps / 1e6, rtt * 1e3, reference * 1e3, found / 1e6)))
    console.show(table)


def _formulas(
    mss: float, rto: float, ack_every: int, window: float | None, cottrell: bool = False
) -> dict[str, Callable[..., Any]]:
    """By the heading of their column: bit/s of p and RTT."""
    import numpy as np

    from cclab import formulas as f

    most = _segments(window, mss)

    def limited(segments_per_s: Any, rtt: float) -> Any:
        return f.to_bps(np.minimum(segments_per_s, most / rtt), mss)

    def quietly(formula: Callable[..., Any]) -> Callable[..., Any]:
        return np.errstate(divide="ignore")(formula)  # without loss there is no limit

    return {
        "Mathis": quietly(lambda p, rtt: limited(f.mathis(p, rtt, math.sqrt(3 / (2 * ack_every))), rtt)),
        "Padhye": lambda p, rtt: f.to_bps(f.pftk(p, rtt, rto, ack_every, most, cottrell=cottrell), mss),
        "TFRC": quietly(lambda p, rtt: limited(f.tfrc(p, rtt, ack_every), rtt)),
        "PingER": lambda p, rtt: f.pinger_bps(p, rtt, mss),
    }


def _segments(window: float | None, mss: float) -> float:
    """The receiver's window, in segments: at least one."""
    return math.inf if window is None else max(window / mss, 1.0)


def _mbps(rate: float) -> str:
    from cclab import console

    return "no limit" if math.isinf(rate) else console.number(rate / 1e6)


def _one_in(p: float) -> str:
    from cclab import console

    return console.number(math.nan if math.isnan(p) else float(round(1 / p, 1 if p > 0.01 else 0)))
