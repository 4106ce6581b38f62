"""Congestion controls: written in Python (`python`), sent elsewhere (`shipping`), stepped by hand (`algorithms`)."""

from cclab.laws.python import CongestionControl, Param, load, register, registered
from cclab.laws.shipping import fingerprint, install, named_in, ship, sources

__all__ = [
    "CongestionControl",
    "Param",
    "fingerprint",
    "install",
    "load",
    "named_in",
    "register",
    "registered",
    "ship",
    "sources",
]
