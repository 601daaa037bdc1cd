"""Which hazards apply: pure rules, one a hazard, on facts and what was seen around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from envguard.model import cuda
from envguard.model.facts import Facts
from envguard.model.hazards import HAZARDS, CacheFolder, Diagnosis, Found, Hazard, Seen, Signs, Topology, Verdict
from envguard.model.observed import Absent, Unobserved, Value, value_or_none

_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "9p", "afs", "panfs", "wekafs", "pvfs2"}
)
_CONTEXT_MIB = 630
"""Of one process on one GPU, after its first matrix product; measured with CUDA 13.0."""

Answer = tuple[Verdict, str]
NO: Answer = (Verdict.NO, "")


@dataclass(frozen=True, slots=True)
class Scene:
    """All that rules look at."""

    facts: Facts
    seen: Seen
    topology: Topology

    @property
    def signs(self) -> Signs | None:
        """What torch's source says, where it could be read."""
        return value_or_none(self.seen.signs)

    @property
    def cache(self) -> CacheFolder | None:
        """The cache folder, where it could be looked at."""
        return value_or_none(self.seen.cache)

    @property
    def build(self) -> str:
        """``torch 2.11.0+cu130``."""
        torch = value_or_none(self.facts.torch)
        return f"torch {torch.build}" if torch else "torch"

    @property
    def minor(self) -> tuple[int, int] | None:
        """(2, 11), where there is a torch whose version can be read."""
        torch = value_or_none(self.facts.torch)
        parts = torch.version.split(".") if torch else []
        try:
            return int(parts[0]), int(parts[1])
        except (IndexError, ValueError):
            return None


def diagnose(facts: Facts, seen: Seen, topology: Topology) -> Diagnosis:
    """All hazards that apply or may, the certain ones first, the gravest of each first."""
    return Diagnosis(tuple(sorted(_found(Scene(facts, seen, topology)), key=_rank)))


def _found(scene: Scene) -> Iterator[Found]:
    for hazard in HAZARDS:
        verdict, detail = RULES[hazard.slug](hazard, scene)
        if verdict is not Verdict.NO:
            yield Found(hazard, verdict, detail)


def _rank(found: Found) -> tuple[bool, int]:
    return found.verdict is not Verdict.CERTAIN, HAZARDS.index(found.hazard)


def by_source(hazard: Hazard, scene: Scene, sign: bool | None) -> Answer:
    """What the source says; by version alone no more than a suspicion."""
    if isinstance(scene.facts.torch, Absent):
        return NO
    within = _within(hazard, scene.minor)
    if sign is None:
        return (Verdict.UNKNOWN, f"{scene.build}: its source can't be read, its version says so") if within else NO
    if not sign:
        return NO
    odd = "" if within else "; not known of this version, its source says so"
    return Verdict.CERTAIN, f"{scene.build}{odd}"


def _within(hazard: Hazard, minor: tuple[int, int] | None) -> bool:
    if minor is None:
        return False
    return (hazard.first is None or hazard.first <= minor) and (hazard.below is None or minor < hazard.below)


def if_several(answer: Answer, scene: Scene) -> Answer:
    """Only for processes with several computing threads; where that isn't told, a condition."""
    if scene.topology.several is False:
        return NO
    if answer[0] is Verdict.CERTAIN and scene.topology.several is None:
        return Verdict.UNKNOWN, f"{answer[1]}, if threads of one process compute (--threads cuda:0,cuda:1)"
    return answer


def only_if(condition: str, answer: Answer) -> Answer:
    """What is certain of the build, and of the run only under a condition that can't be seen from outside."""
    verdict, detail = answer
    return (Verdict.UNKNOWN, f"{detail}, if {condition}") if verdict is Verdict.CERTAIN else answer


def _is_global(signs: Signs | None) -> bool | None:
    return None if signs is None or signs.flag is None else signs.flag == "process"


