"""store: what is in it, whether it is whole, how it becomes whole again, and what nobody needs any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from envguard.errors import ObjectCorruptError, ObjectMissingError
from envguard.model.digest import Digest
from envguard.model.lock import Lock
from envguard.model.roots import Root
from envguard.model.target import Target
from envguard.operations.again import Again
from envguard.operations.stored import Checked, Collected, Faulty, Kept, Mended
from envguard.planning.archive import Kind, Need, needs_of
from envguard.ports import Archivist, Index, Prober, Progress, Roots, TendedStore


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
    again = Again(store, index, archivist, prober, targets, progress)
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
