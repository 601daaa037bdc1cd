"""snapshot: an environment becomes a lock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from envguard.checks import compare
from envguard.errors import SnapshotRefusedError
from envguard.formats.cache_trace import dump_graphs
from envguard.formats.lockfile import lock_id
from envguard.formats.record import dump_rows
from envguard.model.cache import CacheKeys
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Wheel
from envguard.model.drift import Result
from envguard.model.facts import Facts, FileFact, FileKind
from envguard.model.lock import Lock
from envguard.model.observed import Observed, Unobserved, Value
from envguard.model.policy import Policy
from envguard.model.target import Layout, Level, Target
from envguard.operations.archive import Archived, Archiving, archive
from envguard.operations.recorded import with_listings
from envguard.planning.archive import Kind, needs_of
from envguard.planning.cache_keys import keys_to_record
from envguard.planning.run_logs import run_to_record
from envguard.ports import Prober, Progress, Provenance, Store

FactT = TypeVar("FactT")

KEPT_SIZE = 64 * 1024 * 1024
"""Bytes up to which a file that no wheel answers for is kept in the store."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a snapshot came to: the lock, what it differs in from the one before, and what a human should know."""

    lock: Lock
    unchanged: bool
    """The lock before holds the same facts: nothing needs to be written."""
    differences: tuple[Result, ...]
    remarks: tuple[str, ...]
    only_adds: bool = False
    """The lock before says nothing that this one doesn't say too: only more of its wheels is known."""


def snapshot(
    target: Target,
    *,
    name: str,
    note: str | None,
    previous: Lock | None,
    indexes: Mapping[str, str],
    now: datetime,
    prober: Prober,
    provenance: Provenance,
    store: Store,
    progress: Progress,
    archiving: Archiving | None = None,
) -> Snapshot:
    """Look at an environment and record it. SnapshotRefusedError when it can't stand for a good run.

    ``archiving``: which wheels to keep in the store too. StoreError.
    """
    before = previous.facts if previous else Facts()
    seen = prober.facts(target, Level.FAST, baseline=_no_baseline, progress=progress)
    distributions = _recordable(seen.distributions)
    layout = prober.layout(target)
    wheels = provenance.wheels(layout, distributions)
    earlier = {entry.name: entry for entry in _value(before.distributions)}
    kept, remarks = _keep_files(_value(seen.files), layout, prober, store)
    entries = tuple(
        _entry(entry, wheels.get(entry.name, Wheel()), earlier.get(entry.name), store) for entry in distributions
    )
    lock = Lock(
        name=name,
        created=previous.created if previous else None,
        note=note if note is not None else (previous.note if previous else None),
        facts=replace(
            seen, distributions=Value(entries), keys=_keys(before, seen, store), run=run_to_record(before, seen)
        ),
        indexes=_used(indexes, entries) | (dict(previous.indexes) if previous else {}),
        policy=previous.policy if previous else Policy(),
        warmup=previous.warmup if previous else None,
    )
    if previous is not None and lock.facts.keys == previous.facts.keys:
        lock = replace(lock, cache_manifest=previous.cache_manifest)
    only_adds = previous is not None and _only_adds(previous, lock)
    archived = Archived(entries)
    if archiving is not None and (previous is None or only_adds or archiving.over_changes):
        archived = archive(entries, archiving, layout=layout, store=store, progress=progress)
    lock = _archived(lock, archived, kept, previous)
    same_facts = previous is not None and lock_id(previous) == lock_id(lock)
    if not same_facts:
        lock = replace(lock, created=now)
    return Snapshot(
        lock=lock,
        unchanged=same_facts and previous is not None and _says_the_same(previous, lock),
        differences=_differences(before, lock.facts, now, store) if previous else (),
        remarks=(*remarks, *_remarks(archived.entries, _value(seen.files)), *archived.remarks),
        only_adds=only_adds,
    )


def _archived(lock: Lock, archived: Archived, kept: AbstractSet[Digest], previous: Lock | None) -> Lock:
    """With what is kept for it: files, what was archived now, and what was before and still is its own."""
    lock = replace(lock, facts=replace(lock.facts, distributions=Value(archived.entries)))
    own = {need.digest for need in needs_of(lock)}
    named = needs_of(previous) if previous else ()
    # what only the archive's list names is somebody else's (a compile cache's files), and not ours to drop
    others = {need.digest for need in named if need.kind is Kind.OTHER}
    before = (own | others).intersection(previous.archive if previous else ())
    return replace(lock, archive=tuple(sorted(kept | archived.objects | before)))


def _only_adds(previous: Lock, lock: Lock) -> bool:
    """Whether all that the lock before says still holds, but for wheels that were not known and are now."""
    if isinstance(previous.facts.run, Value) and previous.facts.run != lock.facts.run:
        return False
    before = {entry.name: entry for entry in _value(previous.facts.distributions)}
    known = tuple(
        replace(entry, wheel=before[entry.name].wheel)
        if entry.name in before and before[entry.name].wheel.original is None
        else entry
        for entry in _value(lock.facts.distributions)
    )
    return lock_id(previous) == lock_id(replace(lock, facts=replace(lock.facts, distributions=Value(known))))


def _says_the_same(previous: Lock, lock: Lock) -> bool:
    """Of two locks with the same facts: whether note and archive are the same too."""
    if (previous.note, previous.facts.run, set(previous.archive)) != (
        lock.note,
        lock.facts.run,
        set(lock.archive),
    ):
        return False
    return {need.digest for need in needs_of(previous)} == {need.digest for need in needs_of(lock)}


