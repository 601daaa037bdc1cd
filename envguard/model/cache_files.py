"""The bytes of a compile cache: which files are kept, by the paths that they have in every cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envguard.model.digest import Digest


@dataclass(frozen=True, slots=True)
class CachedFile:
    """One file. ``path``: relative, as the manifest has it (``fxgraph/…``, ``triton/KEY/…``)."""

    path: str
    sha256: Digest
    size: int
    executable: bool = False


@dataclass(frozen=True, slots=True)
class CachePlace:
    """The two folders of a cache: inductor's, and Triton's keys."""

    inductor: Path
    triton: Path

    def variables(self) -> dict[str, str]:
        """What a job must have set to use it."""
        return {"TORCHINDUCTOR_CACHE_DIR": str(self.inductor), "TRITON_CACHE_DIR": str(self.triton)}


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a cache that may be kept. ``inside``: its path in ``root``; ``stamp``: changes when it does."""

    path: str
    root: Path
    inside: str
    stamp: tuple[int, ...]
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """What a cache holds. ``left``: why files are left out → how many."""

    files: tuple[FoundFile, ...]
    left: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PutBack:
    """A cache that was put back. ``unchanged``: all of it was there already, byte for byte."""

    place: CachePlace
    files: int
    size: int
    replaced: tuple[Path, ...] = ()
    """What was there before, renamed; nothing is removed."""
    unchanged: bool = False
    native: int = 0
    """Compiled libraries left out, since they are another processor's."""
