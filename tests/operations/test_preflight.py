from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from envguard.errors import EnvguardError, IndexUnreachableError, NotObtainableError
from envguard.model.observed import Value
from tests.fakes.folder_prober import FolderProber, this_python
from tests.fakes.index import FakeIndex
from tests.fakes.restoring import ThisPython, World


def test_why_one_of_several_sources_gave_nothing_is_told_when_no_other_has_it(world: World) -> None:
    class Half(FakeIndex):
        def troubles(self, name: str) -> Sequence[EnvguardError]:
            return (IndexUnreachableError("index mirror: no connection"),)

    index = Half()
    wheel, other = world.wheel(), world.wheel(build="3")
    lock = world.lock([wheel])
    index.add(other)
    with pytest.raises(NotObtainableError, match="demo: index mirror: no connection"):
        world.restore(lock, index=index)
    index.add(wheel)
    assert world.restore(lock, index=index).environment is not None


def test_each_distribution_is_asked_for_once_and_only_where_the_store_has_none(world: World) -> None:
    wheels = [world.wheel(f"demo{number}") for number in range(6)]
    lock = world.lock(wheels)
    world.serve(wheels)
    world.store.put(wheels[0].read_bytes())
    world.restore(lock, plan_only=True)
    assert sorted(world.index.asked) == [f"demo{number}" for number in range(1, 6)]


def test_progress_is_told(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    world.restore(lock)
    told = {what for what, *_ in world.progress.steps}
    assert {"ask for wheels", "fetch", "install", "compile bytecode", wheel.name} <= told


def test_the_recorded_interpreter_ends_the_search(world: World) -> None:
    class Many(ThisPython):
        def pythons(self, minor: str) -> tuple[Path, ...]:
            return (Path(sys.executable), Path("/never/looked/at"))

    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    prober = FolderProber()
    world.restore(lock, installer=Many(), prober=prober, plan_only=True)
    assert [python for python, _ in prober.looked_at] == [Path(sys.executable)]


def test_one_that_is_only_near_does_not(world: World) -> None:
    class Two(ThisPython):
        def pythons(self, minor: str) -> tuple[Path, ...]:
            return (Path(sys.executable), Path("/other"))

    wheel = world.wheel()
    lock = world.lock([wheel], interpreter=Value(replace(this_python(), build="another")))
    world.serve([wheel])
    prober = FolderProber()
    plan = world.restore(lock, installer=Two(), prober=prober, plan_only=True).plan
    assert [python for python, _ in prober.looked_at] == [Path(sys.executable), Path("/other")]
    assert plan.python == sys.executable
