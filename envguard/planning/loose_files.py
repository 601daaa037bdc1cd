"""Recorded files that no wheel brings: which of them a restore puts back, removes or lets be."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from envguard.model.digest import Digest
from envguard.model.facts import FileFact, FileKind
from envguard.planning.obtain import Problem, ProblemKind

ROOTS = frozenset({"library", "scripts", "headers", "data"})
"""Roots of files that lie in the environment; startup code that lies elsewhere is the machine's."""


@dataclass(frozen=True, slots=True)
class FileStep:
    """One file to put back, or (``sha256`` None) to remove: it was missing when the lock was made."""

    fact: FileFact
    sha256: Digest | None


def file_steps(
    facts: Iterable[FileFact], held: AbstractSet[Digest], left_out: AbstractSet[str]
) -> tuple[tuple[FileStep, ...], tuple[Problem, ...], tuple[str, ...]]:
    """Steps, problems and notes. ``left_out``: distributions, and paths as shown, that are not restored."""
    steps: dict[tuple[str, str], FileStep] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    for fact in facts:
        place = (fact.root, fact.path)
        if not concerned(fact, left_out):
            notes.extend(_outside(fact))
            continue
        if fact.kind is FileKind.MISSING:
            steps.setdefault(place, FileStep(fact, None))
        elif not _own(fact):
            notes.extend(_note(fact))
        elif fact.sha256 is not None and fact.sha256 in held:
            steps[place] = FileStep(fact, fact.sha256)
        elif place not in steps:
            problems.append(_lost(fact))
    return tuple(steps.values()), tuple(problems), tuple(notes)


def modes(facts: Iterable[FileFact], left_out: AbstractSet[str]) -> tuple[FileFact, ...]:
    """Files that wheels bring and whose mode is recorded: installers differ in the exec bits that they give."""
    return tuple(
        fact
        for fact in facts
        if fact.mode is not None
        and fact.kind in (FileKind.SCRIPT, FileKind.HEADER, FileKind.ERRATA, FileKind.STARTUP)
        and not _own(fact)
        and concerned(fact, left_out)
    )


def concerned(fact: FileFact, left_out: AbstractSet[str]) -> bool:
    """Whether a recorded file belongs to what is restored."""
    if fact.root not in ROOTS or {fact.shown, fact.path} & left_out:
        return False
    return not fact.owners or not set(fact.owners) <= left_out


def _own(fact: FileFact) -> bool:
    """Whether the wheels bring no such bytes."""
    if fact.kind in (FileKind.MODIFIED, FileKind.UNOWNED):
        return True
    if fact.kind is FileKind.STARTUP and fact.expected is not None and fact.expected != fact.sha256:
        return True
    return fact.kind in (FileKind.STARTUP, FileKind.SCRIPT, FileKind.HEADER) and not fact.owners


def _outside(fact: FileFact) -> list[str]:
    return [] if fact.root in ROOTS else [f"{fact.shown}: lay outside the environment; it is not restored"]


def _note(fact: FileFact) -> list[str]:
    if fact.kind is FileKind.BYTECODE:
        return [f"{fact.shown}: its bytecode was not its source's; it is compiled anew"]
    if fact.kind is FileKind.UNREADABLE:
        return [f"{fact.shown}: could not be read when the lock was made; it comes from its wheel"]
    return []


def _lost(fact: FileFact) -> Problem:
    what = {
        FileKind.MODIFIED: "was edited after its installation",
        FileKind.UNOWNED: "belongs to no distribution",
        FileKind.STARTUP: "runs at every start and comes from no wheel",
    }.get(fact.kind, "comes from no wheel")
    return Problem(
        ProblemKind.NO_SOURCE,
        fact.shown,
        f"it {what}, and the store doesn't hold its recorded bytes",
        f"leave it out with --without {fact.shown}, or use the store of the machine that made the lock",
    )
