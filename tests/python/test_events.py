"""What a law is told: one list for Rust, for Python, for stubs and for the page."""

import ast
import inspect
from pathlib import Path

import pytest

import cclab
from cclab import _core, algorithms
from cclab.laws import events
from test_laws import PyReno

ROOT = Path(__file__).parents[2]
EVENTS = {event["name"]: event for event in events.events()["events"]}
HEADERS = [
    {"kind": "accecn", "e0b": 1, "ceb": 5, "e1b": 1},
    {"kind": "anti-ecn", "room": True},
    {"kind": "drai", "level": 4, "levels": 5},
    {"kind": "quick-start", "rate": 7, "ttl": 1, "nonce": 1234},
    {"kind": "xcp", "cwnd": 20_000, "rtt_us": 80_000, "delta": -1.5},
]


def test_the_page_is_what_is_listed(cli):
    page = ROOT / "docs" / "reference" / "events.md"
    assert page.read_text(encoding="utf-8") == events.markdown(), "run: make docs"
    assert cli("list", "events", "--markdown")[1] == events.markdown()
    shown = cli("list", "events")[1]
    assert all(field["name"] in shown for event in EVENTS.values() for field in event["fields"])


def test_stubs_and_objects_are_what_is_listed():
    stubs = {
        node.name: {f.target.id: ast.unparse(f.annotation) for f in node.body if isinstance(f, ast.AnnAssign)}
        for node in ast.parse((ROOT / "python" / "cclab" / "_core.pyi").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    assert len(EVENTS) == 9
    for name, event in EVENTS.items():
        fields = {field["name"]: field["type"] for field in [*event["fields"], *event["derived"]]}
        assert stubs[name] == fields
        shown = {n: a.__doc__ for n, a in inspect.getmembers(getattr(_core, name), inspect.isdatadescriptor)}
        shown = {n: doc for n, doc in shown.items() if not n.startswith("_")}
        assert shown == {field["name"]: field["doc"] for field in [*event["fields"], *event["derived"]]}


def test_every_hook_is_there_for_both():
    for hook in events.hooks():
        assert callable(getattr(_core.Law, hook))
        assert callable(getattr(algorithms.Step, hook))
    assert {h for h in dir(algorithms.Step) if h.startswith("on_")} == set(events.hooks())


SAMPLES = {"int": 3, "float": 0.25, "bool": True, "int | None": 4, "float | None": 4.0}
WORDS = {"phase": "loss", "signal": "ecn"}


@pytest.mark.parametrize("name", EVENTS)
def test_what_is_given_by_hand_arrives(name):
    """Every field of every event, from a keyword to what a law in Python reads."""
    event, seen = EVENTS[name], {}
    given = {f["name"]: WORDS.get(f["name"], SAMPLES.get(f["type"], HEADERS[-1])) for f in event["fields"]}

    class Ear(cclab.CongestionControl):
        name = f"ear-{event['hook'].replace('_', '-')}"

        def on_ack(self, ack):
            pass

        def on_congestion(self, event):
            pass

    def hook(self, told):
        seen.update({name: getattr(told, name) for name in given})

    setattr(Ear, event["hook"], hook)
    cclab.register(Ear)
    getattr(algorithms.step(Ear.name), event["hook"])(**given)
    assert seen == given


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header["kind"])
def test_headers_go_there_and_back(header):
    told = []

    @cclab.register
    class Echo(cclab.CongestionControl):
        """Asks for what it was told."""

        name = "echo"

        def on_ack(self, ack):
            told.append(ack.feedback)
            self.request = ack.feedback

        def on_congestion(self, event):
            pass

    law = algorithms.step("echo")
    assert law.request is None
    law.on_ack(feedback=header)
    assert told == [header]
    assert law.request == header
    law.on_ack()
    assert law.request is None
    with pytest.raises(cclab.UnknownNameError, match=r"feedback: .*accecn, anti-ecn, drai, quick-start, xcp"):
        law.on_ack(feedback={**header, "kind": "mpls"})
    with pytest.raises(TypeError, match=r'feedback: .*needs "'):
        law.on_ack(feedback={"kind": header["kind"]})
    with pytest.raises(TypeError, match=r'feedback: .*has no field "more"'):
        law.on_ack(feedback={**header, "more": 1})
    with pytest.raises(TypeError, match="feedback: "):
        law.on_ack(feedback=3)


def test_what_built_in_laws_ask_for():
    assert algorithms.step("anti-ecn").request == {"kind": "anti-ecn", "room": True}
    assert algorithms.step("xcp").request["kind"] == "xcp"
    assert algorithms.step("reno").request is None
    assert [algorithms.step(name).ecn for name in ("reno", "dctcp", "prague")] == ["classic", "dctcp", "l4s"]


@cclab.register
class PyAntiEcn(PyReno):
    """Kunniyur, ICC 2003: Reno, and one segment more for each ACK whose bit says that there is room."""

    name = "py-anti-ecn"

    def start(self):
        super().start()
        self.request = {"kind": "anti-ecn", "room": True}

    def on_ack(self, ack):
        avoids = not self.in_slow_start
        super().on_ack(ack)
        if avoids and ack.may_grow and ack.feedback == {"kind": "anti-ecn", "room": True}:
            self.cwnd_segments += 1


def one(cc, queue, **fields):
    network = cclab.Dumbbell(rate="10 Mbit/s", rtt="40 ms", queue=queue)
    return cclab.Scenario(duration="20 s", network=network, flows=[cclab.Flow(cc=cc, **fields)])


def test_a_law_of_router_feedback_is_its_twin_in_rust():
    queue = {"discipline": "anti-ecn", "limit": "1 BDP"}
    fields = {"flavour": "paper", "initial_ssthresh": "4 packets"}  # so that there is room to grow into
    ours, theirs, plain = (one(cc, queue, **fields).run(seed=3) for cc in ("py-anti-ecn", "anti-ecn", "py-reno"))
    columns = [c for c in theirs.flows.columns if c not in ("label", "cc")]
    assert ours.flows.select(columns).equals(theirs.flows.select(columns), null_equal=True)
    assert not plain.flows.select(columns).equals(theirs.flows.select(columns), null_equal=True)


def test_news_of_each_packet_lost():
    heard = []

    @cclab.register
    class Mourner(PyReno):
        """Writes down what was lost."""

        def on_lost(self, event):
            heard.append((event.now_s, event.bytes, event.sent_s, event.lost, event.prior_lost, event.tx_in_flight))

        def on_ack(self, ack):
            assert ack.tx_in_flight > 0
            super().on_ack(ack)

    row = one("mourner", {"limit": "0.5 BDP"}).run(seed=2).flows.row(0, named=True)
    assert len(heard) >= 10
    total = 0
    for now, lost_bytes, sent, lost, prior, in_flight in heard:
        total += lost_bytes
        assert lost == total
        assert prior <= lost
        assert sent < now
        assert in_flight > 0
    assert len(heard) >= row["segments_retransmitted"] > 0


@pytest.mark.parametrize("ecn", ["classic", "dctcp", "l4s"])
def test_what_a_law_makes_of_ecn(ecn):
    told, marked = [], []

    class Marked(PyReno):
        """Halves on an echo; where it counts marks, on them."""

        def start(self):
            super().start()
            self.until = 0

        def on_ack(self, ack):
            marked.append(ack.ce_bytes)
            super().on_ack(ack)
            if ack.ce_bytes and ack.snd_una > self.until:
                self.until = ack.snd_nxt
                self.cwnd_segments = self.ssthresh_segments = max(self.cwnd_segments / 2, 2)

        def on_congestion(self, event):
            told.append(event.signal)
            super().on_congestion(event)

    Marked.ecn, Marked.name = ecn, f"marked-{ecn}"
    cclab.register(Marked)
    asked = {"ecn": True} if ecn == "classic" else {}  # who counts marks has ECN unasked
    result = one(Marked.name, {"discipline": "step", "threshold": "10 packets", "limit": "200 packets"}, **asked).run()
    assert result.links.filter(result.links["name"] == "bottleneck")["marks"][0] > 10
    if ecn == "classic":
        assert "ecn" in told
        assert sum(marked) == 0
    else:
        assert "ecn" not in told
        assert sum(marked) > 0


def test_an_unknown_use_of_ecn_is_refused():
    with pytest.raises(cclab.AlgorithmError, match="ecn 'abe' is not one of classic, dctcp, l4s"):

        @cclab.register
        class Odd(PyReno):
            ecn = "abe"
