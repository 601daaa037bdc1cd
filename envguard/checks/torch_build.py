"""Torch is another build.

What drifts: one of the five things that name a build of torch. They are its version, its build
string (torch.__version__, with the +cu130), the git commit, the variant (cu128, cu130, cpu) and
the CUDA version it was built with. All are read from torch's own files; torch is not imported.

Why it changes a training: another commit or variant has other kernels and other defaults, and it
changes torch's part of every compile-cache key, so a warm cache is cold again. One version string
does not mean one build. Nightlies are rebuilt under one date, and a wheel from PyPI and one from
the PyTorch index share a version but not their local label.
Seen in public: https://github.com/pytorch/pytorch/issues/145501 (a nightly replaced by another),
https://github.com/astral-sh/uv/issues/16368 (asked for cu128, kept the torch that was there).

How to read it: the line says which of the five moved and which are equal. "variant moved, commit
equal" is the same source built for another CUDA: a wheel from another index. An unknown commit is
a build outside PyTorch's own machines.

How to mend it: envguard restore builds the recorded environment beside this one. To see what an
index has, envguard inspect torch==VERSION; to look for the commit, envguard find torch --commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.checks.check import Check
from envguard.checks.words import RESTORE, few
from envguard.model.drift import Finding
from envguard.model.facts import TorchBuild

_FIELDS = ("version", "build", "git_commit", "variant", "cuda", "hip")


def compare(recorded: TorchBuild, observed: TorchBuild) -> Iterator[Finding]:
    """At most one finding, which says what moved and what is equal."""
    moved = [field for field in _FIELDS if getattr(recorded, field) != getattr(observed, field)]
    if not moved:
        return
    lead = next(field for field in ("build", "git_commit", *_FIELDS) if field in moved)
    was, now = _shown(lead, recorded), _shown(lead, observed)
    yield Finding(
        "torch",
        was if lead == "build" else f"{_word(lead)} {was}",
        now,
        _detail(lead, moved, recorded, observed),
        hint=RESTORE,
        key=f"torch.{lead.replace('_', '-')}",
    )


def _detail(lead: str, moved: list[str], recorded: TorchBuild, observed: TorchBuild) -> str:
    if lead != "build":
        others = [field for field in moved if field != lead]
        equal = [f"build {recorded.build}", *([] if "git_commit" in moved else [_commit(recorded)])]
        also = f"{few([_word(field) for field in others])} moved, " if others else ""
        return f"{also}{few(equal)} equal"
    names = [field for field in ("version", "variant", "cuda", "hip") if field in moved]
    if "variant" in names:
        # The variant says it; its CUDA version moves with it.
        names = [field for field in names if field not in ("cuda", "hip")]
    said = few([_word(field) for field in names]) if names else "build string"
    if "git_commit" in moved:
        return f"{said} moved, commit {_shown('git_commit', recorded)} → {_shown('git_commit', observed)}"
    return f"{said} moved, {_commit(recorded)} equal"


def _commit(build: TorchBuild) -> str:
    return f"commit {_shown('git_commit', build)}"


def _shown(field: str, build: TorchBuild) -> str:
    value = getattr(build, field)
    if field == "git_commit":
        return "unknown" if value in ("", "Unknown") else str(value)[:10]
    return "none" if value is None else str(value)


def _word(field: str) -> str:
    return {"git_commit": "commit", "cuda": "CUDA", "hip": "HIP"}.get(field, field)


CHECK = Check(
    slug="torch-build",
    explanation=__doc__,
    section=lambda facts: facts.torch,
    compare=compare,
    show=lambda build: build.build,
    subject="torch",
)
