from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envguard.adapters import targets
from envguard.adapters.exchange import ExchangeUnsupportedError
from envguard.adapters.targets import TargetBook
from envguard.errors import InstallFailedError, InUseError, StoreError, UsageError


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    folder = tmp_path / "environment"
    folder.mkdir()
    return folder


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """A target that is a real environment's folder."""
    folder = tmp_path / ".venv"
    folder.mkdir()
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return folder


def refuse(*_: object) -> None:
    raise ExchangeUnsupportedError


def fail(*_: object) -> None:
    raise OSError(errno.EIO, "Input/output error")


def test_a_link_is_made_where_nothing_is_and_changed_where_one_is(tmp_path: Path, environment: Path) -> None:
    target = tmp_path / "current"
    for folder in (tmp_path, environment):
        targets.link(target, folder)
        assert target.readlink() == folder
    assert sorted(os.listdir(tmp_path)) == ["current", "environment"]


def test_a_link_that_can_not_be_put_in_place_leaves_nothing(real: Path, environment: Path) -> None:
    with pytest.raises(InstallFailedError, match="could not be switched"):
        targets.link(real, environment)
    assert sorted(os.listdir(real.parent)) == [".venv", "environment"]


@pytest.mark.parametrize("supported", [True, False], ids=["exchange", "two-renames"])
def test_a_folder_and_a_link_are_swapped_and_swapped_back(
    real: Path, environment: Path, monkeypatch: pytest.MonkeyPatch, supported: bool
) -> None:
    if not supported:
        monkeypatch.setattr(targets, "exchange", refuse)
    aside = targets.aside_of(real)
    notes = targets.swap(real, aside, environment)
    assert real.readlink() == environment
    assert (aside / "pyvenv.cfg").exists()
    assert targets.is_aside(real, aside)
    assert bool(notes) is not supported
    targets.swap_back(real, aside)
    assert (real / "pyvenv.cfg").exists()
    assert not real.is_symlink()
    assert sorted(os.listdir(real.parent)) == [".venv", "environment"]


def test_a_swap_that_fails_changes_nothing(real: Path, environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "exchange", fail)
    with pytest.raises(InstallFailedError, match="Input/output error"):
        targets.swap(real, targets.aside_of(real), environment)
    assert (real / "pyvenv.cfg").exists()
    assert sorted(os.listdir(real.parent)) == [".venv", "environment"]
    with pytest.raises(InstallFailedError, match="Input/output error"):
        targets.swap_back(real, environment)


@pytest.mark.parametrize("which", ["first", "second"])
def test_two_renames_of_which_one_fails_change_nothing(
    real: Path, environment: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    monkeypatch.setattr(targets, "exchange", refuse)
    if which == "first":
        monkeypatch.setattr(Path, "rename", fail)
    else:
        monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InstallFailedError, match="Input/output error"):
        targets.swap(real, targets.aside_of(real), environment)
    assert (real / "pyvenv.cfg").exists()
    assert sorted(os.listdir(real.parent)) == [".venv", "environment"]


def test_a_swap_back_by_renames_that_fails_puts_the_link_back(
    real: Path, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = targets.aside_of(real)
    targets.swap(real, aside, environment)
    monkeypatch.setattr(targets, "exchange", refuse)
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(InstallFailedError, match="Input/output error"):
        targets.swap_back(real, aside)
    assert real.readlink() == environment


def test_a_folder_is_kept_under_a_free_name_and_links_of_killed_switches_go(real: Path, environment: Path) -> None:
    first = targets.aside_of(real)
    assert first.name == ".venv.before-1"
    first.mkdir()
    second = targets.aside_of(real)
    assert second.name == ".venv.before-2"
    second.symlink_to(environment)
    assert targets.aside_of(real) == second
    assert not second.is_symlink()


def test_a_target_has_one_name_whatever_way_it_is_reached(tmp_path: Path, environment: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "project")
    target = tmp_path / "project" / ".venv"
    target.symlink_to(environment)
    assert targets.absolute(tmp_path / "way" / "x" / ".." / ".venv") == target.parent.resolve() / ".venv"


def test_where_targets_lead(tmp_path: Path, environment: Path, real: Path) -> None:
    link = tmp_path / "link"
    assert targets.led_to(link) is None
    link.symlink_to(environment)
    assert targets.led_to(link) == environment.resolve()
    assert targets.led_to(real) == real


def test_targets_that_can_be_switched(tmp_path: Path, environment: Path, real: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "empty").mkdir()
    for target in (real, tmp_path / "dangling", tmp_path / "empty", tmp_path / "new" / "folders" / ".venv"):
        targets.check(target)


@pytest.mark.parametrize("kind", ["file", "project", "mount", "below-a-file"])
def test_targets_that_can_not(tmp_path: Path, real: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    target, words = {
        "file": (tmp_path / "file", "is a file"),
        "project": (tmp_path / "project", "something other than an environment"),
        "mount": (real, "is a mount point"),
        "below-a-file": (tmp_path / "file" / ".venv", "can't be made there"),
    }[kind]
    (tmp_path / "file").touch()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").touch()
    if kind == "mount":
        monkeypatch.setattr(os.path, "ismount", lambda path: True)
    with pytest.raises(UsageError) as raised:
        targets.check(target)
    assert words in raised.value.message
    assert raised.value.where == str(target)


def test_the_book_remembers(tmp_path: Path) -> None:
    book = TargetBook(tmp_path, 1.0)
    assert book.read() == {}
    histories = {tmp_path / ".venv": (tmp_path / "a", tmp_path / "b"), tmp_path / "x": ()}
    book.write(histories)
    assert TargetBook(tmp_path, 1.0).read() == histories


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"rubbish",
        b"{}",
        b"[]",
        b'{"schema": 2, "targets": {}}',
        b'{"schema": 1, "targets": {"/x": [1]}}',
        b"\xff",
    ],
    ids=["empty", "rubbish", "bare", "list", "schema", "entry", "bytes"],
)
def test_a_damaged_book_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".targets.json").write_bytes(content)
    with pytest.raises(StoreError) as raised:
        TargetBook(tmp_path, 1.0).read()
    assert raised.value.where == str(tmp_path / ".targets.json")


HOLDER = """
import sys
from pathlib import Path
from envguard.adapters.targets import held
with held(Path(sys.argv[1]), 1.0, "x"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_what_another_process_holds_is_waited_for_and_then_told(tmp_path: Path) -> None:
    lock = tmp_path / "new" / "folder" / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"held\n"
        with (
            pytest.raises(InUseError, match="somebody restores") as raised,
            targets.held(lock, 0.1, "somebody restores"),
        ):
            pass
        assert raised.value.where == str(lock)
        other.stdin.close()
        with targets.held(lock, 10.0, "somebody restores"):
            pass


def test_what_a_killed_process_held_is_free(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        other.kill()
    with targets.held(lock, 1.0, "somebody restores"):
        pass


@pytest.mark.parametrize(
    "error", [NotImplementedError(), OSError(errno.ENOLCK, "no locks")], ids=["enosys", "enolck"]
)
def test_a_file_system_without_locks_is_used_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    asked = []

    def acquire(*_: object, **__: object) -> None:
        asked.append(1)
        raise error

    monkeypatch.setattr("filelock.FileLock.acquire", acquire)
    with targets.held(tmp_path / "lock", 0.1, "somebody restores"):
        assert asked == [1]
