"""A power cut at any moment, with everything lost that was not synced: old or new, and never a damaged name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from envguard.adapters import files, project
from envguard.adapters.cache.folders import CacheFolders
from envguard.adapters.environments import EnvironmentFolders
from envguard.adapters.store import DirectoryStore
from envguard.errors import EnvguardError
from envguard.model.cache_files import CachedFile, CachePlace
from envguard.model.digest import Digest
from tests.adapters.cache import world
from tests.fakes.index import Silence
from tests.faults.crash_disk import CrashDisk

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="paths of handles are read from /proc")


class Scene:
    """A root that is watched, a place for copies, and one for states."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir(mode=0o700)
        self.copies = folder / "copies"
        self.copies.mkdir()
        self.place = folder / "state"
        self.disk = CrashDisk(self.root)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_the_double_loses_what_is_not_synced(scene: Scene) -> None:
    """Without any sync there is a state with the new name and no bytes, and one without the name."""
    with scene.disk.watching(scene.copies):
        files.write(scene.root / "x", b"content", durable=False)
    seen = {
        (state / "x").read_bytes() if (state / "x").exists() else None
        for _, state in scene.disk.states(scene.place)
    }
    assert seen == {None, b"", b"content"}


def test_a_file_is_old_or_new(scene: Scene) -> None:
    (scene.root / "x").write_bytes(b"old")
    with scene.disk.watching(scene.copies):
        files.write(scene.root / "x", b"new")
    seen = {(state / "x").read_bytes() for _, state in scene.disk.states(scene.place)}
    assert seen == {b"old", b"new"}


def test_what_was_reported_is_there(scene: Scene) -> None:
    with scene.disk.watching(scene.copies):
        files.write(scene.root / "x", b"new")
    final = [state_of for state_of in _after_the_last(scene) if (state_of / "x").read_bytes() != b"new"]
    assert final == []


def _after_the_last(scene: Scene) -> list[Path]:
    last = f"after step {len(scene.disk.steps)},"
    return [state for name, state in scene.disk.states(scene.place) if name.startswith(last)]


def test_a_lock_is_old_or_new(scene: Scene) -> None:
    lock = scene.root / "lockfiles" / "good.toml"
    lock.parent.mkdir()
    lock.write_bytes(b"schema = 1 # old")
    with scene.disk.watching(scene.copies):
        project.save_lock(lock, b"schema = 1 # new")
    seen = {(state / "lockfiles" / "good.toml").read_bytes() for _, state in scene.disk.states(scene.place)}
    assert seen == {b"schema = 1 # old", b"schema = 1 # new"}


def test_an_object_is_whole_or_not_there(scene: Scene) -> None:
    """I1 and I5 in every state; once put has said so, the object is there in every state."""
    contents = [b"one" * 1000, b"two" * 1000]
    reported: dict[int, bytes] = {}
    with scene.disk.watching(scene.copies):
        store = DirectoryStore(scene.root / "store")
        for content in contents:
            store.put(content)
            reported[len(scene.disk.steps)] = content
    states = 0
    for name, state in scene.disk.states(scene.place):
        states += 1
        again = DirectoryStore(state / "store")
        for digest in again.digests():
            assert Digest.of(again.read(digest)) == digest, name
        at = int(name.split(",")[0].rpartition(" ")[2])
        for step, content in reported.items():
            if at >= step:
                assert again.read(Digest.of(content)) == content, name
        for content in contents:
            assert again.read(again.put(content)) == content, name
    assert states > 30


def test_a_collected_object_is_whole_or_gone(scene: Scene) -> None:
    store = DirectoryStore(scene.root / "store")
    kept, gone = store.put(b"kept"), store.put(b"gone")
    with scene.disk.watching(scene.copies):
        store = DirectoryStore(scene.root / "store")
        assert store.remove_unrenewed(gone, store.kept(gone))
    for name, state in scene.disk.states(scene.place):
        again = DirectoryStore(state / "store")
        assert again.read(kept) == b"kept", name
        assert not again.has(gone) or again.read(gone) == b"gone", name


def test_an_environment_is_absent_old_or_marked_and_complete(scene: Scene) -> None:
    """I4. ``finish`` and ``switch`` of an attempt over an older environment."""
    folders = EnvironmentFolders(scene.root / "envs")
    old = folders.begin("good", "a" * 64)
    _fill(old.environment, "old")
    target = scene.root / ".venv"
    folders.switch(folders.finish(old, _marker("old")), target)
    new = folders.begin("good", "b" * 64)
    _fill(new.environment, "new")
    with scene.disk.watching(scene.copies):
        folders.switch(folders.finish(new, _marker("new")), target)
    seen = set()
    for name, state in scene.disk.states(scene.place):
        link = (state / ".venv").readlink()
        led = state / link.relative_to(scene.root)
        content = (led / "bin" / "python").read_text()
        seen.add(content)
        marker = json.loads((led / "envguard-restored.json").read_bytes())
        assert marker["lock"] == content, name
        for folder in (state / "envs" / "good").iterdir():
            if not folder.name.startswith(".") and (folder / "envguard-restored.json").exists():
                text = (folder / "envguard-restored.json").read_bytes()
                assert text == _marker((folder / "bin" / "python").read_text()), name
    assert seen == {"old", "new"}


def _fill(environment: Path, word: str) -> None:
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").write_text(word)
    (environment / "pyvenv.cfg").write_text("home = /x\n")


def _marker(word: str) -> bytes:
    return json.dumps({"schema": 1, "lock": word, "distributions": {}}).encode()


def test_a_cache_that_is_put_back_has_no_empty_entries(scene: Scene) -> None:
    """Loading an empty pickle would be an error of the run: a name that is there is whole."""
    contents = {f"fxgraph/aa/{world.graph_key(0)}/entry{number}": b"bytes%d" % number for number in range(3)}
    manifest = [CachedFile(path, Digest.of(whole), len(whole), False) for path, whole in contents.items()]
    place = CachePlace(scene.root / "cache" / "inductor", scene.root / "cache" / "triton")
    caches = CacheFolders(scene.root, scene.root)

    def put(where: CachePlace) -> None:
        caches.put_back(where, manifest, lambda file: contents[file.path], native=True, progress=Silence())

    with scene.disk.watching(scene.copies):
        put(place)
    states = 0
    for name, state in scene.disk.states(scene.place):
        states += 1
        for entry in (state / "cache" / "inductor").rglob("entry*"):
            assert entry.read_bytes() == contents[str(entry.relative_to(state / "cache" / "inductor"))], name
        put(CachePlace(state / "cache" / "inductor", state / "cache" / "triton"))
        assert len(list((state / "cache" / "inductor").rglob("entry*"))) == 3, name
    assert states > 10


def test_the_list_of_targets_is_never_unreadable(scene: Scene) -> None:
    from envguard.adapters.targets import TargetBook

    book = TargetBook(scene.root, 1.0)
    book.write({Path("/a"): (Path("/b"),)})
    with scene.disk.watching(scene.copies):
        book.write({Path("/a"): (Path("/b"), Path("/c"))})
    for name, state in scene.disk.states(scene.place):
        try:
            assert Path("/a") in TargetBook(state, 1.0).read(), name
        except EnvguardError as problem:
            raise AssertionError(name) from problem