def _flag(hazard: Hazard, scene: Scene) -> Answer:
    signs = scene.signs
    if scene.topology.several is False:
        return NO
    sign = _is_global(signs)
    if signs is not None and signs.masked is not False and sign:
        sign = None if signs.masked is None else False
    verdict, detail = by_source(hazard, scene, sign)
    if verdict is Verdict.CERTAIN and scene.topology.several is None:
        detail += "; harmless where each process computes in one thread (--threads cuda:0)"
    return verdict, detail


def _masked(hazard: Hazard, scene: Scene) -> Answer:
    signs = scene.signs
    sign = _is_global(signs) if signs is None or signs.masked else False
    verdict, detail = if_several(by_source(hazard, scene, sign), scene)
    return (Verdict.UNKNOWN, detail) if verdict is Verdict.CERTAIN else (verdict, detail)


def _block_mask(hazard: Hazard, scene: Scene) -> Answer:
    sign = scene.signs.shared_marks if scene.signs else None
    return only_if("the run uses flex_attention", if_several(by_source(hazard, scene, sign), scene))


def _thread_settings(hazard: Hazard, scene: Scene) -> Answer:
    sign = scene.signs.thread_settings if scene.signs else None
    return only_if("the program sets any in its main thread", if_several(by_source(hazard, scene, sign), scene))


def _flex_backward(hazard: Hazard, scene: Scene) -> Answer:
    cacheable = scene.signs.flex_backward_cacheable if scene.signs else None
    return only_if(
        "the run trains flex_attention", by_source(hazard, scene, None if cacheable is None else not cacheable)
    )


def _torn(hazard: Hazard, scene: Scene) -> Answer:
    if isinstance(scene.facts.torch, Absent) or not _within(hazard, scene.minor):
        return NO
    return Verdict.UNKNOWN, f"{scene.build}, if several processes write one cache folder"


def _shared_device(_: Hazard, scene: Scene) -> Answer:
    threads = scene.topology.threads
    if isinstance(scene.facts.torch, Absent):
        return NO
    if threads is None:
        return Verdict.UNKNOWN, "not told which threads share a device (--threads cuda:0,cuda:1)"
    shared = sorted({device for device in threads if threads.count(device) > 1 and device != "cpu"})
    if not shared:
        return NO
    return Verdict.CERTAIN, ", ".join(f"{threads.count(device)} threads on {device}" for device in shared)


def _recompile_limit(_: Hazard, scene: Scene) -> Answer:
    limit = scene.signs.recompile_limit if scene.signs else None
    threads = scene.topology.threads
    if limit is None or isinstance(scene.facts.torch, Absent):
        return NO
    devices = len(set(threads)) if threads is not None else 1
    if devices > limit:
        return Verdict.CERTAIN, f"{devices} devices in one process, limit {limit}"
    if devices * 2 > limit:
        return Verdict.UNKNOWN, f"{devices} devices in one process, limit {limit}: two shapes are too many"
    return NO


def _hidden(_: Hazard, scene: Scene) -> Answer:
    places = scene.seen.settings
    if not places:
        return NO
    more = f" and {len(places) - 3} more places" if len(places) > 3 else ""
    return Verdict.CERTAIN, ", ".join(places[:3]) + more


def _disabling(_: Hazard, scene: Scene) -> Answer:
    return (Verdict.CERTAIN, ", ".join(scene.seen.disabling)) if scene.seen.disabling else NO


def _remote(_: Hazard, scene: Scene) -> Answer:
    return (Verdict.CERTAIN, ", ".join(scene.seen.remote)) if scene.seen.remote else NO


def _of_cache(applies: Callable[[CacheFolder], str | None]) -> Rule:
    """A rule about the cache folder: ``applies`` says what is wrong with it, or None."""

    def rule(_: Hazard, scene: Scene) -> Answer:
        if isinstance(scene.facts.torch, Absent):
            return NO
        if isinstance(scene.seen.cache, Unobserved):
            return Verdict.UNKNOWN, f"the cache folder was not looked at: {scene.seen.cache.reason}"
        detail = applies(scene.cache) if scene.cache else None
        return (Verdict.CERTAIN, detail) if detail else NO

    return rule


