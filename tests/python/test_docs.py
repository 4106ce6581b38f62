"""Examples in docstrings do what they say."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["cclab", "cclab.algorithms"])
def test_examples(module):
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried
    assert not failed


def test_every_error_has_a_home():
    import cclab
    from cclab import errors

    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert len(kinds) == 6
    assert all(issubclass(kind, cclab.CclabError) and kind.__doc__ for kind in kinds)
    assert all(getattr(cclab, kind.__name__) is kind for kind in kinds)
    assert issubclass(cclab.ScenarioError, ValueError)
