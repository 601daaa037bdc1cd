"""Hazards: known traps of a build, a machine or a setting, each with what shows it and what cures it.

A new one is an entry of ``HAZARDS``, a rule of its name in ``planning.hazards``, and a test.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from envguard.model.observed import NOT_RECORDED, Observed


class Verdict(Enum):
    """Whether a hazard applies to a run."""

    CERTAIN = "certain"
    UNKNOWN = "unknown"
    """It would under a condition that can't be seen from outside, or a look could not be had."""
    NO = "no"


@dataclass(frozen=True, slots=True)
class Hazard:
    """One trap. ``first`` ≤ torch < ``below`` (minor versions) is where it is known; the source decides."""

    slug: str
    what: str
    shows: str
    do: str
    """One command or setting; ``LOCK`` and ``COMMAND`` are the user's."""
    evidence: tuple[str, ...]
    first: tuple[int, int] | None = None
    below: tuple[int, int] | None = None
    guarded: bool = False
    """``envguard run`` takes care of it, without a change to the program."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What the installed torch's own source says; None where the text isn't of a known form."""

    flag: str | None = None
    """Whose the FX tracing flag is: ``process`` or ``thread``."""
    masked: bool | None = None
    """Dynamo says ``is_compiling`` to all threads while one compiles, which hides the flag."""
    thread_settings: bool | None = None
    """Settings belong to a thread."""
    flex_backward_cacheable: bool | None = None
    recompile_limit: int | None = None
    shared_marks: bool | None = None
    """Making a block mask annotates, in one dict that all threads share."""


@dataclass(frozen=True, slots=True)
class CacheFolder:
    """Where a start's compile cache would lie. ``shown``: without the user's name and home."""

    shown: str
    filesystem: str | None = None
    temporary: bool = False
    noexec: bool = False
    foreign: str | None = None
    """Why another user could put entries there, in words."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What hazards need beside facts."""

    signs: Observed[Signs] = NOT_RECORDED
    cache: Observed[CacheFolder] = NOT_RECORDED
    remote: tuple[str, ...] = ()
    """Variables that switch remote caches on."""
    disabling: tuple[str, ...] = ()
    """Variables that switch compiling, or its errors, off."""
    settings: tuple[str, ...] = ()
    """Places in the run's own code that set what hides failures: ``train.py:12: setting = value``."""


@dataclass(frozen=True, slots=True)
class Topology:
    """The device of each thread that computes in one process (``cuda:0``); None: not told."""

    threads: tuple[str, ...] | None = None
    budget_mib: int | None = None
    """Memory that the run's own tensors need on each device."""

    @property
    def several(self) -> bool | None:
        """Whether a process has more than one such thread."""
        return None if self.threads is None else len(self.threads) > 1


