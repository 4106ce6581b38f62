"""Thirty mistakes in a scenario: what is written, and what the message must name (the field, and what helps)."""

GOOD = """
name = "good"
duration = "2 s"
seed = 1

[network]
topology = "dumbbell"
rate = "10 Mbit/s"
rtt = "40 ms"
queue = { discipline = "droptail", limit = "1 BDP" }

[[flows]]
cc = "reno"
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


# name of the mistake -> (text, what the message must contain)
BAD: dict[str, tuple[str, list[str]]] = {
    "not TOML": ("name = [unclosed", ["line 1"]),
    "not TOML, a key twice": (GOOD + '\ncc = "reno"\n', ["line 15", "duplicate"]),
    "empty": ("", ["duration", "network", "flows"]),
    "no duration": (changed('duration = "2 s"', ""), ["duration: missing"]),
    "no unit": (changed('"2 s"', '"2"'), ["duration", '"2"', "s"]),
    "a bare number": (changed('"2 s"', "2"), ["duration", "2"]),
    "a wrong unit": (changed('"10 Mbit/s"', '"10 Mbps/h"'), ["network.rate", "10 Mbps/h", "Mbit/s"]),
    "a time for a rate": (changed('"10 Mbit/s"', '"10 ms"'), ["network.rate", "10 ms"]),
    "a negative duration": (changed('"2 s"', '"-2 s"'), ["duration", "-2 s"]),
    "no duration at all": (changed('"2 s"', '"0 s"'), ["duration", "0 s"]),
    "a duration for ever": (changed('"2 s"', '"1e40 s"'), ["duration", "1e40 s"]),
    "not a number": (changed('"2 s"', '"nan s"'), ["duration", "nan s"]),
    "warm-up beyond the end": (changed("seed = 1", 'warmup = "3 s"'), ["warmup", "3 s"]),
    "a seed with a fraction": (changed("seed = 1", "seed = 1.5"), ["seed", "1.5"]),
    "a negative seed": (changed("seed = 1", "seed = -1"), ["seed", "-1"]),
    "an unknown key": (changed("seed = 1", "sede = 1"), ["sede", 'did you mean "seed"']),
    "an unknown key of the network": (changed("rtt =", "rrt ="), ["network.rrt", 'did you mean "rtt"']),
    "an unknown topology": (changed('"dumbbell"', '"dumbell"'), ["network.topology", 'did you mean "dumbbell"']),
    "an unknown queue": (changed('"droptail"', '"droptial"'), ["network.queue.discipline", "droptail"]),
    "a queue of no size": (changed('"1 BDP"', '"0 BDP"'), ["network.queue.limit", "0 BDP"]),
    "a limit without unit": (changed('"1 BDP"', "17"), ["network.queue.limit", "17"]),
    "a rate of zero": (changed('"10 Mbit/s"', '"0 Mbit/s"'), ["network.rate", "0 Mbit/s"]),
    "a probability above one": (changed("queue =", 'loss = { data = "120%" }\nqueue ='), ["network.loss.data", "120%"]),
    "an unknown kind of loss": (changed("queue =", 'loss = { dta = "1%" }\nqueue ='), ["network.loss.dta", "data"]),
    "no flows": (changed('[[flows]]\ncc = "reno"', ""), ["flows"]),
    "flows that are no list": (changed("[[flows]]", "[flows]"), ["flows", "write [[flows]]"]),
    "an unknown algorithm": (changed('"reno"', '"renoo"'), ["flows[0].cc", "renoo", 'did you mean "reno"']),
    "an algorithm that is a number": (changed('"reno"', "7"), ["flows[0].cc", "7"]),
    "an unknown parameter": (changed('"reno"', '{ name = "cubic", betta = 0.5 }'), ["flows[0].cc.betta", "beta"]),
    "a parameter out of bounds": (changed('"reno"', '{ name = "cubic", beta = 2 }'), ["flows[0].cc.beta", "2", "0.95"]),
    "a flow that starts too late": (GOOD + 'start = "3 s"\n', ["flows[0].start", "3 s"]),
    "no copies of a flow": (GOOD + "count = 0\n", ["flows[0].count", "0"]),
    "an rtt of a flow in bits": (GOOD + 'rtt = "4 bit"\n', ["flows[0].rtt", "4 bit"]),
    "an unknown option of a flow": (GOOD + "pacingg = true\n", ["flows[0].pacingg", 'did you mean "pacing"']),
    "an mss that is no packet": (GOOD + "mss = 3\n", ["flows[0].mss", "3"]),
    "an unknown profile": (GOOD + 'profile = "windows"\n', ["flows[0].profile", "windows", "linux"]),
    "samples of nonsense": (GOOD + '[record]\nsamples = "often"\n', ["record.samples", "often"]),
    "a date": (changed("seed = 1", "seed = 2026-01-01"), ["seed"]),
}
