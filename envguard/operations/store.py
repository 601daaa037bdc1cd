"""store: what is in it, whether it is whole, how it becomes whole again, and what nobody needs any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from envguard.errors import EnvguardError, ObjectCorruptError, ObjectMissingError, StoreError
from envguard.formats.record import dump_rows
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution
from envguard.model.facts import FileFact
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.roots import Root
from envguard.model.target import Layout, Level, Target
from envguard.planning.archive import Kind, Need, needs_of
from envguard.planning.obtain import Step, obtain
from envguard.ports import Archivist, Index, Prober, Progress, Roots, TendedStore


@dataclass(frozen=True, slots=True)
class Kept:
    """An object of the store. ``users``: locks and environments that name it; none for one that nobody needs."""

    digest: Digest
    size: int
    kind: Kind
    subject: str
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Faulty:
    """An object that is damaged, or that isn't there though a lock of this machine says so."""

    digest: Digest
    kind: Kind
    subject: str
    users: tuple[str, ...]
    problem: str

    def __str__(self) -> str:
        what = f"{self.kind.value} {self.subject}".rstrip()
        return f"{self.digest} ({what}): {self.problem}"


@dataclass(frozen=True, slots=True)
class Checked:
    """A whole look. ``damaged`` objects can't be used; ``missing`` ones were archived here and are gone."""

    objects: int
    size: int
    damaged: tuple[Faulty, ...] = ()
    missing: tuple[Faulty, ...] = ()


