"""A cache read from outside: keys, devices, and all that can be wrong with a folder."""

from __future__ import annotations

import fcntl
import os
import pickle
import struct
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from envguard.adapters.cache import entry_text, reading
from envguard.adapters.cache.entry_text import read_entry
from envguard.adapters.cache.place import Place
from envguard.adapters.cache.reading import Limits, read_cache
from envguard.adapters.cache.sections import cache_and_keys
from envguard.model.cache import CacheKeys
from envguard.model.observed import Absent, Unobserved, Value
from tests.adapters.cache.world import (
    autograd,
    autograd_entry,
    autograd_key,
    code,
    graph_entry,
    graph_key,
    hashed,
    put,
    triton_key,
)

NOW = time.time() + 3600


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Two graphs of cuda:0 and one of the CPU, an autograd entry of the first two, three Triton keys."""
    folder = tmp_path / "cache"
    graph_entry(folder, 0, code("cuda:0"))
    graph_entry(folder, 1, code("cuda:0"))
    graph_entry(folder, 2, code("cpu"))
    autograd_entry(folder, 0, autograd([0, 1]))
    put(folder / "triton" / "0" / triton_key(0) / "kernel.cubin", b"x")
    put(folder / "triton" / "1" / triton_key(0) / "kernel.cubin", b"x")
    put(folder / "triton" / "1" / triton_key(1) / "kernel.cubin", b"x")
    put(folder / "ab" / f"c{'a' * 51}.py", b"print()")
    put(folder / "ab" / "0f.best_config", b"{}")
    (folder / "locks").mkdir()
    return folder


def keys_of(cache: Path, **options: object) -> CacheKeys:
    seen = read_cache(cache, NOW, **options).keys  # type: ignore[arg-type]
    assert isinstance(seen, Value), seen
    return seen.value


def test_keys_by_device(cache: Path) -> None:
    keys = keys_of(cache)
    assert {entry.device: entry.keys for entry in keys.devices} == {
        "cpu": (f"fxgraph/{graph_key(2)}",),
        "cuda:0": (f"aotautograd/{autograd_key(0)}", f"fxgraph/{graph_key(0)}", f"fxgraph/{graph_key(1)}"),
    }
    assert keys.triton == (f"triton/{triton_key(0)}", f"triton/{triton_key(1)}")
    assert keys.attributed_by == "text"
    assert not keys.source.counts


def test_what_else_lies_there(cache: Path) -> None:
    seen = read_cache(cache, NOW)
    assert dict(seen.counts) == {"aotautograd": 1, "autotune": 1, "code": 1, "fxgraph": 3, "triton": 2}
    assert seen.size == sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    assert seen.newest == max(file.stat().st_mtime for file in cache.rglob("*") if file.is_file())
    assert seen.remarks == ()
    assert seen.quiet


def test_the_fingerprint_depends_on_names_alone(cache: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "deep"
    graph_entry(other, 2, code("cpu") | {"time": 7}, name="another")
    graph_entry(other, 1, code("cuda:3"))
    graph_entry(other, 0, code("cuda:3"))
    autograd_entry(other, 0, autograd([0, 1]))
    put(other / "triton" / "3" / triton_key(1) / "x", b"")
    put(other / "triton" / "3" / triton_key(0) / "x", b"")
    assert keys_of(cache).fingerprint == keys_of(other).fingerprint
    graph_entry(other, 9, code("cpu"))
    assert keys_of(cache).fingerprint != keys_of(other).fingerprint


def test_without_triton_and_with_triton_elsewhere(cache: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "triton"
    put(elsewhere / triton_key(5) / "x", b"")
    assert f"triton/{triton_key(5)}" in keys_of(cache, triton=elsewhere).triton
    only = tmp_path / "only"
    graph_entry(only, 0, code("cpu"))
    assert keys_of(only).triton == ()


def test_names_alone_when_texts_are_not_asked_for(cache: Path) -> None:
    keys = keys_of(cache, texts=False)
    assert keys.names == keys_of(cache).names
    assert [entry.device for entry in keys.devices] == ["unknown"]
    assert "code" not in dict(read_cache(cache, NOW, texts=False).counts)


@pytest.mark.parametrize("texts", [True, False], ids=["texts", "names"])
@pytest.mark.parametrize("left", [0, 1, 20], ids=["empty", "one byte", "twenty bytes"])
def test_a_truncated_entry_is_damaged(cache: Path, texts: bool, left: int) -> None:
    entry = graph_entry(cache, 0, code("cuda:0"))
    entry.write_bytes(entry.read_bytes()[:left])
    keys = keys_of(cache, texts=texts)
    assert keys.damaged == (f"fxgraph/{graph_key(0)}",)
    assert f"fxgraph/{graph_key(0)}" not in keys.names
    assert "1 keys without one whole entry" in " ".join(read_cache(cache, NOW, texts=texts).remarks)


def test_one_whole_entry_of_several_is_enough(cache: Path) -> None:
    graph_entry(cache, 0, b"\x80\x04cut", name="another")
    assert keys_of(cache).damaged == ()


def test_a_key_without_an_entry_is_none(cache: Path) -> None:
    (cache / "aotautograd" / autograd_key(7)).mkdir()
    assert f"aotautograd/{autograd_key(7)}" not in keys_of(cache).names


def test_foreign_names_are_ignored(cache: Path) -> None:
    before = keys_of(cache)
    put(cache / "fxgraph" / "zz" / graph_key(4) / "entry", code("cpu"))  # on the wrong shelf
    put(cache / "fxgraph" / "notes.txt", b"x")
    put(cache / "aotautograd" / "notes" / "x", b"x")
    put(cache / "aotautograd" / autograd_key(0) / ".1.2.tmp", b"half")
    put(cache / "triton" / "0" / "notes" / "x", b"x")
    put(cache / "triton" / "odd" / "x", b"x")
    assert keys_of(cache) == before
    assert any("4 folders that are no keys" in remark for remark in read_cache(cache, NOW).remarks)


class TestFaults:
    """The right answer for each."""

    def test_missing(self, tmp_path: Path) -> None:
        assert read_cache(tmp_path / "no", NOW).keys == Absent()

    def test_empty(self, tmp_path: Path) -> None:
        assert read_cache(tmp_path, NOW).keys == Absent()

    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        seen = read_cache(tmp_path / "file", NOW).keys
        assert isinstance(seen, Unobserved)
        assert "is no folder" in seen.reason

    def test_unreadable(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        refused = _refusing(monkeypatch, "listdir", cache, PermissionError(13, "Permission denied"))
        seen = read_cache(cache, NOW).keys
        assert refused
        assert isinstance(seen, Unobserved)
        assert "Permission denied" in seen.reason

    def test_unreadable_for_real(self, cache: Path) -> None:
        cache.chmod(0)
        try:
            if os.access(cache, os.R_OK):
                pytest.skip("this user reads everything")
            assert isinstance(read_cache(cache, NOW).keys, Unobserved)
        finally:
            cache.chmod(0o700)

    def test_an_unreadable_shelf(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        shelf = cache / "aotautograd"
        refused = _refusing(monkeypatch, "scandir", shelf, PermissionError(13, "Permission denied", str(shelf)))
        seen = read_cache(cache, NOW).keys
        assert refused
        assert isinstance(seen, Unobserved)
        assert "aotautograd" in seen.reason

    def test_a_stale_handle(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        key = cache / "aotautograd" / autograd_key(0)
        refused = _refusing(monkeypatch, "scandir", key, OSError(116, "Stale file handle", str(key)))
        seen = read_cache(cache, NOW)
        assert refused
        assert isinstance(seen.keys, Value)
        assert "1 entries that can't be read" in seen.remarks

    def test_an_entry_that_cant_be_opened(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object, **__: object) -> bytes:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(reading, "read_file", refuse)
        keys = keys_of(cache)
        assert len(keys.damaged) == 4

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
    def test_another_users(self, cache: Path) -> None:
        os.chown(cache, 65534, 65534)
        assert "it belongs to another user (uid 65534)" in read_cache(cache, NOW).remarks[0]

    def test_others_may_write(self, cache: Path) -> None:
        cache.chmod(0o777)
        assert any("others may write in it" in remark for remark in read_cache(cache, NOW).remarks)

    def test_more_names_than_are_looked_at(self, cache: Path) -> None:
        seen = read_cache(cache, NOW, limits=Limits(names=8))
        assert isinstance(seen.keys, Unobserved)
        assert "more than 8 names" in seen.keys.reason

    def test_more_other_names_than_are_looked_at(self, cache: Path) -> None:
        for number in range(100):
            put(cache / "ab" / f"{number}.py", b"")
        seen = read_cache(cache, NOW, limits=Limits(names=60))
        assert isinstance(seen.keys, Value)
        assert any("more than 60 names" in remark for remark in seen.remarks)

    def test_more_bytes_than_are_read(self, cache: Path) -> None:
        keys = keys_of(cache, limits=Limits(read=0))
        assert [entry.device for entry in keys.devices] == ["unknown"]
        assert len(keys.names) == 4

    def test_links_are_not_followed(self, cache: Path, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        graph_entry(outside, 8, code("cpu"))
        shelf = outside / "fxgraph" / graph_key(8)[1:3]
        (cache / "fxgraph" / graph_key(8)[1:3]).unlink(missing_ok=True)
        (cache / "fxgraph" / shelf.name).symlink_to(shelf)
        (cache / "aotautograd" / autograd_key(5)).mkdir()
        (cache / "aotautograd" / autograd_key(5) / "entry").symlink_to("/etc/passwd")
        seen = read_cache(cache, NOW)
        assert isinstance(seen.keys, Value)
        assert len(seen.keys.value.names) == 4
        assert "2 links in it, not followed" in seen.remarks

    def test_a_shelf_that_is_a_link(self, cache: Path, tmp_path: Path) -> None:
        (cache / "aotautograd").rename(tmp_path / "moved")
        (cache / "aotautograd").symlink_to(tmp_path / "moved")
        assert len(keys_of(cache).names) == 3
        assert any("links in it" in remark for remark in read_cache(cache, NOW).remarks)

    def test_the_folder_itself_may_be_a_link(self, cache: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(cache)
        assert keys_of(tmp_path / "link") == keys_of(cache)

    def test_a_pipe_is_not_opened(self, cache: Path) -> None:
        os.mkfifo(cache / "aotautograd" / autograd_key(0) / "pipe")
        assert len(keys_of(cache).names) == 4


class TestQuiet:
    """A cache that is being written is noticed."""

    def test_a_held_lock(self, cache: Path) -> None:
        lock = cache / "locks" / "x.lock"
        lock.write_text("")
        assert read_cache(cache, NOW).quiet
        with lock.open() as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            seen = read_cache(cache, NOW)
        assert not seen.quiet
        assert seen.remarks == ("it is being written: 1 of its locks held by a running process",)
        assert read_cache(cache, NOW).quiet

    def test_a_young_temporary_file(self, cache: Path) -> None:
        put(cache / "aotautograd" / autograd_key(0) / ".77.88.tmp", b"half")
        assert not read_cache(cache, time.time()).quiet
        later = read_cache(cache, NOW)
        assert later.quiet
        assert later.remarks == ("1 temporary files that a killed process left",)

    def test_a_folder_that_changes_meanwhile(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        real = read_entry
        fired: list[int] = []

        def write_meanwhile(content: bytes, **options: bool) -> entry_text.EntryText:
            if not fired:
                time.sleep(0.02)  # the clock of mtimes is coarse
                graph_entry(cache, 0, code("cpu"), name="second")
                fired.append(1)
            return real(content, **options)

        monkeypatch.setattr(entry_text, "read_entry", write_meanwhile)
        seen = read_cache(cache, NOW)
        assert fired
        assert not seen.quiet
        assert "changed while they were read" in seen.remarks[0]


class TestText:
    """An entry's opcodes are listed; nothing of it runs."""

    @pytest.mark.parametrize(
        ("content", "devices"),
        [
            (code("cuda:3"), {"cuda:3"}),
            (code("cpu"), {"cpu"}),
            ({"meta": "device(type='cuda', index=11)"}, {"cuda:11"}),
            ({"graph": 'def forward(self, x: "f32[2, 2][2, 1]cuda:5")'}, {"cuda:5"}),
            ({"code": b"get_raw_stream(4)"}, {"cuda:4"}),
            ({"code": code("cuda:2")["source_code"], "trace": "x = x.to('cuda:0')"}, {"cuda:2"}),
            ({"trace": "x = x.to('cuda:6')"}, {"cuda:6"}),
            ([code("cuda:0"), code("cuda:1")], {"cuda:0", "cuda:1"}),
            ([code("cuda:0"), code("cpu")], {"cuda:0"}),
            ({"text": "cudagraphs"}, set()),
            ([("cuda", 0), ("cuda", 300)], {"cuda:0", "cuda:300"}),
            ([("cuda", "x", 4)], set()),
        ],
        ids=[
            "guard and stream", "cpu", "device in text", "typed graph", "bytes", "source of somebody",
            "only source", "two devices", "with the cpu", "none", "pickled devices", "another integer",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("protocol", [0, 2, 4, 5])
    def test_devices(self, content: object, devices: set[str], protocol: int) -> None:
        seen = read_entry(pickle.dumps(content, protocol))
        assert seen.problem is None
        assert seen.devices == devices

    def test_a_torch_device_as_torch_pickles_it(self) -> None:
        """GLOBAL torch.device, the text and the index; the second time the text comes from the memo."""
        body = b"\x80\x04ctorch\ndevice\n\x94\x8c\x04cuda\x94K\x01\x86\x94R\x94h\x00h\x01K\x07\x86R\x86."
        assert read_entry(body).devices == {"cuda:1", "cuda:7"}

    def test_components_of_graphs(self) -> None:
        lines = [
            f"[{hashed('a')}] gm: GraphModule() and its code",
            f"[{hashed('b')}] cpp_runtime_thread_count: 2",
            f"[{hashed('c')}] inductor_config[max_autotune]: False",
            "[short] no: component",
            "something else",
        ]
        (graph,) = read_entry(pickle.dumps(autograd([4], lines), 4)).graphs
        assert graph.key == graph_key(4)
        assert {name: entry.hash for name, entry in graph.components.items()} == {
            "gm": hashed("a"),
            "cpp_runtime_thread_count": hashed("b"),
            "inductor_config[max_autotune]": hashed("c"),
        }
        assert graph.components["cpp_runtime_thread_count"].text == "2"
        assert graph.components["gm"].text is None
        assert read_entry(pickle.dumps(autograd([4], lines), 4), graphs=False).graphs == ()

    def test_a_hostile_entry_does_not_run(self, cache: Path, tmp_path: Path) -> None:
        canary = tmp_path / "canary"

        class Hostile:
            def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
                return os.system, (f"touch {canary}",)

        content = pickle.dumps(Hostile())
        entry = graph_entry(cache, 5, content)
        read_cache(cache, NOW)
        assert not canary.exists()
        subprocess.run(
            [sys.executable, "-c", f"import pickle; pickle.load(open({str(entry)!r}, 'rb'))"], check=True
        )
        assert canary.exists()  # it was armed

    @pytest.mark.parametrize(
        "content",
        [
            b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"x",
            b"\x80\x04\x8e" + struct.pack("<Q", (1 << 63) - 1) + b"x",
            b"\x80\x04\x96" + struct.pack("<Q", 1 << 40) + b"x",
            b"\x80\x04\x8b" + struct.pack("<i", (1 << 31) - 1) + b"x",
            b"\x80\x04\x8b" + struct.pack("<i", -5) + b"x",
            b"L" + b"9" * 100_000 + b"L\n.",
            b"I" + b"9" * 100_000 + b"\n.",
            b"V" + b"\\uD800" * 10_000 + b"\n.",
            b"S'unterminated\n.",
            b"\x80\x04\x95" + struct.pack("<Q", 1 << 60) + b".",
            b"\xff" * 1000,
            b"",
        ],
        ids=[
            "text of 4 EiB", "bytes of 8 EiB", "bytearray of 1 TiB", "long of 2 GiB", "negative long", "huge long",
            "huge integer", "lone surrogates", "unterminated", "huge frame", "no opcodes", "empty",
        ],
    )  # fmt: skip
    def test_hostile_bytes_are_told_within_little_memory(self, content: bytes) -> None:
        tracemalloc.start()
        try:
            seen = read_entry(content)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert seen.devices == frozenset()
        assert peak < 20 << 20

    def test_opcodes_are_capped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(entry_text, "MOST_OPCODES", 100)
        assert read_entry(b"(" * 200 + b".").problem == "it has more than 100 opcodes"

    def test_nesting_is_no_recursion(self) -> None:
        assert read_entry(b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".").problem is None

    def test_a_large_entry_is_not_read(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(entry_text, "LARGEST", 10)
        keys = keys_of(cache)
        assert [entry.device for entry in keys.devices] == ["unknown"]


def test_sections(cache: Path) -> None:
    where = Place(cache, "default")
    found, keys = cache_and_keys(where, {"HOME": str(cache.parent)}, texts=True)
    assert isinstance(found, Value)
    assert isinstance(keys, Value)
    assert found.value.folder == "~/cache"
    assert dict(found.value.entries)["triton"] == 2
    missing = cache_and_keys(Place(cache / "no", "default"), {}, texts=True)
    assert missing == (Absent(), Absent())
    capped, none = cache_and_keys(where, {}, texts=True, limits=Limits(names=1))
    assert isinstance(capped, Unobserved)
    assert isinstance(none, Unobserved)


def _refusing(monkeypatch: pytest.MonkeyPatch, name: str, place: Path, problem: OSError) -> list[int]:
    """Make one function of ``os`` fail for one folder; the answer grows when it did."""
    real = getattr(os, name)
    fired: list[int] = []

    def guarded(path: str | os.PathLike[str]) -> object:
        if os.fspath(path) == os.fspath(place):
            fired.append(1)
            raise problem
        return real(path)

    monkeypatch.setattr(os, name, guarded)
    return fired
