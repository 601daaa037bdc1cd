"""Would a start compile? Recorded factors and keys, held against those of now.

The check and the command ask the same question here.
It speaks of the environment only. Shapes, dtypes, gradients and flags that code sets are the workload's: they are
not visible from outside, and are explained after a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from envguard.model.cache import CPU, CacheFactors, CacheKeys, torch_component
from envguard.model.distribution import Distribution
from envguard.model.facts import Facts, FileKind
from envguard.model.observed import Unobserved, Value, value_or_none

NOT_VISIBLE = (
    "shapes, dtypes, gradient mode, matmul and determinism flags, the model's own code, "
    "and settings made in code, at start-up or in a thread"
)
"""What only the workload decides."""

OFF = frozenset(
    {
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
        "TORCH_COMPILE_FORCE_DISABLE_CACHES",
        "TORCHINDUCTOR_FX_GRAPH_CACHE",
        "TORCH_COMPILE_DISABLE",
        "TORCHDYNAMO_DISABLE",
    }
)
"""Settings that, once they are among a set of factors, turn every lookup off."""
AUTOGRAD_OFF = "TORCHINDUCTOR_AUTOGRAD_CACHE"

_TRITONS = ("TRITON_", "LLVM_", "MLIR_", "NVPTX_", "DISABLE_", "PTXAS_", "USE_IR_LOC")


@dataclass(frozen=True, slots=True)
class Change:
    """One factor that differs. ``device``: whose keys hold it; None for all, ``cuda`` for every GPU."""

    factor: str
    was: str
    now: str
    detail: str | None = None
    device: str | None = None

    def concerns(self, device: str) -> bool:
        """Whether the keys of a device hold this factor."""
        return self.device is None or device == self.device or device.startswith(f"{self.device}:")

    def __str__(self) -> str:
        told = f"{self.factor} {self.was} → {self.now}"
        return f"{told}: {self.detail}" if self.detail else told


@dataclass(frozen=True, slots=True)
class DevicePrediction:
    """What a start on one device would find. ``missing``: recorded keys that a lookup finds nothing whole for."""

    device: str
    recorded: int
    hits: int
    missing: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    why: Change | None = None
    """The first factor that differs: then no recorded key is looked up at all."""

    @property
    def misses(self) -> int:
        """Recorded keys that would be compiled anew."""
        return self.recorded - self.hits


@dataclass(frozen=True, slots=True)
class Prediction:
    """All devices. ``breaks``: what no key holds and can break a run all the same."""

    devices: tuple[DevicePrediction, ...]
    changes: tuple[Change, ...] = ()
    breaks: tuple[Change, ...] = ()
    unseen: tuple[tuple[str, str], ...] = ()
    """Factors that could not be compared, and why."""
    unwarmed: tuple[str, ...] = ()
    """Devices of this machine that no recorded key is for."""
    extra: int = 0
    """Keys in the folder that aren't recorded."""
    whole: bool = False
    """Every recorded key is in the folder, and whole."""

    @property
    def recorded(self) -> int:
        """Number of recorded keys, each once for each device that it is for."""
        return sum(device.recorded for device in self.devices)

    @property
    def hits(self) -> int:
        """Of these, those that a start would load."""
        return sum(device.hits for device in self.devices)


def predict(recorded: Facts, observed: Facts, devices: Sequence[str] = ()) -> Prediction:
    """Hold factors and keys against each other. ``devices``: what the run will use, where that is said."""
    keys = value_or_none(recorded.keys)
    there = value_or_none(observed.keys)
    every = tuple(_changes(recorded, observed))
    whole = frozenset(there.names) - frozenset(there.damaged) if there is not None else frozenset()
    damaged = frozenset(there.damaged) if there is not None else frozenset()
    named = {entry.device: entry.keys for entry in keys.devices} if keys is not None else {}
    wanted = list(named) if not devices else list(devices)
    # on a login node threads and GPUs are others: that is no matter of keys that don't hold them
    changes = tuple(change for change in every if not wanted or any(map(change.concerns, wanted)))
    return Prediction(
        devices=tuple(
            _device(device, named.get(device, ()), whole, damaged, changes, observed) for device in wanted
        ),
        changes=changes,
        breaks=tuple(_breaks(recorded, observed)),
        unseen=tuple(_unseen(recorded, observed)),
        unwarmed=tuple(_unwarmed(named, observed)),
        extra=len(whole.difference(keys.names if keys is not None else ())),
        whole=keys is not None and bool(keys.names) and whole.issuperset(keys.names),
    )


