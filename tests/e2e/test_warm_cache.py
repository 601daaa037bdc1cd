"""A warmup and its proof, a cache saved, deleted and put back, on real torch: the next start compiles nothing."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import Ended, Place
from tests.environments import clean_environ
from tests.repositories import run as git

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.online]

FLEX = "lengths=128,heads=2,head-size=16,dtype=float32,masks=causal"
TRAIN = """
import os, torch
from torch._dynamo.utils import counters
@torch.compile
def function(left, right): return (left @ right).relu()
function(torch.ones(16, 8, requires_grad=True), torch.ones(8, 4, requires_grad=True)).sum().backward()
seen = {**counters["aot_autograd"], **counters["inductor"]}
pick = lambda word: seen.get("autograd_cache_" + word, 0) + seen.get("fxgraph_cache_" + word, 0)
print("HITS", pick("hit"), "MISSES", pick("miss"))
"""


@dataclass
class Warm:
    """A project whose lock was warmed by a command of its own, and committed."""

    place: Place
    environment: Path
    script: Path
    first: Ended

    def run(self, *arguments: str | Path, **environ: str) -> Ended:
        """envguard, for this environment."""
        place = arguments.index("--") if "--" in arguments else len(arguments)
        return self.place.run(*arguments[:place], "--python", self.environment, *arguments[place:], **environ)

    def train(self, **environ: str) -> str:
        """The workload, by itself."""
        ended = subprocess.run(
            [self.environment / "bin" / "python", "-W", "ignore", self.script],
            env=clean_environ(**environ),
            capture_output=True,
            text=True,
            check=True,
        )
        return ended.stdout.strip()

    @property
    def own(self) -> Path:
        """The lock's own cache."""
        (folder,) = (Path(self.place.environ["ENVGUARD_DATA_DIR"]) / "caches").glob("good-*")
        return folder


