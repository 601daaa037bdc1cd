"""An environment variable was set, unset or changed.

What drifts: environment variables that change what torch does. envguard looks only at the names of a
table in its code, never at others, so no password gets into a lock. Each name has a class: those
that enter compile-cache keys and those that change results are a drift; the rest are a note. Of
variables that hold paths (LD_LIBRARY_PATH, PYTHONPATH) only a digest is kept.

Why it changes a training: a variable set in a job script is recorded nowhere, and one of them is
enough to make every key miss (TORCHINDUCTOR_MAX_AUTOTUNE), or to change sums
(NVIDIA_TF32_OVERRIDE, CUBLAS_WORKSPACE_CONFIG).

How to read it: "not set → 1" was not there when the environment was recorded. verify sees the shell
that it is started from. When the lock was recorded from a running process, what a launcher such as
torchrun sets will be missing in a plain shell; the line says where each side was seen.

How to mend it: export or unset the variable in the job script, or start the run through envguard
run LOCK -- COMMAND, which sets the recorded ones. If the change is meant: envguard snapshot --update.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.checks.check import Check
from envguard.checks.words import count
from envguard.model.drift import Finding, Severity
from envguard.model.facts import Variable, VariableKind, Variables

_LONGEST = 60
_EFFECTS = {
    VariableKind.KEY: "enters compile-cache keys",
    VariableKind.NUMERICS: "changes results",
    VariableKind.NOTE: "can matter",
    VariableKind.PRESENCE: "holds paths",
}
_GRAVEST_FIRST = (VariableKind.NUMERICS, VariableKind.KEY, VariableKind.PRESENCE, VariableKind.NOTE)


def compare(recorded: Variables, observed: Variables) -> Iterator[Finding]:
    """A finding a variable, by name."""
    was = {entry.name: entry for entry in recorded.values}
    now = {entry.name: entry for entry in observed.values}
    seen = "" if recorded.source == observed.source else f"; {_SOURCES.get(recorded.source, recorded.source)}, "
    if seen:
        seen += f"held against {_HERE.get(observed.source, observed.source)}"
    for name in sorted(was.keys() | now.keys()):
        before, here = was.get(name), now.get(name)
        if (before and before.value) != (here and here.value):
            yield _finding(before, here, seen)


_SOURCES = {"process": "recorded from a process", "shell": "recorded from a shell"}
_HERE = {"process": "a process", "shell": "this shell"}


def _finding(was: Variable | None, now: Variable | None, seen: str) -> Finding:
    entries = [entry for entry in (was, now) if entry]
    kind = min((entry.kind for entry in entries), key=_GRAVEST_FIRST.index)
    name = entries[0].name
    secret = kind is VariableKind.PRESENCE or any(entry.kind is VariableKind.PRESENCE for entry in entries)
    return Finding(
        name,
        _shown(was, secret),
        _shown(now, secret, changed=was is not None),
        _EFFECTS[kind] + seen,
        hint=None if secret else _hint(name, was),
        severity=Severity.DRIFT if kind in (VariableKind.KEY, VariableKind.NUMERICS) else Severity.NOTE,
        key=f"variables.{name}",
    )


def _shown(entry: Variable | None, secret: bool, changed: bool = False) -> str:
    if entry is None:
        return "not set"
    if secret:
        return "set to something else" if changed else "set"
    if not entry.value:
        return "set, empty"
    return entry.value if len(entry.value) <= _LONGEST else f"{entry.value[: _LONGEST - 1]}…"


def _hint(name: str, was: Variable | None) -> str | None:
    if was is None:
        return f"unset {name}"
    return f"export {name}={was.value}" if was.value.isalnum() and len(was.value) <= _LONGEST else None


CHECK = Check(
    slug="variables",
    explanation=__doc__,
    section=lambda facts: facts.variables,
    compare=compare,
    show=lambda side: count(len(side.values), "variable"),
)
