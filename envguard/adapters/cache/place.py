"""Where a job's compile cache lies: the variable, or torch's default (its ``cache_dir_utils.py``)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envguard.model.cache_files import CachePlace

OWN = "own"
"""The source of a lock's own cache, which a job uses only when it is told to."""
VARIABLE = "TORCHINDUCTOR_CACHE_DIR"
TRITON_VARIABLE = "TRITON_CACHE_DIR"


@dataclass(frozen=True, slots=True)
class Place:
    """A cache's folder and why that one; ``triton`` where Triton's lies elsewhere."""

    folder: Path
    source: str
    triton: Path | None = None

    def shown(self, environ: Mapping[str, str]) -> str:
        """The folder as a lock may hold it: without the user's name and home."""
        text = str(self.folder)
        home = environ.get("HOME", "").rstrip("/")
        if home and (text == home or text.startswith(f"{home}/")):
            text = "~" + text[len(home) :]
        user = _sanitized(_user(environ))
        return re.sub(rf"(?<![A-Za-z0-9]){re.escape(user)}(?![A-Za-z0-9])", "<user>", text) if user else text


def place(
    environ: Mapping[str, str], working_folder: Path, named: Path | None = None, own: CachePlace | None = None
) -> Place:
    """The folder that a job with this environment uses; ``named`` by hand goes first.

    ``own``: the lock's, where no variable names another and it is there.
    """
    triton = environ.get(TRITON_VARIABLE)
    elsewhere = working_folder / triton if triton else None
    if named is not None:
        return Place(working_folder / named, "--cache", elsewhere)
    variable = environ.get(VARIABLE)
    if variable is not None:
        return Place(working_folder / variable, VARIABLE, elsewhere)
    if own is not None and own.inductor.is_dir():
        return Place(own.inductor, OWN, own.triton)
    return Place(
        _temporary(environ, working_folder) / f"torchinductor_{_sanitized(_user(environ))}", "default", elsewhere
    )


def _sanitized(user: str) -> str:
    return re.sub(r'[\\/:*?"<>|]', "_", user)


def _user(environ: Mapping[str, str]) -> str:
    """As ``getpass.getuser``, with another process's variables."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        if environ.get(name):
            return environ[name]
    try:
        import pwd

        return pwd.getpwuid(os.getuid())[0]
    except (ImportError, KeyError, OSError):
        return f"uid_{os.getuid()}" if hasattr(os, "getuid") else "unknown_user"


def _temporary(environ: Mapping[str, str], working_folder: Path) -> Path:
    """As ``tempfile.gettempdir``, with another process's variables."""
    named = (environ[name] for name in ("TMPDIR", "TEMP", "TMP") if environ.get(name))
    for folder in (*named, "/tmp", "/var/tmp", "/usr/tmp"):  # noqa: S108
        path = working_folder / folder
        if path.is_dir() and os.access(path, os.W_OK | os.X_OK):
            return path
    return working_folder