def _device(
    device: str,
    keys: tuple[str, ...],
    whole: frozenset[str],
    damaged: frozenset[str],
    changes: tuple[Change, ...],
    observed: Facts,
) -> DevicePrediction:
    why = next((change for change in changes if change.concerns(device)), None)
    switched = _switched_off(observed)
    missing = tuple(key for key in keys if key not in whole or (switched and key.startswith("aotautograd/")))
    hits = 0 if why else len(keys) - len(missing)
    return DevicePrediction(device, len(keys), hits, missing, tuple(key for key in keys if key in damaged), why)


def _switched_off(observed: Facts) -> bool:
    factors = value_or_none(observed.factors)
    return factors is not None and any(name == AUTOGRAD_OFF for name, _ in factors.settings)


def _changes(recorded: Facts, observed: Facts) -> Iterator[Change]:
    """Factors of keys that differ, in the order in which they explain the most."""
    was, now = value_or_none(recorded.factors), value_or_none(observed.factors)
    if was is None or now is None:
        return
    yield from _off(now)
    if was.torch_key and now.torch_key and was.torch_key != now.torch_key:
        yield Change("torch key", was.torch_key[:10], now.torch_key[:10], torch_difference(recorded, observed))
    yield from _python(recorded, observed)
    if was.triton_key and was.triton_key != now.triton_key and "triton-key" not in dict(now.unseen):
        yield Change("triton key", was.triton_key[:10], (now.triton_key or "none")[:10], device="cuda")
    yield from _gpus(recorded, observed)
    yield from _settings(was, now)
    if was.threads is not None and now.threads is not None and was.threads != now.threads:
        yield Change("CPU threads", str(was.threads), str(now.threads), "OMP_NUM_THREADS, or other cores", CPU)


def _off(now: CacheFactors) -> Iterator[Change]:
    for name, value in now.settings:
        if name in OFF:
            yield Change(name, "not set", value, "nothing is looked up in the cache")


def _python(recorded: Facts, observed: Facts) -> Iterator[Change]:
    was, now = value_or_none(recorded.interpreter), value_or_none(observed.interpreter)
    if was and now and _minor(was.version) != _minor(now.version):
        yield Change("Python", _minor(was.version), _minor(now.version), "Triton's library is another one", "cuda")


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _gpus(recorded: Facts, observed: Facts) -> Iterator[Change]:
    was, now = value_or_none(recorded.gpus), value_or_none(observed.gpus)
    if was is None or now is None:
        return
    here = {gpu.index: gpu.name for gpu in now}
    for gpu in was:
        name = here.get(gpu.index)
        if name != gpu.name:
            yield Change("GPU", gpu.name, name or "none", device=f"cuda:{gpu.index}")


def _settings(was: CacheFactors, now: CacheFactors) -> Iterator[Change]:
    before, here = dict(was.settings), dict(now.settings)
    for name in sorted(before.keys() | here.keys()):
        if before.get(name) != here.get(name) and name not in OFF and name != AUTOGRAD_OFF:
            scope = "cuda" if name.startswith(_TRITONS) else None
            yield Change(name, before.get(name, "not set"), here.get(name, "not set"), device=scope)


