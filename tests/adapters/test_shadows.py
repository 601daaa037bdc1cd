from __future__ import annotations

import sys
from pathlib import Path

import pytest

from envguard.adapters.shadows import shadows
from envguard.model.target import PathEntry
from tests.adapters.small import Small


def found(small: Small, *path: PathEntry, working_folder: Path | None = None) -> set[tuple[str, str, str]]:
    layout = small.layout(*path)
    return {
        (one.module, one.distribution, one.place)
        for one in shadows(layout, small.look().distributions, working_folder)
    }


def put(folder: Path, name: str) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"")


@pytest.mark.parametrize("place", ["PYTHONPATH", "user site", ".pth", "standard library"])
@pytest.mark.parametrize(
    "name", ["toy.py", "toy/__init__.py", "toy.cpython-311-x86_64-linux-gnu.so", "toy.abi3.so", "toy.pyc"]
)
def test_of_an_earlier_folder(small: Small, tmp_path: Path, place: str, name: str) -> None:
    put(tmp_path / "first", name)
    assert found(small, PathEntry(tmp_path / "first", place)) == {("toy", "toy", place)}


def test_its_path_is_told(small: Small, tmp_path: Path) -> None:
    put(tmp_path, "toy.py")
    layout = small.layout(PathEntry(tmp_path, "PYTHONPATH"))
    assert shadows(layout, small.look().distributions, None)[0].path == str(tmp_path / "toy.py")


def test_every_owner_of_a_module(small: Small, tmp_path: Path) -> None:
    put(tmp_path, "common.py")
    assert found(small, PathEntry(tmp_path, "PYTHONPATH")) == {
        ("common", "left", "PYTHONPATH"),
        ("common", "right", "PYTHONPATH"),
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("toy/other.py", id="a folder without __init__ gives way"),
        pytest.param("toy.txt", id="no module"),
        pytest.param("other.py", id="another module"),
        pytest.param("toy-1.0/__init__.py", id="no module's name"),
    ],
)
def test_nothing_hides(small: Small, tmp_path: Path, name: str) -> None:
    put(tmp_path / "first", name)
    assert found(small, PathEntry(tmp_path / "first", "PYTHONPATH")) == set()


def test_a_later_folder_hides_nothing(small: Small, tmp_path: Path) -> None:
    put(tmp_path / "later", "toy.py")
    layout = small.layout(path=(PathEntry(small.site, "site-packages"), PathEntry(tmp_path / "later", ".pth")))
    assert shadows(layout, small.look().distributions, None) == ()


def test_working_folder(small: Small, tmp_path: Path) -> None:
    put(tmp_path / "work", "single.py")
    assert found(small, working_folder=tmp_path / "work") == {("single", "toy", "working folder")}


def test_working_folder_that_is_on_the_path_already(small: Small, tmp_path: Path) -> None:
    put(tmp_path / "work", "single.py")
    entry = PathEntry(tmp_path / "work", "PYTHONPATH")
    assert found(small, entry, working_folder=tmp_path / "work") == {("single", "toy", "PYTHONPATH")}


@pytest.mark.parametrize("name", ["none", "file"])
def test_folders_that_can_not_be_listed(small: Small, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert found(small, PathEntry(tmp_path / name, "PYTHONPATH"), working_folder=tmp_path / name) == set()


def test_the_standard_library_of_this_python_hides_nothing(small: Small) -> None:
    folders = [PathEntry(Path(entry), "standard library") for entry in sys.path if "site-packages" not in entry]
    assert found(small, *folders[1:]) == set()
