"""The folder that puts the guard into a run's processes, and how to know it again in somebody's search path."""

from __future__ import annotations

import os
from pathlib import Path

import envguard
from envguard.model.digest import Digest

FILE = "sitecustomize.py"


def folder() -> Path:
    """To be put first in PYTHONPATH. It is only ever read: nothing of ``envguard.runtime`` is imported here."""
    return Path(envguard.__file__).parent / "runtime" / "site"


def is_ours(place: Path) -> bool:
    """Whether a ``sitecustomize.py`` is the guard's: it and all files that it loads have our bytes."""
    if place.name != FILE:
        return False
    try:
        return _digest(place.parent.parent) == digest()
    except OSError:
        return False


def digest() -> Digest:
    """Of all files of the runtime, by name and content."""
    return _digest(folder().parent)


def _digest(runtime: Path) -> Digest:
    names = sorted(path.relative_to(runtime).as_posix() for path in runtime.rglob("*.py"))
    parts = (f"{name}\n{Digest.of((runtime / name).read_bytes())}\n" for name in names[:100])
    return Digest.of(os.fsencode("".join(parts)))
