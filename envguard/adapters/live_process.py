"""A run that goes on: which Python, variables, folder and cache it has, from /proc. Nothing is attached to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envguard.errors import EnvguardError, SnapshotRefusedError, UsageError
from envguard.formats import proc

PROC = Path("/proc")
_TELLING = ("torch/lib/", "torch/_C", "nvidia/", "triton/_C")


@dataclass(frozen=True, slots=True)
class LiveProcess:
    """What a process is. ``environ``: as it was started with; ``cache`` None: none is mapped or named."""

    pid: int
    python: Path
    environ: Mapping[str, str]
    folder: Path
    cache: Path | None
    remarks: tuple[str, ...]


def look(pid: int, root: Path = PROC) -> LiveProcess:
    """Look at a process of this user.

    UsageError: there is none, or it isn't a Python. SnapshotRefusedError: its files were replaced since it began.
    EnvguardError: it is another user's.
    """
    place = root / str(pid)
    if not root.joinpath("self").exists():
        raise EnvguardError("a process can only be looked at where there is a /proc (Linux)")
    words = proc.words(_read(place, "cmdline", pid))
    if not words:
        raise UsageError(f"process {pid} has no command line: it has ended, or is the kernel's own")
    environ = _without_guard(proc.variables(_read(place, "environ", pid)))
    maps = tuple(proc.mapped(_read(place, "maps", pid)))
    folder = _link(place, "cwd", pid)
    python = _python(words, environ, folder, _link(place, "exe", pid), [file.path for file in maps])
    if python is None:
        raise UsageError(
            f"process {pid} is no Python: {words[0]}",
            hint=_children(root, pid) or "name the process that computes: pgrep -af python",
        )
    prefix = python.parent.parent
    _refuse_replaced(pid, prefix, maps)
    cache = proc.cache_folder(file.path for file in maps)
    return LiveProcess(
        pid, python, environ, folder, Path(cache) if cache else None, tuple(_remarks(root, pid, prefix, maps))
    )


def _without_guard(environ: Mapping[str, str]) -> Mapping[str, str]:
    """As the run would have been started without ``envguard run``: the guard's folder is no fact of its own."""
    from envguard.adapters import injected

    parts = environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [part for part in parts if part and not injected.is_ours(Path(part) / injected.FILE)]
    if len(kept) == len(parts):
        return environ
    others = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
    return {**others, "PYTHONPATH": os.pathsep.join(kept)} if kept else others


def _read(place: Path, name: str, pid: int) -> bytes:
    try:
        return (place / name).read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        raise UsageError(f"there is no process {pid}", hint="pgrep -af python names those there are") from None
    except PermissionError:
        raise EnvguardError(
            f"process {pid} can't be looked at: {_owner(place)}",
            where=f"{place}/{name}",
            hint="run envguard as the user that the run belongs to",
        ) from None
    except OSError as problem:
        raise EnvguardError(
            f"process {pid} can't be looked at: {problem.strerror}", where=f"{place}/{name}"
        ) from None


def _owner(place: Path) -> str:
    try:
        found = proc.user((place / "status").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        found = None
    if found is None or not hasattr(os, "geteuid") or found == os.geteuid():
        return "the system forbids it"
    return f"it belongs to user {found}"


def _link(place: Path, name: str, pid: int) -> Path:
    try:
        return Path(str((place / name).readlink()).removesuffix(" (deleted)"))
    except PermissionError:
        raise EnvguardError(
            f"process {pid} can't be looked at: {_owner(place)}",
            where=f"{place}/{name}",
            hint="run envguard as the user that the run belongs to",
        ) from None
    except OSError:
        raise UsageError(f"there is no process {pid}", hint="pgrep -af python names those there are") from None


def _python(
    words: Sequence[str], environ: Mapping[str, str], folder: Path, exe: Path, files: Sequence[str]
) -> Path | None:
    """The interpreter by which its environment is found.

    Where torch is mapped from tells it best: the name that it was started by may be a link that has since been
    switched. Else that name, else the program itself.
    """
    by_files = _by_files(files)
    if by_files is not None:
        return by_files
    if not exe.name.startswith(("python", "pypy")):
        return None
    started = _started(words[0], environ, folder)
    return started if started is not None and os.path.realpath(started) == os.path.realpath(exe) else exe


def _by_files(files: Sequence[str]) -> Path | None:
    for path in files:
        head, found, inside = path.partition("/site-packages/")
        if found and inside.startswith(_TELLING):
            prefix = Path(head).parent.parent
            python = prefix / "bin" / "python"
            if (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir():
                return python if python.exists() else None
    return None


def _started(word: str, environ: Mapping[str, str], folder: Path) -> Path | None:
    if os.sep in word:
        file = folder / word
        return file if file.exists() else None
    found = shutil.which(word, path=environ.get("PATH", os.defpath))
    return folder / found if found else None


def _refuse_replaced(pid: int, prefix: Path, maps: Sequence[proc.Mapped]) -> None:
    gone = [file.path for file in maps if file.gone and _inside(file.path, prefix)]
    if gone:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        raise SnapshotRefusedError(
            f"process {pid} runs files that are no longer on disk: {gone[0]}{more}",
            where=str(prefix),
            hint="the environment was changed since the run began: what is there now is not what runs",
        )


def _remarks(root: Path, pid: int, prefix: Path, maps: Sequence[proc.Mapped]) -> list[str]:
    remarks = []
    outside = sorted(
        {
            Path(file.path).name
            for file in maps
            if any(part in file.path for part in _TELLING) and not _inside(file.path, prefix)
        }
    )
    if outside:
        remarks.append(
            f"process {pid} has libraries of torch or CUDA from outside its environment: {_few(outside)}"
        )
    if not any("torch/lib/" in file.path for file in maps):
        remarks.append(f"process {pid} has not loaded torch{_torch_below(root, pid)}")
    return remarks


def _torch_below(root: Path, pid: int) -> str:
    hint = _children(root, pid)
    return f"; {hint}" if hint else ""


def _children(root: Path, pid: int) -> str | None:
    try:
        tasks = sorted((root / str(pid) / "task").iterdir())
        children = " ".join((task / "children").read_text(encoding="ascii") for task in tasks).split()
    except OSError:
        return None
    return f"it has started others: --pid {_few(children)}" if children else None


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _inside(path: str, prefix: Path) -> bool:
    return os.path.realpath(Path(path).parent).startswith(os.path.realpath(prefix) + os.sep)