@dataclass(frozen=True, slots=True)
class Found:
    """A hazard that applies, or may."""

    hazard: Hazard
    verdict: Verdict
    detail: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that apply, worst first."""

    found: tuple[Found, ...] = field(default=())

    @property
    def exit_code(self) -> int:
        """1 when one is certain, 4 when some are unknown, else 0."""
        verdicts = {entry.verdict for entry in self.found}
        return 1 if Verdict.CERTAIN in verdicts else 4 if Verdict.UNKNOWN in verdicts else 0


def _torch(number: int) -> str:
    return f"https://github.com/pytorch/pytorch/issues/{number}"


HAZARDS: tuple[Hazard, ...] = (
    Hazard(
        "hidden-failures",
        "the run's code sets what hides failed compiles",
        "no exception; attention runs dense for the rest of the process, and memory runs out",
        "take the setting out of the code",
        (_torch(126024), _torch(152528)),
        guarded=True,
    ),
    Hazard(
        "compiling-off",
        "a variable switches compiling off, or its errors",
        "everything runs uncompiled: slow, attention dense, memory runs out",
        "unset TORCHDYNAMO_DISABLE TORCH_COMPILE_DISABLE TORCHDYNAMO_SUPPRESS_ERRORS",
        (_torch(152528),),
        guarded=True,
    ),
    Hazard(
        "tracing-flag",
        "the FX tracing flag is one for the whole process",
        "a compiled call fails while another thread compiles: 'Detected that you are using FX to symbolically "
        "trace a dynamo-optimized function'; the flag can also stay up for good",
        "envguard run LOCK -- COMMAND",
        (_torch(126024), _torch(118260)),
        first=(2, 8),
        below=(2, 13),
        guarded=True,
    ),
    Hazard(
        "driver-floor",
        "the driver is older than the build's CUDA needs",
        "no GPU is found, or 'device kernel image is invalid'",
        "envguard find torch --variant VARIANT, with one that this driver runs",
        ("https://github.com/huggingface/lerobot/pull/3435", "https://github.com/triton-lang/triton/issues/3001"),
    ),
    Hazard(
        "cuda-mix",
        "libraries of two CUDA majors are installed",
        "undefined symbols, wrong libraries at run time, or a GPU that is not found",
        "envguard restore LOCK",
        ("https://github.com/vllm-project/vllm/issues/42338",),
    ),
    Hazard(
        "shared-device",
        "threads share a device and compile at once",
        "all threads wait for each other for ever in their first step",
        "with guard.first_step(device): around each thread's first forward and backward",
        (_torch(136833), _torch(168042)),
    ),
    Hazard(
        "context-memory",
        "the context's own memory doesn't fit beside the run's",
        "out of memory on a device where it fitted with another variant",
        "leave room: a context of CUDA 13 was measured at 526 MiB, 630 MiB after the first matrix product",
        (_torch(152528),),
    ),
    Hazard(
        "cache-foreign",
        "another user can write the compile cache",
        "entries are pickles and shared objects: who writes them runs code in the training",
        'export TORCHINDUCTOR_CACHE_DIR="$HOME/.cache/torchinductor"',
        (_torch(121122),),
    ),
    Hazard(
        "cache-noexec",
        "the compile cache lies where nothing may be executed",
        "compiled code can't be loaded: 'failed to map segment from shared object'",
        'export TORCHINDUCTOR_CACHE_DIR="$HOME/.cache/torchinductor"',
        (_torch(121122),),
    ),
    Hazard(
        "cache-temporary",
        "the compile cache lies in a temporary folder",
        "after a clean-up or a new start of the machine everything compiles again",
        'export TORCHINDUCTOR_CACHE_DIR="$HOME/.cache/torchinductor"',
        (_torch(121122), "https://github.com/ai-dynamo/dynamo/issues/10695"),
    ),
    Hazard(
        "cache-network",
        "the compile cache lies on a network file system",
        "truncated entries, files that vanish, EBUSY",
        'export TORCHINDUCTOR_CACHE_DIR="/var/tmp/$USER/torchinductor"',
        ("https://github.com/triton-lang/triton/issues/11512", "https://github.com/pytorch/pytorch/pull/172144"),
    ),
    Hazard(
        "remote-cache",
        "a remote cache is on",
        "a remote hit hides a local miss, and whoever writes there runs code here",
        "unset the variable while the cache is recorded and proven",
        (_torch(144859),),
    ),
    Hazard(
        "recompile-limit",
        "one function is compiled for more devices and shapes than torch allows",
        "the rest runs uncompiled: 'torch._dynamo hit config.recompile_limit'",
        "torch._dynamo.config.recompile_limit = devices × shapes, in each thread",
        ("https://github.com/mstar-project/mstar/issues/167",),
        first=(2, 8),
    ),
    Hazard(
        "masked-flag",
        "the FX tracing flag is one for the whole process, hidden while Dynamo compiles",
        "as with tracing-flag, where code traces without Dynamo (make_fx, symbolic_trace, export) in a thread",
        "envguard run LOCK -- COMMAND",
        (_torch(126024),),
        first=(2, 13),
        below=(2, 14),
        guarded=True,
    ),
    Hazard(
        "block-mask",
        "making a block mask annotates a dict that all threads share",
        "KeyError: 'custom' in a thread that makes a mask (flex_attention without one does) while another traces",
        "envguard run LOCK -- COMMAND",
        ("https://github.com/pytorch/pytorch/pull/184917",),
        first=(2, 13),
        guarded=True,
    ),
    Hazard(
        "thread-settings",
        "settings belong to a thread",
        "a setting of the main thread has no effect in others and in the backward; their cache keys differ",
        "set it in each thread, or by its environment variable",
        (_torch(186537), "https://github.com/mstar-project/mstar/issues/167"),
        first=(2, 12),
    ),
    Hazard(
        "flex-backward",
        "the backward of flex_attention can't be cached",
        "each start compiles it again, so that no warm cache closes the tracing race",
        "envguard find torch, and take 2.10 or later",
        (_torch(134625),),
        first=(2, 8),
        below=(2, 10),
    ),
    Hazard(
        "torn-entries",
        "a reader of the compile cache can take a file that is being written",
        "'pickle data was truncated' when several processes share one folder",
        "one TORCHINDUCTOR_CACHE_DIR a rank",
        ("https://github.com/pytorch/pytorch/pull/172144",),
        first=(2, 8),
        below=(2, 11),
    ),
)
"""Gravest first."""
