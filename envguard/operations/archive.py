"""archive: the bytes of an environment's wheels go into the store, from wherever they can be had."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from envguard.errors import EnvguardError, IndexUnreachableError, NotRebuildableError, StoreError
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Wheel
from envguard.model.target import Layout
from envguard.operations.parallel import each
from envguard.planning.archive import Extent, size_of, takes_source, takes_wheel
from envguard.planning.obtain import Step, obtain
from envguard.ports import Archivist, Index, Offer, Progress, Store

_MARGIN = 256 << 20
"""Bytes that are to stay free on the store's disk."""
_MOST_REMARKS = 10


@dataclass(frozen=True, slots=True)
class Archiving:
    """What a snapshot is to archive, and with what. ``tell`` is told beforehand how much it will be."""

    extent: Extent
    index: Index
    archivist: Archivist
    offline: bool = False
    over_changes: bool = True
    """Also where the lock before holds other facts; else nothing is archived then."""
    tell: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Archived:
    """The distributions with what is known now, the objects that belong to them, and what could not be kept."""

    entries: tuple[Distribution, ...]
    objects: frozenset[Digest] = frozenset()
    remarks: tuple[str, ...] = ()


def archive(
    entries: Sequence[Distribution], asked: Archiving, *, layout: Layout, store: Store, progress: Progress
) -> Archived:
    """Put what ``asked`` names into the store.

    A wheel whose sha256 is known comes from a file of this machine or an index; one that can't be had, or is not
    known, is rebuilt from its installed files. What can be had in no way is told as a remark. StoreError: the
    disk; where nothing was asked for by name that too is only a remark.
    """
    taking = [one for one in entries if takes_wheel(one, asked.extent) or takes_source(one, asked.extent)]
    work = _Work(asked, layout, store, progress)
    missing = [one for one in taking if not work.is_held(one)]
    size = sum(size_of(one) for one in missing)
    room = asked.archivist.room() if missing else 0
    if missing and size + _MARGIN > room:
        problem = f"the archive needs about {_bytes(size)}, and the store's disk has {_bytes(room)} free"
        if asked.extent is not Extent.DEFAULT:
            raise StoreError(
                problem, hint="make room, name another disk in ENVGUARD_DATA_DIR, or use --no-archive"
            )
        return Archived(tuple(entries), remarks=(f"nothing was archived: {problem}",))
    if missing:
        asked.tell(
            f"archiving {len(missing)} distribution{'s' if len(missing) > 1 else ''}, about {_bytes(size)}; "
            f"{_bytes(room)} free (--no-archive declines)"
        )
    try:
        done = work.all(taking)
    except StoreError as problem:
        if asked.extent is not Extent.DEFAULT:
            raise
        return Archived(tuple(entries), remarks=(f"nothing was archived: {problem.message}",))
    by_name = {one.entry.name: one for one in done}
    return Archived(
        entries=tuple(by_name[one.name].entry if one.name in by_name else one for one in entries),
        objects=frozenset(digest for one in done for digest in one.objects),
        remarks=(*_told_rebuilt(done), *_some([remark for one in done for remark in one.remarks])),
    )


@dataclass(frozen=True, slots=True)
class _Done:
    """What became of one distribution."""

    entry: Distribution
    objects: tuple[Digest, ...] = ()
    remarks: tuple[str, ...] = ()
    rebuilt: bool = False
    """Rebuilt now, though its wheel is known."""


