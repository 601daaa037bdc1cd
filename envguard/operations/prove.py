"""Hold a restored environment, every file of it, against its lock."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from time import monotonic

from envguard.checks import compare
from envguard.model.drift import Outcome, Report
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.policy import Policy, stricter
from envguard.model.target import Level, Target
from envguard.operations.recorded import baseline_of, with_listings
from envguard.planning import proof
from envguard.ports import Prober, Progress, Store


@dataclass(frozen=True, slots=True)
class Proof:
    """What was seen, and how it compares."""

    report: Report
    observed: Facts

    @property
    def holds(self) -> bool:
        """Whether everything that restore answers for is as recorded. What could not be seen is not proven."""
        return self.report.outcome is Outcome.MATCH


def prove(
    lock: Lock,
    target: Target,
    *,
    left_out: AbstractSet[str],
    policy: Policy,
    today: date,
    prober: Prober,
    store: Store,
    progress: Progress,
) -> Proof:
    """Look at every file. What only the machine answers for is told as a note."""
    started = monotonic()
    policy = stricter(policy, lock.policy)
    observed = prober.facts(target, Level.FULL, baseline=baseline_of(lock.facts, store), progress=progress)
    recorded = with_listings(proof.expected(lock.facts, left_out), observed, store)
    built = compare(proof.built(recorded), proof.inside(observed), policy, today)
    everything = compare(recorded, observed, policy, today)
    seen = observed.distributions
    report = Report(
        recorded=lock.name,
        observed=str(target.python.parent.parent),
        results=proof.joined(built, everything),
        distributions=len(seen.value) if isinstance(seen, Value) else 0,
        files=observed.files_seen,
        seconds=monotonic() - started,
        allowed_unknown=policy.allow_unknown | proof.only_told(built),
    )
    return Proof(report, observed)
