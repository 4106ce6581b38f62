"""Is it worth adding the cellular path? A figure that decides: python examples/second-path.py [FIGURE.svg [SEEDS]]

A phone downloads over Wi-Fi whose rate is varied and which loses one packet in 500; beside it there is a cellular
network of 8 Mbit/s and 70 ms with a deep buffer. What does a connection over both get, over what Wi-Fi alone gets?
"""

import sys

import cclab
from cclab import stats
from cclab.analysis.plots import Chart, look, styled

WIFI_MBPS = (1, 2, 4, 8, 16, 32, 64)
CELLULAR = {"rate": "8 Mbit/s", "delay": "30 ms", "queue": {"limit": "500 ms"}}
WAYS = {
    "both, min-rtt": {"scheduler": "min-rtt"},
    "both, blest": {"scheduler": "blest"},
    "both, redundant": {"scheduler": "redundant"},
    "both, min-rtt, 128 kB of buffer": {"scheduler": "min-rtt", "receive_buffer": "128 kB"},
}


def download(wifi_mbps, way, size):
    """A scenario: over Wi-Fi alone, or over both as `way` says; of `size`, or of half a minute."""
    wifi = {"rate": f"{wifi_mbps} Mbit/s", "delay": "5 ms", "queue": {"limit": "100 ms"}, "loss": {"data": 0.002}}
    links = [
        {"from": "server", "to": place, "rate": "1 Gbit/s", "delay": "5 ms"}
        for place in ("access-point", "base-station")
    ]
    links += [{"from": "access-point", "to": "phone", **wifi}, {"from": "base-station", "to": "phone", **CELLULAR}]
    flow = {"cc": "cubic", "receive_buffer": "4 MB", "start_jitter": "100 ms", **(way or {})}
    if way is None:
        flow["route"] = ["server", "access-point", "phone"]
        flow |= {"from": "server", "to": "phone"}
    else:
        flow["paths"] = [["server", place, "phone"] for place in ("access-point", "base-station")]
    if size is not None:
        flow["size"] = size
    return cclab.Scenario(
        duration="30 s" if size is None else "60 s",
        warmup="5 s" if size is None else "0 s",
        network=cclab.Network("custom", nodes=["server", "access-point", "base-station", "phone"], links=links),
        flows=[flow],
        record={"samples": "off"},
    )


def worth(wifi_mbps, way, size, seeds):
    """How much better both are than Wi-Fi alone, seed by seed: goodput over goodput, or time over time."""
    ratios = []
    for seed in range(1, seeds + 1):
        both = download(wifi_mbps, way, size).run(seed=seed).sessions.row(0, named=True)
        alone = download(wifi_mbps, None, size).run(seed=seed).flows.row(0, named=True)
        ratios.append(both["goodput_bps"] / alone["goodput_bps"] if size is None else alone["fct_s"] / both["fct_s"])
    return stats.mean(ratios)


def figure(seeds=5):
    """The figure, and its numbers as lines of a table."""
    lines = []
    with styled():
        chart = Chart(7.4, 3.8)
        panels = chart.subplots(1, 2, sharey=True)
        for axes, size, title in zip(panels, (None, "1 MB"), ("half a minute of download", "1 MB"), strict=True):
            for index, (name, way) in enumerate(WAYS.items()):
                found = [worth(rate, way, size, seeds) for rate in WIFI_MBPS]
                values = [f.value for f in found]
                half = [0.0 if f.n == 1 else f.half_width for f in found]
                axes.errorbar(
                    WIFI_MBPS, values, half, marker="osD^"[index], markersize=4, capsize=2, label=name, **look(index)
                )
                lines.append(f"| {title} | {name} | " + " | ".join(f"{v:.2f}" for v in values) + " |")
            (line,) = axes.plot([1, 64], [1, 1], color="#666666", linewidth=0.8, linestyle=(0, (4, 2)))
            chart.name("Wi-Fi alone", line)
            axes.set(xscale="log", yscale="log", xlabel="Rate of the Wi-Fi (Mbit/s)", title=title)
            axes.set_xticks(WIFI_MBPS, [str(rate) for rate in WIFI_MBPS])
            axes.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
        panels[0].set_ylabel("Both over Wi-Fi alone")
        chart.legend_below(dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True)))
    return chart, lines


if __name__ == "__main__":
    where, seeds = (sys.argv[1:] + ["second-path.svg", "5"][len(sys.argv) - 1 :])[:2]
    if not seeds.isdecimal() or int(seeds) < 1:
        sys.exit(f"SEEDS: {seeds} is not a whole number from 1 on")
    chart, lines = figure(int(seeds))
    chart.save(where)
    print("| | | " + " | ".join(f"{rate} Mbit/s" for rate in WIFI_MBPS) + " |")
    print("|" + "---|" * (len(WIFI_MBPS) + 2))
    print("\n".join(lines))
    print(f"{where}: the figure", file=sys.stderr)