def _keys(before: Facts, seen: Facts, store: Store) -> Observed[CacheKeys]:
    """The keys to record; what their graphs were made of goes into the store, as hashes."""
    keys = keys_to_record(before, seen)
    if isinstance(keys, Value) and keys.value.components is None and keys.value.graphs:
        return Value(replace(keys.value, components=store.put(dump_graphs(keys.value.graphs))))
    return keys


def _no_baseline(_: str) -> None:
    """At a snapshot the environment speaks for itself."""


def _recordable(seen: Observed[tuple[Distribution, ...]]) -> tuple[Distribution, ...]:
    if not isinstance(seen, Value):
        reason = seen.reason if isinstance(seen, Unobserved) else "none is installed"
        raise SnapshotRefusedError(f"the installed distributions could not be read: {reason}")
    for name, count in Counter(entry.name for entry in seen.value).items():
        if count > 1:
            folders = sorted(entry.folder or "?" for entry in seen.value if entry.name == name)
            raise SnapshotRefusedError(
                f"{name} is installed {count} times: {', '.join(folders)}",
                hint=f"remove one: uv pip uninstall {name}, then install the right one again",
            )
    return seen.value


def _entry(entry: Distribution, wheel: Wheel, earlier: Distribution | None, store: Store) -> Distribution:
    same = earlier is not None and earlier.record == entry.record and earlier.record_data == entry.record_data
    rows: Digest | None = None
    if same and earlier is not None and earlier.rows is not None and store.has(earlier.rows):
        rows = earlier.rows
    elif entry.listing is not None and entry.record is not None:
        rows = store.put(dump_rows(entry.listing))
    if same and earlier is not None:
        wheel = _proven(wheel, earlier.wheel)
    origin = entry.origin
    if origin is not None and earlier is not None and origin == earlier.origin:
        origin = earlier.origin  # it says where the source is kept
    return replace(entry, wheel=wheel, rows=rows, origin=origin, note=earlier.note if earlier else None)


def _proven(wheel: Wheel, earlier: Wheel) -> Wheel:
    """Of one record fingerprint: what was proven once is kept, unless now the wheel itself is known."""
    if earlier.sha256 is None:
        return wheel
    if wheel.sha256 in (None, earlier.rebuilt):
        return earlier
    return replace(wheel, rebuilt=earlier.rebuilt) if wheel.rebuilt is None else wheel


def _keep_files(
    files: tuple[FileFact, ...], layout: Layout, prober: Prober, store: Store
) -> tuple[set[Digest], list[str]]:
    """Put the bytes that no wheel answers for into the store; say which could not be kept."""
    kept: set[Digest] = set()
    remarks: list[str] = []
    for fact in files:
        if fact.sha256 is None or not _needs_keeping(fact):
            continue
        try:
            with prober.content(layout, fact) as stream:
                content = stream.read(KEPT_SIZE + 1)
        except OSError as problem:
            remarks.append(f"{fact.shown}: could not be kept ({problem.strerror}); restore will not have it")
            continue
        if len(content) > KEPT_SIZE:
            remarks.append(f"{fact.shown}: larger than {KEPT_SIZE >> 20} MiB, recorded but not kept")
        elif Digest.of(content) == fact.sha256:
            kept.add(store.put(content, expect=fact.sha256))
        else:
            remarks.append(f"{fact.shown}: changed while it was read, or no verbatim file; recorded but not kept")
    return kept, remarks


def _needs_keeping(fact: FileFact) -> bool:
    if fact.kind in (FileKind.MODIFIED, FileKind.UNOWNED):
        return True
    return fact.kind in (FileKind.STARTUP, FileKind.SCRIPT) and not fact.owners


def _used(indexes: Mapping[str, str], entries: tuple[Distribution, ...]) -> dict[str, str]:
    used = {entry.wheel.index for entry in entries}
    return {name: address for name, address in indexes.items() if name in used}


def _differences(before: Facts, facts: Facts, now: datetime, store: Store) -> tuple[Result, ...]:
    recorded = with_listings(before, facts, store)
    return compare(recorded, facts, Policy(), now.date())


def _remarks(entries: tuple[Distribution, ...], files: tuple[FileFact, ...]) -> list[str]:
    remarks = []
    for kind, one, several in (
        (FileKind.MODIFIED, "file already differs from its wheel", "files already differ from their wheel"),
        (FileKind.MISSING, "file of a wheel is missing", "files of a wheel are missing"),
        (FileKind.UNOWNED, "file belongs to no distribution", "files belong to no distribution"),
        (
            FileKind.BYTECODE,
            "file is bytecode that isn't its source's",
            "files are bytecode that isn't their source's",
        ),
    ):
        paths = [fact.shown for fact in files if fact.kind is kind]
        if paths:
            shown = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
            remarks.append(f"{len(paths)} {several if len(paths) > 1 else one}: {shown}")
    unproven = [entry.name for entry in entries if entry.wheel.original is None and entry.origin is None]
    if unproven:
        shown = ", ".join(unproven[:5]) + (f" and {len(unproven) - 5} more" if len(unproven) > 5 else "")
        kept = sum(entry.wheel.rebuilt is not None for entry in entries if entry.name in unproven)
        instead = f"; {kept} rebuilt from the installed files are kept instead" if kept else ""
        wheels = "wheels" if len(unproven) > 1 else "wheel"
        remarks.append(f"{len(unproven)} {wheels} could not be identified (no sha256): {shown}{instead}")
    return remarks


def _value(seen: Observed[tuple[FactT, ...]]) -> tuple[FactT, ...]:
    return seen.value if isinstance(seen, Value) else ()
