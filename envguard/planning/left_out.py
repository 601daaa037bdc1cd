"""A lock without some of its distributions."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from envguard.errors import UsageError
from envguard.model.lock import Lock
from envguard.model.observed import Value, value_or_none


def left_out(lock: Lock, names: AbstractSet[str]) -> Lock:
    """The lock without the named distributions (canonical names). UsageError for one that it doesn't hold."""
    entries = value_or_none(lock.facts.distributions) or ()
    unknown = sorted(names - {entry.name for entry in entries})
    if unknown:
        raise UsageError(f"the lock holds no distribution {unknown[0]} to leave out")
    if not names:
        return lock
    kept = tuple(entry for entry in entries if entry.name not in names)
    return replace(lock, facts=replace(lock.facts, distributions=Value(kept)))
