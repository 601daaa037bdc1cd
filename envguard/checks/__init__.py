"""All checks, in the order they are told, and the one comparison of two sets of facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from envguard.checks.check import AnyCheck
from envguard.checks.judge import judge
from envguard.model.drift import Result
from envguard.model.facts import Facts
from envguard.model.policy import Policy

CHECKS: tuple[AnyCheck, ...] = ()


def compare(
    recorded: Facts,
    observed: Facts,
    policy: Policy,
    today: date,
    checks: Sequence[AnyCheck] = CHECKS,
) -> tuple[Result, ...]:
    """Every check's result, judged by the policy."""
    return tuple(judge(check.run(recorded, observed), policy, today) for check in checks)
