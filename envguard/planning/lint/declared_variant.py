"""The project takes torch from the index of another variant than the lock records.

What: indexes that name a variant (…/whl/cu128, or one called pytorch-cu128) for torch, torchvision and torchaudio
in [tool.uv.sources], uv.lock, requirements*.txt, environment.yml and Dockerfiles, and local labels (+cu128), held
against [torch] variant.

Why: versions of two variants are equal or differ in a label that ==2.11.0 doesn't look at; kernels and the compile
cache's keys are not.

How to mend it: name the index of the recorded variant, or install from the declared one and record again.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.planning.lint.agreement import RECORD, by_choice, holding
from envguard.planning.lint.rule import Rule, Said, Subject

_FAMILY = frozenset({"torch", "torchaudio", "torchvision"})


def look(subject: Subject) -> Iterator[Said]:
    """A finding a declaration."""
    torch = subject.torch
    if torch is None:
        return
    named = [entry for entry in holding(subject) if entry.name in _FAMILY and entry.variant]
    for choice in by_choice(named):
        if torch.variant in {entry.variant for entry in choice}:
            continue
        for entry in choice:
            yield Said(
                f"takes {entry.name} of {entry.variant}, and {subject.file} records {torch.variant}",
                RECORD,
                "torch.variant",
                entry.name,
                file=entry.file,
                line=entry.line,
            )


RULE = Rule("declared-variant", __doc__, look)
