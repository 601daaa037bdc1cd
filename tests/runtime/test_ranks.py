"""Ranks that compare what they are: what is told, how differences are said, and a store between threads."""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from envguard.runtime import modes, ranks
from tests.runtime.conftest import Programs

SAME = {"host": "a", "torch": "2.11.0+cu130", "torch commit": "70d99e998b", "variable OMP_NUM_THREADS": "abc"}


def told(**by_rank: dict[str, str | None]) -> str | None:
    seen = {}
    for name, changes in by_rank.items():
        whole = {**SAME, **{key.replace("_", " "): value for key, value in changes.items()}}
        seen[int(name[1:])] = {key: value for key, value in whole.items() if value is not None}
    return ranks.differences(seen)


def test_equal_ranks_say_nothing() -> None:
    assert told(r0={}, r1={}) is None
    assert ranks.differences({}) is None


def test_hosts_may_differ() -> None:
    assert told(r0={}, r1={"host": "b"}) is None


def test_the_odd_one_is_named_whichever_it_is() -> None:
    other: dict[str, str | None] = {"host": "node-7", "torch": "2.11.0+cu128"}
    expected = "rank 0 (node-7): torch 2.11.0+cu128, others 2.11.0+cu130"
    assert told(r0=other, r1={}, r2={}) == expected
    assert told(r0={}, r1={}, r2=other) == expected.replace("rank 0", "rank 2")


def test_of_two_that_differ_the_lower_is_taken_for_right() -> None:
    assert told(r0={}, r1={"torch": "2.12"}) == "rank 1 (a): torch 2.12, others 2.11.0+cu130"


def test_those_that_differ_alike_are_named_together() -> None:
    other: dict[str, str | None] = {"torch": "x"}
    assert told(r0={}, r1=other, r2={}, r3=other, r4={}) == "ranks 1, 3 (a): torch x, others 2.11.0+cu130"


def test_many_are_counted() -> None:
    by_rank: dict[str, dict[str, str | None]] = {f"r{number}": {} for number in range(30)}
    by_rank |= {f"r{number}": {"torch": "x"} for number in range(30, 42)}
    text = told(**by_rank)
    assert text is not None and text.startswith("ranks 30, 31, 32, 33, 34, 35, 36, 37 and 4 more (a): torch x")


def test_values_of_variables_are_never_told() -> None:
    name = "variable OMP_NUM_THREADS"
    every = [{**SAME}, {**SAME, name: "secret"}, {key: value for key, value in SAME.items() if key != name}]
    text = ranks.differences(dict(enumerate([every[0], *every])))
    assert text == f"rank 2 (a): {name} another value. rank 3 (a): {name} not set"


class Store:
    """A store between threads, as torch.distributed's between processes; ``lost``: keys that never arrive."""

    def __init__(self, *lost: str) -> None:
        self.lost = lost
        self.kept: dict[str, bytes] = {}
        self.changed = threading.Condition()

    def set(self, key: str, value: str) -> None:
        with self.changed:
            if not key.endswith(self.lost or ("\0",)):
                self.kept[key] = value.encode()
            self.changed.notify_all()

    def wait(self, keys: list[str], timeout: datetime.timedelta) -> None:
        with self.changed:
            if not self.changed.wait_for(lambda: self.kept.keys() >= set(keys), timeout.total_seconds()):
                raise RuntimeError("wait timeout")

    def get(self, key: str) -> bytes:
        return self.kept[key]


@pytest.fixture
def everybody(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[str | None]]]:
    """What each of several ranks hears; ``odd``: the rank with another torch."""

    def exchange(store: Store, size: int, odd: int | None = None, silent: int | None = None) -> list[str | None]:
        mine = threading.local()
        monkeypatch.setattr(ranks, "facts", lambda: {**SAME, "torch": "other"} if mine.rank == odd else dict(SAME))
        monkeypatch.setattr(ranks._State, "groups", 0)

        def one(rank: int) -> str | None:
            mine.rank = rank
            ranks._State.groups = 0
            return ranks.exchange(store, rank, size)

        with ThreadPoolExecutor(size) as pool:
            return list(pool.map(one, [rank for rank in range(size) if rank != silent]))

    modes._seconds.cache_clear()
    monkeypatch.setenv("ENVGUARD_RANKS_DEADLINE", "1")
    yield exchange
    modes._seconds.cache_clear()


def test_all_hear_that_all_is_well(everybody: Any) -> None:
    assert everybody(Store(), 4) == [None] * 4


def test_all_hear_who_differs(everybody: Any) -> None:
    answers = everybody(Store(), 4, odd=3)
    assert answers == ["rank 3 (a): torch other, others 2.11.0+cu130"] * 4


