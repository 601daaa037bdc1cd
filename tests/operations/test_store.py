"""Looking after the store: against writers, changing roots and objects that go meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from envguard.adapters.store import DirectoryStore
from envguard.errors import RootsUnreadableError
from envguard.formats.record import dump_rows
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Row, Wheel
from envguard.model.facts import FileFact, FileKind
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.roots import Root
from envguard.model.target import Target
from envguard.operations.store import check, collect, list_objects, repair
from envguard.planning.archive import Kind, needs_of
from tests import builders
from tests.builders import digest, distribution, facts
from tests.fakes.archivist import MadeUpArchivist
from tests.fakes.index import FakeIndex, Silence
from tests.fakes.prober import SaidProber

DAY = 86400.0


@dataclass
class SaidRoots:
    """Implements ``ports.Roots``. ``then``: called at the next question for the stamp, once."""

    said: list[Root] = field(default_factory=list)
    then: Callable[[], None] | None = None
    reads: int = 0
    version: int = 0
    questions: int = 0
    fault: RootsUnreadableError | None = None

    def remember(self, lock: Path, objects: Iterable[Digest]) -> None:
        self.said.append(Root(str(lock), frozenset(objects)))

    def forget(self, lock: Path) -> bool:
        return False

    def read(self, *, lenient: bool = False) -> Sequence[Root]:
        self.reads += 1
        if self.fault is not None:
            raise self.fault
        return tuple(self.said)

    def stamp(self) -> object:
        self.questions += 1
        if self.then is not None and self.questions > 1:
            self.then()
            self.then = None
        return self.version


def root(lock: Lock, *, written_here: bool = True) -> Root:
    objects = frozenset(need.digest for need in needs_of(lock))
    return Root("good.toml", objects, lock, objects if written_here else frozenset())


@dataclass
class World:
    folder: Path
    roots: SaidRoots = field(default_factory=SaidRoots)
    index: FakeIndex = field(default_factory=FakeIndex)
    clock: float = 0.0

    def __post_init__(self) -> None:
        self.store = DirectoryStore(self.folder / "store")
        self.archivist = MadeUpArchivist(self.folder)

    def put(self, content: bytes, *, age: float = 2 * DAY) -> Digest:
        put = self.store.put(content)
        path = self.store.path(put)
        now = path.stat().st_mtime
        self.clock = max(self.clock, now)
        os.utime(path, (now - age, now - age))
        return put

    def collect(self, *, grace: float = DAY, dry_run: bool = False) -> set[str]:
        done = collect(
            store=self.store,
            roots=self.roots,
            grace=grace,
            now=lambda: self.clock,
            dry_run=dry_run,
            progress=Silence(),
        )
        return {one.digest.hex for one in done.removed}

    def damage(self, one: Digest) -> None:
        path = self.store.path(one)
        path.chmod(0o644)
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)

    def repair(self, *said: Distribution, files: dict[str, bytes] | None = None) -> list[tuple[str, str | None]]:
        mended = repair(
            store=self.store,
            roots=self.roots,
            index=self.index,
            archivist=self.archivist,
            prober=SaidProber(facts(distributions=Value(said)), files or {}),
            targets=[Target(Path("/env/bin/python"), "test")],
            progress=Silence(),
        )
        return [(one.faulty.kind.value, one.source) for one in mended]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


class TestCollect:
    """What goes, and above all what stays."""

    def test_only_what_nobody_needs_and_is_old_enough(self, world: World) -> None:
        used, old, young = world.put(b"used"), world.put(b"old"), world.put(b"young", age=10)
        world.roots.said.append(Root("x", frozenset({used})))
        assert world.collect(dry_run=True) == {old.hex}
        assert world.store.has(old)
        assert world.collect() == {old.hex}
        assert set(world.store.digests()) == {used, young}

    def test_a_root_that_comes_meanwhile_keeps_its_objects(self, world: World) -> None:
        one = world.put(b"one")

        def comes() -> None:
            world.roots.remember(Path("new.toml"), [one])
            world.roots.version += 1

        world.roots.then = comes
        assert world.collect() == set()
        assert world.store.has(one)
        assert world.roots.reads == 2

    def test_an_object_that_is_put_again_meanwhile_stays(self, world: World) -> None:
        one = world.put(b"one")

        def again() -> None:
            world.store.put(b"one")

        world.roots.then = again
        assert world.collect() == set()
        assert world.store.read(one) == b"one"

    def test_nothing_goes_when_a_root_cannot_be_read(self, world: World) -> None:
        one = world.put(b"one")
        world.roots.fault = RootsUnreadableError("a lock can't be read")
        with pytest.raises(RootsUnreadableError):
            world.collect()
        assert world.store.has(one)

    def test_nor_when_it_stops_being_readable_on_the_way(self, world: World) -> None:
        objects = [world.put(bytes([number])) for number in range(3)]

        def breaks() -> None:
            world.roots.fault = RootsUnreadableError("a lock can't be read")
            world.roots.version += 1

        world.roots.then = breaks
        with pytest.raises(RootsUnreadableError):
            world.collect()
        assert set(world.store.digests()) == set(objects)

    def test_a_lock_that_is_gone_is_told(self, world: World) -> None:
        one = world.put(b"one")
        world.roots.said.append(Root("away.toml", frozenset({one}), gone=True))
        done = collect(
            store=world.store,
            roots=world.roots,
            grace=0,
            now=lambda: world.clock,
            dry_run=False,
            progress=Silence(),
        )
        assert done.notes == (
            "away.toml is not there now; its 1 objects are kept "
            "(not wanted any more: envguard store gc --forget away.toml)",
        )
        assert (done.used, done.size) == (1, 0)


class TestCheck:
    """What is wrong, by name."""

    def test_damage_is_named_with_what_it_is_and_who_needs_it(self, world: World) -> None:
        one, stray = world.put(b"a wheel"), world.put(b"stray")
        entry = distribution("demo", "1.0", wheel=Wheel("demo-1.0-py3-none-any.whl", one))
        world.roots.said.append(root(Lock("good", facts(distributions=Value((entry,))))))
        world.damage(one)
        world.damage(stray)
        seen = check(store=world.store, roots=world.roots, progress=Silence())
        assert seen.objects == 2
        told = {fault.digest: fault for fault in seen.damaged}
        assert (told[one].kind, told[one].subject, told[one].users) == (Kind.WHEEL, "demo 1.0", ("good.toml",))
        assert str(world.store.path(one)) in str(told[one])
        assert told[stray].users == ()

    @pytest.mark.parametrize("written_here", [True, False])
    def test_what_is_gone_counts_where_it_was_archived(self, world: World, written_here: bool) -> None:
        entry = distribution("demo", "1.0", rows=digest("rows"))
        lock = Lock("good", facts(distributions=Value((entry,))))
        world.roots.said.append(root(lock, written_here=written_here))
        seen = check(store=world.store, roots=world.roots, progress=Silence())
        assert [fault.digest for fault in seen.missing] == ([digest("rows")] if written_here else [])

    def test_objects_are_listed_by_who_needs_them(self, world: World) -> None:
        one, stray = world.put(b"rows"), world.put(b"stray!")
        entry = distribution("demo", "1.0", rows=one)
        world.roots.said.append(root(Lock("good", facts(distributions=Value((entry,))))))
        found = list_objects(store=world.store, roots=world.roots)
        assert [(kept.digest, kept.kind, kept.size, kept.users) for kept in found] == [
            (stray, Kind.OTHER, 6, ()),
            (one, Kind.ROWS, 4, ("good.toml",)),
        ]


class TestRepair:
    """Each kind of object, from where it can be had."""

    def lock(self, world: World, *entries: Distribution, files: tuple[FileFact, ...] = ()) -> None:
        archive = tuple(fact.sha256 for fact in files if fact.sha256)
        world.roots.said.append(
            root(Lock("good", facts(distributions=Value(entries), files=Value(files)), archive=archive))
        )

    def test_a_wheel_from_an_index(self, world: World) -> None:
        path = builders.wheel(world.folder, "demo", "1.0", {"demo.py": ""})
        one = world.put(path.read_bytes())
        world.index.add(path)
        self.lock(world, distribution("demo", "1.0", wheel=Wheel(path.name, one)))
        world.damage(one)
        assert world.repair() == [("wheel", "index default")]
        assert world.store.read(one) == path.read_bytes()

    def test_a_wheel_from_a_file_of_this_machine(self, world: World) -> None:
        path = builders.wheel(world.folder, "demo", "1.0", {"demo.py": ""})
        one = world.put(path.read_bytes())
        world.archivist.files["demo"] = path
        self.lock(world, distribution("demo", "1.0", wheel=Wheel(path.name, one)))
        world.damage(one)
        assert world.repair() == [("wheel", str(path))]

    def test_an_index_that_lies_mends_nothing(self, world: World) -> None:
        path = builders.wheel(world.folder, "demo", "1.0", {"demo.py": ""})
        one = world.put(path.read_bytes())
        world.index.add(path)
        world.index.lie(path.name, b"other bytes")
        self.lock(world, distribution("demo", "1.0", wheel=Wheel(path.name, one)))
        world.damage(one)
        assert world.repair() == [("wheel", None)]
        assert world.index.fired == 1
        assert not world.store.has(one)

    def test_a_rebuilt_wheel_from_an_environment_with_the_same_record(self, world: World) -> None:
        one = world.put(b"rebuilt demo")
        entry = distribution("demo", "1.0", wheel=Wheel("demo-1.0-py3-none-any.whl", one, rebuilt=one))
        self.lock(world, entry)
        world.damage(one)
        assert world.repair(distribution("demo", "1.0", record=digest("other"))) == [("rebuilt wheel", None)]
        assert world.archivist.rebuilt == []
        assert world.repair(distribution("demo", "1.0")) == [("rebuilt wheel", "/env")]
        assert world.store.read(one) == b"rebuilt demo"

    def test_rows(self, world: World) -> None:
        rows = {("library", "a"): Row("library", "a", f"sha256:{'0' * 64}", "3")}
        one = world.put(dump_rows(rows))
        self.lock(world, distribution("demo", "1.0", rows=one))
        world.damage(one)
        assert world.repair(distribution("demo", "1.0", listing=rows)) == [("rows", "/env")]

    def test_a_file(self, world: World) -> None:
        one = world.put(b"edited")
        self.lock(world, files=(FileFact("a.py", FileKind.MODIFIED, sha256=one),))
        world.damage(one)
        assert world.repair(files={"a.py": b"other"}) == [("file", None)]
        assert world.repair(files={"a.py": b"edited"}) == [("file", "/env")]

    def test_what_nobody_needs_is_only_set_aside(self, world: World) -> None:
        one = world.put(b"stray")
        world.damage(one)
        assert world.repair() == [("other", "nobody needs it")]
        assert not world.store.has(one)
        (aside,) = (world.store.root / "set-aside").iterdir()
        assert aside.name.startswith(one.hex)

    def test_what_is_missing_is_fetched_too(self, world: World) -> None:
        rows = {("library", "a"): Row("library", "a", f"sha256:{'0' * 64}", "3")}
        self.lock(world, distribution("demo", "1.0", rows=Digest.of(dump_rows(rows))))
        assert world.repair(distribution("demo", "1.0", listing=rows)) == [("rows", "/env")]
        assert world.repair() == []
