"""One check: a comparison of one section, and what its outcome is when there is nothing to compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from envguard.model.drift import Finding, Outcome, Result, Severity
from envguard.model.facts import Facts
from envguard.model.observed import Absent, Observed, Unobserved, Value

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
    """Recorded, and none there now: DRIFT, or UNKNOWN for driver and GPUs."""
    when_new: Severity = Severity.DRIFT
    """Recorded as absent, and there now."""
    show: Callable[[T], str] = str
    """A value in a few words, for lines about one that appeared or went."""

    def run(self, recorded: Facts, observed: Facts) -> Result:
        """Compare one section of two sets of facts."""
        was, now = self.section(recorded), self.section(observed)
        if isinstance(was, Unobserved):
            return Result(self.slug, Outcome.NOT_RECORDED, reason=was.reason)
        if isinstance(now, Unobserved):
            return Result(self.slug, Outcome.UNKNOWN, reason=now.reason)
        if isinstance(was, Absent):
            return self._recorded_as_absent(now)
        if isinstance(now, Absent):
            finding = Finding(self.slug, self.show(was.value), "none here")
            if self.when_gone is Outcome.UNKNOWN:
                return Result(
                    self.slug, Outcome.UNKNOWN, reason=f"none here; the lock was made with {finding.recorded}"
                )
            return Result(self.slug, self.when_gone, (finding,))
        return self._judged(tuple(self.compare(was.value, now.value)))

    def _recorded_as_absent(self, now: Value[T] | Absent) -> Result:
        if isinstance(now, Absent):
            return Result(self.slug, Outcome.NOT_RECORDED, reason="none when it was recorded, none now")
        return self._judged((Finding(self.slug, "none", self.show(now.value), severity=self.when_new),))

    def _judged(self, findings: tuple[Finding, ...]) -> Result:
        drifted = any(finding.severity is Severity.DRIFT for finding in findings)
        return Result(self.slug, Outcome.DRIFT if drifted else Outcome.MATCH, findings)


AnyCheck = Check[Any]
