from __future__ import annotations

import os
from pathlib import Path

import pytest

from envguard.adapters.archive.archivist import Archivist
from envguard.adapters.archive.local_files import LocalFiles
from envguard.errors import StoreError
from tests.adapters.test_rebuilt_wheel import Place, content
from tests.fakes.limits import largest_file


def archivist(root: Path, uv_cache: Path | None = None) -> Archivist:
    local = LocalFiles(find_links=[], uv_cache=uv_cache, pip_cache=None)
    return Archivist(root / "data" / "staging", local, uv_cache)


def test_room_is_told_before_the_folder_is_there(tmp_path: Path) -> None:
    assert archivist(tmp_path).room() > 0
    assert not (tmp_path / "data").exists()


def test_the_folder_goes_again_unless_a_download_broke_off(tmp_path: Path) -> None:
    with archivist(tmp_path).staging() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
    with archivist(tmp_path).staging():
        (folder / "x.whl.part").write_bytes(b"half")
        (folder / "old").write_bytes(b"left by a killed one")
        os.utime(folder / "old", (1, 1))
    with archivist(tmp_path).staging():
        assert [path.name for path in folder.iterdir()] == ["x.whl.part"]


def test_shared_bytes_come_from_what_uv_unpacked(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.install(place.wheel(files={"shared/__init__.py": "ONE = 1\n"}))
    place.install(place.wheel("other", files={"shared/__init__.py": "OTHER = 1\n"}))
    for name, text in (("a", "else\n"), ("b", "ONE = 1\n")):
        file = tmp_path / "uv" / "archive-v0" / name / "shared" / "__init__.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    layout, found = place.look()
    made = archivist(tmp_path, tmp_path / "uv").rebuild(layout, found["demo"], tmp_path)
    assert content(made.path, "shared/__init__.py") == b"ONE = 1\n"


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.install(place.wheel(files={"demo.bin": b"0" * 3_000_000}))
    layout, found = place.look()
    with largest_file(100_000), pytest.raises(StoreError, match="could not write what is to be archived"):
        archivist(tmp_path).rebuild(layout, found["demo"], tmp_path)
    assert not list(tmp_path.glob("*.tmp"))
