"""The torch that is imported isn't the one on disk.

What drifts: torch's own word about itself, from a child process that imports it with the job's own
flags (verify --live): its build, git commit, CUDA version, and which libraries of torch and CUDA
it has loaded, from where. They are held against the lock.

Why it changes a training: everything else is read from files, without running them. A torch from
PYTHONPATH or the user site, startup code that patches it, an LD_PRELOAD, or a cluster module that
puts its own libcudart or libnccl first in LD_LIBRARY_PATH leave the files right and the process
wrong. Only the process itself can say so.

How to read it: "imported build" is torch.__version__ of the child. A library "loaded from outside
the environment" is named by its file; the environment has its own, or is meant to. Without --live
the check isn't run, and is listed as not recorded.

How to mend it: unset LD_PRELOAD and LD_LIBRARY_PATH, unload cluster modules (module purge), and look
again. If torch itself is another one, the shadowing and startup-code checks say where it comes from.
If an outside library is meant, record it: envguard snapshot --update with the same setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from envguard.checks.check import Check
from envguard.model.drift import Finding, Severity
from envguard.model.facts import Facts, Live, TorchBuild
from envguard.model.observed import NOT_RECORDED, Observed, Unobserved, Value, map_value

_NOT_ASKED = Unobserved("looked at with --live only")
_WORDS = {
    "build": "imported build",
    "git_commit": "imported commit",
    "cuda": "imported CUDA",
    "cudnn": "cuDNN",
    "nccl": "NCCL",
    "default_dtype": "default dtype",
}


@dataclass(frozen=True, slots=True)
class Imported:
    """What is compared. Empty texts were not recorded: the lock knows the build from files only."""

    build: str
    git_commit: str
    cuda: str | None
    cudnn: str | None = ""
    nccl: str | None = ""
    default_dtype: str = ""
    outside: tuple[str, ...] = ()


def section(facts: Facts) -> Observed[Imported]:
    """Torch as it was imported."""
    return map_value(facts.live, _of_live)


def sides(recorded: Facts, observed: Facts) -> tuple[Observed[Imported], Observed[Imported]]:
    """A lock that was made without ``--live`` is held to what its torch files said."""
    now = section(observed)
    if isinstance(recorded.live, Value):
        return section(recorded), now
    if observed.live == NOT_RECORDED:
        return _NOT_ASKED, now
    return map_value(recorded.torch, _of_files), now


def compare(recorded: Imported, observed: Imported) -> Iterator[Finding]:
    """A finding a difference, and one an outside library that was not recorded."""
    for field, word in _WORDS.items():
        was, now = getattr(recorded, field), getattr(observed, field)
        if was not in ("", now):
            yield Finding(
                "torch",
                f"{word} {_short(field, was)}",
                _short(field, now),
                "as torch says it of itself",
                hint="envguard explain shadowing says what can put another torch first",
                key=f"torch.{field.replace('_', '-')}" if hasattr(TorchBuild, field) else None,
            )
    for name in sorted(set(observed.outside) - set(recorded.outside)):
        yield Finding(
            name,
            detail="loaded from outside the environment",
            hint="unset LD_PRELOAD and LD_LIBRARY_PATH, or module purge, and look again",
        )
    for name in sorted(set(recorded.outside) - set(observed.outside)):
        yield Finding(name, detail="no longer loaded from outside the environment", severity=Severity.NOTE)


def _of_live(live: Live) -> Imported:
    return Imported(
        live.build, live.git_commit, live.cuda, live.cudnn, live.nccl, live.default_dtype, live.outside
    )


def _of_files(torch: TorchBuild) -> Imported:
    return Imported(torch.build, torch.git_commit, torch.cuda)


def _short(field: str, value: str | None) -> str:
    if value is None:
        return "none"
    return value[:10] if field == "git_commit" else value


CHECK = Check(
    slug="live-torch",
    explanation=__doc__,
    section=section,
    compare=compare,
    show=lambda side: side.build,
    subject="torch",
    none_here="can't be imported",
    sides=sides,
)
