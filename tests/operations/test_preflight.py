from __future__ import annotations

import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path

import pytest

from envguard.errors import EnvguardError, IndexUnreachableError, NotObtainableError, OtherBytesError
from envguard.model.digest import Digest
from envguard.model.distribution import Wheel
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.offer import Offer
from envguard.model.wheel_facts import EVERYTHING, Fingerprint, Part, WheelContent, WheelFacts
from tests.builders import digest
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


@dataclass
class SaidReader:
    """Implements ``ports.WheelReader``: every wheel has this record fingerprint, or can't be read."""

    record: Digest | None
    asked: list[str] = field(default_factory=list)

    def read(self, offer: Offer, parts: frozenset[Part] = EVERYTHING) -> WheelFacts:
        self.asked.append(offer.filename)
        if self.record is None:
            raise IndexUnreachableError("no connection")
        content = WheelContent(parts, fingerprints=(Fingerprint(self.record),))
        return WheelFacts(offer.filename, "demo", "1.0", content)


class TestSameFilesInOtherBytes:
    """No source has the recorded wheel; an index has it zipped anew."""

    @staticmethod
    def repacked(wheel: Path) -> bytes:
        stored = BytesIO()
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(stored, "w") as new:
            for name in old.namelist():
                new.writestr(name, old.read(name))
        return stored.getvalue()

    @pytest.fixture
    def moved(self, world: World) -> tuple[Lock, Digest]:
        wheel = world.wheel()
        lock = world.lock([wheel])
        world.serve([wheel])
        world.index.reupload(wheel.name, self.repacked(wheel))
        assert isinstance(lock.facts.distributions, Value)
        record = lock.facts.distributions.value[0].record
        assert record is not None
        return lock, record

    def test_it_is_taken_and_said(self, world: World, moved: tuple[Lock, Digest]) -> None:
        lock, record = moved
        result = world.restore(lock, reader=SaidReader(record))
        assert result.environment is not None
        assert "demo: OTHER BYTES: no source has the recorded wheel" in result.plan.notes[0]

    @pytest.mark.parametrize(
        "record", [pytest.param(digest("other"), id="other files"), pytest.param(None, id="fault")]
    )
    def test_else_it_is_refused(self, world: World, moved: tuple[Lock, Digest], record: Digest | None) -> None:
        reader = SaidReader(record)
        with pytest.raises(OtherBytesError):
            world.restore(moved[0], reader=reader)
        assert reader.asked == ["demo-1.0-py3-none-any.whl"]

    def test_a_reader_that_is_wrong_does_not_get_through(self, world: World, moved: tuple[Lock, Digest]) -> None:
        """Every file is held against the lock in the end."""
        other = world.wheel(files={"demo/__init__.py": "VERSION = 'evil'"})
        world.index.reupload(other.name, other.read_bytes())
        result = world.restore(moved[0], reader=SaidReader(moved[1]))
        assert result.environment is None

    def test_nothing_is_read_where_the_recorded_bytes_can_be_had(self, world: World) -> None:
        wheel = world.wheel()
        world.serve([wheel])
        reader = SaidReader(digest("any"))
        assert world.restore(world.lock([wheel]), reader=reader).environment is not None
        assert reader.asked == []

    def test_a_wheel_that_was_never_known_is_searched_too(self, world: World) -> None:
        wheel = world.wheel()
        world.serve([wheel])
        lock = world.lock([wheel])
        assert isinstance(lock.facts.distributions, Value)
        (entry,) = lock.facts.distributions.value
        unknown = replace(lock.facts, distributions=Value((replace(entry, wheel=Wheel()),)))
        with pytest.raises(NotObtainableError, match="was not identified"):
            world.restore(replace(lock, facts=unknown))
        result = world.restore(replace(lock, facts=unknown), reader=SaidReader(entry.record))
        assert result.environment is not None
