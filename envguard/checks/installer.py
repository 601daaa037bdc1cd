"""Another kind of installer has been at work.

What drifts: who installed what. There are three families, and each keeps its own books: pip and uv
(with poetry, pdm and the like), conda and its kin, and the system's packager. A distribution that
moved from one family to another is told, and so is a torch stack (torch, torchvision, torchaudio,
triton, the CUDA libraries) that two families share.

Why it changes a training: the families don't see each other's files. pip install over conda's torch
leaves conda believing that its own is there; the next conda update puts it back, or half of it. The
two also build torch differently: other CUDA libraries, other math libraries, other defaults.
Seen in public: https://github.com/thousandbrainsproject/tbp.monty/issues/385 (pip install -e
replaced conda's torch 1.11 by pip's 2.4.1).

How to read it: "conda → pip or uv" is the distribution's old and new family. A mixture that was
there when the environment was recorded is a note: the run was good with it.

How to mend it: don't repair it in place. envguard restore builds the recorded environment beside
this one, with one installer. pip install --no-deps keeps an editable install from pulling in a
torch of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envguard.checks.check import Check
from envguard.checks.words import RESTORE, count, few
from envguard.model.cuda import distribution_major
from envguard.model.distribution import Distribution
from envguard.model.drift import Finding, Severity

Distributions = tuple[Distribution, ...]

_WHEELS = "pip or uv"
_CONDA = frozenset({"conda", "mamba", "micromamba", "pixi", "rattler"})
_SYSTEM = frozenset({"apt", "brew", "debian", "dnf", "dpkg", "rpm", "system"})
_STACK = frozenset({"torch", "torchaudio", "torchvision", "triton"})
_MANY = 5


def family(entry: Distribution) -> str:
    """``pip or uv``, ``conda`` or ``the system``. A lock writes none for pip and uv."""
    name = (entry.installer or "").lower()
    if name in _CONDA:
        return "conda"
    return "the system" if name in _SYSTEM else _WHEELS


def compare(recorded: Distributions, observed: Distributions) -> Iterator[Finding]:
    """A finding a distribution that changed hands (one for many), and one for a mixed torch stack."""
    was = {entry.name: family(entry) for entry in recorded}
    moves: dict[tuple[str, str], list[str]] = {}
    for entry in sorted(observed, key=lambda entry: entry.name):
        before, here = was.get(entry.name), family(entry)
        if before is not None and before != here:
            moves.setdefault((before, here), []).append(entry.name)
    for (before, here), names in moves.items():
        if len(names) > _MANY:
            yield _moved(count(len(names), "distribution"), before, here, few(names), names[0])
        else:
            yield from (_moved(name, before, here, None, name) for name in names)
    yield from _mixed(recorded, observed)


def _moved(subject: str, before: str, here: str, detail: str | None, name: str) -> Finding:
    return Finding(
        subject, before, here, detail or "another kind of installer", hint=RESTORE, key=f"distribution[{name}]"
    )


def _mixed(recorded: Distributions, observed: Distributions) -> Iterator[Finding]:
    was, now = _stack(recorded), _stack(observed)
    if len(now) < 2 or "torch" not in {name for names in now.values() for name in names}:
        return
    torch_by = next(by for by, names in now.items() if "torch" in names)
    others = [f"{few(names)} by {by}" for by, names in now.items() if by != torch_by]
    was_so = was.keys() == now.keys() and "torch" in was.get(torch_by, ())
    yield Finding(
        "torch",
        detail=f"is installed by {torch_by}, {few(others)}{', as when it was recorded' if was_so else ''}",
        hint=RESTORE,
        severity=Severity.NOTE if was_so else Severity.DRIFT,
        key="distribution[torch]",
    )


def _stack(entries: Iterable[Distribution]) -> dict[str, list[str]]:
    families: dict[str, list[str]] = {}
    for entry in sorted(entries, key=lambda entry: entry.name):
        if entry.name in _STACK or distribution_major(entry.name, entry.version):
            families.setdefault(family(entry), []).append(entry.name)
    return families


CHECK = Check(
    slug="installer",
    explanation=__doc__,
    section=lambda facts: facts.distributions,
    compare=compare,
    show=lambda entries: count(len(entries), "distribution"),
)
