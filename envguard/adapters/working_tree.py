"""A digest of what a git working tree holds beyond its commit: changed, new and missing files.

It depends on paths, content, kind and the executable bit only, not on what is staged, on times or on the machine.
A file larger than 4 MiB, and every file once 256 MiB were read, counts by its size and its first and last 64 KiB:
such files are results rather than code, and a look must stay quick.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from envguard.adapters.git import GitError, git
from envguard.model.digest import Digest

_LARGE = 4 << 20
_READ_AT_MOST = 256 << 20
_END = 64 << 10
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Seen:
    """A repository: ``commit`` is None before the first one, ``changes`` None when the tree is clean."""

    commit: str | None
    changes: Digest | None


@dataclass(frozen=True, slots=True)
class _Entry:
    path: bytes
    mode: str = ""
    blob: str = ""
    """What HEAD holds there; empty for a new file."""


def root_of(folder: Path) -> Path | None:
    """The nearest folder upwards that holds ``.git``; None when there is none."""
    folder = Path(os.path.realpath(folder))
    return next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)


def look(root: Path, part: str = ".", *, timeout: float, depth: int = 0) -> Seen:
    """Commit and changes of the repository at ``root``, the changes only of ``part`` of it. GitError."""
    told = git(
        root,
        "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames",
        "--ignore-submodules=none", "--", part,
        timeout=timeout,
    )  # fmt: skip
    commit = None
    entries = []
    for line in told.split(b"\0"):
        if line.startswith(b"# branch.oid "):
            commit = line[13:].decode("ascii", "replace")
        entry = _entry(line)
        if entry is not None:
            entries.append(entry)
    changes = _Changes(root, timeout, depth).digest(entries)
    return Seen(None if commit == "(initial)" else commit, changes)


def _entry(line: bytes) -> _Entry | None:
    """One line of git-status(1)'s porcelain version 2."""
    if line.startswith(b"? "):
        return _Entry(line[2:])
    if line.startswith(b"1 "):  # 1 XY sub mH mI mW hH hI path
        fields = line.split(b" ", 8)
        return _Entry(fields[8], fields[3].decode(), fields[6].decode())
    if line.startswith(b"u "):  # u XY sub m1 m2 m3 mW h1 h2 h3 path
        return _Entry(line.split(b" ", 10)[10])
    return None


class _Changes:
    def __init__(self, root: Path, timeout: float, depth: int) -> None:
        self._root = os.fsencode(root)
        self._timeout = timeout
        self._depth = depth
        self._left = _READ_AT_MOST

    def digest(self, entries: list[_Entry]) -> Digest | None:
        state = hashlib.sha256()
        any_change = False
        for entry in sorted(entries, key=lambda entry: entry.path):
            told = self._told(entry)
            if told is not None:
                any_change = True
                state.update(entry.path + b"\0" + told + b"\0")
        return Digest(state.hexdigest()) if any_change else None

    def _told(self, entry: _Entry) -> bytes | None:
        """What a path holds now, in bytes; None when that is what HEAD holds (staged and taken back)."""
        path = os.path.join(self._root, entry.path)  # noqa: PTH118 - bytes
        try:
            seen = os.lstat(path)
        except OSError:
            return b"gone"
        if stat.S_ISDIR(seen.st_mode):
            return self._repository(path)
        if stat.S_ISLNK(seen.st_mode):
            return b"link " + os.readlink(path)  # noqa: PTH115 - bytes
        if not stat.S_ISREG(seen.st_mode):
            return b"neither file nor folder"  # a pipe is never opened: that could wait for ever
        mode = b"100755" if seen.st_mode & 0o100 else b"100644"
        return self._file(path, mode, seen.st_size, entry)

    def _file(self, path: bytes, mode: bytes, size: int, entry: _Entry) -> bytes | None:
        whole = size <= min(_LARGE, self._left)
        try:
            with open(path, "rb") as stream:  # noqa: PTH123 - bytes
                content = stream.read(_LARGE) if whole else _ends(stream, size)
        except OSError:
            return b"unreadable"
        self._left -= len(content)
        if whole and entry.mode == mode.decode() and entry.blob == _blob(content, len(entry.blob)):
            return None
        how = mode if whole else mode + b" %d" % size
        return how + b" " + hashlib.sha256(content).hexdigest().encode()

    def _repository(self, path: bytes) -> bytes:
        """A submodule, or a repository that lies inside this one: its commit and its own changes."""
        if not os.path.lexists(os.path.join(path, b".git")):  # noqa: PTH118 - bytes
            return b"folder"
        if self._depth >= _DEEPEST:
            return b"repository"
        try:
            seen = look(Path(os.fsdecode(path)), timeout=self._timeout, depth=self._depth + 1)
        except GitError as error:
            return b"repository " + str(error).encode("utf-8", "replace")
        return f"repository {seen.commit} {seen.changes}".encode()


def _ends(stream: BinaryIO, size: int) -> bytes:
    start = stream.read(_END)
    stream.seek(max(_END, size - _END))
    return start + stream.read(_END)


def _blob(content: bytes, length: int) -> str:
    """The name git gives to a content: SHA-1, or SHA-256 where names have 64 digits."""
    head = b"blob %d\0" % len(content)
    if length == 64:
        return hashlib.sha256(head + content).hexdigest()
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
