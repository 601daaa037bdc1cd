"""run: look before a start, and decide; and runs that are told to snapshot and verify by their logs."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import date
from typing import BinaryIO

from envguard.model.drift import Report
from envguard.model.facts import Facts, FileFact
from envguard.model.hazards import Diagnosis
from envguard.model.lock import Lock
from envguard.model.observed import Value, value_or_none
from envguard.model.policy import Policy
from envguard.model.preflight import Decision
from envguard.model.run import Run
from envguard.model.target import Layout, Level, Target
from envguard.operations.verify import verify
from envguard.planning.hazards import diagnose
from envguard.planning.run import decide, topology_of
from envguard.ports import Baseline, Headroom, Prober, Progress, Store, Surroundings


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was seen before a start, and whether it may be."""

    report: Report
    diagnosis: Diagnosis
    decision: Decision


def preflight(
    lock: Lock,
    target: Target,
    *,
    policy: Policy,
    today: date,
    forced: AbstractSet[str],
    prober: Prober,
    surroundings: Surroundings,
    headroom: Headroom,
    store: Store,
    progress: Progress,
) -> Preflight:
    """Verify, hazards of the recorded topology, disk, memory of GPUs. TargetInvalidError, TargetBrokenError.

    ``prober``, ``surroundings`` and ``headroom`` look with the variables that the run will have.
    """
    looking = _Remembering(prober)
    report = verify(
        lock,
        target,
        level=Level.FAST,
        policy=policy,
        today=today,
        prober=looking,
        store=store,
        progress=progress,
    )
    seen = surroundings.seen(prober.layout(target))
    diagnosis = diagnose(looking.seen, seen, topology_of(lock.facts))
    decision = decide(
        report,
        diagnosis,
        space=headroom.space(),
        memory=headroom.memory(),
        recorded=value_or_none(lock.facts.run),
        forced=forced,
    )
    return Preflight(report, diagnosis, decision)


@dataclass(slots=True)
class _Remembering:
    """A prober that keeps what it saw."""

    prober: Prober
    seen: Facts = field(default_factory=Facts)

    def layout(self, target: Target) -> Layout:
        """As the prober."""
        return self.prober.layout(target)

    def facts(self, target: Target, level: Level, *, baseline: Baseline, progress: Progress) -> Facts:
        """As the prober."""
        self.seen = self.prober.facts(target, level, baseline=baseline, progress=progress)
        return self.seen

    def content(self, layout: Layout, fact: FileFact) -> BinaryIO:
        """As the prober."""
        return self.prober.content(layout, fact)


@dataclass(frozen=True, slots=True)
class WithRun:
    """Implements ``ports.Prober``: another's facts, with a run that its logs tell of."""

    prober: Prober
    run: Run

    def layout(self, target: Target) -> Layout:
        """As the prober."""
        return self.prober.layout(target)

    def facts(self, target: Target, level: Level, *, baseline: Baseline, progress: Progress) -> Facts:
        """As the prober, and the run."""
        seen = self.prober.facts(target, level, baseline=baseline, progress=progress)
        return replace(seen, run=Value(self.run))

    def content(self, layout: Layout, fact: FileFact) -> BinaryIO:
        """As the prober."""
        return self.prober.content(layout, fact)
