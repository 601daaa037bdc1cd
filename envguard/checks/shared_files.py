"""Two distributions own one file.

What drifts: a path that several distributions list in their RECORDs, and that was not shared so
when the environment was recorded.

Why it changes a training: the last one installed wins, and nobody is told. With opencv-python and
opencv-python-headless, or triton and pytorch-triton, the code that runs depends on the order of
installs; removing one takes files of the other away. When the RECORDs agree (nvidia/__init__.py,
empty in all of NVIDIA's wheels) nothing can go wrong, so that is a note.

How to read it: the line names the owners. "which disagree" means their wheels hold different bytes
for this path, so at most one of them is whole. Many paths of the same owners are told in one line.

How to mend it: find out who asked for the second distribution (uv pip tree --invert --package NAME)
and remove it, then build the environment again: envguard restore. Removing it in place is not
enough, as its files have overwritten the other's.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.checks.check import Check
from envguard.checks.words import count, few
from envguard.model.drift import Finding, Severity
from envguard.model.facts import SharedPath

Shared = tuple[SharedPath, ...]

_MANY = 3


def compare(recorded: Shared, observed: Shared) -> Iterator[Finding]:
    """A finding a path that is shared anew; one for many paths of the same owners."""
    known = {(entry.path, entry.owners, entry.agree) for entry in recorded}
    groups: dict[tuple[bool, tuple[str, ...]], list[str]] = {}
    for entry in sorted(observed, key=lambda entry: entry.path):
        if (entry.path, entry.owners, entry.agree) not in known:
            groups.setdefault((entry.agree, entry.owners), []).append(entry.path)
    for (agree, owners), paths in sorted(groups.items()):
        if len(paths) <= _MANY:
            yield from (_finding(path, owners, agree) for path in paths)
        else:
            yield _finding(paths[0], owners, agree, paths[1:])


def _finding(path: str, owners: tuple[str, ...], agree: bool, others: list[str] | None = None) -> Finding:
    more = f"and {count(len(others), 'other path')} " if others else ""
    end = "which agree" if agree else "which disagree: the last one installed wins"
    return Finding(
        path,
        detail=f"{more}owned by {few(owners, len(owners))}, {end}",
        hint=None if agree else f"remove all of {few(owners, len(owners))} but one, then restore",
        severity=Severity.NOTE if agree else Severity.DRIFT,
        key=f"distribution[{owners[0]}]" if owners else None,
    )


CHECK = Check(
    slug="shared-files",
    explanation=__doc__,
    section=lambda facts: facts.shared,
    compare=compare,
    show=lambda paths: count(len(paths), "shared path"),
)
