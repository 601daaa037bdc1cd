"""The target: which interpreter is looked at, and where its environment keeps things."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Level(Enum):
    """How closely files are looked at."""

    METADATA = "metadata"
    """RECORDs only."""
    FAST = "fast"
    """Files whose stat changed since they were last hashed are hashed again."""
    FULL = "full"
    """Every file is hashed, bytecode held against its source."""


@dataclass(frozen=True, slots=True)
class Target:
    """A Python to look at. ``python`` is not resolved: a venv's link tells which venv it is."""

    python: Path
    chosen: str
    """Why this one: ``--python``, ``.venv``, ``VIRTUAL_ENV``, …"""


@dataclass(frozen=True, slots=True)
class PathEntry:
    """One folder of ``sys.path`` as a job would see it, and why it is there.

    ``source``: ``standard library``, ``site-packages``, ``PYTHONPATH``, ``user site``, ``.pth``
    or ``working folder``.
    """

    path: Path
    source: str


@dataclass(frozen=True, slots=True)
class Layout:
    """Where an environment keeps things, from the static tier of the probe."""

    python: Path
    prefix: Path
    base_prefix: Path
    libraries: tuple[Path, ...]
    """purelib and platlib (one folder when they are the same), then other site folders."""
    scripts: Path
    headers: Path
    path: tuple[PathEntry, ...]
    is_venv: bool
    system_site: bool
