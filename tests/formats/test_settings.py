"""The project's settings."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from envguard.adapters import project
from envguard.errors import LockInvalidError, SettingsInvalidError, UsageError
from envguard.formats.settings import Settings, read_settings
from envguard.model.policy import Ignore, Policy, stricter

WHOLE = b"""
[project]
name = "x"
[tool.envguard]
lock = "lockfiles/good.toml"
python = "envs/train"
later = 1
[tool.envguard.policy]
strict = true
allow-unknown = ["driver", "gpus"]
[[tool.envguard.policy.ignore]]
check = "files"
subject = "a/*.py"
by = "ann"
reason = "debugging"
until = 2027-01-01
"""


def test_everything() -> None:
    assert read_settings(WHOLE) == Settings(
        lock="lockfiles/good.toml",
        python="envs/train",
        policy=Policy(
            True, frozenset({"driver", "gpus"}), (Ignore("files", "a/*.py", "ann", "debugging", date(2027, 1, 1)),)
        ),
        unknown=("later",),
    )


def test_nothing() -> None:
    assert read_settings(b"[project]\nname = 'x'") == Settings()


def test_the_nearest_project_upwards_counts(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(WHOLE)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'no settings of ours'")
    assert project.settings(below)[0] == tmp_path


@pytest.mark.parametrize(
    "text",
    [
        '[tool]\nenvguard = {lock = "x.toml"}',
        '[tool]\nenvguard.lock = "x.toml"',
        '[tool.envguard]\nlock = "x.toml"',
    ],
    ids=["inline table", "dotted key", "table"],
)
def test_every_spelling_counts(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert project.settings(tmp_path)[1].lock == "x.toml"


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"[tool.envguard]\nlock = 3\n", "pyproject.toml:2 tool.envguard.lock"),
        (b"[tool.envguard]\nlock = \n", "pyproject.toml:2"),
        (
            b"[tool.envguard.policy]\nallow-unknown = 'driver'\n",
            "pyproject.toml:2 tool.envguard.policy.allow-unknown",
        ),
    ],
    ids=["type", "syntax", "list"],
)
def test_bad_settings_name_file_line_and_key(tmp_path: Path, content: bytes, where: str) -> None:
    (tmp_path / "pyproject.toml").write_bytes(content)
    with pytest.raises(SettingsInvalidError) as caught:
        project.settings(tmp_path)
    assert (caught.value.where or "").endswith(where)


class TestFindLock:
    """Named, configured, or the only one."""

    def test_named(self, tmp_path: Path) -> None:
        assert project.find_lock(Path("x.toml"), tmp_path, Settings(lock="y.toml")) == Path("x.toml")

    def test_configured(self, tmp_path: Path) -> None:
        assert project.find_lock(None, tmp_path, Settings(lock="y.toml")) == tmp_path / "y.toml"

    def test_the_only_one(self, tmp_path: Path) -> None:
        (tmp_path / "lockfiles").mkdir()
        with pytest.raises(UsageError, match="none in lockfiles"):
            project.find_lock(None, tmp_path, Settings())
        (tmp_path / "lockfiles" / "a.toml").touch()
        assert project.find_lock(None, tmp_path, Settings()).name == "a.toml"
        (tmp_path / "lockfiles" / "b.toml").touch()
        with pytest.raises(UsageError, match=r"holds 2: a\.toml, b\.toml"):
            project.find_lock(None, tmp_path, Settings())


class TestLoadLock:
    """A file that can't be a lock."""

    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(LockInvalidError, match="no such lock file"):
            project.load_lock(tmp_path / "x.toml")

    def test_folder(self, tmp_path: Path) -> None:
        with pytest.raises(LockInvalidError, match="a folder"):
            project.load_lock(tmp_path)

    def test_larger_than_8_mib_is_not_read_whole(self, tmp_path: Path) -> None:
        file = tmp_path / "x.toml"
        with file.open("wb") as stream:
            stream.truncate(9 * 1024**3)
        with pytest.raises(LockInvalidError, match=r"9216\.0 MiB, more than the 8 MiB allowed"):
            project.load_lock(file)


def test_where_project_and_lock_both_speak_the_stricter_wins() -> None:
    ignore = Ignore("files", "a", "x", "y")
    project_policy = Policy(False, frozenset({"driver", "gpus"}))
    assert stricter(project_policy, Policy(True, frozenset({"driver"}), (ignore,))) == Policy(
        True, frozenset({"driver"}), (ignore,)
    )
    assert stricter(project_policy, Policy()).allow_unknown == {"driver", "gpus"}
