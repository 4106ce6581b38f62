"""Running: the GIL is free, threads change nothing, mistakes of ours become exceptions."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

import cclab
from cclab import Scenario, _core


def test_same_seed_same_digest_at_one_and_at_two_threads(small):
    seeds = [1, 2, 3, 4, 1, 2]
    alone = [small.run(seed=seed).digest for seed in seeds]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda seed: small.run(seed=seed).digest, seeds))
    assert alone == together
    assert alone[0] == alone[4]


def test_the_size_of_a_slice_changes_nothing(small):
    digests = set()
    for events in (1 << 30, 1000, 17):
        simulation = _core.Simulation(json.dumps(small.to_dict()), 7)
        while simulation.advance(events) < 1.0:
            pass
        digests.add(simulation.finish()["digest"])
    assert len(digests) == 1


def test_another_seed_gives_another_run(small):
    jittered = small.replace({"flows.*.start": "0 s", "flows.*.start_jitter": "100 ms"})
    assert jittered.run(seed=1).digest != jittered.run(seed=2).digest


@pytest.mark.real_time
def test_the_gil_is_free_while_a_run_advances(small):
    long = small.replace(duration="60 s", record={"samples": "off"})
    simulation = _core.Simulation(json.dumps(long.to_dict()), 1)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    while simulation.advance(1 << 40) < 1.0:
        pass
    took = time.perf_counter() - begin
    stop.set()
    thread.join()
    during = [t for t in ticks if begin < t < begin + took]
    assert len(during) >= max(1, took / 0.05)  # held, there would be none


def test_progress_grows_to_one(small):
    seen = []
    small.run(progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_an_exception_in_progress_ends_the_run(small):
    def stop(_done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small.run(progress=stop)


def test_the_event_budget_is_an_error_that_says_so(small):
    with pytest.raises(cclab.RunError, match="budget of 1000 events"):
        small.replace(max_events=1000).run()


def test_a_finished_simulation_says_so(small):
    simulation = _core.Simulation(json.dumps(small.to_dict()), None)
    while simulation.advance(1 << 30) < 1.0:
        pass
    simulation.finish()
    with pytest.raises(cclab.RunError, match="finished"):
        simulation.advance(1)
    with pytest.raises(cclab.RunError, match="finished"):
        simulation.finish()


def test_a_panic_in_the_core_is_an_exception_that_asks_for_a_report():
    with pytest.raises(cclab.CclabError, match="bug in cclab, please report") as error:
        _core._panic("on purpose")
    assert "on purpose" in str(error.value)


def test_columns(result):
    assert result.flows["label"].to_list() == ["cubic-1", "cubic-2", "reno-1"]
    assert set(result.samples["flow"].unique()) == {"cubic-1", "cubic-2", "reno-1"}
    assert set(result.links["name"]) >= {"bottleneck", "bottleneck-reverse"}
    assert set(result.packets["event"].unique()) <= {"sent", "queued", "dropped", "lost", "forwarded", "received"}
    at_hosts = result.packets.filter(pl.col("event").is_in(["sent", "received"]))
    assert at_hosts["link"].null_count() == at_hosts.height
    for table in (result.flows, result.links, result.samples, result.link_samples, result.packets):
        units = [name for name in table.columns if name.rsplit("_", 1)[-1] in ("s", "bps", "bytes", "packets", "s2")]
        assert units
        assert table.height


def test_figures_agree_with_each_other(result):
    # goodput over the measured interval is the payload that the receiver's samples count
    for row in result.flows.to_dicts():
        assert 0 < row["goodput_bps"] <= row["throughput_bps"] < 10e6
    total = result.flows["throughput_bps"].sum()
    bottleneck = result.links.filter(pl.col("name") == "bottleneck").to_dicts()[0]
    assert bottleneck["queue_limit_packets"] == 20
    assert bottleneck["rate_bps"] == 10e6
    assert bottleneck["queue_max_packets"] <= 20
    # what arrives in the interval left the bottleneck in it, but for what was on the way at its ends
    assert total == pytest.approx(bottleneck["throughput_bps"], rel=0.05)


def test_tables_that_were_not_asked_for(small):
    bare = small.replace(record={"samples": "off"}).run()
    with pytest.raises(cclab.ResultError, match="packets"):
        _ = bare.packets
    assert bare.samples.height == 0
    with pytest.raises(cclab.ResultError, match="nothing was sampled"):
        bare.plot.cwnd()
    assert bare.plot.all() == {}


def test_goodput_fills_the_link():
    scenario = Scenario(
        duration="20 s",
        warmup="5 s",
        network=cclab.Dumbbell(rate="10 Mbit/s", rtt="40 ms", queue={"limit": "1 BDP"}),
        flows=[cclab.Flow(cc="cubic")],
    )
    # 1448 of 1500 bytes are payload; a CUBIC flow with one BDP of queue leaves next to nothing unused
    assert scenario.run().flows["goodput_bps"][0] == pytest.approx(10e6 * 1448 / 1500, rel=0.02)
