"""cache save and load: the bytes of a compile cache go into the store, and come back into a folder of their own.

Nothing of a cache is loaded or unpickled here: bytes are hashed and written. Whoever uses the folder runs them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from envguard.errors import EnvguardError, NotTrustedError, ObjectMissingError
from envguard.formats import cache_manifest
from envguard.model.cache_files import CachedFile, CachePlace, FoundFile, PutBack
from envguard.model.digest import Digest
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Value, value_or_none
from envguard.operations.parallel import each
from envguard.planning import cache_files
from envguard.ports import Caches, Progress, Store

IS_CODE = "a cache is code: pickles and libraries that the next start runs"
"""Said once by every command that puts one in place."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A cache in the store. ``left``: why files were left out → how many."""

    manifest: Digest
    objects: frozenset[Digest]
    files: int
    size: int
    keys: frozenset[str]
    """Keys that have a whole entry among the files."""
    left: tuple[tuple[str, int], ...] = ()
    missing: tuple[str, ...] = ()
    """Recorded keys without one."""


def save(place: CachePlace, lock: Lock | None, *, caches: Caches, store: Store, progress: Progress) -> Saved:
    """Keep the files of a cache. Where a lock's keys count, only theirs: stale ones never come back.

    EnvguardError (no cache, nothing in it), CacheUnsafeError, InUseError while somebody writes it, StoreError.
    """
    found = caches.listing(place)
    wanted = _recorded(lock)
    files = [file for file in found.files if wanted is None or cache_files.is_of(file.path, wanted)]
    left = Counter(dict(found.left))
    left["entries of keys that the lock doesn't record"] = len(found.files) - len(files)
    kept = each(lambda file: _keep(file, caches, store), files, progress, "save the cache", "files")
    whole = tuple(file for file in kept if file is not None)
    left["files that changed, or were not whole"] = len(kept) - len(whole)
    keys = frozenset(filter(None, (cache_files.key_of(file.path) for file in whole)))
    if not keys:
        raise EnvguardError(
            f"nothing to save: no whole entry{' of a recorded key' if wanted is not None else ''} is there",
            where=str(place.inductor),
            hint="compile first: envguard warmup; or name the run's cache: --cache DIR",
        )
    return Saved(
        manifest=store.put(cache_manifest.dump(whole)),
        objects=frozenset(file.sha256 for file in whole),
        files=len(whole),
        size=sum(file.size for file in whole),
        keys=keys,
        left=tuple(sorted((why, number) for why, number in left.items() if number)),
        missing=tuple(sorted({key for key in wanted or () if not key.startswith("triton/")} - keys)),
    )


def _recorded(lock: Lock | None) -> Collection[str] | None:
    """Keys to keep; None for all."""
    keys = value_or_none(lock.facts.keys) if lock is not None else None
    if keys is None or not keys.source.counts:
        return None
    return frozenset({*keys.names, *keys.triton})


def _keep(file: FoundFile, caches: Caches, store: Store) -> CachedFile | None:
    content = caches.content(file)
    if content is None:
        return None
    if cache_files.is_group(file.path):
        try:
            content = cache_files.without_paths(content)
        except ValueError:
            return None
    digest = Digest.of(content)
    if not store.has(digest):
        store.put(content, expect=digest)
    return CachedFile(file.path, digest, len(content), file.executable)


def manifest_of(lock: Lock, store: Store) -> tuple[CachedFile, ...]:
    """The files that a lock names. EnvguardError when it names none, ObjectMissingError, ObjectCorruptError."""
    if lock.cache_manifest is None:
        raise EnvguardError(
            f"{lock.name} names no saved cache",
            hint="save one: envguard cache save LOCK; or compile anew: envguard warmup LOCK",
        )
    try:
        files = cache_manifest.load(store.read(lock.cache_manifest))
        cache_files.check(files)
    except ValueError as problem:
        raise EnvguardError(
            f"the saved cache's list is refused: {problem}", where=str(lock.cache_manifest)
        ) from None
    return files


def load(
    lock: Lock,
    place: CachePlace,
    *,
    distrust: str | None,
    observed: Facts,
    caches: Caches,
    store: Store,
    progress: Progress,
) -> PutBack:
    """Put a lock's cache into a folder. ``distrust``: why its word is not enough, None when it is.

    ``observed`` says which processor this is: libraries made on another are left out. NotTrustedError,
    ObjectMissingError, ObjectCorruptError, CacheUnsafeError, InUseError, StoreError.
    """
    files = manifest_of(lock, store)
    if distrust is not None:
        raise NotTrustedError(
            f"{IS_CODE}; {distrust}",
            where=lock.name,
            hint="commit the lock, or, if you know where it comes from: --trust-cache",
        )
    _refuse_missing(files, store)
    return caches.put_back(
        place,
        files,
        lambda file: store.read(file.sha256),
        native=_same_processor(lock.facts, observed),
        progress=progress,
    )


def _refuse_missing(files: Sequence[CachedFile], store: Store) -> None:
    missing = [file for file in files if not store.has(file.sha256)]
    if missing:
        raise ObjectMissingError(
            f"the store lacks {len(missing):,} of the cache's {len(files):,} files, {missing[0].path} among them",
            hint="the store of the machine that saved it has them; or compile anew: envguard warmup",
        )


def _same_processor(recorded: Facts, observed: Facts) -> bool:
    was, now = recorded.cpu, observed.cpu
    if not isinstance(was, Value) or not isinstance(now, Value):
        return False
    return (was.value.architecture, was.value.flags) == (now.value.architecture, now.value.flags)


def objects_of(lock: Lock, store: Store) -> frozenset[Digest]:
    """What a lock's saved cache needs of the store; nothing where that can't be told."""
    if lock.cache_manifest is None:
        return frozenset()
    try:
        return frozenset({lock.cache_manifest, *(file.sha256 for file in manifest_of(lock, store))})
    except EnvguardError:
        return frozenset({lock.cache_manifest})


def export_lines(place: CachePlace) -> Sequence[str]:
    """What a job's shell needs."""
    import shlex

    return [f"export {name}={shlex.quote(value)}" for name, value in place.variables().items()]
