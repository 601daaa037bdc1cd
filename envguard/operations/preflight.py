"""Look at everything a restore plan rests on, before any wheel is fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from envguard.errors import EnvguardError, IndexAnswerError
from envguard.formats.record import load_rows
from envguard.model.distribution import Distribution
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.offer import Offer
from envguard.model.target import Level, Target
from envguard.model.wheel_facts import Part
from envguard.operations.parallel import each
from envguard.operations.recorded import baseline_of
from envguard.planning import pythons, wheel_match
from envguard.planning.obtain import Problem, obtain, same_record_candidates
from envguard.planning.pythons import Python
from envguard.planning.restore import (
    AtHand,
    Unpacked,
    recorded_distributions,
    searched_by_record,
    unsupplied,
)
from envguard.planning.wheel_match import Wanted
from envguard.ports import Baseline, Environments, Index, Installer, Prober, Progress, Store, WheelReader

_OFFLINE = frozenset({"find-links", "archive"})


def look_around(
    lock: Lock,
    *,
    without: AbstractSet[str],
    offline: bool,
    python: Path | None,
    store: Store,
    index: Index,
    installer: Installer,
    prober: Prober,
    environments: Environments,
    progress: Progress,
    reader: WheelReader | None = None,
) -> AtHand:
    """What the store holds, what sources offer, which Pythons and what machine this is.

    ``reader`` looks into wheels of other bytes than the recorded ones, where nothing else is left.
    """
    held = frozenset(store.digests())
    names = unsupplied(lock, held, without)
    if reader is not None:
        names += searched_by_record(lock, held, without)
    offers, unasked = _offers(index, names, offline, progress)
    found, machine = _pythons(lock, python, installer, prober, progress)
    return AtHand(
        held=held,
        offers=offers,
        records={} if reader is None else _same_records(lock, offers, reader, progress),
        unasked=unasked,
        pythons=found,
        looked=str(python) if python else installer.looked(),
        machine=machine,
        room=environments.room(),
        unpacked=_unpacked(lock, baseline_of(lock.facts, store)),
    )


def _offers(
    index: Index, names: Sequence[str], offline: bool, progress: Progress
) -> tuple[dict[str, tuple[Offer, ...]], dict[str, str]]:
    """Offers by name, and why there are none. IndexUnreachableError ends the restore: going on is no use."""

    def ask(name: str) -> tuple[tuple[Offer, ...], str | None]:
        try:
            offers = index.offers(name)
        except IndexAnswerError as problem:
            return (), problem.message
        counted = tuple(offer for offer in offers if not offline or offer.source in _OFFLINE)
        return counted, "; ".join(trouble.message for trouble in index.troubles(name)) or None

    answers = dict(zip(names, each(ask, names, progress, "ask for wheels", "distributions"), strict=True))
    return (
        {name: offers for name, (offers, _) in answers.items()},
        {name: reason for name, (_, reason) in answers.items() if reason is not None},
    )


def _same_records(
    lock: Lock, offers: Mapping[str, Sequence[Offer]], reader: WheelReader, progress: Progress
) -> dict[str, tuple[Offer, ...]]:
    """For what no source has by its sha256: offers whose RECORD has the recorded fingerprint."""
    recorded = lock.facts.interpreter
    want = wheel_match.of_interpreter(recorded.value) if isinstance(recorded, Value) else Wanted()
    lost = [
        entry
        for entry in recorded_distributions(lock)
        if entry.name in offers and isinstance(obtain(entry, frozenset(), offers[entry.name]), Problem)
    ]

    def search(entry: Distribution) -> tuple[Offer, ...]:
        candidates = same_record_candidates(entry, offers[entry.name], want)
        return tuple(offer for offer in candidates if _has_record(entry, offer, reader))[:1]

    found = each(search, lost, progress, "look into other wheels", "distributions")
    return {entry.name: same for entry, same in zip(lost, found, strict=True) if same}


def _has_record(entry: Distribution, offer: Offer, reader: WheelReader) -> bool:
    try:
        prints = reader.read(offer, frozenset({Part.RECORD})).content.fingerprints
    except EnvguardError:
        return False
    return any((one.record, one.record_data) == (entry.record, entry.record_data) for one in prints)


def _pythons(
    lock: Lock, python: Path | None, installer: Installer, prober: Prober, progress: Progress
) -> tuple[list[Python], Facts]:
    """Installed interpreters until the recorded one is among them, and this machine as seen from one of them."""

    def look(path: Path) -> Facts:
        return prober.facts(Target(path, "restore"), Level.METADATA, baseline=_no_rows, progress=progress)

    recorded = lock.facts.interpreter
    found: list[Python] = []
    machine = Facts()
    if not isinstance(recorded, Value):
        return found, machine
    for path in [python] if python else installer.pythons(pythons.minor(recorded.value.version)):
        try:
            seen = look(path)
        except EnvguardError:
            if python:
                raise
            continue  # a stand-in that starts nothing (pyenv's shims), a broken installation
        if isinstance(seen.interpreter, Value):
            machine = seen
            found.append(Python(str(path), seen.interpreter.value))
            if pythons.exact(recorded.value, seen.interpreter.value):
                break
    return found, machine


def _no_rows(_: str) -> bytes | None:
    return None


def _unpacked(lock: Lock, rows: Baseline) -> dict[str, Unpacked]:
    """What each distribution's files come to, where the store holds its rows."""
    found = {}
    for entry in recorded_distributions(lock):
        content = rows(entry.name)
        if content is None:
            continue
        try:
            listed = load_rows(content)
        except ValueError:
            continue
        sizes = {path: int(row.size) if row.size.isdecimal() else 0 for (_, path), row in listed.items()}
        sources = [size for path, size in sizes.items() if path.endswith(".py")]
        found[entry.name] = Unpacked(sum(sizes.values()), len(sizes), sum(sources), len(sources))
    return found