def torch_difference(recorded: Facts, observed: Facts) -> str | None:
    """Which file of torch differs, where the rows of RECORD or the files that were hashed tell."""
    edited = _edited(recorded) ^ _edited(observed)
    was, now = _torch(recorded), _torch(observed)
    rows: set[str] = set()
    if was and now and was.record != now.record and was.listing and now.listing:
        before, here = _library(was), _library(now)
        rows = {path for path in before.keys() | here.keys() if before.get(path) != here.get(path)}
    paths = sorted((path for path in edited | rows if path.startswith("torch/")), key=_telling)
    if not paths:
        return None
    if len(paths) > 2:
        return f"{paths[0]}, {paths[1]} and {len(paths) - 2:,} more files differ"
    return f"{paths[0]} differs" if len(paths) == 1 else f"{paths[0]} and {paths[1]} differ"


def _telling(path: str) -> tuple[int, str]:
    """``torch/version.py`` names commit and CUDA, so it says the most; what no key holds says the least."""
    return (0 if path == "torch/version.py" else 1 if path.endswith(".py") else 2), path


def _torch(facts: Facts) -> Distribution | None:
    return next((entry for entry in value_or_none(facts.distributions) or () if entry.name == "torch"), None)


def _library(entry: Distribution) -> Mapping[str, str]:
    return {path: row.digest for (root, path), row in (entry.listing or {}).items() if root == "library"}


def _edited(facts: Facts) -> set[str]:
    kinds = (FileKind.MODIFIED, FileKind.MISSING, FileKind.UNOWNED)
    return {
        fact.path
        for fact in value_or_none(facts.files) or ()
        if fact.kind in kinds and fact.root == "library" and fact.path.startswith("torch/")
    }


def _breaks(recorded: Facts, observed: Facts) -> Iterator[Change]:
    was, now = value_or_none(recorded.driver), value_or_none(observed.driver)
    if was and now and was.version != now.version:
        yield Change("driver", was.version, now.version, "no key holds it")
    cpu, here = value_or_none(recorded.cpu), value_or_none(observed.cpu)
    if cpu and here and (lost := sorted(set(cpu.flags) - set(here.flags))):
        detail = "no key holds it; cached code for it stops with an illegal instruction"
        yield Change("CPU", ", ".join(lost[:4]), "not here", detail, CPU)
    factors, present = value_or_none(recorded.factors), value_or_none(observed.factors)
    if factors and present and factors.ptxas != present.ptxas:
        short = [(digest or "Triton's own")[:12] for digest in (factors.ptxas, present.ptxas)]
        yield Change("ptxas", short[0], short[1], "in Triton's keys, in no graph's", "cuda")


def _unseen(recorded: Facts, observed: Facts) -> Iterator[tuple[str, str]]:
    if isinstance(recorded.factors, Unobserved):
        yield "factors", recorded.factors.reason
        return
    if isinstance(observed.factors, Unobserved):
        yield "factors", observed.factors.reason
        return
    for facts in (recorded, observed):
        if isinstance(facts.factors, Value):
            yield from facts.factors.value.unseen


def _unwarmed(named: Mapping[str, object], observed: Facts) -> Iterator[str]:
    """Only where some GPU was warmed: a run that uses none is no matter of GPUs."""
    if any(device.startswith("cuda:") for device in named):
        for gpu in value_or_none(observed.gpus) or ():
            if f"cuda:{gpu.index}" not in named:
                yield f"cuda:{gpu.index}"


def keyed_elsewhere(keys: CacheKeys, factors: CacheFactors | None) -> tuple[int, int]:
    """How many graphs were keyed by another torch than this, of how many whose entries tell."""
    made_of = (graph.components for graph in keys.graphs)
    told = [components["torch_version"].hash for components in made_of if "torch_version" in components]
    if factors is None or factors.torch_key is None:
        return 0, 0
    here = {torch_component(factors.torch_key, protocol) for protocol in (4, 5)}
    return sum(hashed not in here for hashed in told), len(told)
