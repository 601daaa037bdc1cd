"""The warmup: a recipe that compiles what a run needs, and what became of running it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Launch(Enum):
    """How a recipe is started."""

    PER_DEVICE = "per-device"
    """One process a device, one after another."""
    RANKS = "ranks"
    """Once: the command starts its own ranks (torchrun). Distributed wrappers make other graphs."""
    THREADS = "threads"
    """Once: the threads of one process, each on its own device."""


class Mask(Enum):
    """Masks of the built-in workload."""

    CAUSAL = "causal"
    SLIDING = "sliding"
    DOCUMENT = "document"
    PREFIX = "prefix"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class FlexAttention:
    """The built-in workload: ``torch.compile(flex_attention)``, once for each length and mask."""

    lengths: tuple[int, ...]
    """Sequence lengths."""
    batch: int = 1
    heads: int = 8
    kv_heads: int | None = None
    """For grouped queries; None: as many as ``heads``."""
    head_size: int = 64
    dtype: str = "bfloat16"
    masks: tuple[Mask, ...] = (Mask.CAUSAL,)
    window: int = 256
    """Tokens of a sliding window, of a document, of a prefix."""
    backward: bool = True
    """On a CPU torch has none, so it is left out there."""
    score_mod: str | None = None
    """``module:function``, imported in the target."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is run: ``command``, or ``workload``. ``deadline``: seconds for each start."""

    launch: Launch = Launch.PER_DEVICE
    command: tuple[str, ...] = ()
    workload: FlexAttention | None = None
    devices: tuple[str, ...] = ()
    """``cuda:0``, …, or ``cpu``; none: those of the machine."""
    steps: int | None = None
    """Optimizer steps after which each process of a command ends."""
    deadline: int = 1800

    @property
    def needs_leave(self) -> bool:
        """Whether a lock's recipe runs code that the lock chooses."""
        return bool(self.command) or (self.workload is not None and self.workload.score_mod is not None)


@dataclass(frozen=True, slots=True, order=True)
class Bypass:
    """Lookups that torch left out, so that their graphs are compiled at every start."""

    who: str
    """``cuda:0`` or ``rank 1``."""
    cache: str
    reason: str
    number: int


@dataclass(frozen=True, slots=True)
class Warmup:
    """What a lock records: the recipe, and what its proof came to."""

    recipe: Recipe
    bypasses: tuple[Bypass, ...] = ()
    graphs: tuple[tuple[str, int], ...] = ()
    """Device or rank → graphs that it looked up."""
    proven: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """Lookups of one device or rank in one run."""

    who: str
    graphs: int = 0
    """Different graphs that were looked up."""
    hits: int = 0
    misses: int = 0
    bypasses: tuple[Bypass, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. ``warm_seconds`` None: it was not run a second time."""

    who: str
    cold_seconds: float
    warm_seconds: float | None
    cold: Counts
    warm: Counts | None


@dataclass(frozen=True, slots=True)
class Proof:
    """The table, and what speaks against it; proven when nothing does."""

    rows: tuple[Row, ...]
    failures: tuple[str, ...] = ()
    new_keys: tuple[str, ...] = field(default=(), repr=False)
    """Keys that the second run added."""

    @property
    def holds(self) -> bool:
        """Whether a start now loads everything, but for what torch bypasses."""
        return not self.failures
