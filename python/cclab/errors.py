"""Every exception that cclab raises on purpose.

The core raises these very classes; it maps its errors to them in one place, `crates/cclab-py/src/error.rs`.
"""


class CclabError(Exception):
    """Anything that went wrong in cclab; the message says what, where and what is allowed."""


class ScenarioError(CclabError, ValueError):
    """A scenario that cannot be: each line names a field, the value found, and what is allowed."""


class UnknownNameError(CclabError, LookupError):
    """No algorithm, queue, topology, study or parameter has this name."""


class AlgorithmError(CclabError):
    """A congestion control written in Python that cannot be registered."""


class StudyError(CclabError):
    """A study that cannot be run as it is written."""


class ResultError(CclabError):
    """A result on disk that is incomplete, damaged, or not a result at all."""


class RunError(CclabError, RuntimeError):
    """A run that could not go on."""
