"""What counts, stated once, in data. Defaults here; a project and a lock may each say more, the stricter wins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Ignore:
    """A drift that somebody has accepted: printed as ignored, with who and why, until a day."""

    check: str
    subject: str
    by: str
    reason: str
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """``strict`` makes notes drifts; ``allow_unknown`` names checks whose UNKNOWN doesn't count."""

    strict: bool = False
    allow_unknown: frozenset[str] = frozenset()
    ignore: tuple[Ignore, ...] = ()


def stricter(project: Policy, lock: Policy) -> Policy:
    """Both where one is silent; where both speak, the stricter."""
    both_allow = (
        project.allow_unknown & lock.allow_unknown
        if project.allow_unknown and lock.allow_unknown
        else project.allow_unknown | lock.allow_unknown
    )
    return Policy(
        strict=project.strict or lock.strict,
        allow_unknown=both_allow,
        ignore=project.ignore + lock.ignore,
    )
