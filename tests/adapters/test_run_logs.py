"""Run logs on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envguard.adapters import folders, run_logs
from envguard.errors import EnvguardError, UsageError
from tests.runlogs import document


def write(file: Path, **changes: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document(**changes)))
    return file


def ranks(path: Path) -> list[int | None]:
    return [log.rank for log in run_logs.read(path)]


def test_all_of_a_folder(tmp_path: Path) -> None:
    for rank in (0, 1):
        write(tmp_path / f"run.rank{rank}.{rank}.json", process__rank=rank)
    (tmp_path / "preflight.json").write_text("{}")
    assert ranks(tmp_path) == [0, 1]


def test_a_file_and_those_beside_it_that_its_children_wrote(tmp_path: Path) -> None:
    file = write(tmp_path / "r[1].json")
    write(tmp_path / "r[1].rank0.77.json", process__rank=0)
    write(tmp_path / "r1.rank1.78.json", process__rank=1)
    assert ranks(file) == [None, 0]


@pytest.mark.parametrize("name", ["missing.json", "empty"])
def test_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no run log"):
        run_logs.read(tmp_path / name)


def test_one_that_is_none_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "run.json", end__how="bored")
    with pytest.raises(UsageError, match="not a run log") as caught:
        run_logs.read(file)
    assert caught.value.where == f"{file} end.how"
    assert caught.value.exit_code == 2


def test_a_folder_instead_of_a_file_inside(tmp_path: Path) -> None:
    (tmp_path / "run.json").mkdir()
    with pytest.raises(UsageError, match="can't be read: Is a directory"):
        run_logs.read(tmp_path)


@pytest.mark.parametrize("lock", ["good-5t3d", "../../x", "", "." * 3, "a" * 300, "a/b"])
def test_a_new_folder_lies_below_the_state_folder_and_is_private(lock: str) -> None:
    folder = run_logs.new_folder(lock)
    assert folder.parent.parent == folders.state() / "runs"
    assert folder.is_dir() and folder.stat().st_mode & 0o777 == 0o700


def test_no_folder_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ENVGUARD_STATE_DIR", str(tmp_path / "file"))
    with pytest.raises(EnvguardError, match="no folder for the run's logs") as caught:
        run_logs.new_folder("good")
    assert caught.value.exit_code == 3


def test_what_a_preflight_found_is_kept_where_it_can_be(tmp_path: Path) -> None:
    run_logs.keep(tmp_path / "new", {"schema": "x"})
    assert json.loads((tmp_path / "new" / "preflight.json").read_text()) == {"schema": "x"}
    (tmp_path / "file").touch()
    run_logs.keep(tmp_path / "file", {})
