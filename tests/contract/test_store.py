"""What every store keeps to, whichever it is."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from envguard.adapters.store import DirectoryStore
from envguard.errors import ObjectCorruptError, ObjectMissingError, OtherBytesError
from envguard.model.digest import Digest
from envguard.ports import Store
from tests.fakes.memory_store import MemoryStore

Damage = Callable[[Digest, bytes], None]


def _directory(folder: Path) -> tuple[Store, Damage]:
    store = DirectoryStore(folder / "store")

    def damage(digest: Digest, content: bytes) -> None:
        store.path(digest).chmod(0o600)
        store.path(digest).write_bytes(content)

    return store, damage


def _memory(folder: Path) -> tuple[Store, Damage]:
    store = MemoryStore()
    return store, store.damage


@pytest.fixture(params=[_directory, _memory], ids=["directory", "memory"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Store, Damage]:
    both: tuple[Store, Damage] = request.param(tmp_path)
    return both


@pytest.fixture
def store(made: tuple[Store, Damage]) -> Store:
    return made[0]


@pytest.mark.parametrize(
    "content", [b"", b"x", b"\0" * 3_000_001], ids=["empty", "one byte", "more than one piece"]
)
@pytest.mark.parametrize("as_stream", [False, True], ids=["bytes", "stream"])
def test_what_was_put_is_read_again(store: Store, content: bytes, as_stream: bool) -> None:
    digest = store.put(io.BytesIO(content) if as_stream else content)
    assert digest.hex == hashlib.sha256(content).hexdigest()
    assert store.has(digest)
    assert store.read(digest) == content
    with store.open(digest) as stream:
        assert stream.read() == content
    assert list(store.digests()) == [digest]


def test_a_new_store_is_empty(store: Store) -> None:
    assert list(store.digests()) == []
    assert not store.has(Digest.of(b"x"))


def test_missing(store: Store) -> None:
    digest = Digest.of(b"never put")
    for ask in (store.read, store.open):
        with pytest.raises(ObjectMissingError, match=digest.hex):
            ask(digest)


def test_the_same_bytes_twice_are_one_object(store: Store) -> None:
    assert store.put(b"x") == store.put(io.BytesIO(b"x"))
    assert len(list(store.digests())) == 1


def test_expected_bytes(store: Store) -> None:
    digest = Digest.of(b"right")
    assert store.put(b"right", expect=digest) == digest


@pytest.mark.parametrize("as_stream", [False, True], ids=["bytes", "stream"])
def test_other_bytes_are_not_kept(store: Store, as_stream: bool) -> None:
    expect = Digest.of(b"right")
    content = io.BytesIO(b"wrong") if as_stream else b"wrong"
    with pytest.raises(OtherBytesError, match=f"{expect}.*{Digest.of(b'wrong')}"):
        store.put(content, expect=expect)
    assert list(store.digests()) == []


def test_a_stream_is_read_from_where_it_stands(store: Store) -> None:
    source = io.BytesIO(b"headbody")
    source.seek(4)
    assert store.read(store.put(source)) == b"body"


def test_a_source_that_dies_leaves_nothing(store: Store) -> None:
    class Dying(io.RawIOBase):
        asked = 0

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1, /) -> bytes:
            self.asked += 1
            if self.asked == 1 and size > 0:
                return b"a" * 10
            raise ConnectionResetError("gone")

    source = Dying()
    with pytest.raises(ConnectionResetError):
        store.put(source)  # type: ignore[arg-type]
    assert source.asked > 0
    assert list(store.digests()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda content: bytes([content[0] ^ 1]) + content[1:],
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: b"",
    ],
    ids=["one bit", "truncated", "longer", "emptied"],
)
def test_damage_is_found_by_name(made: tuple[Store, Damage], change: Callable[[bytes], bytes]) -> None:
    store, damage = made
    digest = store.put(b"some content")
    damage(digest, change(b"some content"))
    for ask in (store.read, store.open):
        with pytest.raises(ObjectCorruptError, match=digest.hex):
            ask(digest)
    assert store.has(digest)
    assert list(store.digests()) == [digest], "nothing is moved or removed"


def test_a_put_mends_damage(made: tuple[Store, Damage]) -> None:
    store, damage = made
    digest = store.put(b"some content")
    damage(digest, b"some CONTENT")
    assert store.put(b"some content") == digest
    assert store.read(digest) == b"some content"


def test_forty_threads_put_the_same_and_their_own(store: Store) -> None:
    shared, start = b"shared" * 100_000, threading.Barrier(40)

    def work(number: int) -> tuple[Digest, Digest]:
        start.wait()
        return store.put(io.BytesIO(shared)), store.put(b"own %d" % number)

    with ThreadPoolExecutor(40) as pool:
        results = list(pool.map(work, range(40)))
    assert {digest for digest, _ in results} == {Digest.of(shared)}
    assert sorted(store.digests()) == sorted({digest for pair in results for digest in pair})
    assert all(Digest.of(store.read(digest)) == digest for digest in store.digests())
