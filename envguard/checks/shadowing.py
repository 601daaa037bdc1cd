"""A module would be imported from elsewhere.

What drifts: from where a module of an installed distribution is imported. Something that comes
earlier on Python's path holds a module of the same name: a folder in PYTHONPATH, the user site
(~/.local), a folder that a .pth names, the working folder, or the standard library.

Why it changes a training: the environment on disk is the recorded one, every hash is right, and the
code that runs is another. A folder "triton" or a file "random.py" beside the training script is
enough. The user site is the usual one on clusters: what was once installed with pip install --user
comes along into every environment that lets it in.

How to read it: the line names the module, the place, and the distribution that it hides. A module
that was recorded as shadowed and no longer is counts too, as the good run had the other code; for
the working folder that is only a note, since it depends on where a command is started.

How to mend it: take the place off the path (unset PYTHONPATH; PYTHONNOUSERSITE=1 for the user site;
start from another folder, or python -P, for the working folder), or rename what is in the way. If
it is meant, record it: envguard snapshot --update.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.checks.check import Check
from envguard.checks.words import count
from envguard.model.drift import Finding, Severity
from envguard.model.facts import Shadow

Shadows = tuple[Shadow, ...]

_HINTS = {
    "PYTHONPATH": "unset PYTHONPATH for the run",
    "user site": "set PYTHONNOUSERSITE=1 for the run",
    "working folder": "start the run from another folder, or with python -P",
    ".pth": "look at the .pth files of the environment",
}


def compare(recorded: Shadows, observed: Shadows) -> Iterator[Finding]:
    """A finding a module and place that is on one side only."""
    was, now = set(recorded), set(observed)
    for shadow in sorted(now - was, key=_order):
        where = f" ({shadow.path})" if shadow.path else ""
        yield Finding(
            shadow.module,
            detail=f"would be imported from {_place(shadow)}{where}, not from {shadow.distribution}",
            hint=_HINTS.get(shadow.place),
            key=f"distribution[{shadow.distribution}]",
        )
    for shadow in sorted(was - now, key=_order):
        yield Finding(
            shadow.module,
            detail=f"would be imported from {shadow.distribution}; "
            f"when it was recorded it came from {_place(shadow)}",
            severity=Severity.NOTE if shadow.place == "working folder" else Severity.DRIFT,
            key=f"distribution[{shadow.distribution}]",
        )


def _order(shadow: Shadow) -> tuple[str, str, str]:
    return shadow.module, shadow.distribution, shadow.place


def _place(shadow: Shadow) -> str:
    return {
        "PYTHONPATH": "PYTHONPATH",
        ".pth": "a folder that a .pth names",
    }.get(shadow.place, f"the {shadow.place}")


CHECK = Check(
    slug="shadowing",
    explanation=__doc__,
    section=lambda facts: facts.shadows,
    compare=compare,
    show=lambda shadows: count(len(shadows), "shadowed module"),
)
