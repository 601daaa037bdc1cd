"""One start of a warmup, and what its processes told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from envguard.model.cache import Graph
from envguard.model.cache_files import CachePlace
from envguard.model.target import Target
from envguard.model.warmup import FlexAttention


@dataclass(frozen=True, slots=True)
class Start:
    """What is to be run: ``command``, or ``workload`` with the target's own Python."""

    target: Target
    place: CachePlace
    command: tuple[str, ...] = ()
    workload: FlexAttention | None = None
    devices: tuple[str, ...] = ()
    """Told to it; more than one for threads."""
    rank: int = 0
    """Which of several starts this is."""
    steps: int | None = None
    deadline: int = 1800
    variables: Mapping[str, str] = field(default_factory=dict)
    """Set beside those of envguard's own environment."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """One lookup in a cache. ``key``: as a cache's list has it; None where torch tells none (a bypass)."""

    cache: str
    state: str
    key: str | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """What one process's trace told. ``rank`` None: it was in no process group."""

    rank: int | None
    lookups: tuple[Lookup, ...]
    graphs: tuple[Graph, ...] = field(default=(), repr=False)
    """What the graphs' keys were made of."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A start that ended. ``code`` None: its deadline ended it."""

    code: int | None
    seconds: float
    processes: tuple[Process, ...]
    warnings: tuple[str, ...] = ()
    """What must not be in the output of a good run: dense attention, a recompile limit that was hit."""
    last_lines: tuple[str, ...] = ()