@dataclass(slots=True)
class _Work:
    asked: Archiving
    layout: Layout
    store: Store
    progress: Progress
    unreachable: bool = False
    """An index could not be reached: it is not asked again."""

    def is_held(self, entry: Distribution) -> bool:
        """Whether nothing is left to do."""
        extent, origin = self.asked.extent, entry.origin
        if takes_wheel(entry, extent) and self._held_wheel(entry) is None:
            return False
        if not takes_source(entry, extent):
            return True
        return origin is not None and origin.archive is not None and self.store.has(origin.archive)

    def all(self, taking: Sequence[Distribution]) -> list[_Done]:
        """Side by side, but for rebuilding: that reads and writes one disk."""
        with self.asked.archivist.staging() as folder:
            fetched = each(
                lambda entry: self._fetched(entry, folder), taking, self.progress, "archive wheels", "wheels"
            )
            done = []
            for count, (entry, had) in enumerate(zip(taking, fetched, strict=True)):
                self.progress.step("archive", count, len(taking), "distributions")
                done.append(self._source(had or self._rebuilt(entry, folder), folder))
        self.progress.step("archive", len(taking), len(taking), "distributions")
        return done

    def _held_wheel(self, entry: Distribution) -> Digest | None:
        for digest in (entry.wheel.sha256, entry.wheel.rebuilt):
            if digest is not None and self.store.has(digest):
                return digest
        return None

    def _fetched(self, entry: Distribution, folder: Path) -> _Done | None:
        """Held, or gathered by its sha256; None when it must be rebuilt."""
        if not takes_wheel(entry, self.asked.extent):
            return _Done(entry)
        held = self._held_wheel(entry)
        if held is not None:
            return _Done(entry, (held,))
        if entry.wheel.sha256 is None:
            return None
        path = self.asked.archivist.local(entry)
        if path is not None and self._keep(path, entry.wheel.sha256):
            return _Done(entry, (entry.wheel.sha256,))
        return self._downloaded(entry, entry.wheel.sha256, folder)

    def _keep(self, path: Path, expect: Digest) -> bool:
        """False when the file is other now, or can't be read."""
        try:
            with path.open("rb") as stream:
                self.store.put(stream, expect=expect)
        except StoreError:
            raise
        except (OSError, EnvguardError):
            return False
        return True

    def _downloaded(self, entry: Distribution, sha256: Digest, folder: Path) -> _Done | None:
        for offer in self._offers(entry):
            try:
                path = self.asked.index.fetch(offer, folder, expect=sha256, progress=self.progress)
            except EnvguardError as problem:
                self.unreachable = self.unreachable or isinstance(problem, IndexUnreachableError)
                continue
            try:
                if self._keep(path, sha256):
                    return _Done(entry, (sha256,))
            finally:
                path.unlink(missing_ok=True)
        return None

    def _offers(self, entry: Distribution) -> Sequence[Offer]:
        """Files of its sha256, best first."""
        if self.asked.offline or self.unreachable:
            return ()
        try:
            offers = self.asked.index.offers(entry.name)
        except IndexUnreachableError:
            self.unreachable = True
            return ()
        except EnvguardError:
            return ()
        step = obtain(entry, frozenset(), offers)
        return step.offers if isinstance(step, Step) else ()

    def _rebuilt(self, entry: Distribution, folder: Path) -> _Done:
        try:
            made = self.asked.archivist.rebuild(self.layout, entry, folder)
        except NotRebuildableError as problem:
            return _Done(entry, remarks=(f"not archived: {problem.message}",))
        try:
            size = made.path.stat().st_size
            with made.path.open("rb") as stream:
                digest = self.store.put(stream)
        finally:
            made.path.unlink(missing_ok=True)
        known = entry.wheel.sha256 is not None
        wheel = _known_by_archive(entry.wheel, made.filename, digest, size)
        return _Done(replace(entry, wheel=wheel), (digest,), made.remarks, rebuilt=known)

    def _source(self, done: _Done, folder: Path) -> _Done:
        """With the folder that an install came from."""
        entry = done.entry
        origin = entry.origin
        if origin is None or not takes_source(entry, self.asked.extent):
            return done
        if origin.archive is not None and self.store.has(origin.archive):
            return replace(done, objects=(*done.objects, origin.archive))
        try:
            tree = self.asked.archivist.source(self.layout, entry, folder)
        except NotRebuildableError as problem:
            return replace(done, remarks=(*done.remarks, problem.message))
        if tree is None:
            if not origin.editable:
                return done  # its wheel is there
            return replace(done, remarks=(*done.remarks, f"the source of {entry.name} is not on this machine"))
        try:
            with tree.path.open("rb") as stream:
                digest = self.store.put(stream)
        finally:
            tree.path.unlink(missing_ok=True)
        kept = replace(entry, origin=replace(origin, archive=digest))
        return replace(done, entry=kept, objects=(*done.objects, digest))


def _known_by_archive(wheel: Wheel, filename: str, digest: Digest, size: int) -> Wheel:
    """What was known of the wheel stays; of one that nobody knows, the rebuilt one takes the place."""
    if wheel.sha256 is not None and wheel.sha256 != wheel.rebuilt:
        return replace(wheel, filename=wheel.filename or filename, rebuilt=digest)
    return replace(wheel, filename=filename, sha256=digest, size=size, evidence=Evidence.ARCHIVE, rebuilt=digest)


def _some(remarks: Sequence[str]) -> Sequence[str]:
    """The first of many: an environment that no wheels made refuses them all."""
    left = len(remarks) - _MOST_REMARKS
    return remarks if left <= 0 else (*remarks[:_MOST_REMARKS], f"and {left} more like these")


def _told_rebuilt(done: Sequence[_Done]) -> list[str]:
    names = [one.entry.name for one in done if one.rebuilt]
    if not names:
        return []
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return [
        f"{len(names)} wheel{'s' if len(names) > 1 else ''} could not be had from any source, and "
        f"{'were' if len(names) > 1 else 'was'} rebuilt from the installed files: {shown}"
    ]


def _bytes(count: int) -> str:
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
