"""The compiled core: scenarios in as JSON, columns out as numpy arrays. Converts, decides nothing."""

from typing import Any

__version__: str

def check(scenario_json: str) -> str:
    """Check a scenario and return it normalised (every default filled in), as JSON.

    Raises:
        cclab.ScenarioError: every mistake found, one per line: field, value, what is allowed.
    """

def resolve(scenario_json: str, seed: int | None = None) -> str:
    """Check a scenario and return what it comes to, as JSON: the graph, every flow on its own, numbers in SI units.

    With a seed, stations stand and go as in a run with it.

    docs/reference/resolved.md has the fields.

    Raises:
        cclab.ScenarioError: as `check`.
    """

def interpreted(scenario_json: str) -> set[str]:
    """Names of the congestion controls in a scenario that are written in Python.

    Raises:
        cclab.ScenarioError: as `check`.
    """

def parse_toml(text: str) -> str:
    """The scenario in this TOML text as it was written, as JSON; not checked.

    Raises:
        cclab.ScenarioError: it is not TOML: line, column and why.
    """

def fields(scenario_json: str) -> str:
    """The fields that a scenario like this one may have, by path, with what each may be in JSON Schema; as JSON."""

def quantity(kind: str, text: str) -> float:
    """A `"time"`, `"rate"`, `"size"` or `"probability"` as scenarios have them, in s, bit/s, bytes or from 0 to 1.

    Raises:
        ValueError: what is wrong with it, and what is allowed.
    """

def trace(text: str) -> str:
    """What a link may follow, in its normal form: `gaps ...` between opportunities in ms, or a table of rate and delay.

    Args:
        text: The same, or a time in milliseconds on each line.

    Raises:
        cclab.ScenarioError: the line, what is there, what is allowed.
    """

def registry() -> str:
    """Everything registered, as JSON.

    ``{"algorithms": [{"name", "summary", "source", "params": [{"name", "kind", "min", "max", "choices",
    "default", "paper_default", "unit", "doc"}]}], "queues": [...], "topologies": [...]}``; queues and topologies
    have the same shape, so that `describe` shows all of them alike.
    """

def schema() -> str:
    """The tables that a result may have, as JSON.

    ``[{"name", "doc", "columns": [{"name", "kind", "unit", "doc"}]}]``
    """

def events() -> str:
    """Every event that a law is told, as JSON.

    ``{"events": [{"name", "hook", "doc", "fields": [{"name", "type", "doc"}], "derived": [...]}], "headers": [{"kind",
    "fields"}]}``.
    """

def example() -> str:
    """A commented example scenario, as TOML."""

class Emulate:
    """Programs with links between them; they end when this is deleted. On Linux only."""

    def __init__(self, scenario_json: str, seed: int, command: list[str], serve: str | None) -> None:
        """Make the hosts, start `serve` at the destination and, when it listens, `command` at the source.

        Raises:
            cclab.RunError: this process may not, or a program cannot be started.
        """
    def wait(self) -> tuple[int | None, tuple[float, list[int], list[float], list[int]]]:
        """Wait without the GIL until the command ends or the next sample is due; its exit status if it has ended.

        And since the start in s, to the server and to the client each: bytes that came through, one-way delays in s,
        packets that wait.
        """
    def tell(self, interrupt: bool) -> None:
        """Interrupt the command as Ctrl-C does, or ask it to end."""
    def finish(self) -> dict[str, Any]:
        """The result as that of a `Live`, and ``flaw``, what is wrong with its stamp if anything.

        Raises:
            cclab.RunError: a device failed, or it was stopped.
        """
    def stop(self) -> None:
        """End it now."""

class Live:
    """One live run in progress; it ends when this is deleted. On Linux only."""

    def __init__(self, scenario_json: str, seed: int) -> None:
        """Make its hosts and start it.

        Raises:
            cclab.RunError: this process may not, or the kernel refuses something.
        """
    def wait(self, seconds: float) -> float:
        """Wait without the GIL; the share of its time that is done, 1.0 when it can be finished."""
    def finish(self) -> dict[str, Any]:
        """The result, as that of a `Simulation`; and ``stamp``, how good the run was, as JSON.

        Raises:
            cclab.RunError: a connection failed, or the machine could not keep up.
        """
    def stop(self) -> None:
        """End it now."""

def live_check() -> str:
    """What this machine can do for live runs, as JSON. On Linux only."""

def live_round_trips(rtt_s: float, count: int) -> list[float]:
    """Round trips over an idle path of this RTT, s. On Linux only."""

def live_lacks(name: str) -> str | None:
    """Why this kernel cannot run a congestion control, if it cannot. On Linux only."""

class Simulation:
    """One run in progress."""

    def __init__(self, scenario_json: str, seed: int | None) -> None: ...
    def advance(self, max_events: int) -> float:
        """Serve up to `max_events` events without the GIL; the share of simulated time done, 1.0 when finished.

        Raises:
            cclab.RunError: the budget of events or of recorded rows is used up, or conservation is violated.
        """
    def finish(self, arrays: bool = True) -> dict[str, Any]:
        """The result: tables by name, each a dict of columns, and what is one value of the run.

        Tables and columns are those of `schema`; ``background`` and ``fct`` where there is background traffic,
        ``packets`` where the scenario asks for them. A column is a numpy array (a list unless `arrays`: then numpy is
        not loaded), or of text a list; of text that repeats the places in a list (2^32 - 1 is none), and the list. The
        columns of ``runs`` are values: ``jain``, ``simulated_s``, ``events`` and so on. Beside them ``seed`` (int),
        ``capture`` (bytes or None), ``digest`` (hex hash of every number in the result).
        """

