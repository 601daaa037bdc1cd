"""A file isn't what its wheel, or the lock, says.

What drifts: single files. Every file that a wheel installed is held against the hash in its RECORD
(which the distributions check has proved), and what RECORD doesn't cover is held against the lock:
scripts, headers, files edited before the snapshot, files that no distribution owns.

Why it changes a training: what runs are the files, not the version numbers. uv links files into
environments from one cache, so an edit made in one environment shows up in all of them, and in
every one that is made later, past --require-hashes. A killed install leaves files out, and the next
install says all is well.
Seen in public: https://github.com/astral-sh/uv/issues/10579 (edited through a link),
https://github.com/sgl-project/sglang/pull/22719 (a killed install: named as installed, no library).

How to read it: "changed after install" gives RECORD's hash and the one that is there. "is the
wheel's own again" is a file that had been edited when the environment was recorded and no longer
is. A file that can't be read makes the check unknown: nobody has looked at it.

How to mend it: envguard restore builds the recorded environment beside this one. Reinstalling from
a poisoned cache brings the edit back: uv cache clean NAME first. A file that is meant to be there
is recorded by envguard snapshot --update.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.checks.check import Check
from envguard.checks.installed import (
    Installed,
    all_in,
    by_place,
    installed,
    lock_key,
    moved_distributions,
    only_bootstrap,
)
from envguard.checks.words import RECORD_ANEW, RESTORE, arrow, count
from envguard.model.drift import Finding, Severity
from envguard.model.facts import FileFact, FileKind

_ELSEWHERE = frozenset({FileKind.STARTUP, FileKind.BYTECODE})
_FOLLOWING = frozenset({FileKind.SCRIPT, FileKind.HEADER, FileKind.ERRATA})
"""Kinds that come and go with their distribution."""


def compare(recorded: Installed, observed: Installed) -> Iterator[Finding]:
    """A finding a file, by place; what follows from another distribution is left to that check."""
    moved = moved_distributions(recorded, observed)
    was, now = by_place(recorded.files), by_place(observed.files)
    for place in sorted(was.keys() | now.keys()):
        before, here = was.get(place), now.get(place)
        if _is_told_elsewhere(before, here) or _follows(before, here, moved):
            continue
        told = _told(before, here, observed)
        if told is not None:
            yield _finding(before, here, recorded, *told)


def _is_told_elsewhere(was: FileFact | None, now: FileFact | None) -> bool:
    """By startup-code or bytecode. A .pyc that can't be read now is told here: nobody looked at it."""
    last = now or was
    startup = was is not None and was.kind is FileKind.STARTUP
    return startup or (last is not None and last.kind in _ELSEWHERE)


def _follows(was: FileFact | None, now: FileFact | None, moved: frozenset[str]) -> bool:
    if now is None:
        return was is not None and all_in(was.owners, moved)
    return now.kind in _FOLLOWING and all_in(now.owners, moved)


def _told(was: FileFact | None, now: FileFact | None, observed: Installed) -> tuple[str, Severity] | None:
    """The words for one file, and how much they count."""
    if now is None:
        return _left(was, observed) if was else None
    if now.kind is FileKind.UNREADABLE:
        return _unreadable(was, now)
    if was is None or was.kind in (FileKind.MISSING, FileKind.UNREADABLE):
        return _appeared(was, now)
    if now.kind is FileKind.MISSING:
        return "missing", Severity.DRIFT
    return _changed(was, now)


def _unreadable(was: FileFact | None, now: FileFact) -> tuple[str, Severity]:
    why = f": {now.detail}" if now.detail else ""
    if was is not None and was.kind is FileKind.UNREADABLE:
        return f"can't be read, as when it was recorded{why}", Severity.NOTE
    return f"can't be read{why}", Severity.UNKNOWN


def _appeared(was: FileFact | None, now: FileFact) -> tuple[str, Severity] | None:
    if was is not None and was.kind is now.kind:
        return None
    again = "" if was is None else " (it could not be compared when it was recorded)"
    words = {
        FileKind.MODIFIED: f"changed after install{arrow(now.expected, now.sha256)}",
        FileKind.MISSING: "missing",
        FileKind.UNOWNED: "added, owned by no distribution",
        FileKind.ERRATA: "added, without a hash in RECORD",
    }.get(now.kind, "added" if now.owners else "added, owned by no distribution")
    return words + _also(now) + again, Severity.DRIFT


def _left(was: FileFact, observed: Installed) -> tuple[str, Severity]:
    if was.kind is FileKind.UNREADABLE:
        return "can be read now, it could not when it was recorded", Severity.NOTE
    if was.kind is FileKind.UNOWNED and (owner := _owner(was, observed)):
        return f"belongs to {owner} now, it was owned by no distribution", Severity.DRIFT
    words = {
        FileKind.MODIFIED: "is the wheel's own again, it had been edited when it was recorded",
        FileKind.MISSING: "is there again, it was missing when it was recorded",
        FileKind.UNOWNED: "gone, it was owned by no distribution",
    }.get(was.kind, "missing" if was.owners else "gone, it was owned by no distribution")
    return words, Severity.DRIFT


def _changed(was: FileFact, now: FileFact) -> tuple[str, Severity] | None:
    if was.sha256 != now.sha256:
        if now.sha256 is None and now.kind is not FileKind.MODIFIED:
            return "could not be hashed", Severity.UNKNOWN
        if was.sha256 is None:
            return None
        return f"changed{arrow(was.sha256, now.sha256)}{_also(now)}", Severity.DRIFT
    if was.mode is None or now.mode is None or was.mode == now.mode:
        return None
    if _is_executable(was.mode) and not _is_executable(now.mode):
        return f"lost its exec bit ({was.mode} → {now.mode})", Severity.DRIFT
    gained = _is_executable(now.mode) and not _is_executable(was.mode)
    words = "gained an exec bit" if gained else "has another mode"
    return f"{words} ({was.mode} → {now.mode})", Severity.DRIFT


def _also(now: FileFact) -> str:
    """What else was seen of it: a link in its place, another interpreter in its first line, another size."""
    return f", {now.detail}" if now.detail and now.detail != "changed after install" else ""


def _is_executable(mode: str) -> bool:
    return any(digit in "1357" for digit in mode)


def _owner(was: FileFact, observed: Installed) -> str | None:
    owners = (
        entry.name for entry in observed.distributions or () if (was.root, was.path) in (entry.listing or {})
    )
    return next(owners, None)


def _finding(
    was: FileFact | None, now: FileFact | None, recorded: Installed, words: str, severity: Severity
) -> Finding:
    facts = [fact for fact in (was, now) if fact]
    fact = facts[-1]
    if only_bootstrap(fact.owners, recorded) or all(_is_loose_script(fact) for fact in facts):
        severity = Severity.NOTE
    owner = f", of {fact.owners[0]}" if len(fact.owners) == 1 and fact.root != "library" else ""
    new = was is None and not fact.owners
    return Finding(
        fact.shown,
        detail=words + owner,
        hint=RECORD_ANEW if new else RESTORE,
        severity=severity,
        key=lock_key(was, now),
    )


def _is_loose_script(fact: FileFact) -> bool:
    return fact.root == "scripts" and not fact.owners


CHECK = Check(
    slug="files",
    explanation=__doc__,
    section=installed,
    compare=compare,
    show=lambda side: count(len(side.files), "file"),
)