@dataclass(frozen=True, slots=True)
class Mended:
    """What a repair did with one object. ``source`` None: it could not be had again, and ``reason`` says why."""

    faulty: Faulty
    source: str | None
    reason: str = ""
    aside: Path | None = None
    """Where the damaged bytes are kept."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What was removed, or would be. ``young``: objects that nobody needs, put too lately to be sure of that."""

    removed: tuple[Kept, ...]
    young: int = 0
    used: int = 0
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes that were freed, or would be."""
        return sum(one.size for one in self.removed)


@dataclass(frozen=True, slots=True)
class _Uses:
    """Digest → what it is and who names it."""

    needs: Mapping[Digest, Need]
    users: Mapping[Digest, tuple[str, ...]]
    locks: Mapping[Digest, tuple[Lock, ...]] = field(default_factory=dict)

    def kept(self, digest: Digest, size: int) -> Kept:
        need = self.needs.get(digest)
        kind, subject = (need.kind, need.subject) if need else (Kind.OTHER, "")
        return Kept(digest, size, kind, subject, self.users.get(digest, ()))

    def faulty(self, digest: Digest, problem: str) -> Faulty:
        one = self.kept(digest, 0)
        return Faulty(digest, one.kind, one.subject, one.users, problem)


def list_objects(*, store: TendedStore, roots: Roots) -> tuple[Kept, ...]:
    """Every object, by who needs it, kind and size. StoreError."""
    uses = _uses(roots.read(lenient=True))
    found = [uses.kept(digest, _size(store, digest)) for digest in store.digests()]
    return tuple(sorted(found, key=lambda one: (one.users, one.kind.value, one.subject, one.digest)))


def check(*, store: TendedStore, roots: Roots, progress: Progress) -> Checked:
    """Hash every object anew. StoreError."""
    every = roots.read(lenient=True)
    uses = _uses(every)
    digests = sorted(store.digests())
    damaged, total = [], 0
    for count, digest in enumerate(digests):
        progress.step("check", count, len(digests), "objects")
        try:
            total += store.size(digest)
            store.open(digest).close()
        except ObjectCorruptError as problem:
            damaged.append(uses.faulty(digest, f"damaged; {problem.where}"))
        except ObjectMissingError:
            continue  # collected a moment ago
    progress.step("check", len(digests), len(digests), "objects")
    missing = [
        uses.faulty(digest, "not in the store, though it was archived here")
        for digest in sorted(_required_here(every))
        if not store.has(digest)
    ]
    return Checked(len(digests), total, tuple(damaged), tuple(missing))


def repair(
    *,
    store: TendedStore,
    roots: Roots,
    index: Index,
    archivist: Archivist,
    prober: Prober,
    targets: Sequence[Target],
    progress: Progress,
) -> tuple[Mended, ...]:
    """Move damaged objects aside and get all that is not whole again.

    Wheels come from this machine's files and the indexes; the rest from the environments ``targets``, where they
    hold the same files. Nothing is deleted. StoreError.
    """
    seen = check(store=store, roots=roots, progress=progress)
    locks = _uses(roots.read(lenient=True)).locks
    again = _Again(store, index, archivist, prober, targets, progress)
    mended = []
    with archivist.staging() as folder:
        for faulty in seen.damaged:
            aside = store.set_aside(faulty.digest)
            mended.append(again.get(faulty, locks.get(faulty.digest, ()), folder, aside))
        mended.extend(again.get(faulty, locks.get(faulty.digest, ()), folder, None) for faulty in seen.missing)
    return tuple(mended)


def collect(
    *, store: TendedStore, roots: Roots, grace: float, now: Callable[[], float], dry_run: bool, progress: Progress
) -> Collected:
    """Remove the objects that no root names and that were put more than ``grace`` seconds ago.

    Whoever writes a lock puts its objects first, so the grace time covers the time between. Before each removal
    the roots are looked at again. RootsUnreadableError: nothing is removed.
    """
    stamp = roots.stamp()
    every = roots.read()
    uses = _uses(every)
    removed: list[Kept] = []
    young = used = 0
    digests = sorted(store.digests())
    for count, digest in enumerate(digests):
        progress.step("collect", count, len(digests), "objects")
        if roots.stamp() != stamp:
            stamp = roots.stamp()
            uses = _uses(roots.read())
        if digest in uses.users:
            used += 1
            continue
        try:
            size, kept = store.size(digest), store.kept(digest)
        except ObjectMissingError:
            continue
        if now() - kept <= grace:
            young += 1
            continue
        if not dry_run and not store.remove_unrenewed(digest, kept):
            young += 1
            continue
        removed.append(uses.kept(digest, size))
    progress.step("collect", len(digests), len(digests), "objects")
    return Collected(tuple(removed), young, used, tuple(_gone(every)))


def _gone(roots: Sequence[Root]) -> Iterator[str]:
    for root in roots:
        if root.gone:
            yield (
                f"{root.where} is not there now; its {len(root.objects)} objects are kept "
                f"(not wanted any more: envguard store gc --forget {root.where})"
            )


def _uses(roots: Sequence[Root]) -> _Uses:
    needs: dict[Digest, Need] = {}
    users: dict[Digest, list[str]] = {}
    locks: dict[Digest, list[Lock]] = {}
    for root in roots:
        for digest in root.objects:
            users.setdefault(digest, []).append(root.where)
        for need in needs_of(root.lock) if root.lock is not None else ():
            before = needs.get(need.digest)
            if before is None or before.kind is Kind.OTHER:
                needs[need.digest] = need
            if root.lock is not None:
                locks.setdefault(need.digest, []).append(root.lock)
    return _Uses(
        needs,
        {digest: tuple(names) for digest, names in users.items()},
        {digest: tuple(found) for digest, found in locks.items()},
    )


def _required_here(roots: Sequence[Root]) -> set[Digest]:
    """Objects that this store held when a snapshot of this machine wrote their lock."""
    return {
        need.digest
        for root in roots
        if root.lock is not None
        for need in needs_of(root.lock)
        if need.required and need.digest in root.noted
    }


def _size(store: TendedStore, digest: Digest) -> int:
    try:
        return store.size(digest)
    except ObjectMissingError:
        return 0


@dataclass(slots=True)
class _Again:
    """Gets objects again; environments are looked at once, when one is needed."""

    store: TendedStore
    index: Index
    archivist: Archivist
    prober: Prober
    targets: Sequence[Target]
    progress: Progress
    looked: list[tuple[Layout, Mapping[str, Distribution]]] | None = None

    def get(self, faulty: Faulty, locks: Sequence[Lock], folder: Path, aside: Path | None) -> Mended:
        """One object, from the first source that has its very bytes."""
        if not locks:
            return Mended(faulty, "nobody needs it", aside=aside)
        source, reason = None, "no source has its bytes"
        for lock in locks:
            try:
                source = self._get(faulty, lock, folder)
            except StoreError:
                raise
            except (EnvguardError, OSError) as problem:
                reason = getattr(problem, "message", None) or str(problem)
            if source is not None:
                break
        return Mended(faulty, source, "" if source else reason, aside)

    def _get(self, faulty: Faulty, lock: Lock, folder: Path) -> str | None:
        entries = lock.facts.distributions.value if isinstance(lock.facts.distributions, Value) else ()
        digest = faulty.digest
        for entry in entries:
            if digest == entry.wheel.rebuilt:
                return self._from_environments(entry, digest, folder, self._rebuilt)
            if digest == entry.wheel.sha256:
                return self._wheel(entry, digest, folder)
            if digest == entry.rows:
                return self._from_environments(entry, digest, folder, self._rows)
            if entry.origin is not None and digest == entry.origin.archive:
                return self._from_environments(entry, digest, folder, self._source)
        for fact in lock.facts.files.value if isinstance(lock.facts.files, Value) else ():
            if digest == fact.sha256:
                return self._file(fact, digest)
        return None

    def _wheel(self, entry: Distribution, digest: Digest, folder: Path) -> str | None:
        path = self.archivist.local(entry)
        if path is not None:
            with path.open("rb") as stream:
                return str(path) if self._put(stream, digest) else None
        step = obtain(entry, frozenset(), self.index.offers(entry.name))
        for offer in step.offers if isinstance(step, Step) else ():
            path = self.index.fetch(offer, folder, expect=digest, progress=self.progress)
            try:
                with path.open("rb") as stream:
                    if self._put(stream, digest):
                        return f"index {offer.source}" if offer.source != "find-links" else offer.source
            finally:
                path.unlink(missing_ok=True)
        return None

    def _from_environments(
        self,
        entry: Distribution,
        digest: Digest,
        folder: Path,
        make: Callable[[Layout, Distribution, Digest, Path], bool],
    ) -> str | None:
        """From an environment where the same distribution is installed."""
        for layout, found in self._environments():
            there = found.get(entry.name)
            if there is None or (there.record, there.record_data) != (entry.record, entry.record_data):
                continue
            if make(layout, _as_recorded(there, entry), digest, folder):
                return str(layout.prefix)
        return None

    def _rebuilt(self, layout: Layout, entry: Distribution, digest: Digest, folder: Path) -> bool:
        made = self.archivist.rebuild(layout, entry, folder)
        return self._take(made.path, digest)

    def _source(self, layout: Layout, entry: Distribution, digest: Digest, folder: Path) -> bool:
        tree = self.archivist.source(layout, entry, folder)
        return tree is not None and self._take(tree.path, digest)

    def _rows(self, layout: Layout, entry: Distribution, digest: Digest, folder: Path) -> bool:  # noqa: ARG002
        content = dump_rows(entry.listing) if entry.listing is not None else b""
        return Digest.of(content) == digest and bool(self.store.put(content))

    def _file(self, fact: FileFact, digest: Digest) -> str | None:
        for layout, _ in self._environments():
            try:
                with self.prober.content(layout, fact) as stream:
                    if self._put(stream, digest):
                        return str(layout.prefix)
            except OSError:
                continue
        return None

    def _take(self, path: Path, digest: Digest) -> bool:
        try:
            with path.open("rb") as stream:
                return self._put(stream, digest)
        finally:
            path.unlink(missing_ok=True)

    def _put(self, stream: BinaryIO, digest: Digest) -> bool:
        """False when these are other bytes."""
        try:
            self.store.put(stream, expect=digest)
        except StoreError:
            raise
        except EnvguardError:
            return False
        return True

    def _environments(self) -> list[tuple[Layout, Mapping[str, Distribution]]]:
        if self.looked is None:
            self.looked = []
            for target in self.targets:
                try:
                    facts = self.prober.facts(target, Level.METADATA, baseline=_no_rows, progress=self.progress)
                    layout = self.prober.layout(target)
                except EnvguardError:
                    continue  # gone, or broken: another may have it
                seen = facts.distributions.value if isinstance(facts.distributions, Value) else ()
                self.looked.append((layout, {entry.name: entry for entry in seen}))
        return self.looked


def _as_recorded(there: Distribution, entry: Distribution) -> Distribution:
    """What is installed, under the filename that the lock has."""
    return replace(there, wheel=entry.wheel)


def _no_rows(_: str) -> None:
    """What is installed speaks for itself."""