def _temporary(folder: CacheFolder) -> str | None:
    return f"{folder.shown} ({folder.filesystem or 'unknown file system'})" if folder.temporary else None


def _network(folder: CacheFolder) -> str | None:
    kind = folder.filesystem or ""
    network = kind in _NETWORK or (kind.startswith("fuse.") and kind != "fuse.fuse-overlayfs")
    return f"{folder.shown} is on {kind}" if network else None


def _noexec(folder: CacheFolder) -> str | None:
    return f"{folder.shown} is mounted noexec" if folder.noexec else None


def _foreign(folder: CacheFolder) -> str | None:
    return f"{folder.shown}: {folder.foreign}" if folder.foreign else None


def _cuda_mix(_: Hazard, scene: Scene) -> Answer:
    distributions = value_or_none(scene.facts.distributions) or ()
    torch = value_or_none(scene.facts.torch)
    by_major: dict[int, list[str]] = {}
    for one in distributions:
        major = cuda.distribution_major(one.name, one.version)
        if major is not None:
            by_major.setdefault(major, []).append(one.name)
    own = cuda.variant_version(torch.variant) if torch else None
    if own:
        by_major.setdefault(own[0], []).insert(0, scene.build)
    if len(by_major) < 2:
        return NO
    return Verdict.CERTAIN, "; ".join(
        f"CUDA {major}: {', '.join(by_major[major][:3])}" for major in sorted(by_major)
    )


def _driver(_: Hazard, scene: Scene) -> Answer:
    torch = value_or_none(scene.facts.torch)
    floor = cuda.driver_floor(torch.variant) if torch else None
    if floor is None:
        return NO
    driver = scene.facts.driver
    if not isinstance(driver, Value):
        return Verdict.UNKNOWN, f"{scene.build} needs driver {floor} or later; none was seen on this machine"
    older = cuda.driver_is_older(driver.value.version, floor)
    if older is None:
        return Verdict.UNKNOWN, f"driver {driver.value.version}: its version can't be read; {floor} is needed"
    return (Verdict.CERTAIN, f"driver {driver.value.version}, {scene.build} needs {floor}") if older else NO


def _context(_: Hazard, scene: Scene) -> Answer:
    budget = scene.topology.budget_mib
    if budget is None:
        return NO
    gpus = value_or_none(scene.facts.gpus)
    if not gpus:
        return Verdict.UNKNOWN, f"the run needs {budget:,} MiB a device; no GPU was seen on this machine"
    small = min(gpus, key=lambda gpu: gpu.memory_mib)
    threads = scene.topology.threads or ()
    if threads and f"cuda:{small.index}" not in threads:
        used = [gpu for gpu in gpus if f"cuda:{gpu.index}" in threads]
        small = min(used, key=lambda gpu: gpu.memory_mib) if used else small
    needs = budget + _CONTEXT_MIB
    if needs <= small.memory_mib:
        return NO
    return Verdict.CERTAIN, (
        f"cuda:{small.index} has {small.memory_mib:,} MiB; the run needs {budget:,}, a context {_CONTEXT_MIB}"
    )


Rule = Callable[[Hazard, Scene], Answer]

RULES: dict[str, Rule] = {
    "hidden-failures": _hidden,
    "compiling-off": _disabling,
    "tracing-flag": _flag,
    "driver-floor": _driver,
    "cuda-mix": _cuda_mix,
    "shared-device": _shared_device,
    "context-memory": _context,
    "cache-foreign": _of_cache(_foreign),
    "cache-noexec": _of_cache(_noexec),
    "cache-temporary": _of_cache(_temporary),
    "cache-network": _of_cache(_network),
    "remote-cache": _remote,
    "recompile-limit": _recompile_limit,
    "masked-flag": _masked,
    "block-mask": _block_mask,
    "thread-settings": _thread_settings,
    "flex-backward": _flex_backward,
    "torn-entries": _torn,
}
"""Every hazard's rule, by its slug."""
