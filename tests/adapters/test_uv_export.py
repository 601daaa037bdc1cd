"""uv.lock is read by uv, from a real project."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest
import uv

from envguard.adapters import uv_export
from envguard.errors import LockInvalidError

PROJECT = """\
[project]
name = "demo"
version = "0.1"
requires-python = ">=3.11"
dependencies = ["mine"]
[tool.uv.sources]
mine = { path = "mine" }
"""
MINE = '[project]\nname = "mine"\nversion = "1.5"\nrequires-python = ">=3.11"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "pyproject.toml").write_text(MINE)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    command = [uv.find_uv_bin(), "lock", "--offline", "--no-config", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path


def test_it_is_exported_and_nothing_is_written(project: Path) -> None:
    before = sorted(project.rglob("*"))
    document = tomllib.loads(uv_export.export(project / "uv.lock").decode())
    assert [entry["name"] for entry in document["packages"]] == ["mine"]
    assert sorted(project.rglob("*")) == before


def test_a_damaged_one_is_uvs_word(project: Path) -> None:
    (project / "uv.lock").write_text("nonsense")
    with pytest.raises(LockInvalidError, match="uv can't read it"):
        uv_export.export(project / "uv.lock")


def test_without_the_project(project: Path) -> None:
    (project / "pyproject.toml").unlink()
    with pytest.raises(LockInvalidError, match=r"no pyproject\.toml beside it"):
        uv_export.export(project / "uv.lock")
