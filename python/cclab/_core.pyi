"""The compiled core: scenarios in as JSON, columns out as numpy arrays. Converts, decides nothing."""

from typing import Any

__version__: str

def check(scenario_json: str) -> str:
    """Check a scenario and return it normalised (every default filled in), as JSON.

    Raises:
        cclab.ScenarioError: every mistake found, one per line: field, value, what is allowed.
    """

def parse_toml(text: str) -> str:
    """The scenario in this TOML text as it was written, as JSON; not checked.

    Raises:
        cclab.ScenarioError: it is not TOML: line, column and why.
    """

def registry() -> str:
    """Everything registered, as JSON.

    ``{"algorithms": [{"name", "summary", "source", "params": [{"name", "kind", "min", "max", "choices",
    "default", "paper_default", "unit", "doc"}]}], "queues": [...], "topologies": [...]}``; queues and topologies
    have the same shape, so that `describe` shows all of them alike.
    """

def example() -> str:
    """A commented example scenario, as TOML."""

class Simulation:
    """One run in progress."""

    def __init__(self, scenario_json: str, seed: int | None) -> None: ...
    def advance(self, max_events: int) -> float:
        """Serve up to `max_events` events without the GIL; the share of simulated time done, 1.0 when finished.

        Raises:
            cclab.RunError: the budget of events or of recorded rows is used up, or conservation is violated.
        """
    def finish(self) -> dict[str, Any]:
        """The result: tables by name, each a dict of columns (numpy arrays; lists of str for text).

        Keys: ``flows``, ``links``, ``samples``, ``link_samples``, ``signals``, ``packets`` (or None) with the column
        names of ``cclab_sim::trace::result`` (distributions flattened: ``rtt_mean_s``, ``rtt_var_s2``, ``rtt_min_s``,
        ``rtt_max_s``, ``rtt_p50_s``, ``rtt_p95_s``, ``rtt_p99_s``, ``rtt_count``, likewise ``owd_…`` and
        ``sojourn_…``), ``links`` also what the scenario came to (``rate_bps``, ``delay_s``, ``queue_limit_packets``,
        ``queue_limit_bytes``; NaN where there is none), ``signal_names`` and ``packet_events`` (what the numbers in
        those tables stand for), ``simulated_s`` and ``jain`` (float), ``events``, ``data_packets`` and ``seed`` (int),
        ``capture`` (bytes or None), ``digest`` (hex hash of every number in the result).
        """

class Law:
    """A congestion control stepped by hand."""

    def __init__(
        self, name: str, params_json: str, mss: int, initial_window: int, initial_ssthresh: int | None, flavour: str
    ) -> None: ...
    def on_ack(self, **event: Any) -> None: ...
    def on_congestion(self, **event: Any) -> None: ...
    def on_timeout(self, **event: Any) -> None: ...
    def on_recovered(self, **event: Any) -> None: ...
    def on_undo(self, **event: Any) -> None: ...
    def on_restart(self, **event: Any) -> None: ...
    @property
    def cwnd_bytes(self) -> int: ...
    @property
    def ssthresh_bytes(self) -> int | None: ...
    @property
    def pacing_rate_bps(self) -> float | None: ...
    def signals(self) -> dict[str, float]: ...

def run_script(text: str, name: str) -> str:
    """Run a timeline script in packetdrill's language; JSON ``{"name", "passed", "line", "message", "notes": []}``."""

def _panic(message: str) -> None:
    """Panic, for the test that a panic becomes an exception."""
