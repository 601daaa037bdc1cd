"""The project asks for another version than the lock records.

What: pyproject.toml (dependencies, extras, groups, requires-python), uv.lock, pylock.toml, requirements*.txt,
environment.yml and Dockerfile lines that install torch, each held against the lock's distributions. Markers are
evaluated for the lock's interpreter. Of the extras and groups of one file, and of the forks of uv.lock, one that
agrees is enough.

Why: whoever installs the project today gets what these files say. When they say something else than the lock, the
next environment is not the one that was good, and verify will only say so after it was built.

How to mend it: install what is declared, try it, record it (envguard snapshot --update); or declare what is
recorded. Files of another environment are left out by [tool.envguard.lint] declarations = ["pyproject.toml", …].
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.model.declared import Declared
from envguard.planning.lint.agreement import RECORD, allows, by_choice, holding, severity_of, versions_of
from envguard.planning.lint.rule import Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """A finding a declaration that disagrees, at its file and line."""
    for choice in by_choice(entry for entry in holding(subject) if entry.specifier):
        if not any(_agrees(subject, entry) for entry in choice):
            for entry in choice:
                yield _said(subject, entry)


def _agrees(subject: Subject, entry: Declared) -> bool:
    versions = versions_of(subject, entry.name)
    return not versions or any(allows(entry.specifier, version) for version in versions)


def _said(subject: Subject, entry: Declared) -> Said:
    recorded = versions_of(subject, entry.name)[-1]
    group = f" ({entry.group})" if entry.group else ""
    return Said(
        f"asks for {entry.name}{entry.specifier}{group}, and {subject.file} records {recorded}",
        RECORD,
        "interpreter.version" if entry.name == "python" else f"distribution[{entry.name}].version",
        entry.name,
        severity_of(entry),
        entry.file,
        entry.line,
    )


RULE = Rule("declared-version", __doc__, look)
