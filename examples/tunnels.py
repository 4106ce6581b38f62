"""When does TCP over TCP melt down, and when does it help? python examples/tunnels.py [FOLDER [SEEDS]]

A download over a link of 10 Mbit/s that loses data packets: in a tunnel over TCP, over UDP, without one. Prints
tables of goodput and timeouts, and writes two figures: tunnels.svg, and tunnels-outage.svg, where the link is away for
three seconds and the timers of both layers can be seen.
"""

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

import cclab
from cclab import stats
from cclab.analysis.plots import Chart, look, styled

LOSSES = (0, 0.001, 0.005, 0.01, 0.02, 0.05)
# delay of the link with the losses and the tunnel, and of the path before it, one way in ms
PLACES = {"10 ms": (5, 0), "50 ms": (25, 0), "200 ms": (100, 0), "200 ms, tunnel over the last 10": (5, 95)}
WAYS = {
    "no tunnel": "none",
    "over UDP": "udp",
    "over TCP": {"over": "tcp", "buffer": "500 packets"},
    "over TCP, 20 packets at the mouth": {"over": "tcp", "buffer": "20 packets"},
}
ENDS = {"cubic, Linux": {"cc": "cubic"}, "reno, classic": {"cc": "reno", "profile": "classic"}}


def scenario(place, way, loss, ends="cubic, Linux", **more):
    """A download; both the flow and the tunnel are TCPs of these ends."""
    own, before = PLACES[place]
    tunnel = {**WAYS[way], **ENDS[ends]} if isinstance(WAYS[way], dict) else WAYS[way]
    lossy = {"rate": "10 Mbit/s", "delay": f"{own} ms", "queue": {"limit": "100 packets"}, "tunnel": tunnel}
    lossy |= {"loss": {"data": loss}, "reverse": {"loss": {"data": 0}}, **more}
    links = [
        {"from": "server", "to": "entry", "rate": "1 Gbit/s", "delay": f"{before} ms"},
        {"from": "entry", "to": "exit", **lossy},
    ]
    return cclab.Scenario(
        duration="60 s",
        warmup="10 s",
        network={"topology": "custom", "nodes": ["server", "entry", "exit"], "links": links},
        flows=[{"label": "download", "from": "server", "to": "exit", "start_jitter": "100 ms", **ENDS[ends]}],
        record={"samples": "off"},
    )


def outcome(scenario, seed):
    """Of the download goodput in Mbit/s, timeouts and mean RTT in ms; timeouts of the tunnel."""
    flows = scenario.run(seed=seed).flows
    inner, outer = flows.row(0, named=True), flows.row(flows.height - 1, named=True)
    return {
        "goodput": inner["goodput_bps"] / 1e6,
        "inside": inner["timeouts"],
        "outside": outer["timeouts"] if flows.height > 1 else None,
        "rtt": inner["rtt_mean_s"] * 1e3,
    }


def measure(places, losses, ends, seeds):
    """Every outcome by place, way and loss, one for each seed."""
    cells = list(itertools.product(places, WAYS, losses))
    with ThreadPoolExecutor() as pool:
        jobs = [[pool.submit(outcome, scenario(*cell, ends), seed) for seed in range(1, seeds + 1)] for cell in cells]
        return {cell: [job.result() for job in row] for cell, row in zip(cells, jobs, strict=True)}


def average(runs, what):
    """The mean over seeds."""
    return stats.mean([run[what] for run in runs])


def table(found, places, losses, cell):
    """A row for each way, a column for each loss."""
    yield "| round trip | tunnel | " + " | ".join(f"{100 * loss:g} %" for loss in losses) + " |"
    yield "|" + "---|" * (len(losses) + 2)
    for place, way in itertools.product(places, WAYS):
        yield f"| {place} | {way} | " + " | ".join(cell(found[place, way, loss]) for loss in losses) + " |"


def goodput(runs):
    """Goodput with its 95 % interval."""
    mean = average(runs, "goodput")
    return f"{mean.value:.2f}" if mean.n == 1 else f"{mean.value:.2f} ± {mean.half_width:.2f}"


def trouble(runs):
    """Timeouts inside and outside, mean RTT."""
    outside = "" if runs[0]["outside"] is None else f" / {average(runs, 'outside').value:.1f}"
    return f"{average(runs, 'inside').value:.1f}{outside}; {average(runs, 'rtt').value:.0f} ms"


def figure(found):
    """Goodput against loss, a panel for each place."""
    with styled():
        chart = Chart(8.4, 5.6)
        panels = chart.subplots(2, 2, sharex=True, sharey=True).flat
        for axes, place in zip(panels, PLACES, strict=True):
            for index, way in enumerate(WAYS):
                means = [average(found[place, way, loss], "goodput") for loss in LOSSES]
                half = [0.0 if mean.n == 1 else mean.half_width for mean in means]
                values = [mean.value for mean in means]
                x = [100 * loss for loss in LOSSES]
                axes.errorbar(x, values, half, marker="osD^"[index], markersize=4, capsize=2, label=way, **look(index))
            axes.set(title=f"Round trip {place}", ylim=(0, 10))
            axes.set_xscale("symlog", linthresh=0.1)
            axes.set_xticks([100 * loss for loss in LOSSES], [f"{100 * loss:g}" for loss in LOSSES])
        for axes in chart.axes[2:]:
            axes.set_xlabel("Data packets lost (%)")
        for axes in chart.axes[::2]:
            axes.set_ylabel("Goodput (Mbit/s)")
        chart.legend_below(dict(zip(*reversed(chart.axes[0].get_legend_handles_labels()), strict=True)))
    return chart


