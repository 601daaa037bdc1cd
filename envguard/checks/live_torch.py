"""The torch that is imported isn't the one on disk.

What drifts: torch's own word about itself, from a child process that imports it with the job's own
flags (verify --live): its build, git commit, CUDA version, and which libraries of torch and CUDA
it has loaded, from where. They are held against the lock.

Why it changes a training: everything else is read from files, without running them. A torch from
PYTHONPATH or the user site, startup code that patches it, an LD_PRELOAD, or a cluster module that
puts its own libcudart or libnccl first in LD_LIBRARY_PATH leave the files right and the process
wrong. Only the process itself can say so.

How to read it: "imported build" is torch.__version__ of the child. A library "loaded from outside
the environment" is named by its file: a drift when the lock was made with --live, else a note. Without
--live the check isn't run.

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
from envguard.model.observed import NOT_ASKED, NOT_RECORDED, Observed, Unobserved, Value, map_value

_LIVE_ONLY = Unobserved("looked at with --live only")
_RECORDED_ONLY = Unobserved("recorded with --live, looked at with --live only")
_DRIVER = ("libcuda.so", "libcudadebugger.so", "libnvidia-")
"""The driver's own libraries: always the machine's, and another check's."""
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
    """What is compared. Without ``live`` the lock knows the build from files only; empty texts aren't known."""

    build: str
    git_commit: str
    cuda: str | None
    cudnn: str | None = ""
    nccl: str | None = ""
    default_dtype: str = ""
    outside: frozenset[str] = frozenset()
    live: bool = True


def section(facts: Facts) -> Observed[Imported]:
    """Torch as it was imported."""
    return map_value(facts.live, _of_live)


def sides(recorded: Facts, observed: Facts) -> tuple[Observed[Imported], Observed[Imported]]:
    """A lock that was made without ``--live`` is held to what its torch files said."""
    now = section(observed)
    if isinstance(recorded.live, Value):
        return section(recorded), _RECORDED_ONLY if observed.live == NOT_RECORDED else now
    if observed.live in (NOT_ASKED, NOT_RECORDED):
        return _LIVE_ONLY, now
    return map_value(recorded.torch, _of_files), now


def compare(recorded: Imported, observed: Imported) -> Iterator[Finding]:
    """A finding a difference, and one an outside library that was not recorded."""
    where = "live" if recorded.live else "torch"
    for field, word in _WORDS.items():
        was, now = getattr(recorded, field), getattr(observed, field)
        if was not in ("", now):
            yield Finding(
                "torch",
                f"{word} {_short(field, was)}",
                _short(field, now),
                "as torch says it of itself",
                hint="envguard explain shadowing says what can put another torch first",
                key=f"{where}.{field.replace('_', '-')}",
            )
    yield from _outside(recorded, observed)


def _outside(recorded: Imported, observed: Imported) -> Iterator[Finding]:
    for name in sorted(observed.outside - recorded.outside):
        unknown = (
            "" if recorded.live else " (the lock was made without --live: it doesn't say whether it was then)"
        )
        yield Finding(
            name,
            detail=f"loaded from outside the environment{unknown}",
            hint="unset LD_PRELOAD and LD_LIBRARY_PATH, or module purge, and look again",
            severity=Severity.DRIFT if recorded.live else Severity.NOTE,
            key="live.outside" if recorded.live else None,
        )
    for name in sorted(recorded.outside - observed.outside):
        yield Finding(
            name,
            detail="no longer loaded from outside the environment",
            severity=Severity.NOTE,
            key="live.outside",
        )


def _of_live(live: Live) -> Imported:
    outside = frozenset(name for name in live.outside if not name.startswith(_DRIVER))
    return Imported(live.build, live.git_commit, live.cuda, live.cudnn, live.nccl, live.default_dtype, outside)


def _of_files(torch: TorchBuild) -> Imported:
    return Imported(torch.build, torch.git_commit, torch.cuda, live=False)


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
