"""The compile cache's keys contradict their counts, or name GPUs that are not there.

What: the digest of the list of keys (a wrong one is refused when the lock is read), how many entries of each kind
were found, and the devices, held against each other and against [machine] gpus.

Why: a key list that was cut by a merge, or that names cuda:9 on a machine of eight, makes verify report misses
that are none, or miss those that are.

How to mend it: record the cache again: envguard warmup, then envguard snapshot --update.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from envguard.model.cache import CacheKeys
from envguard.model.observed import value_or_none
from envguard.planning.lint.rule import AGAIN, Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """A finding a kind whose count is too small, and a device that isn't there."""
    keys = value_or_none(subject.facts.keys)
    if keys is None:
        return
    yield from _counts(subject, keys)
    yield from _devices(subject, keys)
    yield from _fingerprint(subject)


def _counts(subject: Subject, keys: CacheKeys) -> Iterator[Said]:
    found = value_or_none(subject.facts.cache)
    if found is None:
        return
    listed = Counter(name.partition("/")[0] for name in (*keys.names, *keys.triton))
    there = dict(found.entries)
    for kind, number in sorted(listed.items()):
        if kind in there and number > there[kind]:
            yield Said(
                f"{number:,} {kind} keys are listed, and {there[kind]:,} were found", AGAIN, "cache.found", kind
            )


def _devices(subject: Subject, keys: CacheKeys) -> Iterator[Said]:
    gpus = value_or_none(subject.facts.gpus)
    if gpus is None:
        return
    indices = {gpu.index for gpu in gpus}
    for entry in keys.devices:
        kind, _, index = entry.device.partition(":")
        if kind == "cuda" and index.isdecimal() and int(index) not in indices:
            yield Said(
                f"keys for {entry.device}, and [machine] has {len(indices)} GPUs: {_shown(indices)}",
                AGAIN,
                f"cache.keys.{entry.device}",
                entry.device,
            )


def _fingerprint(subject: Subject) -> Iterator[Said]:
    cache = subject.document.get("cache")
    if isinstance(cache, dict) and "keys" in cache and "fingerprint" not in cache:
        hint = f"envguard lint --fix {subject.file}"
        yield Said("keys are listed without their fingerprint", hint, "cache.keys", "fingerprint")


def _shown(indices: set[int]) -> str:
    return ", ".join(f"cuda:{index}" for index in sorted(indices)) or "none"


RULE = Rule("cache-keys", __doc__, look)
