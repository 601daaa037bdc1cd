"""A distribution is not the one that torch asks for.

What: torch's own requirements on Triton and on CUDA's libraries (triton==3.6.0), as the lock recorded them, are
held against the distributions of the same lock.

Why: torch.compile hands its kernels to Triton, and each torch is tested with one. A lock that names another one
was recorded from an environment where something had moved it, or was edited.

How to mend it: install what torch asks for and record again. Where the run was good with it as it is, say so in
the lock: [[policy.ignore]] check = "torch-requires".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envguard.planning.lint.rule import Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """A finding a requirement that is not met."""
    torch = subject.torch
    if torch is None or not subject.distributions:
        return
    for text in torch.requires:
        name = re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]
        entry = subject.distributions.get(name)
        if entry is None:
            yield _said(name, f"torch {torch.build} asks for {text}, and the lock has none", "torch.requires")
        elif not _is_met(text, name, entry.version):
            message = f"{name} {entry.version}, and torch {torch.build} asks for {text}"
            yield _said(name, message, f"distribution[{name}].version")


def _is_met(text: str, name: str, version: str) -> bool:
    """A requirement or version that can't be understood is left to verify, which says so."""
    if text == f"{name}=={version}":
        return True
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.version import InvalidVersion, Version

    try:
        return Requirement(text).specifier.contains(Version(version), prereleases=True)
    except (InvalidRequirement, InvalidVersion):
        return True


def _said(name: str, message: str, key: str) -> Said:
    return Said(message, f"install what torch asks for, then {_AGAIN}", key, name)


_AGAIN = "envguard snapshot --update"

RULE = Rule("torch-requires", __doc__, look)
