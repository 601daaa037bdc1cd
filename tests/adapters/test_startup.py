from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from envguard.adapters import startup
from envguard.adapters.startup import outside_startup
from envguard.model.digest import Digest
from envguard.model.facts import FileFact, FileKind
from envguard.model.target import PathEntry
from tests.adapters.small import Small


def put(folder: Path, name: str, content: bytes = b"import evil\n") -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def paths(small: Small, *entries: PathEntry) -> set[str]:
    return {fact.path for fact in outside_startup(small.layout(*entries))}


@pytest.mark.parametrize("place", ["PYTHONPATH", "user site", ".pth", "standard library"])
@pytest.mark.parametrize("name", ["sitecustomize.py", "usercustomize.py", "sitecustomize/__init__.py"])
def test_on_the_path(small: Small, tmp_path: Path, place: str, name: str) -> None:
    put(tmp_path, name)
    assert outside_startup(small.layout(PathEntry(tmp_path, place))) == (
        FileFact(f"{place}/{name}", FileKind.STARTUP, "path", sha256=Digest.of(b"import evil\n")),
    )


def test_pth_files_run_from_the_user_site_only(small: Small, tmp_path: Path) -> None:
    put(tmp_path, "x.pth")
    assert paths(small, PathEntry(tmp_path, "user site")) == {"user site/x.pth"}
    assert paths(small, PathEntry(tmp_path, "PYTHONPATH")) == set()


def test_libraries_are_told_elsewhere(small: Small, tmp_path: Path) -> None:
    put(tmp_path, "sitecustomize.py")
    assert paths(small, PathEntry(tmp_path, "site-packages")) == set()


def test_the_first_of_a_name_runs(small: Small, tmp_path: Path) -> None:
    put(tmp_path / "a", "sitecustomize.py", b"first")
    put(tmp_path / "b", "sitecustomize.py", b"second")
    entries = (PathEntry(tmp_path / "a", "PYTHONPATH"), PathEntry(tmp_path / "b", "PYTHONPATH"))
    assert [fact.sha256 for fact in outside_startup(small.layout(*entries))] == [Digest.of(b"first")]


def test_unreadable(small: Small, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").mkdir()
    fact = outside_startup(small.layout(PathEntry(tmp_path, "PYTHONPATH")))[0]
    assert (fact.kind, fact.detail) == (FileKind.UNREADABLE, "something that is no file")


def test_what_run_puts_there_is_not_told(small: Small, tmp_path: Path) -> None:
    shutil.copy(startup._GUARD, tmp_path / "sitecustomize.py")
    put(tmp_path / "next", "sitecustomize.py", b"next")
    entries = (PathEntry(tmp_path, "PYTHONPATH"), PathEntry(tmp_path / "next", "PYTHONPATH"))
    assert [fact.sha256 for fact in outside_startup(small.layout(*entries))] == [Digest.of(b"next")]
    with (tmp_path / "sitecustomize.py").open("ab") as file:
        file.write(b"#")
    assert len(outside_startup(small.layout(*entries))) == 1
    assert outside_startup(small.layout(*entries))[0].sha256 != Digest.of(b"next")


def test_nothing(small: Small, tmp_path: Path) -> None:
    put(tmp_path, "module.py")
    entries = (PathEntry(tmp_path, "PYTHONPATH"), PathEntry(tmp_path / "none", "user site"))
    assert paths(small, *entries) == set()
