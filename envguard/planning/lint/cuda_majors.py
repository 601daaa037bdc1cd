"""Libraries of two CUDA majors are in one lock.

What: which major of CUDA the nvidia distributions belong to, by their names (nvidia-cublas-cu12) or versions
(nvidia-cublas 13.1), held against torch's variant and against the libraries that torch's files need.

Why: both majors load side by side without complaint, and which one a kernel runs on depends on which came first.

How to mend it: install torch from the index of one variant and record again. Where the run was good with it as it
is, say so in the lock: [[policy.ignore]] check = "cuda-majors".
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.model.cuda import distribution_major, major_of_library, variant_version
from envguard.planning.lint.rule import Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """A finding a distribution of another major than torch's."""
    torch = subject.torch
    if torch is None:
        return
    variant = variant_version(torch.variant)
    needed = {major for name in torch.needs if (major := major_of_library(name))}
    if variant is not None and needed and variant[0] not in needed:
        named = ", ".join(sorted(torch.needs))
        yield Said(
            f"variant {torch.variant} is CUDA {variant[0]}, and torch's files need {named}",
            "record it again: envguard snapshot --update",
            "torch.needs",
            "torch",
        )
    homes = needed or ({variant[0]} if variant else set())
    for entry in subject.distributions.values():
        major = distribution_major(entry.name, entry.version)
        if homes and major is not None and major not in homes:
            yield Said(
                f"{entry.name} {entry.version} belongs to CUDA {major}, torch {torch.build} to CUDA {max(homes)}",
                "install torch from the index of one variant, then envguard snapshot --update",
                f"distribution[{entry.name}]",
                entry.name,
            )


RULE = Rule("cuda-majors", __doc__, look)
