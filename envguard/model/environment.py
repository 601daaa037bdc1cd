"""Environments that restore made, and the names by which they are reached."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Room:
    """What is free where environments are kept; ``files`` None: the file system has no fixed number of them."""

    size: int
    """Bytes."""
    files: int | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A restore under way, in a folder that only it uses; no part of it is reached from anywhere else."""

    folder: Path
    environment: Path
    """Where the environment is built."""
    final: Path
    """Where it will be once it is whole."""


@dataclass(frozen=True, slots=True)
class Occupant:
    """A process that uses an environment."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})"


@dataclass(frozen=True, slots=True)
class Restored:
    """One environment that a restore finished."""

    name: str
    """The lock's name."""
    folder: Path
    lock: str
    """The lock's id."""
    made: datetime
    size: int
    """Bytes of its files; one that has several links counts once."""
    targets: tuple[Path, ...]
    """The links that point at it now; none when it is only kept."""


@dataclass(frozen=True, slots=True)
class Switched:
    """A target that leads to another environment than before."""

    target: Path
    environment: Path
    previous: Path | None
    """What the target led to, or where the folder that was there is kept now; None when nothing was there."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pruned:
    """Environments that were removed, and the bytes that this freed."""

    removed: tuple[Path, ...]
    size: int
