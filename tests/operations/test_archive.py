"""Which source a wheel is archived from, and what happens when there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from envguard.errors import IndexUnreachableError, StoreError
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Origin, Row, Wheel
from envguard.operations.archive import Archived, Archiving, archive
from envguard.planning.archive import Extent
from tests import builders
from tests.builders import distribution
from tests.fakes.archivist import MadeUpArchivist
from tests.fakes.index import FakeIndex, Silence
from tests.fakes.memory_store import MemoryStore
from tests.fakes.prober import layout

REBUILT = Digest.of(b"rebuilt demo")


@dataclass
class World:
    root: Path
    index: FakeIndex = field(default_factory=FakeIndex)
    store: MemoryStore = field(default_factory=MemoryStore)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.archivist = MadeUpArchivist(self.root)
        self.made = self.root / "made"
        self.made.mkdir()

    def wheel(self, name: str = "demo", *, serve: bool = True) -> tuple[Path, Distribution]:
        path = builders.wheel(self.made, name, "1.0", {f"{name}.py": "A = 1\n"})
        if serve:
            self.index.add(path)
        content = path.read_bytes()
        known = Wheel(path.name, Digest.of(content), size=len(content), evidence=Evidence.UV_CACHE)
        return path, distribution(name, "1.0", wheel=known)

    def run(self, *entries: Distribution, extent: Extent = Extent.ALL, offline: bool = False) -> Archived:
        asked = Archiving(extent, self.index, self.archivist, offline=offline, tell=self.told.append)
        return archive(entries, asked, layout=layout(), store=self.store, progress=Silence())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_file_of_this_machine_comes_first(world: World) -> None:
    path, entry = world.wheel()
    world.archivist.files["demo"] = path
    done = world.run(entry)
    assert done.entries == (entry,)
    assert done.objects == {entry.wheel.sha256}
    assert world.index.asked == []
    assert world.told == [
        f"archiving 1 distribution, about {entry.wheel.size} B; 1099.5 GB free (--no-archive declines)"
    ]


def test_then_an_index(world: World) -> None:
    path, entry = world.wheel()
    done = world.run(entry)
    assert done.objects == {Digest.of(path.read_bytes())}
    assert world.archivist.rebuilt == []


def test_a_file_that_changed_meanwhile_is_not_taken(world: World) -> None:
    _, entry = world.wheel()
    world.archivist.files["demo"] = world.root / "other"
    (world.root / "other").write_bytes(b"other")
    assert world.run(entry).objects == {entry.wheel.sha256}
    assert world.index.fetched == [entry.wheel.filename]


@pytest.mark.parametrize("fault", ["withdrawn", "lying", "unreachable", "offline"])
def test_else_it_is_rebuilt_and_the_wheel_stays_known(world: World, fault: str) -> None:
    path, entry = world.wheel()
    if fault == "withdrawn":
        world.index.withdraw(path.name)
    elif fault == "lying":
        world.index.lie(path.name, b"other bytes")
    elif fault == "unreachable":
        world.index.fail("demo", IndexUnreachableError("no connection"))
    done = world.run(entry, offline=fault == "offline")
    (kept,) = done.entries
    assert kept.wheel.sha256 == entry.wheel.sha256
    assert kept.wheel.evidence is Evidence.UV_CACHE
    assert kept.wheel.rebuilt == REBUILT
    assert done.objects == {REBUILT}
    assert done.remarks == (
        "1 wheel could not be had from any source, and was rebuilt from the installed files: demo",
    )
    assert world.index.fired == (1 if fault in ("lying", "unreachable") else 0)
    assert world.index.asked == ([] if fault == "offline" else ["demo"])


def test_an_index_that_cannot_be_reached_is_not_asked_for_each(world: World) -> None:
    entries = []
    for name in ("a", "b", "c", "d", "e", "f", "g", "h"):
        world.index.fail(name, IndexUnreachableError("no connection"))
        entries.append(world.wheel(name)[1])
    done = world.run(*entries)
    assert len(world.index.asked) < 8
    assert len(world.archivist.rebuilt) == 8
    assert len(done.objects) == 8


def test_an_unknown_wheel_is_known_by_what_was_archived(world: World) -> None:
    built = Wheel(sdist="demo-1.0.tar.gz", evidence=Evidence.BUILT_FROM_SDIST)
    (kept,) = world.run(distribution("demo", "1.0", wheel=built), extent=Extent.DEFAULT).entries
    assert kept.wheel == Wheel(
        "demo-1.0-py3-none-any.whl",
        REBUILT,
        size=len("rebuilt demo"),
        evidence=Evidence.ARCHIVE,
        sdist="demo-1.0.tar.gz",
        rebuilt=REBUILT,
    )
    again = world.run(kept, extent=Extent.DEFAULT)
    assert world.archivist.rebuilt == ["demo"], "it is there already"
    assert again.objects == {REBUILT}


def test_what_cannot_be_rebuilt_is_told(world: World) -> None:
    world.archivist.refused.add("demo")
    entry = distribution("demo", "1.0")
    done = world.run(entry)
    assert done.entries == (entry,)
    assert done.remarks == ("not archived: demo can't be rebuilt as a wheel: demo.py was changed",)


def test_nothing_to_do_is_not_told(world: World) -> None:
    _, entry = world.wheel()
    world.run(entry)
    world.told.clear()
    assert world.run(entry).objects == {entry.wheel.sha256}
    assert world.told == []
    assert world.run(entry, extent=Extent.NONE) == Archived((entry,))


class TestRoom:
    """Before anything is gathered."""

    def test_asked_for_it_is_an_error(self, world: World) -> None:
        world.archivist.free = 1000
        with pytest.raises(StoreError, match=r"needs about \d+ B, and the store's disk has 1\.0 kB free"):
            world.run(world.wheel()[1])

    def test_by_itself_it_is_a_remark(self, world: World) -> None:
        world.archivist.free = 1000
        rows = {("library", "a"): Row("library", "a", "sha256:00", "5000000000")}
        entry = distribution("demo", "1.0", listing=rows)
        done = world.run(entry, extent=Extent.DEFAULT)
        assert done.entries == (entry,)
        assert "nothing was archived: the archive needs about 5.0 GB" in done.remarks[0]


class TestSources:
    """Folders and repositories."""

    def test_of_an_editable_install_only_the_folder(self, world: World) -> None:
        world.archivist.sources["demo"] = b"tar"
        entry = distribution("demo", "1.0", origin=Origin("folder", editable=True))
        done = world.run(entry, extent=Extent.DEFAULT)
        (kept,) = done.entries
        assert kept.origin is not None
        assert kept.origin.archive == Digest.of(b"tar")
        assert kept.wheel == Wheel()
        assert done.objects == {Digest.of(b"tar")}
        assert world.run(kept, extent=Extent.DEFAULT).objects == done.objects

    def test_of_a_built_one_the_wheel_too(self, world: World) -> None:
        world.archivist.sources["demo"] = b"tar"
        entry = distribution("demo", "1.0", origin=Origin("vcs", url="https://code.example/demo", commit="0" * 40))
        assert world.run(entry, extent=Extent.DEFAULT).objects == {Digest.of(b"tar"), REBUILT}

    def test_one_that_is_not_here_is_told_where_it_is_all_there_is(self, world: World) -> None:
        editable = distribution("demo", "1.0", origin=Origin("folder", editable=True))
        assert world.run(editable).remarks == ("the source of demo is not on this machine",)
        built = distribution("other", "1.0", origin=Origin("vcs", commit="0" * 40))
        assert world.run(built).remarks == ()


def test_many_refusals_are_not_all_told(world: World) -> None:
    names = [f"demo{number}" for number in range(14)]
    world.archivist.refused.update(names)
    remarks = world.run(*(distribution(name, "1.0") for name in names)).remarks
    assert len(remarks) == 11
    assert remarks[-1] == "and 4 more like these"


def test_what_no_wheel_made_is_left_alone(world: World) -> None:
    assert world.run(distribution("demo", "1.0", installer="conda")) == Archived(
        (distribution("demo", "1.0", installer="conda"),)
    )
