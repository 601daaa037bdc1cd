"""What two runs of a warmup prove, and which keys are the recipe's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envguard.model.cache import CacheKeys, DeviceKeys, KeySource
from envguard.model.facts import Facts, Gpu, Variable, VariableKind, Variables
from envguard.model.observed import Absent, Value
from envguard.model.variables import KNOWN
from envguard.model.warm_run import Lookup, Process, Ran
from envguard.model.warmup import Bypass, Launch, Recipe
from envguard.planning import warmup as planning

F = "fxgraph/f" + "a" * 51
G = "fxgraph/f" + "b" * 51
A = "aotautograd/a" + "a" * 51


def ran(*lookups: Lookup, rank: int | None = None, seconds: float = 1.0) -> Ran:
    return Ran(0, seconds, (Process(rank, lookups),))


def look(key: str | None, state: str = "miss", reason: str | None = None) -> Lookup:
    return Lookup((key or "aotautograd/").partition("/")[0], state, key, reason)


COLD = ran(look(F), look(G), look(A), seconds=9.0)
WARM = ran(look(F, "hit"), look(G, "hit"), look(A, "hit"), seconds=2.0)
DDP = look(None, "bypass", "DDPOptimizer at\n 0x7f00deadbeef")


def proven(
    cold: planning.Runs,
    warm: planning.Runs,
    launch: Launch = Launch.PER_DEVICE,
    *,
    new: tuple[str, ...] = (),
    recorded: tuple[Bypass, ...] = (),
) -> list[str]:
    counts = [planning.counts_of(runs, {}, launch) for runs in (cold, warm)]
    rows = planning.table(cold, warm, counts[0], counts[1])
    return list(planning.proof(rows, new, recorded).failures)


def test_a_second_run_that_loads_everything_is_proof() -> None:
    cold, warm = [("cuda:1", COLD)], [("cuda:1", WARM)]
    assert proven(cold, warm) == []
    (row,) = planning.table(cold, warm, *(planning.counts_of(one, {}, Launch.PER_DEVICE) for one in (cold, warm)))
    assert (row.who, row.cold_seconds, row.warm_seconds, row.cold.graphs) == ("cuda:1", 9.0, 2.0, 2)
    assert row.warm is not None
    assert (row.warm.hits, row.warm.misses) == (3, 0)


@pytest.mark.parametrize(
    ("warm", "told"),
    [
        (ran(look(F, "hit"), look(G)), "cuda:0: 1 lookups of the second run missed"),
        (Ran(0, 1.0, ()), "cuda:0: the second run looked nothing up"),
        (ran(look(F, "hit"), DDP), "bypassed anew, 1 × aotautograd: DDPOptimizer at 0x…"),
    ],
    ids=["a miss", "nothing looked up", "a bypass more"],
)
def test_what_is_no_proof(warm: Ran, told: str) -> None:
    (failure,) = proven([("cuda:0", COLD)], [("cuda:0", warm)])
    assert told in failure


def test_a_new_key_on_disk_is_none() -> None:
    (failure,) = proven([("cuda:0", COLD)], [("cuda:0", WARM)], new=(F, G))
    assert failure.startswith("the second run added 2 new keys, the first of them fxgraph/faaa")


def test_bypasses_that_stay_the_same_are_recorded_not_failed() -> None:
    cold = [(None, Ran(0, 5.0, (Process(0, (DDP, look(F))), Process(1, (DDP, look(F))))))]
    warm = [(None, Ran(0, 2.0, (Process(0, (DDP, look(F, "hit"))), Process(1, (DDP, look(F, "hit"))))))]
    assert proven(cold, warm, Launch.RANKS) == []
    counts = planning.counts_of(warm, {}, Launch.RANKS)
    assert [one.who for one in counts] == ["rank 0", "rank 1"]
    assert counts[0].bypasses == (Bypass("rank 0", "aotautograd", "DDPOptimizer at 0x…", 1),)
    recorded = (counts[0].bypasses[0], counts[1].bypasses[0])
    assert proven(cold, warm, Launch.RANKS, recorded=recorded) == []
    more = tuple(replace(one, number=3) for one in recorded)
    assert len(proven(cold, warm, Launch.RANKS, recorded=more)) == 4, "three recorded, one now: told for each rank"


def test_ranks_in_order_of_their_numbers() -> None:
    runs = [(None, Ran(0, 1.0, tuple(Process(rank, (look(F),)) for rank in (10, 2, 0))))]
    assert [one.who for one in planning.counts_of(runs, {}, Launch.RANKS)] == ["rank 0", "rank 2", "rank 10"]


def test_threads_by_the_devices_of_their_keys() -> None:
    runs = [(None, ran(look(F), look(G), DDP))]
    counts = planning.counts_of(runs, {F: {"cuda:0"}, G: {"cuda:1"}}, Launch.THREADS)
    assert [(one.who, one.graphs) for one in counts] == [("cuda:0", 1), ("cuda:1", 1), ("threads", 0)]


def there(*keys: str, device: str = "cuda:0", triton: tuple[str, ...] = ()) -> CacheKeys:
    return CacheKeys(KeySource.FOUND, (DeviceKeys(device, keys),), triton)


def test_only_keys_that_were_looked_up_are_the_recipes() -> None:
    made = planning.keys_made([("cuda:0", ran(look(F)))], there(F, G, triton=("triton/X",)))
    assert made.names == (F,)
    assert made.source is KeySource.WARMUP
    assert made.triton == ("triton/X",)


def test_a_key_whose_text_names_no_device_belongs_to_its_start() -> None:
    made = planning.keys_made([("cuda:3", ran(look(F), look(A, "bypass")))], there(F, device="unknown"))
    assert made.devices == (DeviceKeys("cuda:3", (F,)),)
    assert planning.keys_made([("cuda:3", ran(look(F)))], None).attributed_by == "warmup"


def test_devices_add_up_and_none_is_lost() -> None:
    before = CacheKeys(KeySource.WARMUP, (DeviceKeys("cuda:0", (F,)),))
    made = CacheKeys(KeySource.WARMUP, (DeviceKeys("cuda:1", (G,)),))
    assert planning.merged(before, made).devices == (DeviceKeys("cuda:0", (F,)), DeviceKeys("cuda:1", (G,)))
    assert planning.merged(None, made) == made
    assert planning.merged(replace(before, source=KeySource.FOUND), made) == made, "found ones are no criterion"


def test_recorded_keys_that_were_not_made() -> None:
    before = CacheKeys(KeySource.WARMUP, (DeviceKeys("cuda:0", (F, A)), DeviceKeys("cuda:1", (G,))))
    made = CacheKeys(KeySource.WARMUP, (DeviceKeys("cuda:0", (F,)),))
    assert planning.not_made(before, made, {F}) == (A,)
    assert planning.not_made(before, made, {F, A}) == ()
    assert planning.not_made(None, made, set()) == ()


def test_which_devices() -> None:
    two = Facts(gpus=Value((Gpu(0, "H", "9.0", 1), Gpu(1, "H", "9.0", 1))))
    assert planning.devices_of(Recipe(), (), two) == ("cuda:0", "cuda:1")
    assert planning.devices_of(Recipe(devices=("cuda:1",)), (), two) == ("cuda:1",)
    assert planning.devices_of(Recipe(devices=("cuda:1",)), ("cpu",), two) == ("cpu",)
    assert planning.devices_of(Recipe(), (), Facts(gpus=Absent())) == ("cpu",)
    assert planning.missing_devices(("cpu", "cuda:1", "cuda:2"), two) == ("cuda:2",)


def test_which_variables_a_lock_may_set() -> None:
    values = (
        Variable("TORCHINDUCTOR_MAX_AUTOTUNE", VariableKind.KEY, "1"),
        Variable("LD_PRELOAD", VariableKind.KEY, "evil.so"),
        Variable("TRITON_PTXAS_PATH", VariableKind.KEY, "/tmp/ptxas"),
        Variable("TRITON_CACHE_MANAGER", VariableKind.KEY, "mine:Class"),
        Variable("CXX", VariableKind.KEY, "evil"),
        Variable("CUBLAS_WORKSPACE_CONFIG", VariableKind.NUMERICS, ":4096:8"),
        Variable("OMP_NUM_THREADS", VariableKind.KEY, "8; rm"),
    )
    facts = Facts(variables=Value(Variables("shell", values)))
    assert planning.variables_of(facts, KNOWN) == {
        "TORCHINDUCTOR_MAX_AUTOTUNE": "1",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    }
    assert planning.variables_of(Facts(), KNOWN) == {}
