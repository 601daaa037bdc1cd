"""The store's folder: its layout, who may use it, disk faults, killed and concurrent writers."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from envguard.adapters import folders
from envguard.adapters.store import DirectoryStore
from envguard.errors import ObjectCorruptError, ObjectMissingError, StoreError
from envguard.model.digest import Digest
from tests.fakes.limits import largest_file

CONTENT = b"some content"
DIGEST = Digest.of(CONTENT)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store"


@pytest.fixture
def store(root: Path) -> DirectoryStore:
    return DirectoryStore(root)


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_it_is_an_oci_image_layout(store: DirectoryStore, root: Path) -> None:
    store.put(CONTENT)
    assert json.loads((root / "oci-layout").read_bytes())["imageLayoutVersion"] == "1.0.0"
    assert json.loads((root / "index.json").read_bytes()) == {"schemaVersion": 2, "manifests": []}
    assert (root / "blobs" / "sha256" / DIGEST.hex).read_bytes() == CONTENT
    assert tree(root) == {"oci-layout", "index.json", f"blobs/sha256/{DIGEST.hex}"}


def test_modes_do_not_depend_on_the_umask(root: Path) -> None:
    before = os.umask(0)
    try:
        DirectoryStore(root).put(CONTENT)
    finally:
        os.umask(before)
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "blobs" / "sha256" / DIGEST.hex).stat().st_mode) == 0o444


def test_the_default_place_is_in_the_data_folder() -> None:
    assert DirectoryStore().root == folders.data() / "store"


def test_reading_makes_nothing(store: DirectoryStore, root: Path) -> None:
    assert not store.has(DIGEST)
    assert list(store.digests()) == []
    with pytest.raises(ObjectMissingError):
        store.read(DIGEST)
    assert not root.exists()


def test_what_is_no_object_is_passed_over(store: DirectoryStore, root: Path) -> None:
    store.put(CONTENT)
    objects = root / "blobs" / "sha256"
    (objects / "README").write_text("")
    (objects / ("A" * 64)).write_text("")
    (objects / ("b" * 64)).mkdir()
    (objects / ("c" * 64)).symlink_to(objects / DIGEST.hex)
    assert list(store.digests()) == [DIGEST]
    assert not store.has(Digest("b" * 64))
    assert not store.has(Digest("c" * 64))


def test_something_else_in_an_objects_place_is_damage(store: DirectoryStore, root: Path) -> None:
    store.put(CONTENT)
    objects = root / "blobs" / "sha256"
    (objects / ("b" * 64)).mkdir()
    (objects / ("c" * 64)).symlink_to(objects / DIGEST.hex)
    os.mkfifo(objects / ("d" * 64))
    for name in "bcd":
        with pytest.raises(ObjectCorruptError, match=name * 64) as raised:
            store.open(Digest(name * 64))
        assert raised.value.where == str(objects / (name * 64))


def test_a_put_renews_the_time(store: DirectoryStore, root: Path) -> None:
    store.put(CONTENT)
    os.utime(store.path(DIGEST), (1000, 1000))
    assert store.kept(DIGEST) == 1000
    store.put(CONTENT)
    assert store.kept(DIGEST) > 1000


def test_size_remove_and_set_aside(store: DirectoryStore, root: Path) -> None:
    store.put(CONTENT)
    assert store.size(DIGEST) == len(CONTENT)
    aside = store.set_aside(DIGEST)
    assert aside.read_bytes() == CONTENT
    assert not store.has(DIGEST)
    for ask in (store.size, store.kept, store.set_aside):
        with pytest.raises(ObjectMissingError):
            ask(DIGEST)
    store.put(CONTENT)
    store.remove(DIGEST)
    store.remove(DIGEST)
    assert not store.has(DIGEST)


class TestWhoMayUseIt:
    def test_a_link_is_not_written_through(self, tmp_path: Path, root: Path) -> None:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        root.parent.mkdir()
        root.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="symbolic link"):
            DirectoryStore(root).put(CONTENT)
        assert tree(tmp_path / "elsewhere") == set()

    def test_a_link_inside_is_not_written_through(self, tmp_path: Path, root: Path) -> None:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        DirectoryStore(root).put(CONTENT)
        (root / "tmp").rmdir()
        (root / "tmp").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="symbolic link"):
            DirectoryStore(root).put(CONTENT)

    @pytest.mark.parametrize("mode", [0o770, 0o702, 0o777], ids=oct)
    def test_others_must_not_be_able_to_write(self, root: Path, mode: int) -> None:
        root.mkdir(parents=True)
        root.chmod(mode)
        with pytest.raises(StoreError, match=f"{mode:04o}") as raised:
            DirectoryStore(root).put(CONTENT)
        assert raised.value.hint == f"chmod go-w '{root}'"
        assert tree(root) == set()

    def test_a_folder_of_another_user(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root.mkdir(parents=True, mode=0o700)
        owner = root.stat().st_uid
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
        with pytest.raises(StoreError, match=f"belongs to user {owner}"):
            DirectoryStore(root).put(CONTENT)
        assert tree(root) == set()

    def test_a_folder_with_other_things_is_no_store(self, root: Path) -> None:
        root.mkdir(parents=True, mode=0o700)
        (root / "thesis.tex").write_text("precious")
        with pytest.raises(StoreError, match=r"thesis\.tex"):
            DirectoryStore(root).put(CONTENT)
        assert tree(root) == {"thesis.tex"}

    def test_a_store_of_others_can_be_read(
        self, store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.put(CONTENT)
        root.chmod(0o777)
        monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
        assert DirectoryStore(root).read(DIGEST) == CONTENT

    def test_a_half_made_store_is_finished(self, root: Path) -> None:
        (root / "blobs").mkdir(parents=True)
        for folder in (root, root / "blobs"):
            folder.chmod(0o700)
        assert DirectoryStore(root).put(CONTENT) == DIGEST


class TestLayoutVersion:
    @pytest.mark.parametrize(
        "layout",
        ['{"imageLayoutVersion": "2.0.0"}', '{"imageLayoutVersion": "1.0.0", "envguardStore": 2}'],
        ids=["image layout", "ours"],
    )
    def test_a_newer_one_is_refused_and_nothing_written(
        self, store: DirectoryStore, root: Path, layout: str
    ) -> None:
        store.put(CONTENT)
        (root / "oci-layout").write_text(layout)
        before = tree(root)
        new = DirectoryStore(root)
        for use in (lambda: new.put(b"new"), lambda: new.read(DIGEST), lambda: list(new.digests())):
            with pytest.raises(StoreError, match="newer envguard"):
                use()
        assert tree(root) == before
        assert (root / "oci-layout").read_text() == layout

    @pytest.mark.parametrize(
        "layout",
        [
            b"",
            b"{",
            b"[]",
            b'"1.0.0"',
            b'{"imageLayoutVersion": 1}',
            b'{"imageLayoutVersion": "x"}',
            b"\xff",
            b"[" * 9999,
        ],
        ids=["empty", "cut", "array", "text", "number", "word", "not UTF-8", "deep"],
    )
    def test_rubbish_is_named(self, store: DirectoryStore, root: Path, layout: bytes) -> None:
        store.put(CONTENT)
        (root / "oci-layout").write_bytes(layout)
        with pytest.raises(StoreError, match="oci-layout"):
            DirectoryStore(root).read(DIGEST)

    def test_a_lost_one_is_written_anew(self, store: DirectoryStore, root: Path) -> None:
        store.put(CONTENT)
        (root / "oci-layout").unlink()
        again = DirectoryStore(root)
        assert again.read(DIGEST) == CONTENT
        again.put(b"more")
        assert (root / "oci-layout").exists()


class TestDiskFaults:
    @pytest.mark.parametrize("as_stream", [False, True], ids=["bytes", "stream"])
    def test_no_room(self, store: DirectoryStore, root: Path, as_stream: bool) -> None:
        store.put(CONTENT)
        large = b"x" * 5_000_000
        with largest_file(1_500_000), pytest.raises(StoreError, match=r"no room.*needs 5\.0 MB, has ") as raised:
            store.put(io.BytesIO(large) if as_stream else large)
        assert raised.value.exit_code == 3
        assert raised.value.hint
        assert tree(root) == {"oci-layout", "index.json", f"blobs/sha256/{DIGEST.hex}"}
        assert store.put(large) == Digest.of(large)

    @pytest.mark.parametrize(
        "number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS], ids=errno.errorcode.get
    )
    @pytest.mark.parametrize("call", ["fsync", "fchmod", "write"])
    def test_every_call_is_checked(
        self, store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
    ) -> None:
        store.put(CONTENT)
        fired = []

        def failing(*_: object) -> None:
            fired.append(call)
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, call, failing)
        with pytest.raises(StoreError):
            store.put(b"other content")
        monkeypatch.undo()
        assert fired == [call], "one try, and no second one that believes it"
        assert tree(root) == {"oci-layout", "index.json", f"blobs/sha256/{DIGEST.hex}"}

    def test_only_half_reached_the_disk(
        self, store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.put(CONTENT)
        monkeypatch.setattr(os, "write", lambda handle, view: len(view))
        with pytest.raises(StoreError, match="0 bytes reached the disk of 13"):
            store.put(b"other content")
        monkeypatch.undo()
        assert tree(root) == {"oci-layout", "index.json", f"blobs/sha256/{DIGEST.hex}"}

    def test_short_writes_are_gone_on_with(self, store: DirectoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        write = os.write
        monkeypatch.setattr(os, "write", lambda handle, view: write(handle, view[:3]))
        digest = store.put(b"other content")
        monkeypatch.undo()
        assert store.read(digest) == b"other content"

    def test_a_read_only_store_is_read(
        self, store: DirectoryStore, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.put(CONTENT)
        opened = os.open

        def read_only(path: object, flags: int, *rest: int, **more: int) -> int:
            if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            return opened(path, flags, *rest, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(os, "open", read_only)
        again = DirectoryStore(root)
        assert again.read(DIGEST) == CONTENT
        assert again.has(DIGEST)
        assert list(again.digests()) == [DIGEST]
        with pytest.raises(StoreError, match="Read-only"):
            again.put(b"new")

    def test_no_place_for_the_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        store = DirectoryStore(tmp_path / "file" / "store")
        assert not store.has(DIGEST)
        with pytest.raises(StoreError):
            store.put(CONTENT)

    def test_a_disk_that_cannot_be_read_is_damage(
        self, store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.put(CONTENT)

        def failing(*_: object) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, "read", failing)
        with pytest.raises(ObjectCorruptError, match=f"{DIGEST}.*can't be read"):
            store.open(DIGEST)

    @pytest.mark.parametrize(("number", "kind"), [(errno.EMFILE, StoreError), (errno.EIO, ObjectCorruptError)])
    def test_too_many_open_files_is_no_damage(
        self, store: DirectoryStore, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
    ) -> None:
        store.put(CONTENT)

        def failing(*_: object) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "open", failing)
        with pytest.raises(kind):
            store.read(DIGEST)


WRITER = """
import io, sys
from pathlib import Path
from envguard.adapters.store import DirectoryStore
class Source(io.RawIOBase):
    def read(self, size=-1):
        print("asked", flush=True)
        return sys.stdin.buffer.read1(1000)
