from __future__ import annotations

import os
from pathlib import Path

import pytest

from envguard.adapters.project_folder import Folder
from envguard.errors import EnvguardError, SettingsInvalidError


def test_line_ends_are_read_and_written_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x\r\ny\n")
    folder = Folder(tmp_path)
    assert folder.read("a") == "x\r\ny\n"
    folder.write("b/c", "x\r\n")
    assert (tmp_path / "b" / "c").read_bytes() == b"x\r\n"


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert Folder(tmp_path).read("gone") is None
    assert Folder(tmp_path).read("file/below") is None
    assert not Folder(tmp_path).exists("gone")
    assert Folder(tmp_path).locks("lockfiles") == []


def test_what_can_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(b"\xff")
    for path in ("folder", "bytes"):
        with pytest.raises(SettingsInvalidError) as caught:
            Folder(tmp_path).read(path)
        assert caught.value.where == path


def test_mode_and_link_stay(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "link").symlink_to(real)
    Folder(tmp_path).write("link", "new")
    assert (tmp_path / "link").is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640


def test_what_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvguardError, match="could not be written"):
        Folder(tmp_path).write("file/below", "x")
    assert os.listdir(tmp_path) == ["file"]


def test_repository_and_locks(tmp_path: Path) -> None:
    assert not Folder(tmp_path).is_repository()
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    assert Folder(tmp_path).is_repository()
    (tmp_path / "lockfiles").mkdir()
    for name in ("b.toml", "a.toml", "c.txt"):
        (tmp_path / "lockfiles" / name).write_text("")
    assert Folder(tmp_path).locks("lockfiles") == ["lockfiles/a.toml", "lockfiles/b.toml"]
    assert Folder(tmp_path).name == tmp_path.name
