from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from envguard.adapters import hashing
from envguard.adapters.hashing import SHA256, LargeFiles, Wanted, open_file, read_file, see
from envguard.planning.held import Seen

BOTH = frozenset({"sha256", "md5"})


def wanted(file: Path, algorithms: frozenset[str] = SHA256) -> Wanted:
    return Wanted(str(file), file.lstat().st_size if file.exists() else 0, algorithms)


def sha256(content: bytes) -> Seen:
    return Seen({"sha256": hashlib.sha256(content).hexdigest()})


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 2000, 2500], ids=str)
@pytest.mark.parametrize("algorithms", [SHA256, BOTH], ids=["sha256", "both"])
def test_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, algorithms: frozenset[str]) -> None:
    """Whatever the size is to the pieces that are read."""
    monkeypatch.setattr(hashing, "LARGE", 1000)
    content = os.urandom(size)
    (tmp_path / "x").write_bytes(content)
    assert see(wanted(tmp_path / "x", algorithms)).digests == {
        name: hashlib.new(name, content).hexdigest() for name in algorithms
    }


def test_a_file_that_grew_since_it_was_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "LARGE", 1000)
    (tmp_path / "x").write_bytes(b"x" * 5000)
    assert see(Wanted(str(tmp_path / "x"), 10, SHA256)) == sha256(b"x" * 5000)


def test_relative_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    assert see(Wanted("x", 1, SHA256, str(tmp_path))) == sha256(b"x")
    root = os.open(tmp_path, os.O_RDONLY)
    try:
        assert see(Wanted("x", 1, SHA256, root)) == sha256(b"x")
    finally:
        os.close(root)


def test_a_link_is_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    (tmp_path / "link").symlink_to("x")
    assert see(wanted(tmp_path / "link")) == sha256(b"link to x")
    claimed = see(wanted(tmp_path / "link")._replace(claimed=True))
    assert (claimed.digests, claimed.behind) == (sha256(b"link to x").digests, sha256(b"x").digests)
    (tmp_path / "x").unlink()
    assert see(wanted(tmp_path / "link")._replace(claimed=True)).behind == {}


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file(tmp_path: Path, make: object) -> None:
    make(tmp_path / "x")  # type: ignore[operator]
    assert see(wanted(tmp_path / "x")).problem == "something that is no file"
    with pytest.raises(OSError, match="no file"):
        open_file(str(tmp_path / "x"))


def test_what_is_not_there(tmp_path: Path) -> None:
    assert see(wanted(tmp_path / "x")).problem == "No such file or directory"


@pytest.mark.parametrize("size", [5000, 10])
def test_an_error_while_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    fired = []

    def fail(*_: object, **__: object) -> bytes:
        fired.append(1)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(hashing, "LARGE", 1000)
    monkeypatch.setattr(os, "read", fail)
    monkeypatch.setattr(os, "fdopen", fail)
    (tmp_path / "x").write_bytes(b"x" * size)
    before = set(os.listdir("/proc/self/fd"))
    assert see(wanted(tmp_path / "x")) == Seen({}, "Input/output error")
    assert set(os.listdir("/proc/self/fd")) == before
    assert fired


@pytest.mark.parametrize("count", [1, 2, 8], ids=lambda count: f"{count} processors")
def test_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    files = [tmp_path / str(number) for number in range(5)]
    for number, file in enumerate(files):
        file.write_bytes(bytes([number]) * 100)
    (tmp_path / "other").write_bytes(b"other")
    with LargeFiles(map(wanted, files)) as large:
        assert [large.see(wanted(file)) for file in files] == [
            sha256(bytes([number]) * 100) for number in range(5)
        ]
        assert large.see(wanted(tmp_path / "other")) == sha256(b"other")


def test_large_files_of_a_look_that_ends_early(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    with pytest.raises(KeyboardInterrupt), LargeFiles([wanted(tmp_path / "x")]):
        raise KeyboardInterrupt


class TestReadFile:
    @pytest.mark.parametrize("size", [0, 9, 10])
    def test_up_to_a_cap(self, tmp_path: Path, size: int) -> None:
        (tmp_path / "x").write_bytes(b"x" * size)
        assert read_file(str(tmp_path / "x"), cap=10) == b"x" * size

    def test_above_it(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"x" * 11)
        with pytest.raises(OSError, match="more than 10 bytes"):
            read_file(str(tmp_path / "x"), cap=10)

    def test_in_pieces(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hashing, "LARGE", 4)
        content = b"0123456789ab"
        (tmp_path / "x").write_bytes(content)
        assert read_file(str(tmp_path / "x"), cap=100) == content
        assert read_file(str(tmp_path / "x"), cap=12) == content
        with pytest.raises(OSError, match="more than 11 bytes"):
            read_file(str(tmp_path / "x"), cap=11)

    def test_no_link_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "x").symlink_to("/etc/hostname")
        with pytest.raises(OSError, match="it is a symbolic link"):
            read_file(str(tmp_path / "x"), cap=10)

    def test_where_a_link_will_do_it_leads_to_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"bytes")
        os.mkfifo(tmp_path / "pipe")
        for name in ("file", "pipe", "nowhere"):
            (tmp_path / f"to-{name}").symlink_to(name)
        assert read_file(str(tmp_path / "to-file"), cap=10, follow=True) == b"bytes"
        for name in ("pipe", "nowhere"):
            with pytest.raises(OSError):
                read_file(str(tmp_path / f"to-{name}"), cap=10, follow=True)
