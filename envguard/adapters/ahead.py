"""A walk that begins before this process has imported what it needs: in a child, on another core.

The child lists and stats the folders that were looked at last time from this working folder. What it saw counts
only where every folder of a library is as the stat index knows it; else the library is walked as if there had been
no child. Linux, two cores, and only in a process that is envguard's own (no threads yet).
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

_FORM = "envguard ahead 1"
_CAP = 1 << 16

Seen = list[tuple[str, bytes, int]]
"""Every folder below one: path in it, digest, latest ctime in ns; as ``tree.Unit`` has them."""


class Ahead:
    """The child and what it saw."""

    def __init__(self, child: int, pipe: int) -> None:
        self._child = child
        self._pipe = pipe
        self._seen: dict[str, Seen] | None = None

    def below(self, folder: str) -> Seen | None:
        """All folders below this one, once the child is through; None where it did not walk that."""
        if self._seen is None:
            self._seen = self._read()
            self.end()
        return self._seen.get(folder)

    def end(self) -> None:
        """No child outlives its use."""
        if self._child > 0:
            with contextlib.suppress(OSError):
                os.close(self._pipe)
            with contextlib.suppress(OSError):
                os.kill(self._child, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(self._child, 0)
            self._child = 0

    def _read(self) -> dict[str, Seen]:
        if self._child <= 0:
            return {}
        pieces = []
        try:
            while piece := os.read(self._pipe, 1 << 20):
                pieces.append(piece)
            seen = marshal.loads(b"".join(pieces))  # noqa: S302 - from a fork of this very process
        except (OSError, ValueError, EOFError, TypeError):
            return {}
        return seen if isinstance(seen, dict) else {}


def begin(cache: Callable[[], str]) -> Ahead | None:
    """Start the child, where there can be one. ``cache``: envguard's cache folder; asked for in the child."""
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2:
        return None
    try:
        read, write = os.pipe2(os.O_CLOEXEC)
        child = os.fork()
    except OSError:
        return None
    if not child:
        _in_child(write, cache)
    os.close(write)
    return Ahead(child, read)


def remember(cache: str, folders: Sequence[tuple[str, bool]]) -> None:
    """Keep which folders a look from this working folder walks; ``True``: with all that is below."""
    import json
    from pathlib import Path

    from envguard.adapters import files

    content = json.dumps([_FORM, list(folders)]).encode("ascii")
    with contextlib.suppress(OSError, ValueError):
        file = _file(cache)
        with contextlib.suppress(FileNotFoundError), open(file, "rb") as stream:  # noqa: PTH123
            if stream.read(_CAP) == content:
                return
        files.write(Path(file), content, mode=0o600, durable=False)


def _in_child(write: int, cache: Callable[[], str]) -> NoReturn:
    """Walk, tell, end: whatever happens, nothing of the parent's is run or flushed here."""
    try:
        content = marshal.dumps(_walked(cache()), 2)
        while content:
            content = content[os.write(write, content) :]
    except BaseException:  # noqa: S110 - the parent walks itself where it hears nothing
        pass
    finally:
        os._exit(0)


def _walked(cache: str) -> dict[str, Seen]:
    import json

    from envguard.adapters import tree

    with open(_file(cache), "rb") as stream:  # noqa: PTH123
        form, folders = json.loads(stream.read(_CAP))
    if form != _FORM:
        return {}
    found: dict[str, Seen] = {}
    for folder, deep in folders:
        seen: Seen = []
        with contextlib.suppress(OSError), tree.opened(folder) as root:
            for path, unit in tree.walk(root, lambda _: None, deep=deep):
                if unit.problem is not None:
                    break
                seen.append((path, unit.digest, unit.latest))
            else:
                found[folder] = seen
    return found


def _file(cache: str) -> str:
    name = hashlib.blake2b(os.fsencode(os.getcwd()), digest_size=16).hexdigest()  # noqa: PTH109
    return os.path.join(cache, "stat", f"{name}.ahead")  # noqa: PTH118
