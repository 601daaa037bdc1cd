"""Which declarations speak of a lock, and whether a version is one that they allow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envguard.model.declared import Declared
from envguard.model.facts import Interpreter
from envguard.model.lint import LintSeverity
from envguard.model.observed import value_or_none
from envguard.planning.lint.rule import Subject
from envguard.planning.torch_requires import marker_environment

RECORD = "install what is declared and record it (envguard snapshot --update), or declare what is recorded"
"""What to do when lock and declaration disagree."""

_TORCH = re.compile(r"torch|torchaudio|torchvision|triton|(?:pytorch-)?triton(?:-.+)?|nvidia-.+|cuda-.+|python")


def holding(subject: Subject) -> Iterator[Declared]:
    """Declarations whose markers hold for the lock's interpreter; where it names none, those without a marker."""
    python = value_or_none(subject.facts.interpreter)
    for entry in subject.declared:
        if entry.marker is None or (python is not None and _holds(entry.marker, python)):
            yield entry


def _holds(marker: str, python: Interpreter) -> bool:
    """A marker that can't be understood doesn't hold: nothing is said rather than something wrong."""
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        return Marker(marker).evaluate(marker_environment(python))
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
        return False


def by_choice(entries: Iterable[Declared]) -> Iterator[list[Declared]]:
    """Declarations of which one is enough: the forks of a lock file, and the extras and groups of one file.

    What always holds stands alone.
    """
    choices: dict[tuple[object, ...], list[Declared]] = {}
    for number, entry in enumerate(entries):
        forks = entry.exact is not None and entry.file.endswith(".lock")
        alone = entry.group is None and not forks
        key = (number,) if alone else (entry.file, entry.name, entry.specifier == "")
        choices.setdefault(key, []).append(entry)
    yield from choices.values()


def versions_of(subject: Subject, name: str) -> tuple[str, ...]:
    """The versions by which the lock knows a distribution: torch has its build string too."""
    if name == "python":
        python = value_or_none(subject.facts.interpreter)
        return (python.version,) if python else ()
    entry = subject.distributions.get(name)
    if entry is None:
        return ()
    torch = subject.torch
    return (entry.version, torch.build) if name == "torch" and torch else (entry.version,)


def allows(specifier: str, version: str) -> bool:
    """Whether a version is one that PEP 440 specifiers allow. What can't be understood allows all."""
    if not specifier or specifier == f"=={version}":
        return True
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return True


def severity_of(entry: Declared) -> LintSeverity:
    """A file that may speak of another environment only warns, except of torch and what torch pins."""
    return LintSeverity.WARNING if entry.side and not _TORCH.fullmatch(entry.name) else LintSeverity.ERROR
