"""What counts, stated once, in data. Defaults here; a project and a lock may each say more, the stricter wins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Ignore:
    """A drift that somebody has accepted: printed as ignored, with who and why, until a day."""

    check: str
    subject: str
    by: str
    reason: str
    until: date | None = None

    def is_over(self, today: date) -> bool:
        """Whether its last day has passed."""
        return self.until is not None and self.until < today

    def matches(self, check: str, subject: str) -> bool:
        """Whether it speaks of this; ``subject`` may be a pattern (``a/*.py``)."""
        # A path such as a[1].py is no pattern that matches itself.
        return self.check == check and (self.subject == subject or fnmatchcase(subject, self.subject))


def first_match(ignores: Iterable[Ignore], check: str, subject: str, today: date) -> Ignore | None:
    """The first that matches, one that still holds before one that is over."""
    matching = [ignore for ignore in ignores if ignore.matches(check, subject)]
    return min(matching, key=lambda ignore: ignore.is_over(today), default=None)


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
