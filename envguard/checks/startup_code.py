"""Code that runs at every start of Python is new, gone or changed.

What drifts: .pth files, sitecustomize and usercustomize. Python runs them before the first line of
any program, in every process: in the training, in each of its workers, and in the tools that look
at the environment. A .pth line that begins with "import" is code.

Why it changes a training: such a file can put other folders first on the path, patch modules, set
variables, or send what it finds elsewhere. None of it is seen in a version number, and a hash in
RECORD doesn't help when the file came with a bad wheel.
Seen in public: litellm 1.82.7 and 1.82.8, March 2026, a .pth that ran at every start, listed in
RECORD with a right hash: https://blog.mozilla.ai/hardening-your-llm-dependency-supply-chain

How to read it: "new" is the worst kind of drift there is here; when no distribution owns the file,
nobody installed it in the open. envguard itself has not run it: it reads these files, with a
Python that was told not to.

How to mend it: look at the file with less before you start this Python again. If you don't know
it, keep a copy, take the environment out of use, and build it again: envguard restore. If it is
meant (an editable install, a coverage hook), record it: envguard snapshot --update.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.checks.check import Check
from envguard.checks.installed import (
    Installed,
    all_in,
    by_place,
    editable_distributions,
    installed,
    lock_key,
    moved_distributions,
    only_bootstrap,
)
from envguard.checks.words import RESTORE, arrow, count, few
from envguard.model.drift import Finding, Severity
from envguard.model.facts import FileFact, FileKind

_LOOK = "it runs at every start of this Python: read it before you start it again"


def compare(recorded: Installed, observed: Installed) -> Iterator[Finding]:
    """A finding a file, by place."""
    moved = moved_distributions(recorded, observed)
    editable = editable_distributions(recorded, observed)
    was, now = by_place(recorded.files), by_place(observed.files)
    for place in sorted(was.keys() | now.keys()):
        before, here = was.get(place), now.get(place)
        facts = [fact for fact in (before, here) if fact]
        owners = facts[-1].owners
        if all(fact.kind is not FileKind.STARTUP for fact in facts):
            continue
        follows = all_in(owners, moved)
        told = _told(before, here)
        # What a distribution brings is that check's drift, but new startup code never goes untold.
        if told is not None and not (follows and before is not None):
            words, severity, hint = told
            if follows or only_bootstrap(owners, recorded) or all_in(owners, editable):
                severity = Severity.NOTE
            yield Finding(facts[-1].shown, None, None, words, hint, severity, lock_key(before, here))


def _told(was: FileFact | None, now: FileFact | None) -> tuple[str, Severity, str] | None:
    if now is None or now.kind is FileKind.MISSING:
        return "gone, it ran at every start when it was recorded", Severity.DRIFT, RESTORE
    if now.kind is FileKind.UNREADABLE:
        why = f": {now.detail}" if now.detail else ""
        return f"can't be read{why}", Severity.UNKNOWN, _LOOK
    if was is None:
        whose = f"brought by {few(now.owners)}" if now.owners else "owned by no distribution"
        return f"new startup code, {whose}", Severity.DRIFT, _LOOK
    if was.sha256 == now.sha256:
        return None
    return f"changed{arrow(was.sha256, now.sha256)}, it runs at every start", Severity.DRIFT, _LOOK


CHECK = Check(
    slug="startup-code",
    explanation=__doc__,
    section=installed,
    compare=compare,
    show=lambda side: count(len(side.files), "file"),
)
