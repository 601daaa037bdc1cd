"""The run: which threads computed on which devices, how fast, in how much memory, and with what luck in the cache.

One process's run log becomes a ``RunLog``; the logs of a run's processes become one ``Run``, which a lock records.
Units are whole: MiB, tokens a second, percent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

_NUMBER = re.compile(r"[-_ ]?\d+$")
_POOLED = re.compile(r"Thread-\d+ \((.+)\)")

SLOWER = 10
"""Percent of throughput that a run may be below the recorded one, where a lock says nothing else."""
MORE_MEMORY = 5
"""Percent of memory on a device that a run may be above it."""


def role_of(thread: str) -> str:
    """What a thread is, without its number: ``drafter-1`` is a ``drafter``, ``Thread-3 (work)`` a ``work``."""
    pooled = _POOLED.fullmatch(thread)
    return _NUMBER.sub("", pooled[1] if pooled else thread) or thread


class Ending(Enum):
    """How a process ended, by its log's last word."""

    RUNNING = "running"
    """It still runs, or was killed without a word."""
    EXIT = "exit"
    EXCEPTION = "exception"
    SIGNAL = "signal"
    DEADLINE = "deadline"


@dataclass(frozen=True, slots=True)
class LoggedCounts:
    """Of one thread on one device; ``hits``, ``misses``, ``bypasses``: of both caches, autograd's and graphs'."""

    thread: str
    device: str
    hits: int = 0
    misses: int = 0
    bypasses: int = 0
    compiles: int = 0
    traces: int = 0
    dense: int = 0
    late: int = 0
    """Compiles after ``guard.warm()``."""


@dataclass(frozen=True, slots=True)
class LoggedSteps:
    """Of one thread that told its steps. ``rate``: tokens a second without its first step."""

    thread: str
    device: str
    steps: int
    rate: float | None


@dataclass(frozen=True, slots=True)
class LoggedMemory:
    """Of one device, in bytes; None where it could not be had."""

    device: str
    name: str
    allocated: int
    reserved: int
    process: int | None = None
    context: int | None = None


@dataclass(frozen=True, slots=True)
class LoggedHazard:
    """A hazard that was seen."""

    slug: str
    detail: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class RunLog:
    """What one guarded process did."""

    role: str
    rank: int | None
    build: str | None
    commit: str | None
    ending: Ending
    detail: str | None = None
    warm: bool = False
    flag: str = "not seen"
    stuck: bool = False
    threads: tuple[tuple[str, str], ...] = ()
    """(thread, device) of those that computed."""
    counts: tuple[LoggedCounts, ...] = ()
    steps: tuple[LoggedSteps, ...] = ()
    memory: tuple[LoggedMemory, ...] = ()
    hazards: tuple[LoggedHazard, ...] = ()


@dataclass(frozen=True, slots=True)
class RunThread:
    """A thread that computed. ``process``: its rank, or the number of its process."""

    role: str
    device: str
    process: int = 0
    tokens_per_second: int | None = None


@dataclass(frozen=True, slots=True)
class RunDevice:
    """What one device saw; of several processes that call a device by one name the most that one of them had."""

    device: str
    hits: int = 0
    misses: int = 0
    bypasses: int = 0
    peak_mib: int | None = None
    """Of torch's allocator: the largest that tensors took."""
    reserved_mib: int | None = None
    """Of torch's allocator: the largest that it held."""
    context_mib: int | None = None
    """What the process had beside that: CUDA's context, libraries, NCCL."""

    @property
    def needs_mib(self) -> int | None:
        """All that a process needs there."""
        if self.reserved_mib is None:
            return None
        return self.reserved_mib + (self.context_mib or 0)


@dataclass(frozen=True, slots=True)
class Run:
    """One whole run. ``ended`` is the worst of its processes' endings."""

    build: str | None
    commit: str | None
    threads: tuple[RunThread, ...]
    devices: tuple[RunDevice, ...]
    processes: int = 1
    warm: bool = False
    """The program said ``guard.warm()``, so that late compiles were counted."""
    late_compiles: int = 0
    dense_calls: int = 0
    tokens_per_second: int | None = None
    slower: int = SLOWER
    more_memory: int = MORE_MEMORY
    ended: Ending = field(default=Ending.EXIT, compare=False)
    why: str | None = field(default=None, compare=False)
    """Of an ending that isn't a plain exit."""
    stuck: bool = field(default=False, compare=False)
    hazards: tuple[LoggedHazard, ...] = field(default=(), compare=False)

    @property
    def together(self) -> tuple[str, ...]:
        """Devices of the threads of that process which has the most of them."""
        by_process: dict[int, list[str]] = {}
        for thread in self.threads:
            by_process.setdefault(thread.process, []).append(thread.device)
        fullest: list[str] = max(by_process.values(), key=len, default=[])
        return tuple(fullest)

    @property
    def budget_mib(self) -> int | None:
        """Memory that torch's allocator held on the device where it held the most."""
        return max(
            (device.reserved_mib for device in self.devices if device.reserved_mib is not None), default=None
        )