def ten_minutes(place, loss, seeds):
    """Goodput in a run of a minute, and in one of ten of which two are left out, by way."""
    for way in WAYS:
        minute = scenario(place, way, loss)
        runs = (minute, minute.replace({"duration": "600 s", "warmup": "120 s"}))
        cells = (goodput([outcome(run, seed) for seed in range(1, seeds + 1)]) for run in runs)
        yield f"| {way} | " + " | ".join(cells) + " |"


OUTAGE = (12.0, 15.0)


def through_an_outage(way, ends, seed=1):
    """The data packets of a run whose link is away for three seconds."""
    schedule = [{"at": f"{at} s", "up": up} for at, up in zip(OUTAGE, (False, True), strict=True)]
    run = scenario("50 ms", way, 0, ends, schedule=schedule)
    run = run.replace({"duration": "24 s", "warmup": "0 s", "record.packets": "table"})
    return run.run(seed=seed).packets.filter(pl.col("payload_bytes") > 0)


def resent(packets, flow):
    """When a source sent data again."""
    return packets.filter(pl.col("flow") == flow, pl.col("event") == "sent", pl.col("retransmission"))["time_s"]


def delivered(packets):
    """When data of the download came for the first time, and how many megabytes had then."""
    came = packets.filter(pl.col("flow") == "download", pl.col("event") == "received")
    first = came.unique("seq", keep="first", maintain_order=True)
    return first["time_s"], first["payload_bytes"].cum_sum() / 1e6, came.height - first.height


def outage():
    """What is sent again, and what arrives, around an outage; and the same in words."""
    lines = []
    with styled():
        chart = Chart(8.4, 5.6)
        panels = chart.subplots(2, 2, sharex=True, sharey=True)
        for axes, (ends, way) in zip(panels.flat, itertools.product(ENDS, ("over UDP", "over TCP")), strict=True):
            packets = through_an_outage(way, ends)
            time, megabytes, twice = delivered(packets)
            axes.plot(time.gather_every(20), megabytes.gather_every(20), label="delivered", **look(0))
            axes.axvspan(*OUTAGE, color="#dddddd", linewidth=0)
            own, outer = resent(packets, "download"), resent(packets, "tunnel-1")
            axes.plot(own, [3] * len(own), "|", markersize=9, label="sent again by the download", color="#c2410c")
            axes.plot(outer, [6] * len(outer), "|", markersize=9, label="sent again by the tunnel", color="#15803d")
            axes.set(title=f"{way}; {ends}", xlim=(11, 23), ylim=(0, None))
            back = time.filter(time >= OUTAGE[1]).min()
            after = packets.filter(pl.col("time_s") > OUTAGE[0])
            lines.append(
                f"| {ends} | {way} | {back - OUTAGE[1]:.2f} s | {len(resent(after, 'download'))}"
                f" | {len(resent(after, 'tunnel-1'))} | {twice} | {megabytes[-1]:.1f} MB |"
            )
        for axes in panels[1]:
            axes.set_xlabel("Time (s)")
        for axes in panels[:, 0]:
            axes.set_ylabel("Delivered (MB)")
        chart.legend_below(dict(zip(*reversed(panels[0, 1].get_legend_handles_labels()), strict=True)))
    return chart, lines


if __name__ == "__main__":
    folder, seeds = (sys.argv[1:] + [".", "5"][len(sys.argv) - 1 :])[:2]
    if not seeds.isdecimal() or int(seeds) < 1:
        sys.exit(f"SEEDS: {seeds} is not a whole number from 1 on")
    found = measure(PLACES, LOSSES, "cubic, Linux", int(seeds))
    figure(found).save(Path(folder) / "tunnels.svg")
    print("Goodput, Mbit/s; both TCPs CUBIC as in Linux\n")
    print("\n".join(table(found, PLACES, LOSSES, goodput)))
    print("\nTimeouts in 50 s inside / outside; mean RTT of the download\n")
    print("\n".join(table(found, PLACES, LOSSES, trouble)))
    print("\n200 ms and 2 % of loss, CUBIC: goodput in a minute and in ten, Mbit/s\n")
    print("| tunnel | a minute | ten minutes |\n|---|---|---|")
    print("\n".join(ten_minutes("200 ms", 0.02, int(seeds))))
    old = measure(PLACES, LOSSES, "reno, classic", int(seeds))
    print("\nGoodput, Mbit/s; both TCPs of 2001: Reno without SACK, timeouts of a second at least\n")
    print("\n".join(table(old, PLACES, LOSSES, goodput)))
    print("\nTimeouts in 50 s inside / outside; mean RTT of the download\n")
    print("\n".join(table(old, PLACES, LOSSES, trouble)))
    chart, lines = outage()
    chart.save(Path(folder) / "tunnels-outage.svg")
    print("\nAn outage of three seconds\n")
    print("| both TCPs | tunnel | data again after | sent again inside | outside | came twice | in 24 s |")
    print("|" + "---|" * 7)
    print("\n".join(lines))
    print(f"{folder}: tunnels.svg, tunnels-outage.svg", file=sys.stderr)
