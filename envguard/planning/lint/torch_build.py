"""What the lock says of torch contradicts itself.

What: [torch] names a version, a build string, a variant and a CUDA version; the distribution "torch" names a
version and a wheel. All five speak of one build.

Why: restore takes the wheel, verify compares the build. When they name two builds, no environment can match.

How to mend it: record the lock again (envguard snapshot --update) rather than editing one of the places.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.model.cuda import variant_version
from envguard.model.declared import variant_in
from envguard.model.facts import TorchBuild
from envguard.planning.lint.rule import AGAIN, Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """A finding a contradiction."""
    torch = subject.torch
    if torch is None:
        return
    yield from _label(torch)
    yield from _cuda(torch)
    yield from _distribution(subject, torch)


def _label(torch: TorchBuild) -> Iterator[Said]:
    variant = variant_in(torch.build.partition("+")[2])
    if variant is not None and variant != torch.variant:
        yield _said(f"the build {torch.build} is of {variant}, the variant says {torch.variant}", "torch.variant")
    if torch.build.partition("+")[0] != torch.version.partition("+")[0]:
        yield _said(f"version {torch.version} and build {torch.build} are two versions", "torch.build")


def _cuda(torch: TorchBuild) -> Iterator[Said]:
    wanted = variant_version(torch.variant)
    said = torch.cuda
    if wanted is not None and said is not None and said != f"{wanted[0]}.{wanted[1]}":
        yield _said(f"variant {torch.variant} is CUDA {wanted[0]}.{wanted[1]}, cuda says {said}", "torch.cuda")
    if torch.variant in ("cpu", "xpu") and (said or torch.hip):
        yield _said(f"variant {torch.variant}, and yet built with CUDA or HIP {said or torch.hip}", "torch.cuda")


def _distribution(subject: Subject, torch: TorchBuild) -> Iterator[Said]:
    entry = subject.distributions.get("torch")
    if entry is None:
        return
    if entry.version != torch.version:
        yield Said(
            f"the distribution is {entry.version}, [torch] says {torch.version}",
            AGAIN,
            "distribution[torch].version",
            "torch",
        )
    label = variant_in((entry.wheel.filename or "").replace("%2B", "+").partition("+")[2].partition("-")[0])
    if label is not None and label != torch.variant:
        yield Said(
            f"the wheel {entry.wheel.filename} is of {label}, [torch] says {torch.variant}",
            AGAIN,
            "distribution[torch].wheel",
            "torch",
        )


def _said(message: str, key: str) -> Said:
    return Said(message, AGAIN, key, "torch")


RULE = Rule("torch-build", __doc__, look)
