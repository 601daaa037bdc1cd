"""Recorded facts, with the RECORD rows that the store still holds for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from envguard.errors import ObjectCorruptError, ObjectMissingError
from envguard.model.distribution import Distribution, Row
from envguard.model.facts import Facts
from envguard.model.observed import Value
from envguard.ports import Baseline, Store


def baseline_of(facts: Facts, store: Store) -> Baseline:
    """Rows of a lock's distributions, from the store, by name."""
    found = {entry.name: entry for entry in _distributions(facts)}

    def rows(name: str) -> bytes | None:
        return _content(found[name], store) if name in found else None

    return rows


def with_listings(facts: Facts, other: Facts, store: Store) -> Facts:
    """``facts`` with the rows of each distribution whose fingerprint differs in ``other``, if the store has them.

    Rows are what names the files that two builds of one version differ in.
    """
    fingerprints = {entry.name: (entry.record, entry.record_data) for entry in _distributions(other)}
    if not isinstance(facts.distributions, Value):
        return facts
    return replace(
        facts,
        distributions=Value(
            tuple(
                entry
                if entry.listing is not None
                or fingerprints.get(entry.name) in (None, (entry.record, entry.record_data))
                else replace(entry, listing=_listing(entry, store))
                for entry in facts.distributions.value
            )
        ),
    )


def _distributions(facts: Facts) -> tuple[Distribution, ...]:
    return facts.distributions.value if isinstance(facts.distributions, Value) else ()


def _listing(entry: Distribution, store: Store) -> Mapping[tuple[str, str], Row] | None:
    content = _content(entry, store)
    if content is None:
        return None
    from envguard.formats.record import load_rows  # only where builds differ

    try:
        return load_rows(content)
    except ValueError:
        return None


def _content(entry: Distribution, store: Store) -> bytes | None:
    if entry.rows is None:
        return None
    try:
        return store.read(entry.rows)
    except (ObjectMissingError, ObjectCorruptError):
        return None
