"""The fields of a scenario as keywords, for editors and type checkers; docs/reference/scenario.md says what each means.

The core alone says what is allowed; a test compares the names with those that it asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

_From = TypedDict("_From", {"from": Any}, total=False)


class Endpoint(_From, total=False):
    """What a flow and the connections of a background have in common."""

    accecn_option: int | str
    ack_every: int
    adv_win_scale: str | int
    comp_sack_delay: str
    comp_sack_nr: int
    comp_sack_slack: str
    cwnd_validation: bool
    delayed_ack: str | float | bool | Sequence[Any] | Mapping[str, Any]
    direction: str
    dsack: bool
    dupthresh: int
    ecn: Any
    ecn_fallback: bool
    fast_open: bool
    flavour: str
    frto: bool
    growth_per_ack: bool
    initial_receive_buffer: str
    initial_send_buffer: str
    initial_ssthresh: str
    initial_window: int
    label: str
    limited_transmit: bool
    max_reordering: int
    moderate_receive_buffer: bool
    mss: str
    nagle: bool
    no_metrics_save: bool
    no_ssthresh_metrics_save: bool
    pacing: bool
    packet_size: str
    profile: str
    prr: bool
    quick_start: str
    rack_dupthresh: bool
    receive_buffer: str
    recovery: str
    reo_wnd_adapts: bool
    rto: str | float | bool | Sequence[Any] | Mapping[str, Any]
    rto_min: str
    sack: bool
    send_buffer: str
    send_jitter: str
    slow_start_after_idle: bool
    start: str
    stop: str
    sysctl: Mapping[str, Any]
    timestamps: bool
    tlp: bool
    to: Any
    tso: str | int
    undo: bool
    window_scaling: bool


class FlowFields(Endpoint, total=False):
    """Of `[[flows]]`, without `cc` and `count`."""

    coupling: str | Mapping[str, Any]
    distribution: str
    kind: str
    multipath: str | bool | Mapping[str, Any]
    off: str
    on: str
    path: str
    paths: Sequence[Any]
    rate: str
    route: Any
    rtt: str
    scheduler: Any
    shape: Any
    size: str
    start_jitter: str
    station: Any
    traffic: str | bool | Mapping[str, Any]


class BackgroundFields(Endpoint, total=False):
    """Of `[[background]]`, without `kind`, `load` and `cc`."""

    active_off: str | float | bool | Sequence[Any] | Mapping[str, Any]
    arrivals: str
    embedded: str | float | bool | Sequence[Any] | Mapping[str, Any]
    flows_per_second: Any
    max_size: str
    pages_per_second: Any
    parallel: int
    rtt: str | float | bool | Sequence[Any] | Mapping[str, Any]
    sampling: str
    sizes: str | float | bool | Sequence[Any] | Mapping[str, Any]
    think: str | float | bool | Sequence[Any] | Mapping[str, Any]
    users: Any


class LinkFields(TypedDict, total=False):
    """Of `[network]`, without `topology`, `rate`, `rtt`, `queue` and `loss`."""

    access: Mapping[str, Any]
    area: Any
    bottlenecks: int
    columns: int
    connected: bool
    delay: str
    duplicate: str | float
    hops: int
    jitter: str | Mapping[str, Any]
    links: Sequence[Any]
    nodes: Any
    overhead: Any
    places: Any
    reorder: str | Mapping[str, Any]
    reverse: Mapping[str, Any]
    rows: int
    schedule: Sequence[Any]
    trace: str
    tunnel: str | Mapping[str, Any]
    wifi: Mapping[str, Any]


class NetworkFields(LinkFields, total=False):
    """Of `[network]`, without `topology`."""

    rate: str
    rtt: str
    queue: Mapping[str, Any]
    loss: Mapping[str, Any]
    wireless: Mapping[str, Any]
