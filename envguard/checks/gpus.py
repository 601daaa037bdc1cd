"""The GPUs are others, or fewer.

What drifts: the GPUs by CUDA's own index, as the training sees them (CUDA_VISIBLE_DEVICES counts).
Each recorded index must be there with the same name and compute capability. More GPUs than recorded
are fine. Less memory than recorded is a note.

Why it changes a training: the compile cache keys hold the GPU's name and its index. A cache made on
cuda:0 misses on cuda:1, and one made on an H100 misses on an H200 of the same capability: the start
compiles instead of loading. Other GPUs also sum in another order and choose other kernels.
Seen in public: https://github.com/pytorch/pytorch/issues/170123 (no sharing between equal GPUs),
https://github.com/pytorch/pytorch/issues/144859 (a copied cache, not used on the twin machine).

How to read it: the subject is the device as torch names it, cuda:5. nvidia-smi counts in another
order than CUDA unless CUDA_DEVICE_ORDER=PCI_BUS_ID is set. No GPU at all makes the check unknown,
not failed: verify may run on a login node; --allow-unknown driver,gpus says that this is meant.

How to mend it: ask for the recorded kind and number of GPUs, and look at CUDA_VISIBLE_DEVICES. To
train on others knowingly, warm the cache on them and record anew: envguard warmup, then envguard
snapshot --update.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from envguard.checks.check import Check
from envguard.model.drift import Finding, Outcome, Severity
from envguard.model.facts import Gpu

Gpus = tuple[Gpu, ...]

_HINT = "ask for the recorded GPUs, and look at CUDA_VISIBLE_DEVICES"


def compare(recorded: Gpus, observed: Gpus) -> Iterator[Finding]:
    """A finding an index and difference; GPUs beyond the recorded ones are fine."""
    here = {gpu.index: gpu for gpu in observed}
    for was in sorted(recorded, key=lambda gpu: gpu.index):
        now = here.get(was.index)
        if now is None:
            yield _finding(was, was.name, "none", f"{len(observed)} of {len(recorded)} GPUs are here")
        elif was.name != now.name:
            yield _finding(was, was.name, now.name, _capabilities(was, now))
        elif was.capability != now.capability:
            yield _finding(was, f"capability {was.capability}", now.capability, was.name)
        elif now.memory_mib < was.memory_mib:
            yield Finding(
                f"cuda:{was.index}",
                f"{was.memory_mib:,} MiB",
                f"{now.memory_mib:,} MiB",
                "less memory",
                severity=Severity.NOTE,
                key=_key(was),
            )


def summary(gpus: Gpus) -> str:
    """How many of each name, in the order of their first index."""
    kinds = Counter(gpu.name for gpu in sorted(gpus, key=lambda gpu: gpu.index))
    return ", ".join(f"{number} × {name}" for name, number in kinds.items()) or "no GPUs"


def _capabilities(was: Gpu, now: Gpu) -> str:
    if was.capability == now.capability:
        return f"another GPU of capability {now.capability}: the compile cache misses"
    return f"capability {was.capability} → {now.capability}"


def _finding(gpu: Gpu, was: str, now: str, detail: str) -> Finding:
    return Finding(f"cuda:{gpu.index}", was, now, detail, hint=_HINT, key=_key(gpu))


def _key(gpu: Gpu) -> str:
    return f"machine.gpus[{gpu.index}]"


CHECK = Check(
    slug="gpus",
    explanation=__doc__,
    section=lambda facts: facts.gpus,
    compare=compare,
    when_gone=Outcome.UNKNOWN,
    when_new=Severity.NOTE,
    show=summary,
    none_here="no NVIDIA GPU on this machine",
)
