"""Bytecode that isn't its source's.

What drifts: .pyc files, the compiled form that Python really runs. Each one names the source it was
compiled from, by time and size or by a hash. Here one says that it is its source's, and isn't.

Why it changes a training: if a .pyc says it belongs to the source, Python runs it and never reads
the source. The .py file on the screen can be right, its hash in RECORD too, and other code runs.
No wheel's RECORD covers bytecode, so no installer checks it. It happens with clocks set back, and
with files copied or edited with their times kept. A .pyc that doesn't fit its source by its own
header is only noted: Python leaves it alone and compiles the source anew, at every start where it
may not write. That happens when an environment is copied without its times.

How to read it: verify looks at the header of every .pyc; verify --full compiles the source again
and compares the code itself. Many files of one distribution are told in one line.

How to mend it: delete the __pycache__ folders named, or compile anew without trusting times:

    python -m compileall -f -q SITE-PACKAGES

envguard restore always compiles anew. If you did not copy or edit anything, ask who else can write
to this environment.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.checks.check import Check
from envguard.checks.installed import Installed, installed, lock_key
from envguard.checks.words import arrow, count, few
from envguard.model.bytecode import UNUSED
from envguard.model.drift import Finding, Severity
from envguard.model.facts import FileFact, FileKind

_MANY = 3
_HINT = "compile anew: python -m compileall -f -q FOLDER, or delete its __pycache__"


def compare(recorded: Installed, observed: Installed) -> Iterator[Finding]:
    """A finding a file; one for many files of a distribution, or of a folder that none owns."""
    was, now = _bytecode(recorded), _bytecode(observed)
    groups: dict[tuple[str, bool], list[FileFact]] = {}
    for place, fact in sorted(now.items()):
        before = was.get(place)
        if before is None or before.sha256 != fact.sha256:
            groups.setdefault((_group(fact), fact.detail in UNUSED), []).append(fact)
    for (name, _), facts in sorted(groups.items()):
        if len(facts) > _MANY:
            yield _grouped(name, facts)
        else:
            yield from (_finding(was.get((fact.root, fact.path)), fact) for fact in facts)
    for place, fact in sorted(was.items()):
        if place not in now:
            yield Finding(
                fact.shown,
                detail="fits its source now, or is gone; it did not when it was recorded",
                severity=Severity.NOTE,
                key=lock_key(fact, None),
            )


def _finding(was: FileFact | None, now: FileFact) -> Finding:
    why = f": {now.detail}" if now.detail else ""
    changed = "" if was is None else f", as when it was recorded, but changed{arrow(was.sha256, now.sha256)}"
    words = f"isn't its source's{changed}{why}"
    return _told(now.shown, words, [now], lock_key(was, now))


def _grouped(name: str, facts: list[FileFact]) -> Finding:
    detail = f"{count(len(facts), '.pyc file')} aren't their sources' ({few([fact.shown for fact in facts])})"
    return _told(name, detail, facts, lock_key(None, facts[0]))


def _told(subject: str, detail: str, facts: list[FileFact], key: str | None) -> Finding:
    if all(fact.detail in UNUSED for fact in facts):
        return Finding(
            subject, detail=f"{detail}; Python compiles anew", severity=Severity.NOTE, hint=_HINT, key=key
        )
    return Finding(subject, detail=detail, hint=_HINT, key=key)


def _group(fact: FileFact) -> str:
    return fact.owners[0] if fact.owners else fact.shown.rpartition("/")[0] or "."


def _bytecode(side: Installed) -> dict[tuple[str, str], FileFact]:
    return {(fact.root, fact.path): fact for fact in side.files if fact.kind is FileKind.BYTECODE}


CHECK = Check(
    slug="bytecode",
    explanation=__doc__,
    section=installed,
    compare=compare,
    show=lambda side: count(len(side.files), "file"),
)
