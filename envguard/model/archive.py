"""What an archive is made of: wheels rebuilt from installed files, and folders that installs came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RebuiltWheel:
    """A wheel file made from installed files; whoever asked for it removes it. ``remarks``: what it lacks."""

    path: Path
    filename: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceTree:
    """A tar of the folder that an install came from; whoever asked for it removes it."""

    path: Path
    files: int
    size: int
    """Bytes of the files."""
