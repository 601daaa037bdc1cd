"""``envguard doctor``: which known traps apply to an environment, and to the run that a lock records."""

from __future__ import annotations

from dataclasses import replace

from envguard.model.facts import Facts
from envguard.model.hazards import Diagnosis, Topology
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.target import Level, Target
from envguard.planning.hazards import diagnose
from envguard.planning.run import topology_of
from envguard.ports import Prober, Progress, Surroundings


def doctor(
    lock: Lock | None,
    target: Target,
    *,
    topology: Topology,
    prober: Prober,
    surroundings: Surroundings,
    progress: Progress,
) -> Diagnosis:
    """All hazards that apply or may, worst first. Files are not hashed. TargetInvalidError, TargetBrokenError."""
    facts = prober.facts(target, Level.METADATA, baseline=lambda _: None, progress=progress)
    return diagnose(_completed(facts, lock), surroundings.seen(prober.layout(target)), _told(topology, lock))


def _told(topology: Topology, lock: Lock | None) -> Topology:
    """What is told, else as the lock's run was."""
    recorded = topology_of(lock.facts) if lock is not None else Topology()
    return Topology(
        topology.threads if topology.threads is not None else recorded.threads,
        topology.budget_mib if topology.budget_mib is not None else recorded.budget_mib,
    )


def _completed(facts: Facts, lock: Lock | None) -> Facts:
    """The environment as it is now; what can't be seen of the machine is as the lock's run had it."""
    if lock is None or isinstance(facts.gpus, Value):
        return facts
    return replace(facts, gpus=lock.facts.gpus)
