"""The compile cache as it is found: where it is and how much is in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from envguard.model.facts import CacheFound
from envguard.model.observed import Absent, Observed, Unobserved, Value

_VARIABLE = "TORCHINDUCTOR_CACHE_DIR"
_TRITON_VARIABLE = "TRITON_CACHE_DIR"


def cache_folder(environ: Mapping[str, str]) -> tuple[Path, str]:
    """Where torch would keep its cache (torch/_inductor/runtime/cache_dir_utils.py), and what says so."""
    named = environ.get(_VARIABLE)
    if named:
        return Path(named), _VARIABLE
    import tempfile

    user = "".join("_" if letter in '\\/:*?"<>|' else letter for letter in _user(environ))
    return Path(tempfile.gettempdir()) / f"torchinductor_{user}", "default"


def cache_found(environ: Mapping[str, str]) -> Observed[CacheFound]:
    """Counts of keys by kind; Absent when there is no such folder."""
    folder, source = cache_folder(environ)
    try:
        if not folder.is_dir():
            return Absent()
        entries = (
            ("aotautograd", sum(1 for _ in _folders(folder / "aotautograd"))),
            ("fxgraph", sum(1 for shard in _folders(folder / "fxgraph") for _ in _folders(shard))),
            ("triton", _triton(folder, environ)),
        )
    except OSError as problem:
        return Unobserved(f"the compile cache can't be read: {problem.strerror}")
    return Value(CacheFound(_shown(folder, environ), source, entries))


def _triton(folder: Path, environ: Mapping[str, str]) -> int:
    named = environ.get(_TRITON_VARIABLE)
    if named:
        return sum(1 for _ in _folders(Path(named)))
    return sum(1 for device in _folders(folder / "triton") for _ in _folders(device))


def _folders(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as found:
            names = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return
    yield from (folder / name for name in names)


def _user(environ: Mapping[str, str]) -> str:
    import getpass

    named = next((environ[name] for name in ("LOGNAME", "USER", "LNAME", "USERNAME") if environ.get(name)), None)
    if named is not None:
        return named
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a uid without a passwd entry
        return str(os.getuid()) if hasattr(os, "getuid") else "user"


def _shown(folder: Path, environ: Mapping[str, str]) -> str:
    text = os.fspath(folder)
    home = environ.get("HOME", "").rstrip("/")
    if home and (text == home or text.startswith(f"{home}/")):
        text = f"~{text[len(home) :]}"
    user = _user(environ)
    parts = [
        "<user>" if part == user else "torchinductor_<user>" if part == f"torchinductor_{user}" else part
        for part in text.split("/")
    ]
    return "/".join(parts)
