"""One rule over one lock, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from envguard.model.declared import Declared, Unreadable
from envguard.model.distribution import Distribution
from envguard.model.facts import Facts, TorchBuild
from envguard.model.lint import LintFinding, LintSeverity
from envguard.model.lock import Lock
from envguard.model.observed import value_or_none


@dataclass(frozen=True, slots=True)
class Subject:
    """One lock file that was read, and what its project declares."""

    file: str
    text: str
    lock: Lock
    document: Mapping[str, Any]
    """The parsed text, for tables that the model does not have."""
    today: date
    uncanonical: int | None = None
    """The first line that is not as envguard writes it; None when all are."""
    declared: tuple[Declared, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    distributions: Mapping[str, Distribution] = field(init=False)
    """By name."""

    def __post_init__(self) -> None:
        entries = value_or_none(self.lock.facts.distributions) or ()
        object.__setattr__(self, "distributions", {entry.name: entry for entry in entries})

    @property
    def facts(self) -> Facts:
        """What the lock recorded."""
        return self.lock.facts

    @property
    def torch(self) -> TorchBuild | None:
        """The recorded torch build, where there is one."""
        return value_or_none(self.lock.facts.torch)


@dataclass(frozen=True, slots=True)
class Said:
    """What a rule says; rule and file are added. ``line``, ``file``: where it isn't the key's in the lock."""

    message: str
    hint: str
    key: str | None = None
    subject: str = ""
    severity: LintSeverity = LintSeverity.ERROR
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """``look`` yields what is wrong; the explanation is the module's docstring."""

    slug: str
    explanation: str | None
    look: Callable[[Subject], Iterable[Said]]

    def run(self, subject: Subject) -> tuple[LintFinding, ...]:
        """The findings over one lock; the line of a key is left to the caller."""
        return tuple(
            LintFinding(
                rule=self.slug,
                severity=said.severity,
                message=said.message,
                file=said.file or subject.file,
                line=said.line,
                key=said.key,
                hint=said.hint,
                subject=said.subject or said.key or said.file or "",
            )
            for said in self.look(subject)
        )


AGAIN = "record it again: envguard snapshot --update"
"""What to do about a lock that contradicts itself."""
