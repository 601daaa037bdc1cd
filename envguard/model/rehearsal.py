"""The rehearsal: a run's concurrency without the run, over a cold cache and then over the same one, warm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from envguard.model.target import Target
from envguard.model.warmup import FlexAttention


@dataclass(frozen=True, slots=True)
class Actor:
    """A thread of the run. ``delay``: seconds after which it starts, where starts are staggered."""

    name: str
    device: str
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Who starts when. ``processes``: each actor in a process of its own, that sees its device alone."""

    actors: tuple[Actor, ...]
    workload: FlexAttention
    guard: bool = True
    """Off: the same is only counted."""
    processes: bool = False
    deadline: float = 120.0
    """Seconds for each part of a pass."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Each device once, in order."""
        return tuple(dict.fromkeys(actor.device for actor in self.actors))


@dataclass(frozen=True, slots=True)
class Pass:
    """What was seen in one pass. ``hung``: which part did not end, None when both did."""

    warm: bool
    seconds: float = 0.0
    calls: int = 0
    """Of functions that were compiled long before."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """First line → how often, in every thread."""
    hits: int = 0
    misses: int = 0
    bypasses: int = 0
    compiles: int = 0
    traces: int = 0
    """FX traces: while one runs, the flag is up."""
    dense: int = 0
    stuck: bool = False
    """The flag was up when nothing traced any more."""
    flag: str = "not seen"
    """Who keeps the flag per thread, as run logs say it."""
    build: str | None = None
    hung: str | None = None
    stacks: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One process of a pass. ``folder``: of its compile cache."""

    target: Target
    schedule: Schedule
    folder: str
    warm: bool


class Outcome(Enum):
    """What a rehearsal says of a hazard."""

    SEEN = "seen"
    NOTE = "note"
    """Nothing failed, and the condition for it was there."""
    CLEAR = "clear"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one hazard."""

    hazard: str
    outcome: Outcome
    detail: str
    do: str | None = None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A verdict a hazard, gravest first, and what they rest on."""

    schedule: Schedule
    passes: tuple[Pass, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def exit_code(self) -> int:
        """1 when any hazard was seen."""
        return 1 if any(verdict.outcome is Outcome.SEEN for verdict in self.verdicts) else 0
