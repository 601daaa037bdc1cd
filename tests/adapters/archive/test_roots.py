from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from envguard.adapters.archive.roots import KnownRoots
from envguard.errors import RootsUnreadableError
from envguard.formats import cache_manifest, marker
from envguard.formats.lockfile import write_lock
from envguard.model.cache_files import CachedFile
from envguard.model.digest import Digest
from envguard.model.lock import Lock
from envguard.model.roots import Root
from tests.builders import digest, facts
from tests.fakes.memory_store import MemoryStore


class Place:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.locks = root / "project" / "lockfiles"
        self.locks.mkdir(parents=True)
        self.store = MemoryStore()

    def roots(self, *named: Path) -> KnownRoots:
        return KnownRoots(self.root / "notes", self.root / "envs", named, store=self.store)

    def lock(self, name: str = "good", *objects: Digest) -> Path:
        path = self.locks / f"{name}.toml"
        path.write_bytes(write_lock(Lock(name, facts(), archive=objects)))
        return path

    def environment(self, wheel: Digest) -> Path:
        folder = self.root / "envs" / "good" / "0123-1"
        folder.mkdir(parents=True)
        marked = marker.MarkedWheel("x-1-py3-none-any.whl", wheel, 1, digest("record"))
        (folder / marker.FILENAME).write_bytes(marker.dump(marker.Marker("id", {"x": marked})))
        return folder


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def only(roots: KnownRoots) -> Root:
    (root,) = roots.read()
    return root


def test_nothing_is_known_at_first(place: Place) -> None:
    assert list(place.roots().read()) == []


def test_a_lock_that_a_snapshot_wrote(place: Place) -> None:
    lock = place.lock("good", digest("a"))
    place.roots().remember(lock, [digest("a")])
    root = only(place.roots())
    assert (root.where, root.gone) == (str(lock), False)
    assert root.noted == {digest("a")}
    assert root.objects == {digest("a")}
    assert root.lock is not None


def test_what_a_lock_says_now_counts(place: Place) -> None:
    lock = place.lock("good", digest("a"))
    place.roots().remember(lock, [digest("a")])
    place.lock("good", digest("b"))
    assert only(place.roots()).objects == {digest("b")}


def test_the_other_locks_of_its_project_count_too(place: Place) -> None:
    place.roots().remember(place.lock("good", digest("a")), [digest("a")])
    place.lock("other", digest("b"))
    found = {Path(root.where).stem: root for root in place.roots().read()}
    assert found["good"].noted
    assert not found["other"].noted
    assert found["other"].objects == {digest("b")}


def test_a_lock_that_is_not_there_keeps_what_it_named(place: Place) -> None:
    lock = place.lock("good", digest("a"))
    place.roots().remember(lock, [digest("a"), digest("b")])
    lock.unlink()
    root = only(place.roots())
    assert root.objects == {digest("a"), digest("b")}
    assert root.gone
    assert root.lock is None
    assert place.roots().forget(lock)
    assert not place.roots().forget(lock)
    assert list(place.roots().read()) == []


def test_one_lock_has_one_note_whatever_leads_to_it(place: Place) -> None:
    lock = place.lock()
    link = place.root / "link"
    link.symlink_to(place.root / "project")
    place.roots().remember(lock, [])
    place.roots().remember(link / "lockfiles" / "good.toml", [digest("a")])
    assert len(list((place.root / "notes").iterdir())) == 1


def test_named_locks(place: Place) -> None:
    lock = place.root / "elsewhere.toml"
    place.lock("good", digest("a")).rename(lock)
    assert only(place.roots(lock)).objects == {digest("a")}


def test_restored_environments(place: Place) -> None:
    folder = place.environment(digest("wheel"))
    root = only(place.roots())
    assert root.where == str(folder)
    assert root.objects == {digest("wheel")}


@pytest.mark.parametrize("what", ["lock", "named", "note", "marker", "folder"])
def test_one_that_cannot_be_read_is_named(place: Place, what: str) -> None:
    lock = place.lock()
    place.roots().remember(lock, [])
    environment = place.environment(digest("wheel"))
    named: list[Path] = []
    if what == "lock":
        lock.write_text("schema = 9")
        broken = lock
    elif what == "named":
        broken = place.root / "missing.toml"
        named.append(broken)
    elif what == "note":
        (broken,) = (place.root / "notes").iterdir()
        broken.write_text("[")
    elif what == "marker":
        broken = environment / marker.FILENAME
        broken.write_text("{}")
    else:
        broken = lock
        lock.unlink()
        lock.mkdir()
    with pytest.raises(RootsUnreadableError) as raised:
        place.roots(*named).read()
    assert raised.value.where == str(broken)
    assert raised.value.exit_code == 3
    lenient = {root.where: root for root in place.roots(*named).read(lenient=True)}
    assert (str(broken) in lenient) is (what in ("lock", "named", "folder"))


def test_the_stamp_moves_with_whatever_changes(place: Place) -> None:
    roots = place.roots()
    stamps = [roots.stamp()]
    lock = place.lock()
    roots.remember(lock, [])
    stamps.append(roots.stamp())
    assert stamps[-1] == roots.stamp()
    place.lock("other")
    stamps.append(roots.stamp())
    place.lock("other", digest("a"))
    stamps.append(roots.stamp())
    place.environment(digest("wheel"))
    stamps.append(roots.stamp())
    lock.unlink()
    stamps.append(roots.stamp())
    assert all(one != other for one, other in itertools.pairwise(stamps))


class TestCompileCache:
    """A lock names a list, and the list names files."""

    def write(self, place: Place, manifest: Digest) -> Path:
        path = place.locks / "good.toml"
        path.write_bytes(write_lock(Lock("good", facts(), cache_manifest=manifest)))
        return path

    def test_its_files_are_needed_too(self, place: Place) -> None:
        manifest = place.store.put(cache_manifest.dump([CachedFile("fxgraph/a/b", digest("file"), 1)]))
        self.write(place, manifest)
        root = only(place.roots(place.locks / "good.toml"))
        assert root.objects == {manifest, digest("file")}

    def test_where_the_list_never_was_there_is_nothing_to_keep(self, place: Place) -> None:
        lock = self.write(place, digest("elsewhere"))
        assert only(place.roots(lock)).objects == {digest("elsewhere")}

    def test_a_damaged_list_stops_a_collection_and_no_more(self, place: Place) -> None:
        manifest = place.store.put(cache_manifest.dump([]))
        lock = self.write(place, manifest)
        place.store.damage(manifest, b"other")
        with pytest.raises(RootsUnreadableError, match="the list of a lock's compile cache"):
            place.roots(lock).read()
        (root,) = place.roots(lock).read(lenient=True)
        assert root.objects == {manifest}