DirectoryStore(Path(sys.argv[1])).put(Source())
"""


def test_a_killed_writer_leaves_nothing_that_counts(root: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin and child.stdout
        child.stdin.write(b"x" * 1000)
        child.stdin.flush()
        assert child.stdout.readline() and child.stdout.readline() == b"asked\n"
        child.kill()
    left = [path for path in tree(root) if path.startswith("tmp/")]
    assert len(left) == 1, "it was killed in the middle"
    store = DirectoryStore(root)
    assert list(store.digests()) == []
    store.put(b"x" * 1000)
    assert store.read(Digest.of(b"x" * 1000))
    assert (root / left[0]).exists(), "it may still be somebody's"

    os.utime(root / left[0], (1000, 1000))
    DirectoryStore(root).put(CONTENT)
    assert not (root / left[0]).exists()


def test_two_processes_put_the_same_object(root: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from envguard.adapters.store import DirectoryStore\n"
        "for n in range(30): DirectoryStore(Path(sys.argv[1])).put(b'%d' % n * 50_000)"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(root)]) for _ in range(2)]
    assert [child.wait() for child in children] == [0, 0]
    store = DirectoryStore(root)
    assert sorted(store.digests()) == sorted(Digest.of(b"%d" % n * 50_000) for n in range(30))
    assert all(Digest.of(store.read(digest)) == digest for digest in store.digests())
    assert not any(path.startswith("tmp/") for path in tree(root))


class TestRemoveUnrenewed:
    """Collecting beside writers."""

    def test_an_object_goes(self, tmp_path: Path) -> None:
        store = DirectoryStore(tmp_path / "store")
        one = store.put(b"one")
        assert store.remove_unrenewed(one, store.kept(one))
        assert not store.has(one)
        assert not store.remove_unrenewed(one, 0)
        assert list((store.root / "tmp").iterdir()) == []

    def test_one_that_was_put_again_stays(self, tmp_path: Path) -> None:
        store = DirectoryStore(tmp_path / "store")
        one = store.put(b"one")
        os.utime(store.path(one), (1, 1))
        kept = store.kept(one)
        store.put(b"one")
        assert not store.remove_unrenewed(one, kept)
        assert store.read(one) == b"one"

    def test_a_put_that_finds_it_gone_on_the_way_writes_it_anew(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = DirectoryStore(tmp_path / "store")
        one = store.put(b"one")
        fired = []
        whole = store._is_whole

        def removed_first(digest: Digest) -> bool:
            fired.append(digest)
            store.path(digest).unlink()
            return whole(digest)

        monkeypatch.setattr(store, "_is_whole", removed_first)
        assert store.put(b"one") == one
        assert fired == [one]
        assert store.read(one) == b"one"