class Law:
    """A congestion control stepped by hand."""

    def __init__(
        self, name: str, params_json: str, mss: int, initial_window: int, initial_ssthresh: int | None, flavour: str
    ) -> None: ...
    def on_established(self, **event: Any) -> None: ...
    def on_ack(self, **event: Any) -> None: ...
    def on_lost(self, **event: Any) -> None: ...
    def on_congestion(self, **event: Any) -> None: ...
    def on_timeout(self, **event: Any) -> None: ...
    def on_recovered(self, **event: Any) -> None: ...
    def on_undo(self, **event: Any) -> None: ...
    def on_idle(self, **event: Any) -> None: ...
    def on_restart(self, **event: Any) -> None: ...
    @property
    def cwnd_bytes(self) -> int: ...
    @property
    def ssthresh_bytes(self) -> int | None: ...
    @property
    def pacing_rate_bps(self) -> float | None: ...
    @property
    def request(self) -> dict[str, Any] | None: ...
    @property
    def ecn(self) -> str: ...
    def signals(self) -> dict[str, float]: ...

class CongestionControl:
    """What a law written in Python inherits from, through `cclab.CongestionControl`, which documents it."""

    cwnd_segments: float
    ssthresh_segments: float
    pacing_rate_bps: float | None
    request: dict[str, Any] | None
    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""
    @property
    def in_slow_start(self) -> bool:
        """Whether the window is below the threshold."""
    def random(self) -> float:
        """A uniform draw from [0, 1) of the flow's own stream: the same in every run with the same seed."""
    def start(self) -> None:
        """The connection is made; window, threshold and parameters are set. By default nothing."""
    def on_established(self, event: EstablishedEvent) -> None:
        """The handshake is over, nothing has been sent yet. By default nothing."""
    def on_timeout(self, event: TimeoutEvent) -> None:
        """The retransmission timer expired. By default W = 1, and the threshold W/2 if it is the first."""
    def on_recovered(self, event: RecoveredEvent) -> None:
        """Recovery ended. By default nothing."""
    def on_undo(self, event: UndoEvent) -> None:
        """The last reduction was a mistake. By default window and threshold are what they were before it."""
    def on_idle(self, event: IdleEvent) -> None:
        """Data leaves while nothing was in flight. By default nothing."""
    def on_restart(self, event: RestartEvent) -> None:
        """The sender was idle, or did not use its window. By default the window that the endpoint proposes."""

class EstablishedEvent:
    """The connection is established; nothing has been sent yet."""

    now_s: float
    srtt_s: float

class AckEvent:
    """An acknowledgement was taken in."""

    now_s: float
    acked_bytes: int
    delivered_bytes: int
    rtt_s: float | None
    srtt_s: float
    min_rtt_s: float
    bytes_in_flight: int
    prior_in_flight: int
    snd_una: int
    snd_nxt: int
    delivery_rate_bps: float | None
    app_limited: bool
    delivered: int
    prior_delivered: int
    lost_bytes: int
    may_grow: bool
    phase: str
    one_way_seq: int | None
    one_way_sent_s: float | None
    one_way_arrived_s: float | None
    ecn_echo: bool
    ce_bytes: int
    feedback: dict[str, Any] | None
    lost: int
    prior_lost: int
    tx_in_flight: int
    newest_sent_s: float | None
    acked_segments: float

class LostEvent:
    """A packet was marked lost."""

    now_s: float
    bytes: int
    sent_s: float
    tx_in_flight: int
    prior_lost: int
    lost: int
    prior_delivered: int
    delivered: int
    app_limited: bool

class CongestionEvent:
    """Congestion was detected: once per window of data."""

    now_s: float
    signal: str
    flight_size: int
    srtt_s: float
    min_rtt_s: float

class TimeoutEvent:
    """The retransmission timer expired."""

    now_s: float
    flight_size: int
    first: bool
    in_flight: int

class RecoveredEvent:
    """Recovery ended; everything that was outstanding when it began has been acknowledged."""

    now_s: float
    phase: str

class UndoEvent:
    """The last reduction turned out to be a mistake (Eifel, DSACK, F-RTO)."""

    now_s: float

class IdleEvent:
    """Data leaves while nothing was in flight."""

    now_s: float
    idle_s: float
    app_limited: bool

class RestartEvent:
    """A smaller window is proposed: the sender was idle or did not use the one it has, or a SYN was lost."""

    now_s: float
    cwnd_bytes: int
    ssthresh_bytes: int

def register_law(cls: type[CongestionControl], about: str) -> None:
    """Register a class as a congestion control; name, summary, source, parameters and signals as JSON."""

def run_script(text: str, name: str) -> str:
    """Run a timeline script in packetdrill's language; JSON ``{"name", "passed", "line", "message", "notes": []}``."""

def _panic(message: str) -> None:
    """Panic, for the test that a panic becomes an exception."""
