from __future__ import annotations

from pathlib import Path

import pytest

from envguard.adapters.environments import EnvironmentFolders
from envguard.errors import UsageError
from envguard.formats import marker
from envguard.operations.environments import list_environments, prune, rollback


@pytest.fixture
def folders(tmp_path: Path) -> EnvironmentFolders:
    return EnvironmentFolders(tmp_path / "envs")


def make(folders: EnvironmentFolders, name: str) -> Path:
    attempt = folders.begin(name, "0" * 64)
    attempt.environment.mkdir()
    return folders.finish(attempt, marker.dump(marker.Marker("0" * 64, {})))


def test_environments_are_listed_by_name(folders: EnvironmentFolders) -> None:
    made = {name: make(folders, name) for name in ("good", "other")}
    assert {entry.folder for entry in list_environments(name=None, environments=folders)} == set(made.values())
    assert [entry.name for entry in list_environments(name="good", environments=folders)] == ["good"]


@pytest.mark.parametrize("by", ["target", "name"])
def test_a_rollback_is_told_the_target_or_the_lock(folders: EnvironmentFolders, tmp_path: Path, by: str) -> None:
    target = tmp_path / ".venv" if by == "target" else folders.current("good")
    first, second = make(folders, "good"), make(folders, "good")
    folders.switch(first, target)
    folders.switch(second, target)
    switched = rollback(
        target=target if by == "target" else None,
        name="good" if by == "name" else None,
        environments=folders,
    )
    assert switched.environment == first


def test_a_rollback_of_nothing_is_refused(folders: EnvironmentFolders) -> None:
    with pytest.raises(UsageError, match="rollback of what"):
        rollback(target=None, name=None, environments=folders)


def test_prune_removes_what_nothing_needs(folders: EnvironmentFolders) -> None:
    folder = make(folders, "good")
    assert prune(name=None, environments=folders).removed == (folder,)
