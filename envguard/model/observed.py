"""What was seen: a value, nothing there, or no look could be had. The three are never mixed up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
S = TypeVar("S")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Value(Generic[T]):
    """Looked, and this is there."""

    value: T


@dataclass(frozen=True, slots=True)
class Absent:
    """Looked, and none is there."""


@dataclass(frozen=True, slots=True)
class Unobserved:
    """No look could be had (or, in a lock, none was recorded), and why."""

    reason: str


Observed: TypeAlias = Value[T] | Absent | Unobserved

NOT_RECORDED = Unobserved("not recorded")

NOT_ASKED = Unobserved("not asked for")
"""The caller wanted no look at this (``--metadata``, no ``--live``): it is listed, and never a failure."""


def map_value(seen: Observed[T], change: Callable[[T], S]) -> Observed[S]:
    """``change`` the value, where there is one."""
    return Value(change(seen.value)) if isinstance(seen, Value) else seen


def both(first: Observed[T], second: Observed[U]) -> Observed[tuple[T, U]]:
    """A pair where both are values; otherwise the first that isn't."""
    if isinstance(first, Value):
        return Value((first.value, second.value)) if isinstance(second, Value) else second
    return first


def value_or_none(seen: Observed[T]) -> T | None:
    """The value, or None where there is none."""
    return seen.value if isinstance(seen, Value) else None
