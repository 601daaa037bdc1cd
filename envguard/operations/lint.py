"""lint: lock files held against themselves and against what their project declares. No environment is seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from envguard.formats import toml_text
from envguard.formats.canonical import canonical, first_difference
from envguard.formats.decode import WrongValueError
from envguard.formats.key_lines import KeyLines
from envguard.formats.lock_read import lock_from
from envguard.model.drift import Outcome
from envguard.model.lint import Case, Cases, LintFinding, LintSeverity
from envguard.model.policy import Ignore, first_match
from envguard.planning.lint import RULES, WELL_FORMED
from envguard.planning.lint.rule import Rule, Subject

if TYPE_CHECKING:
    from envguard.ports import Declarations


@dataclass(frozen=True, slots=True)
class LockText:
    """A lock file's bytes. ``shown``: its path as findings name it; ``ignores``: what its project has accepted."""

    path: Path
    shown: str
    content: bytes
    ignores: tuple[Ignore, ...] = ()


@dataclass(frozen=True, slots=True)
class Linted:
    """``rewritten``: new bytes by file, where they are to be written (``--fix``)."""

    cases: Cases
    rewritten: tuple[tuple[LockText, bytes], ...] = ()

    @property
    def exit_code(self) -> int:
        """0 nothing fails, 1 a rule does, 2 a file is no lock."""
        failing = [finding for finding in self.cases.findings if finding.fails]
        if any(finding.rule == WELL_FORMED for finding in failing):
            return 2
        return 1 if failing else 0


def lint(
    locks: Sequence[LockText],
    declarations: Declarations,
    *,
    today: date,
    fix: bool = False,
    strict: bool = False,
    rules: Sequence[Rule] = RULES,
) -> Linted:
    """Look at every lock. With ``fix`` what is not canonical is no finding but among the ``rewritten``.

    ``strict``: warnings count as errors.
    """
    started = monotonic()
    cases: list[Case] = []
    rewritten: list[tuple[LockText, bytes]] = []
    for lock in locks:
        read = _read(lock)
        if isinstance(read, LintFinding):
            cases.append(Case(WELL_FORMED, Outcome.DRIFT, (read,), file=lock.shown))
            continue
        subject, wanted = read
        if fix and wanted != lock.content:
            rewritten.append((lock, wanted))
            subject = _read_again(lock, wanted)
        found = declarations.of(lock.path)
        subject = replace(subject, declared=found.declared, unreadable=found.unreadable, today=today)
        cases.append(Case(WELL_FORMED, Outcome.MATCH, file=lock.shown))
        cases.extend(_cases(subject, lock.ignores, rules, strict=strict))
    return Linted(
        Cases(
            "lint",
            ", ".join(lock.shown for lock in locks),
            summary(cases, len(locks), monotonic() - started),
            tuple(cases),
            monotonic() - started,
            {rule.slug: (rule.explanation or "").strip() for rule in rules},
        ),
        tuple(rewritten),
    )


def _read(lock: LockText) -> tuple[Subject, bytes] | LintFinding:
    """What the rules look at, and the canonical bytes; a finding when it is no lock."""
    try:
        document = toml_text.parse(lock.content)
    except toml_text.TomlError as problem:
        return _unreadable(lock, str(problem), problem.line)
    text = lock.content.decode("utf-8-sig")
    try:
        read = lock_from(document)
    except WrongValueError as problem:
        line = KeyLines(text).line(problem.path) or toml_text.line_of(text, problem.path)
        return _unreadable(lock, str(problem), line, problem.path)
    wanted = canonical(read, lock.content, document)
    different = first_difference(lock.content, wanted)
    return Subject(lock.shown, text, read, document, date.min, uncanonical=different), wanted


def _read_again(lock: LockText, wanted: bytes) -> Subject:
    again = _read(replace(lock, content=wanted))
    if isinstance(again, LintFinding):
        raise TypeError(again.message)  # the writer wrote what the reader refuses
    return replace(again[0], uncanonical=None)


def _unreadable(lock: LockText, problem: str, line: int | None, key: str | None = None) -> LintFinding:
    hint = "resolve it by hand, or take the file from the commit before"
    if b"<<<<<<< " in lock.content:
        hint = "a merge conflict is left in it: take one side, or record again (envguard snapshot --update)"
    return LintFinding(
        WELL_FORMED, LintSeverity.ERROR, f"not a lock: {problem}", lock.shown, line, key, hint, lock.shown
    )


def _cases(subject: Subject, ignores: Iterable[Ignore], rules: Sequence[Rule], *, strict: bool) -> Iterable[Case]:
    lines = KeyLines(subject.text)
    accepted = (*subject.lock.policy.ignore, *ignores)
    for rule in rules:
        findings = tuple(
            _judged(_placed(finding, subject, lines), accepted, subject.today, strict=strict)
            for finding in rule.run(subject)
        )
        outcome = Outcome.DRIFT if any(finding.fails for finding in findings) else Outcome.MATCH
        yield Case(rule.slug, outcome, findings, file=subject.file)


def _placed(finding: LintFinding, subject: Subject, lines: KeyLines) -> LintFinding:
    if finding.line is not None or finding.file != subject.file or finding.key is None:
        return finding
    return replace(finding, line=lines.line(finding.key))


def _judged(finding: LintFinding, ignores: Iterable[Ignore], today: date, *, strict: bool) -> LintFinding:
    if strict and finding.severity is LintSeverity.WARNING:
        finding = replace(finding, severity=LintSeverity.ERROR)
    match = first_match(ignores, finding.rule, finding.subject, today)
    if match is None:
        return finding
    if match.is_over(today):
        over = f"was ignored by {match.by} until {match.until}: {match.reason}"
        return replace(finding, hint=f"{finding.hint}; {over}" if finding.hint else over)
    until = f", until {match.until}" if match.until else ""
    return replace(finding, ignored=f"by {match.by}: {match.reason}{until}")


def summary(cases: Sequence[Case], locks: int, seconds: float) -> str:
    """The last line."""
    findings = [finding for case in cases for finding in case.findings if finding.ignored is None]
    errors = sum(finding.fails for finding in findings)
    ignored = sum(finding.ignored is not None for case in cases for finding in case.findings)
    parts = [f"{errors} error{'s' * (errors != 1)}"]
    if others := len(findings) - errors:
        parts.append(f"{others} warning{'s' * (others != 1)}")
    if ignored:
        parts.append(f"{ignored} ignored")
    return f"{', '.join(parts)}   {locks} lock{'s' * (locks != 1)}, {seconds:.2f} s"
