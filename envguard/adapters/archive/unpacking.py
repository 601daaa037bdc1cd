"""Taking an object out of the store: as a file, or an archived source as the folder that it was."""

from __future__ import annotations

import re
import shutil
import tarfile
from pathlib import Path

from envguard.adapters.store import DirectoryStore
from envguard.errors import EnvguardError, ObjectMissingError, UsageError
from envguard.model.digest import Digest

_BEGINNING = re.compile(r"(?:sha256:)?([0-9a-f]{6,64})")


def take_out(store: DirectoryStore, named: str, path: Path) -> int:
    """Write an object to ``path``, which must not be there yet; how many files that makes.

    ``named``: a digest, or at least the first six digits of one that begins no other. UsageError,
    ObjectMissingError, ObjectCorruptError; EnvguardError where ``path`` can't be written.
    """
    digest = _found(store, named)
    if path.exists() or path.is_symlink():
        raise UsageError("there is something already", where=str(path), hint="name a new file or folder")
    try:
        with store.open(digest) as stream:
            try:
                with tarfile.open(fileobj=stream, mode="r:") as archive:
                    return _unpack(archive, path)
            except tarfile.ReadError:
                stream.seek(0)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as copy:
                shutil.copyfileobj(stream, copy, 1 << 20)
            return 1
    except OSError as problem:
        raise EnvguardError(f"could not be written: {problem.strerror or problem}", where=str(path)) from None


def _found(store: DirectoryStore, named: str) -> Digest:
    match = _BEGINNING.fullmatch(named)
    if match is None:
        raise UsageError(f"not a digest: {named[:80]!r}", hint="envguard store ls names them")
    found = [digest for digest in store.digests() if digest.hex.startswith(match[1])]
    if not found:
        raise ObjectMissingError(f"the store holds no object {named}", where=str(store.root))
    if len(found) > 1:
        raise UsageError(f"{len(found)} objects begin with {match[1]}", hint="give more digits")
    return found[0]


def _unpack(archive: tarfile.TarFile, path: Path) -> int:
    """All members; one that would lead out of the folder is refused."""
    members = archive.getmembers()
    path.mkdir(parents=True)
    try:
        archive.extractall(path, members, filter="data")
    except tarfile.FilterError as problem:
        raise EnvguardError(f"a file would lie outside: {problem}", where=str(path)) from None
    return len(members)
