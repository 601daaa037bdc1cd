"""Libraries of two CUDA majors are mixed.

What drifts: which major of CUDA the installed libraries belong to. NVIDIA's wheels carry it in
their names (nvidia-cublas-cu12) or, from CUDA 13 on, in their versions (nvidia-cublas 13.1). They
are held against each other, and against the libraries that torch's own files ask for
(libcudart.so.13).

Why it changes a training: both majors load side by side without complaint. Which one a kernel runs
on then depends on which was loaded first, and the failure comes late: a missing symbol, an "invalid
device function", or a slower path. It comes about when a wheel on PyPI moves to the next CUDA while
the rest of the environment stays.
Seen in public: https://github.com/vllm-project/vllm/issues/42338 (a cu129 command, a CUDA 13
build), https://github.com/huggingface/lerobot/pull/3570 (a lock that moved to CUDA 13 by itself).

How to read it: the line names the odd distributions, the ones they are beside, and what torch asks
for. A mixture that was there when the environment was recorded is a note: the run was good with it.

How to mend it: build the recorded environment again (envguard restore), or take the odd ones out and
install torch from PyTorch's index of one variant (whl/cu130). envguard inspect WHEEL says which CUDA
a wheel asks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from envguard.checks.check import Check
from envguard.checks.words import RESTORE, few
from envguard.model.cuda import distribution_major, major_of_library
from envguard.model.distribution import Distribution
from envguard.model.drift import Finding, Severity
from envguard.model.facts import Facts
from envguard.model.observed import Observed, map_value, value_or_none


@dataclass(frozen=True, slots=True)
class Cuda:
    """Installed distributions by CUDA major, and the libraries that torch needs by theirs."""

    installed: dict[int, tuple[str, ...]]
    needed: dict[int, str]


def cuda(facts: Facts) -> Observed[Cuda]:
    """The section: distributions, with torch where it could be read."""
    torch = value_or_none(facts.torch)
    needed = {
        major: soname for soname in reversed(torch.needs if torch else ()) if (major := major_of_library(soname))
    }

    def of(entries: tuple[Distribution, ...]) -> Cuda:
        majors: dict[int, tuple[str, ...]] = {}
        for entry in sorted(entries, key=lambda entry: entry.name):
            if major := distribution_major(entry.name, entry.version):
                majors[major] = (*majors.get(major, ()), entry.name)
        return Cuda(majors, needed)

    return map_value(facts.distributions, of)


def compare(recorded: Cuda, observed: Cuda) -> Iterator[Finding]:
    """At most one finding: the odd majors beside the one that torch needs."""
    if not _is_mixed(observed):
        return
    was_so = _is_mixed(recorded) and _majors(recorded) == _majors(observed)
    home = _home(observed)
    odd = [name for major, names in sorted(observed.installed.items()) if major != home for name in names]
    beside = observed.installed.get(home, ())
    odd_majors = " and ".join(str(major) for major in sorted(observed.installed) if major != home)
    words = f"{'belong' if len(odd) > 1 else 'belongs'} to CUDA {odd_majors}"
    others = f"and {len(odd) - 1} more " if len(odd) > 1 else ""
    next_to = f", beside {few(beside, 2)} of CUDA {home}" if beside else ""
    asked = f"; torch needs {few(list(observed.needed.values()))}" if observed.needed else ""
    yield Finding(
        odd[0],
        detail=f"{others}{words}{next_to}{asked}{', as when it was recorded' if was_so else ''}",
        hint=RESTORE,
        severity=Severity.NOTE if was_so else Severity.DRIFT,
        key=f"distribution[{odd[0]}]",
    )


def _is_mixed(side: Cuda) -> bool:
    """Torch with no CUDA distribution at all brings its own libraries, or uses the machine's: no mixture."""
    return len(side.installed) > 1 or bool(side.installed and side.needed.keys() - side.installed.keys())


def _majors(side: Cuda) -> tuple[frozenset[int], frozenset[int]]:
    return frozenset(side.installed), frozenset(side.needed)


def _home(side: Cuda) -> int:
    """The major that the others are odd to: torch's, else the newest."""
    return max(side.needed or side.installed)


CHECK = Check(
    slug="cuda-mix",
    explanation=__doc__,
    section=cuda,
    compare=compare,
)
