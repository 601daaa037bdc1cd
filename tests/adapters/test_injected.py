"""The guard's own start-up file is known again by its bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from envguard.adapters import injected


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The runtime as another install would have it."""
    shutil.copytree(injected.folder().parent, tmp_path / "runtime", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "runtime"


def test_the_folder_holds_the_start_up_file_and_nothing_else() -> None:
    assert [path.name for path in injected.folder().iterdir() if path.name != "__pycache__"] == [injected.FILE]


def test_a_copy_is_ours(copy: Path) -> None:
    assert injected.is_ours(injected.folder() / injected.FILE)
    assert injected.is_ours(copy / "site" / injected.FILE)


@pytest.mark.parametrize("file", ["site/sitecustomize.py", "hook.py", "more.py"])
def test_a_changed_one_is_not(copy: Path, file: str) -> None:
    with (copy / file).open("a") as stream:
        stream.write("# changed\n")

    assert not injected.is_ours(copy / "site" / injected.FILE)


def test_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("")

    assert not injected.is_ours(tmp_path / "sitecustomize.py")
    assert not injected.is_ours(tmp_path / "usercustomize.py")
    assert not injected.is_ours(tmp_path / "nowhere" / "x" / "sitecustomize.py")
