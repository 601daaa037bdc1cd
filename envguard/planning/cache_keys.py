"""Which keys a lock gets when it already had some."""

from __future__ import annotations

from envguard.model.cache import CacheKeys
from envguard.model.facts import Facts
from envguard.model.observed import Observed, Value


def keys_to_record(before: Facts, seen: Facts) -> Observed[CacheKeys]:
    """Keys that a warmup or a trace has proven stay while their factors are equal; found ones push none out."""
    if not isinstance(before.keys, Value) or not before.keys.value.source.counts:
        return seen.keys
    if isinstance(seen.keys, Value) and seen.keys.value.source.counts:
        return seen.keys
    return before.keys if before.factors == seen.factors else seen.keys
