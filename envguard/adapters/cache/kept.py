"""Keys kept behind the stat of the files that they were made of.

Listing the modules of torch takes a tenth of a second, hashing them half a second cold: the list is made each
time, the bytes are read again only when a file's stat says that it could have changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from envguard.adapters import folders
from envguard.adapters.hashing import open_file

_PIECE = 1 << 20
_LARGEST_ENTRY = 64 * 1024


class Hash(Protocol):
    """A hash being made."""

    def update(self, data: bytes, /) -> None:
        """Take in bytes."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of what is hashed: some text, then a file's bytes; ``hashed``: the hex of its sha256 instead."""

    text: bytes = b""
    file: Path | None = None
    hashed: bool = False

    def feed(self, state: Hash) -> None:
        """Hash this part. OSError."""
        state.update(self.text)
        if self.file is None:
            return
        if self.hashed:
            own = hashlib.sha256()
            _feed_file(own, self.file)
            state.update(own.hexdigest().encode())
        else:
            _feed_file(state, self.file)


def _feed_file(state: Hash, file: Path) -> None:
    handle = open_file(str(file.resolve()))
    with os.fdopen(handle, "rb", buffering=0) as stream:
        while piece := stream.read(_PIECE):
            state.update(piece)


class Kept:
    """Digests by name and place. ``folder`` None: envguard's cache folder. What can't be kept costs time only."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def digest(self, what: str, where: Sequence[Path], parts: Callable[[], Sequence[Part]]) -> str:
        """sha256 (hex) over all parts. OSError, and what ``parts`` raises."""
        wanted = list(parts())
        marks = _marks(wanted)
        entry = self._entry(what, where)
        found = _read(entry, marks)
        if found is None:
            state = hashlib.sha256()
            for part in wanted:
                part.feed(state)
            found = state.hexdigest()
            if _marks(wanted) == marks:  # nothing changed meanwhile
                _write(entry, marks, found)
        return found

    def _entry(self, what: str, where: Sequence[Path]) -> Path:
        folder = folders.cache() / "keys" if self._folder is None else self._folder
        place = hashlib.sha256("\0".join(str(path) for path in where).encode("utf-8", "surrogateescape"))
        return folder / f"{what}-{place.hexdigest()[:16]}.json"


def _marks(parts: Sequence[Part]) -> str:
    """One line that changes when any of the bytes could have."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part.text + b"\0")
        if part.file is not None:
            seen = part.file.stat()
            stat = (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
            state.update(f"{part.file}\0{part.hashed}\0{stat}\n".encode("utf-8", "surrogateescape"))
    return state.hexdigest()


def _read(entry: Path, marks: str) -> str | None:
    try:
        with entry.open("rb") as stream:
            document = json.loads(stream.read(_LARGEST_ENTRY))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("marks") != marks:
        return None
    digest = document.get("digest")
    sealed = document.get("sealed") == _seal(marks, digest)
    return digest if isinstance(digest, str) and sealed else None


def _write(entry: Path, marks: str, digest: str) -> None:
    from envguard.adapters import files

    document = {"marks": marks, "digest": digest, "sealed": _seal(marks, digest)}
    with contextlib.suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        files.write(entry, json.dumps(document).encode(), mode=0o600, durable=False)


def _seal(marks: str, digest: object) -> str:
    return hashlib.sha256(f"{marks} {digest}".encode()).hexdigest()