def test_rank_0_has_said_it_before_another_can_end(everybody: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """A launcher ends all ranks as soon as one has failed."""

    class Watched(Store):
        said = ""

        def set(self, key: str, value: str) -> None:
            if key.endswith("/verdict"):
                self.said = capfd.readouterr().err
            super().set(key, value)

    store = Watched()
    everybody(store, 2, odd=1)
    assert store.said.count("ranks differ: rank 1 (a): torch other") == 1
    assert "ranks differ" not in capfd.readouterr().err


def test_a_rank_without_the_guard_is_told_and_not_waited_for_for_ever(
    everybody: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    assert everybody(Store(), 3, silent=2) == [None, None]
    assert "rank 2 told nothing" in capfd.readouterr().err


def test_nobody_compares_where_rank_0_has_no_guard(everybody: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "_TO_HEAR", 0.1)
    assert everybody(Store(), 2, silent=0) == [None]


GROUP = """
import sys, types, datetime
import torch
module = types.ModuleType("torch.distributed.distributed_c10d")
class Store:
    kept = {}
    def set(self, key, value): self.kept[key] = value.encode()
    def wait(self, keys, timeout):
        if not set(keys) <= set(self.kept): raise RuntimeError
    def get(self, key): return self.kept[key]
class Group:
    def rank(self): return 0
    def size(self): return int(sys.argv[1])
class GroupMember: NON_GROUP_MEMBER = object()
module.GroupMember = GroupMember
module._world = types.SimpleNamespace(pg_map={})
made = []
module._update_default_pg = made.append
from envguard.runtime import guard, ranks
ranks.follow(module)
group = Group()
store = Store()
module._world.pg_map[group] = ("gloo", store)
other = dict(ranks.facts(), **eval(sys.argv[2]))
import json
store.set("envguard/facts/1/1", json.dumps(other))
try:
    module._update_default_pg(group)
    print("made", len(made))
except guard.RanksDifferError as error: print(error)
module._update_default_pg(None)
module._update_default_pg(GroupMember.NON_GROUP_MEMBER)
"""


class TestInAProcess:
    def test_equal(self, programs: Programs) -> None:
        ended = programs.run(GROUP, "2", "{}")
        assert (ended.code, ended.out) == (0, "made 1\n")

    def test_another_build_is_an_error_a_word_and_a_hazard(self, programs: Programs) -> None:
        ended = programs.run(GROUP, "2", "{'torch': '2.11.0+cu128', 'host': 'other'}")
        words = "ranks differ: rank 1 (other): torch 2.11.0+cu128, others 2.11.0+cu130"
        assert ended.out.startswith(words)
        assert f"envguard: {words}\n" in ended.err
        assert [hazard["hazard"] for hazard in ended.log["hazards"]] == ["ranks-differ"]

    @pytest.mark.parametrize(
        "environ", [{"ENVGUARD_RANKS": "warning"}, {"ENVGUARD_GUARD": "observe"}], ids=["warning", "observe"]
    )
    def test_or_a_word_alone(self, programs: Programs, environ: dict[str, str]) -> None:
        programs.environ.update(environ)
        ended = programs.run(GROUP, "2", "{'torch': 'x'}")
        assert ended.out == "made 1\n" and "ranks differ: rank 1" in ended.err

    def test_or_nothing(self, programs: Programs) -> None:
        ended = programs.run(GROUP, "2", "{'torch': 'x'}", ENVGUARD_RANKS="off")
        assert (ended.out, ended.err) == ("made 1\n", "")

    def test_one_rank_has_nobody_to_compare_with(self, programs: Programs) -> None:
        assert programs.run(GROUP, "1", "{}").out == "made 1\n"

    def test_what_is_told(self, programs: Programs) -> None:
        program = "import torch, json; from envguard.runtime import ranks; print(json.dumps(ranks.facts()))"
        programs.environ |= {
            "OMP_NUM_THREADS": "1",
            "TORCHINDUCTOR_MAX_AUTOTUNE": "1",
            "TORCHINDUCTOR_CACHE_DIR": "/x",
            "TORCHINDUCTOR_REDIS_URL": "redis://u:p@h",
            "ENVGUARD_LOCK": "good-1234",
        }
        found = json.loads(programs.run(program).out)
        assert {name for name in found if name.startswith("variable")} == {
            "variable OMP_NUM_THREADS",
            "variable TORCHINDUCTOR_MAX_AUTOTUNE",
        }
        assert (found["torch"], found["torch CUDA"], found["lock"], found["GPU"]) == (
            "2.11.0+cu130",
            "13.0",
            "good-1234",
            "none",
        )

    def test_how_a_wheel_was_installed_is_no_difference(self, programs: Programs) -> None:
        library = programs.path[0]
        info = library / "torch-2.11.0.dist-info"
        info.mkdir()
        rows = "torch/__init__.py,sha256=abc,1\n"
        program = "import torch; from envguard.runtime import ranks; print(ranks.facts()['torch files'])"
        seen = []
        for more in (
            "torch-2.11.0.dist-info/RECORD,,\ntorch-2.11.0.dist-info/INSTALLER,sha256=uv,2\n",
            "../../bin/torchrun,sha256=x,1\ntorch/__pycache__/x.pyc,,\ntorch-2.11.0.dist-info/INSTALLER,sha256=pip,3\n",
            "torch/other.py,sha256=d,1\n",
        ):
            (info / "RECORD").write_text(more + rows)
            seen.append(programs.run(program).out)
        assert seen[0] == seen[1] != seen[2]
