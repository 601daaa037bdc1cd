from __future__ import annotations

import pytest

from envguard.errors import UsageError
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.planning.left_out import left_out
from tests.builders import facts

LOCK = Lock("x", facts())


def test_named_ones_are_gone() -> None:
    kept = left_out(LOCK, {"torch", "triton"}).facts.distributions
    assert isinstance(kept, Value)
    assert [entry.name for entry in kept.value] == ["requests"]


def test_nothing_named() -> None:
    assert left_out(LOCK, frozenset()) is LOCK


def test_one_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="no distribution numpy"):
        left_out(LOCK, {"numpy", "torch"})
