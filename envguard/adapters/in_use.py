"""Which processes use a folder, as far as /proc tells: those of other users can't be seen without privilege."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Container, Iterator
from pathlib import Path

from envguard.model.environment import Occupant

_SHOWN = 120
PROC = Path("/proc")


def occupants(folder: Path, *, proc: Path = PROC, leaving_out: Container[int] = ()) -> tuple[Occupant, ...]:
    """Processes that map a file of ``folder``, were started from it, work in it, or name a file of it.

    A pure Python program maps nothing of its environment, and its executable is the base interpreter: the name
    by which it was started tells, followed through links as they stand now. Empty where there is no /proc.
    """
    root = os.path.realpath(folder)
    found = []
    for process in _processes(proc):
        if int(process.name) not in leaving_out and _uses(process, root):
            found.append(Occupant(int(process.name), _command(process)))
    return tuple(found)


def _processes(proc: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted((entry for entry in proc.iterdir() if entry.name.isdecimal()), key=lambda e: int(e.name))


def _uses(process: Path, root: str) -> bool:
    return (
        any(_within(path, root) for path in (_link(process / "exe"), _link(process / "cwd")))
        or _started_from(process, root)
        or _maps(process, root)
    )


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _link(path: Path) -> str:
    try:
        return os.fspath(path.readlink())
    except OSError:
        return ""


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _arguments(process: Path) -> list[str]:
    return [os.fsdecode(part) for part in _content(process / "cmdline").split(b"\0")]


def _command(process: Path) -> str:
    words = " ".join(_arguments(process)).strip() or os.fsdecode(_content(process / "comm")).strip()
    printable = "".join(character if character.isprintable() else "?" for character in words)
    return printable if len(printable) <= _SHOWN else printable[: _SHOWN - 1] + "…"


def _started_from(process: Path, root: str) -> bool:
    arguments = _arguments(process)
    if any(_within(argument, root) for argument in arguments):
        return True
    name = arguments[0]
    if not name:
        return False
    if "/" not in name:  # found by the shell in its PATH
        name = shutil.which(name, path=_search_path(process)) or ""
    elif not name.startswith("/"):
        name = os.path.join(_link(process / "cwd"), name)  # noqa: PTH118 (text, as /proc gives it)
    return bool(name) and _within(os.path.realpath(os.path.dirname(name)), root)  # noqa: PTH120


def _search_path(process: Path) -> str:
    for entry in _content(process / "environ").split(b"\0"):
        if entry.startswith(b"PATH="):
            return os.fsdecode(entry[5:])
    return ""


def _maps(process: Path, root: str) -> bool:
    prefix = os.fsencode(root.replace("\n", "\\012"))
    for line in _content(process / "maps").splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and (fields[5] == prefix or fields[5].startswith(prefix + b"/")):
            return True
    return False
