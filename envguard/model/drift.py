"""What a comparison says: findings, results, a report. Values, never exceptions."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Severity(Enum):
    """How much a finding counts."""

    DRIFT = "drift"
    UNKNOWN = "unknown"
    """It could not be looked at: the check is at best UNKNOWN."""
    NOTE = "note"
    IGNORED = "ignored"


class Outcome(Enum):
    """What one check, or a whole report, came to."""

    MATCH = "match"
    DRIFT = "drift"
    UNKNOWN = "unknown"
    NOT_RECORDED = "not-recorded"


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference: ``subject recorded → observed: detail``, and what to do about it."""

    subject: str
    recorded: str | None = None
    observed: str | None = None
    detail: str | None = None
    hint: str | None = None
    severity: Severity = Severity.DRIFT
    key: str | None = None
    """Key path of the lock that it belongs to (``distribution[torch]``), for reports that point at a line."""
    ignored: str | None = None
    """By whom and why it is ignored, where it is."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one check came to; ``reason`` says why it is unknown or not recorded."""

    check: str
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceHits:
    """The recorded keys of one device: how many a start would load, and how many are in the folder at all."""

    device: str
    recorded: int
    hits: int
    there: int


@dataclass(frozen=True, slots=True)
class Report:
    """All results of one comparison."""

    recorded: str
    """Name of the recorded side: the lock's name."""
    observed: str
    """What was held against it: a target, another lock."""
    results: tuple[Result, ...]
    distributions: int = 0
    files: int = 0
    seconds: float = field(default=0.0, compare=False)
    allowed_unknown: frozenset[str] = frozenset()
    devices: tuple[DeviceHits, ...] = field(default=(), compare=False)
    """The compile cache by device, where keys are recorded and a look was had."""

    @property
    def outcome(self) -> Outcome:
        """The worst: drift before unknown before match. No results at all is unknown."""
        outcomes = {
            Outcome.MATCH
            if result.outcome is Outcome.UNKNOWN and result.check in self.allowed_unknown
            else result.outcome
            for result in self.results
        }
        if Outcome.DRIFT in outcomes:
            return Outcome.DRIFT
        if Outcome.UNKNOWN in outcomes or not outcomes:
            return Outcome.UNKNOWN
        return Outcome.MATCH

    @property
    def exit_code(self) -> int:
        """0 match, 1 drift, 4 some facts could not be observed."""
        return {Outcome.DRIFT: 1, Outcome.UNKNOWN: 4}.get(self.outcome, 0)

    def count(self, outcome: Outcome) -> int:
        """How many checks came to that."""
        return sum(result.outcome is outcome for result in self.results)
