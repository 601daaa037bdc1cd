"""One thing stands in the lock twice.

What: two entries for one file, GPU, shared path or object, and two distributions that claim the same wheel or the
same record fingerprint.

Why: a merge of two branches keeps both sides' entries. Readers take one of them, and not always the same one.

How to mend it: keep the entry that is right, or record again: envguard snapshot --update.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from envguard.model.observed import value_or_none
from envguard.planning.lint.rule import AGAIN, Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """A finding a second entry, at the second."""
    facts = subject.facts
    for number in _second((fact.root, fact.path, fact.kind) for fact in value_or_none(facts.files) or ()):
        fact = (value_or_none(facts.files) or ())[number]
        yield _said(
            f"{fact.shown} is listed twice as {fact.kind.value}", _entry(subject, "file", number), fact.shown
        )
    gpus = value_or_none(facts.gpus) or ()
    for number in _second(gpu.index for gpu in gpus):
        name = f"cuda:{gpus[number].index}"
        yield _said(f"{name} is listed twice", "machine.gpus", name)
    shared = value_or_none(facts.shared) or ()
    for number in _second(entry.path for entry in shared):
        yield _said(
            f"{shared[number].path} is listed twice", _entry(subject, "shared", number), shared[number].path
        )
    for number in _second(subject.lock.archive):
        digest = subject.lock.archive[number]
        yield _said(f"object {digest.short} is listed twice", "archive.objects", digest.short)
    yield from _claimed_twice(subject)


def _claimed_twice(subject: Subject) -> Iterator[Said]:
    for key in ("sha256", "record"):
        owners: dict[Hashable, str] = {}
        for entry in subject.distributions.values():
            digest = entry.wheel.sha256 if key == "sha256" else entry.record
            if digest is None:
                continue
            if digest in owners:
                message = f"{entry.name} and {owners[digest]} have one and the same {key} {digest.short}"
                yield _said(message, f"distribution[{entry.name}].{key}", entry.name)
            owners.setdefault(digest, entry.name)


def _second(keys: Iterable[Hashable]) -> list[int]:
    """Places of entries whose key was seen before."""
    seen: set[Hashable] = set()
    places = []
    for place, key in enumerate(keys):
        if key in seen:
            places.append(place)
        seen.add(key)
    return places


def _entry(subject: Subject, section: str, number: int) -> str:
    entries: Any = subject.document.get(section)
    return f"{section}[{number}]" if isinstance(entries, list) else section


def _said(message: str, key: str, subject: str) -> Said:
    return Said(message, f"keep the one that is right, or {AGAIN}", key, subject)


RULE = Rule("duplicates", __doc__, look)
