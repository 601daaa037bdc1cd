"""What a look at lock files says: findings with a file and a line, and the cases that CI formats tell of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from envguard.model.drift import Outcome


class LintSeverity(Enum):
    """How much a finding counts: only errors fail."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing that is wrong at a place: ``file:line: rule: message → hint``."""

    rule: str
    severity: LintSeverity
    message: str
    """What it is, in one line; never the secret itself."""
    file: str
    """Relative to the working folder where it lies in it, with ``/``."""
    line: int | None = None
    """From 1."""
    key: str | None = None
    """Key path of the lock (``distribution[torch].wheel``)."""
    hint: str | None = None
    """What to do."""
    subject: str = ""
    """What an ignore names: a distribution, a variable, a path."""
    ignored: str | None = None
    """By whom and why it is ignored, where it is."""

    @property
    def fails(self) -> bool:
        """Whether it makes the exit code 1."""
        return self.severity is LintSeverity.ERROR and self.ignored is None


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that was looked at: a check of ``verify``, a rule over one lock of ``lint``."""

    name: str
    outcome: Outcome
    findings: tuple[LintFinding, ...] = ()
    reason: str | None = None
    """Why it is unknown, or was not compared."""
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Cases:
    """All that one command looked at, as CI formats tell it."""

    command: str
    """``verify``, ``diff`` or ``lint``."""
    subject: str
    """What was looked at, in a few words: ``good-5t3d against .venv/bin/python``."""
    summary: str
    cases: tuple[Case, ...]
    seconds: float = 0.0
    explanations: Mapping[str, str] = field(default_factory=dict)
    """Text of each check or rule, by its name; the first line is its title."""

    @property
    def findings(self) -> tuple[LintFinding, ...]:
        """The findings of all cases."""
        return tuple(finding for case in self.cases for finding in case.findings)
