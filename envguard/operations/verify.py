"""verify and diff: two sets of facts, one comparison."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from time import monotonic

from envguard.checks import CHECKS, compare
from envguard.checks.check import AnyCheck
from envguard.model.cache_prediction import predict
from envguard.model.drift import DeviceHits, Report
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value
from envguard.model.policy import Policy, stricter
from envguard.model.target import Level, Target
from envguard.operations.recorded import baseline_of, with_listings
from envguard.ports import Prober, Progress, Store


def verify(
    lock: Lock,
    target: Target,
    *,
    level: Level,
    policy: Policy,
    today: date,
    prober: Prober,
    store: Store,
    progress: Progress,
    checks: Sequence[AnyCheck] = CHECKS,
) -> Report:
    """Hold an environment against a lock."""
    started = monotonic()
    observed = prober.facts(target, level, baseline=baseline_of(lock.facts, store), progress=progress)
    policy = stricter(policy, lock.policy)
    recorded = with_listings(lock.facts, observed, store)
    return Report(
        recorded=lock.name,
        observed=str(target.python),
        results=compare(recorded, observed, policy, today, checks),
        distributions=_count(observed),
        files=observed.files_seen,
        seconds=monotonic() - started,
        allowed_unknown=policy.allow_unknown,
        devices=_devices(recorded, observed),
    )


def diff(old: Lock, new: Lock, *, policy: Policy, today: date, store: Store) -> Report:
    """Hold one lock against another."""
    started = monotonic()
    recorded = with_listings(old.facts, new.facts, store)
    observed = with_listings(new.facts, old.facts, store)
    return Report(
        recorded=old.name,
        observed=new.name,
        results=compare(recorded, observed, policy, today),
        distributions=_count(new.facts),
        seconds=monotonic() - started,
        allowed_unknown=policy.allow_unknown,
        devices=_devices(recorded, observed),
    )


def _devices(recorded: Facts, observed: Facts) -> tuple[DeviceHits, ...]:
    if not isinstance(recorded.keys, Value) or isinstance(observed.keys, Unobserved):
        return ()
    return tuple(
        DeviceHits(entry.device, entry.recorded, entry.hits, entry.recorded - len(entry.missing))
        for entry in predict(recorded, observed).devices
    )


def _count(facts: Facts) -> int:
    return len(facts.distributions.value) if isinstance(facts.distributions, Value) else 0
