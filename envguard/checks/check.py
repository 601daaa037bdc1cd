"""One check: a comparison of one section, and what its outcome is when there is nothing to compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from envguard.model.drift import Finding, Outcome, Result, Severity
from envguard.model.facts import Facts
from envguard.model.observed import NOT_ASKED, Absent, Observed, Unobserved, Value

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Check(Generic[T]):
    """``compare(recorded, observed)`` yields findings; everything else is answered here, once.

    ``slug`` is the file's name with ``-`` for ``_``; ``explanation`` (the module's docstring) is what
    ``envguard explain SLUG`` prints: what drifts, why it changes a training, how to mend it.
    """

    slug: str
    explanation: str | None
    section: Callable[[Facts], Observed[T]]
    compare: Callable[[T, T], Iterable[Finding]]
    when_gone: Outcome = Outcome.DRIFT
    """Recorded, and none there now: DRIFT, UNKNOWN for driver and GPUs, MATCH where it is only a note."""
    when_new: Severity = Severity.DRIFT
    """Recorded as absent, and there now."""
    show: Callable[[T], str] = str
    """A value in a few words, for lines about one that appeared or went."""
    subject: str | None = None
    """Of such lines; the slug where it isn't given."""
    none_here: str = "none here"
    """What there is not, for the reason of an UNKNOWN: ``no NVIDIA driver on this machine``."""
    sides: Callable[[Facts, Facts], tuple[Observed[T], Observed[T]]] | None = None
    """Recorded and observed side, where they aren't the same section of both."""

    def run(self, recorded: Facts, observed: Facts) -> Result:
        """Compare one section of two sets of facts."""
        was, now = (
            self.sides(recorded, observed) if self.sides else (self.section(recorded), self.section(observed))
        )
        if isinstance(was, Unobserved):
            return Result(self.slug, Outcome.NOT_RECORDED, reason=was.reason)
        if now == NOT_ASKED:
            return Result(self.slug, Outcome.NOT_RECORDED, reason=NOT_ASKED.reason)
        if isinstance(now, Unobserved):
            return Result(self.slug, Outcome.UNKNOWN, reason=now.reason)
        if isinstance(was, Absent):
            return self._recorded_as_absent(now)
        if isinstance(now, Absent):
            return self._gone(was.value)
        return settled(self.slug, tuple(self.compare(was.value, now.value)))

    def _recorded_as_absent(self, now: Value[T] | Absent) -> Result:
        if isinstance(now, Absent):
            return Result(self.slug, Outcome.NOT_RECORDED, reason="none when it was recorded, none now")
        return settled(self.slug, (self._finding("none", self.show(now.value), self.when_new),))

    def _gone(self, was: T) -> Result:
        shown = self.show(was)
        if self.when_gone is Outcome.UNKNOWN:
            return Result(self.slug, Outcome.UNKNOWN, reason=f"{self.none_here}; the lock was made with {shown}")
        severity = Severity.DRIFT if self.when_gone is Outcome.DRIFT else Severity.NOTE
        return settled(self.slug, (self._finding(shown, self.none_here, severity),))

    def _finding(self, recorded: str, observed: str, severity: Severity) -> Finding:
        return Finding(self.subject or self.slug, recorded, observed, severity=severity)


def settled(slug: str, findings: tuple[Finding, ...]) -> Result:
    """The result that findings come to: a drift before what could not be looked at before a match."""
    severities = [finding.severity for finding in findings]
    if Severity.DRIFT in severities:
        return Result(slug, Outcome.DRIFT, findings)
    if blind := severities.count(Severity.UNKNOWN):
        return Result(slug, Outcome.UNKNOWN, findings, f"{blind:,} could not be looked at")
    return Result(slug, Outcome.MATCH, findings)


AnyCheck = Check[Any]
