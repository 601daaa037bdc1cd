"""Folders walked: nothing is followed, nothing raises."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from envguard.adapters import tree
from envguard.adapters.tree import Unit


def walked(
    folder: Path, known: Callable[[str], bytes | None] = lambda _: None, **options: object
) -> dict[str, Unit]:
    with tree.opened(str(folder)) as root:
        return dict(tree.walk(root, known, **options))  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/b/c.txt", "a/__pycache__/m.pyc", "d/e.txt", "f.txt"):
        file = tmp_path / "tree" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    return tmp_path / "tree"


def test_every_folder_with_its_entries(folder: Path) -> None:
    found = walked(folder)
    assert set(found) == {"", "a", "a/b", "a/__pycache__", "d"}
    assert [entry[0] for entry in found[""].entries or ()] == ["a", "d", "f.txt"]
    seen = (folder / "f.txt").stat()
    assert (found[""].entries or ())[2] == (
        "f.txt",
        1,
        seen.st_mtime_ns,
        seen.st_ctime_ns,
        seen.st_ino,
        seen.st_mode,
    )
    assert found[""].latest == seen.st_ctime_ns


def test_known_folders_come_without_entries(folder: Path) -> None:
    before = walked(folder)
    (folder / "d/e.txt").write_bytes(b"yy")
    after = walked(folder, lambda path: before[path].digest)
    assert {path for path, unit in after.items() if unit.entries is not None} == {"d"}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda file: file.write_bytes(b"yy"), id="size"),
        pytest.param(lambda file: os.utime(file, (1, 1)), id="time"),
        pytest.param(lambda file: file.chmod(0o600), id="mode"),
        pytest.param(lambda file: os.link(file, f"{file}.2"), id="another name"),
        pytest.param(lambda file: file.rename(f"{file}.2"), id="renamed"),
        pytest.param(lambda file: file.unlink(), id="gone"),
    ],
)
def test_a_change_is_another_digest(folder: Path, change: Callable[[Path], object]) -> None:
    before = walked(folder)
    change(folder / "d/e.txt")
    after = walked(folder)
    assert {path for path in before if before[path].digest != after[path].digest} == {"d"}


def test_pycache_depends_on_the_folder_that_holds_it(folder: Path) -> None:
    before = walked(folder)
    (folder / "a/m.py").write_bytes(b"")
    after = walked(folder)
    assert {path for path in before if before[path].digest != after[path].digest} == {"a", "a/__pycache__"}
    assert after["a/__pycache__"].latest >= after["a"].latest


def test_links_are_entries_and_never_entered(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "a")
    (folder / "loop").symlink_to(folder)
    assert set(walked(folder)) == {"", "a", "a/b", "a/__pycache__", "d"}


def test_start_skip_and_depth(folder: Path) -> None:
    assert set(walked(folder, skip=frozenset({"a"}))) == {"", "d"}
    assert set(walked(folder, start=["a"])) == {"a", "a/b", "a/__pycache__"}
    assert set(walked(folder, start=["a"], deep=False)) == {"a"}


def test_a_start_that_is_no_folder(folder: Path) -> None:
    found = walked(folder, start=["f.txt", "none"])
    assert [unit.problem for unit in found.values()] == ["No such file or directory", "Not a directory"]


def test_a_folder_that_can_not_be_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, fired = os.scandir, []

    def scandir(handle: int) -> object:
        if os.readlink(f"/proc/self/fd/{handle}").endswith("/d"):
            fired.append(handle)
            raise OSError(5, "Input/output error")
        return real(handle)

    monkeypatch.setattr(os, "scandir", scandir)
    assert walked(folder)["d"].problem == "Input/output error"
    assert fired


def test_a_file_that_goes_while_it_is_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir

    class Slow:
        def __init__(self, handle: int) -> None:
            self._found = real(handle)

        def __enter__(self) -> list[os.DirEntry[str]]:
            entries = list(self._found)
            (folder / "d/e.txt").unlink()
            return entries

        def __exit__(self, *_: object) -> None:
            self._found.close()

    monkeypatch.setattr(os, "scandir", Slow)
    assert walked(folder, start=["d"])["d"].entries == ()


def test_deep_and_long_names(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    name = "n" * 200
    for _ in range(30):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    found = walked(tmp_path)
    assert 18 < len(found) < 25
    assert {unit.problem for unit in found.values()} == {None, "File name too long"}


def test_few_descriptors_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path
    for number in range(200):
        folder = folder / str(number % 10)
    folder.mkdir(parents=True)
    real, most = os.scandir, []

    def scandir(handle: int) -> object:
        most.append(handle)
        return real(handle)

    monkeypatch.setattr(os, "scandir", scandir)
    assert len(walked(tmp_path)) == 201
    assert max(most) - min(most) < 3


def test_listed(folder: Path) -> None:
    places = {"one": str(folder / "f.txt"), "two": str(folder / "none"), "three": "\0"}
    unit = tree.listed(places, None)
    assert [entry[0] for entry in unit.entries or ()] == ["one"]
    assert tree.listed(places, unit.digest).entries is None
    assert tree.listed({}, None).latest == 0