@pytest.fixture(scope="module")
def warm(place: Place, good: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """Warm once. The project's lock is copied: others use the fixture's."""
    folder = tmp_path_factory.mktemp("warm")
    (folder / "lockfiles").mkdir()
    shutil.copy(place.folder / "lockfiles" / "good.toml", folder / "lockfiles" / "good.toml")
    own = {f"ENVGUARD_{kind}_DIR": str(folder / "envguard" / kind.lower()) for kind in ("DATA", "CACHE", "STATE")}
    here = Place(folder, place.tool, {**place.environ, **own})
    script = folder / "train.py"
    script.write_text(TRAIN)
    git(folder, "init", "-q", ".")
    git(folder, "add", "train.py")
    git(folder, "commit", "-q", "-m", "the run's code")
    made = Warm(here, good, script, Ended(0, "", ""))
    made.first = made.run("warmup", "--devices", "cpu", "--", good / "bin" / "python", script)
    yield made


def test_the_table_and_what_to_export(warm: Warm) -> None:
    assert warm.first.code == 0, warm.first.out + warm.first.err
    head, row, summary, inductor, triton = warm.first.out.splitlines()
    assert head.split() == ["device", "cold", "s", "warm", "s", "graphs", "hits", "misses", "bypasses"]
    assert row.split()[0] == "cpu"
    assert row.split()[3:] == ["2", "3", "0", "0"]
    assert summary.startswith("proven: a second run loaded everything; 3 keys, recorded in ")
    assert inductor == f"export TORCHINDUCTOR_CACHE_DIR={warm.own}/inductor"
    assert triton == f"export TRITON_CACHE_DIR={warm.own}/triton"


def test_a_warmed_lock_verifies_and_a_deleted_cache_is_named(warm: Warm) -> None:
    environ = {"TORCHINDUCTOR_CACHE_DIR": str(warm.own / "inductor")}
    assert warm.run("verify", "--metadata", **environ).code == 0
    assert warm.run("cache", "explain", **environ).out.startswith("cpu          3 of 3 keys would hit\n")
    environ["TORCHINDUCTOR_CACHE_DIR"] = str(warm.own / "none")
    ended = warm.run("verify", "--metadata", **environ)
    assert ended.code == 1
    assert (
        "drift compile-cache      cpu 0 of 3 keys present: 3 not in the folder; a start would compile" in ended.out
    )


def test_without_a_variable_the_locks_own_cache_is_looked_at_and_told(warm: Warm) -> None:
    ended = warm.run("verify", "--metadata")
    assert ended.code == 0
    assert f"a start uses it only with TORCHINDUCTOR_CACHE_DIR={warm.own}/inductor" in ended.out


def test_save_delete_load_run_all_hits(warm: Warm, tmp_path: Path) -> None:
    folder = warm.place.folder
    saved = warm.place.run("cache", "save")
    assert saved.code == 0, saved.err
    refused = warm.place.run("cache", "load")
    assert refused.code == 3
    assert "the lock is not committed to git" in refused.err
    git(folder, "add", "lockfiles")
    git(folder, "commit", "-q", "-m", "warmed")
    shutil.rmtree(warm.own)
    loaded = warm.place.run("cache", "load")
    assert loaded.code == 0, loaded.err
    environ = dict(
        line.removeprefix("export ").split("=", 1) for line in loaded.out.splitlines() if "export" in line
    )
    assert warm.train(**environ) == "HITS 3 MISSES 0"
    elsewhere = warm.place.run("cache", "load", "--to", tmp_path / "to", "--format", "json")
    assert warm.train(**json.loads(elsewhere.out)["variables"]) == "HITS 3 MISSES 0"


def test_a_pickle_in_the_cache_never_runs(warm: Warm, tmp_path: Path) -> None:
    """No command of envguard loads an entry; torch itself would."""
    canary = tmp_path / "canary"
    cache = tmp_path / "cache"
    shutil.copytree(warm.own / "inductor", cache)
    (entry,) = cache.glob("aotautograd/*/*")
    entry.write_bytes(pickle.dumps(Bomb(str(canary))))
    environ = {"TORCHINDUCTOR_CACHE_DIR": str(cache)}
    lock = tmp_path / "copy.toml"
    shutil.copy(warm.place.folder / "lockfiles" / "good.toml", lock)
    warm.place.run("cache", "save", lock, "--cache", cache, **environ)
    assert warm.place.run("cache", "load", lock, "--trust-cache", "--to", tmp_path / "to").code == 0
    assert any(path.read_bytes() == entry.read_bytes() for path in (tmp_path / "to").rglob("*") if path.is_file())
    for command in (("cache", "show"), ("cache", "explain", lock), ("verify", lock, "--metadata"), ("doctor",)):
        warm.run(*command, **environ)
    warm.run("snapshot", "-o", lock, "--update", "--offline", "--no-archive", **environ)
    warm.place.run("diff", lock, lock, **environ)
    warm.place.run("store", "check", **environ)
    assert not canary.exists()


class Bomb:
    """A pickle that writes a file when it is loaded."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (exec, (f"open({self.path!r}, 'w').close()",))


def test_the_built_in_workload(warm: Warm) -> None:
    lock = warm.place.folder / "flex.toml"
    text = (warm.place.folder / "lockfiles" / "good.toml").read_text()
    lock.write_text(
        text[: text.index("[cache]")].replace('name = "good"', 'name = "flex"') + text[text.index("[[dist") :]
    )
    ended = warm.run("warmup", lock, "--devices", "cpu", "--flex", FLEX, "--format", "json")
    answer = json.loads(ended.out)
    assert (ended.code, answer["proven"], answer["written"]) == (0, True, True)
    (row,) = answer["rows"]
    assert row["cold"]["misses"] == row["warm"]["hits"] == 2
    assert row["warm"]["misses"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--devices", "7", "--flex", FLEX), 3, "there is no cuda:7: no GPU is seen here"),
        (("--devices", "x", "--flex", FLEX), 2, "not a device: 'x'"),
        (("--flex", "lengths=x"), 2, "not a value of lengths"),
        ((), 3, "this lock's warmup runs code that the lock names"),
        (("--devices", "cpu", "--", "sh", "-c", "echo no CUDA today; exit 4"), 3, "(exit 4): no CUDA today"),
        (("--devices", "cpu", "--", "true"), 3, "the recipe compiled nothing"),
        (("--devices", "cpu", "--deadline", "1", "--", "sleep", "60"), 3, "did not end within 1 s"),
    ],
    ids=["no such GPU", "no device", "no length", "no leave", "failing", "compiling nothing", "never ending"],
)
def test_what_can_not_be_done_is_told(warm: Warm, arguments: tuple[str, ...], code: int, told: str) -> None:
    before = (warm.place.folder / "lockfiles" / "good.toml").read_bytes()
    ended = warm.run("warmup", *arguments)
    assert ended.code == code, ended.err
    assert told in ended.err
    assert (warm.place.folder / "lockfiles" / "good.toml").read_bytes() == before
