"""How long a transfer stands still where most ACKs are lost: python examples/lost-acks.py [live]

25 MB, or what of it arrives in 25 s, at 10 Mbit/s, over a path back that loses 60 to 80 % of the ACKs. With `live` this
machine's kernel loses the same packets, seed by seed: on Linux as root, after `make bpf`, half a minute for 16 runs.
"""

import sys

import polars as pl

import cclab
from cclab import stats
from cclab.sweep import Study

PER_ACK = {"name": "reno", "ack_counting": True}
# What the table calls it; law here, law in the kernel, RTT, share of ACKs lost, seeds.
CASES = {
    "Reno, 1 ms, 80 %": ("reno", "reno", "1 ms", 0.8, 48),
    "Reno, growth per ACK, 20 ms, 80 %": (PER_ACK, "bpf:target/bpf/reno-per-ack.bpf.o", "20 ms", 0.8, 48),
    "BBR, 1 ms, 60 %": ("bbr", "bbr", "1 ms", 0.6, 64),
    "BBR, 1 ms, 70 %": ("bbr", "bbr", "1 ms", 0.7, 64),
    "BBR, 20 ms, 70 %": ("bbr", "bbr", "20 ms", 0.7, 48),
}
# As tcp_rmem and the offload of a Linux host have it; the kernel has its own.
OF_HOSTS = {"initial_receive_buffer": "131072 B", "tso": 2}


def transfer(law, rtt, lost, **more):
    """A scenario."""
    return cclab.Scenario(
        name="lost ACKs",
        duration="25 s",
        network=cclab.Dumbbell(
            rate="10 Mbit/s", rtt=rtt, queue={"limit": "100 packets"}, reverse={"loss": {"ack": lost}}
        ),
        flows=[cclab.Flow(cc=law, size="25 MB", packet_size="1400 B", **more)],
        record={"samples": "off"},
    )


def delivered(scenario, seeds, backend="sim", workers=None):
    """Megabytes of each seed."""
    study = Study(scenario, backend=backend).replicate(seeds)
    for _ in range(6 if backend == "live" else 1):  # a machine that was busy
        study = study.run(workers=workers, retry_failed=True)
    flows = study.table("flows").sort("seed")
    return dict(flows.select("seed", pl.col("delivered_bytes") / 1e6).iter_rows())


def line(name, live, seeds=None):
    """A row of the table."""
    here, there, rtt, lost, n = CASES[name]
    n = seeds or n
    ours = delivered(transfer(here, rtt, lost, **OF_HOSTS), n)
    told = f"| {name} | {n} | {stats.mean(list(ours.values())).value:.1f} |"
    if not live:
        return told
    theirs = delivered(transfer(there, rtt, lost), n, "live", 16)
    pairs = stats.paired([ours[seed] for seed in theirs], list(theirs.values()))
    return f"{told} {pairs.b.value:.1f} | {pairs.difference.brief()} |"


if __name__ == "__main__":
    for name in CASES:
        print(line(name, "live" in sys.argv), flush=True)
