from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from envguard.adapters import environments as module
from envguard.adapters.environments import EnvironmentFolders
from envguard.errors import InstallFailedError, InUseError, StoreError, UsageError
from envguard.formats import marker as markers
from envguard.formats.marker import Marker

LOCK = "0123456789abcdef" * 4
MARKER = markers.dump(Marker(LOCK, {}))
READY = "import sys; print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def folders(tmp_path: Path) -> EnvironmentFolders:
    return EnvironmentFolders(tmp_path / "envs", wait=0.5)


def make(folders: EnvironmentFolders, name: str = "good", lock: str = LOCK) -> Path:
    """A finished environment, small."""
    attempt = folders.begin(name, lock)
    (attempt.environment / "bin").mkdir(parents=True)
    (attempt.environment / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    (attempt.environment / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return folders.finish(attempt, MARKER)


@contextmanager
def running(environment: Path) -> Iterator[int]:
    command = [str(environment / "bin" / "python"), "-c", READY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        yield child.pid
        assert child.stdin is not None
        child.stdin.close()


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_an_attempt_becomes_an_environment_by_its_last_step(folders: EnvironmentFolders, tmp_path: Path) -> None:
    attempt = folders.begin("good", LOCK)
    assert attempt.folder.is_dir()
    assert not attempt.environment.exists()
    assert attempt.environment.parent == attempt.folder
    attempt.environment.mkdir()
    (attempt.folder / "rest").touch()
    final = folders.finish(attempt, MARKER)
    assert final == attempt.final == tmp_path / "envs" / "good" / "0123456789ab-1"
    assert (final / markers.FILENAME).read_bytes() == MARKER
    assert names(final.parent) == ["0123456789ab-1"]


def test_each_environment_has_a_name_of_its_own(folders: EnvironmentFolders) -> None:
    first, second = make(folders), make(folders)
    shutil.rmtree(first)
    third = make(folders)
    other = make(folders, lock="f" * 64)
    assert [path.name for path in (first, second, third, other)] == [
        "0123456789ab-1",
        "0123456789ab-2",
        "0123456789ab-3",
        "ffffffffffff-1",
    ]


def test_without_locks_two_that_chose_one_name_both_stay(folders: EnvironmentFolders) -> None:
    attempt = folders.begin("good", LOCK)
    attempt.environment.mkdir()
    attempt.final.mkdir()
    assert folders.finish(attempt, MARKER).name == "0123456789ab-2"


def test_the_data_folder_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    folders = EnvironmentFolders(tmp_path / "data" / "envs")
    environment, target = make(folders), tmp_path / ".venv"
    folders.switch(environment, target)
    assert [entry.targets for entry in folders.restored()] == [(target,)]
    assert folders.prune().removed == ()


def test_leftovers_of_killed_attempts_go_at_the_next(folders: EnvironmentFolders, tmp_path: Path) -> None:
    killed = folders.begin("good", LOCK)
    (killed.folder / "environment" / "lib").mkdir(parents=True)
    (killed.folder.parent / ".removed-1").mkdir()
    attempt = folders.begin("good", LOCK)
    assert names(tmp_path / "envs" / "good") == [attempt.folder.name]


def test_a_leftover_that_a_process_still_uses_stays(folders: EnvironmentFolders) -> None:
    killed = folders.begin("good", LOCK)
    with subprocess.Popen([sys.executable, "-c", READY, f"{killed.folder}/x"], stdin=subprocess.PIPE) as child:
        while not folders.occupants(killed.folder):
            time.sleep(0.01)
        folders.begin("good", LOCK)
        assert killed.folder.exists()
        child.kill()
    folders.begin("good", LOCK)
    assert not killed.folder.exists()


def test_a_discarded_attempt_leaves_nothing(folders: EnvironmentFolders, tmp_path: Path) -> None:
    folders.discard(folders.begin("good", LOCK))
    assert names(tmp_path / "envs" / "good") == []


def test_fetched_wheels_outlive_an_attempt(folders: EnvironmentFolders) -> None:
    (folders.wheels("good") / "a.whl").touch()
    folders.discard(folders.begin("good", LOCK))
    assert names(folders.wheels("good")) == ["a.whl"]
    folders.forget_wheels("good")
    assert names(folders.wheels("good")) == []


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".hidden", "a\nb", "x" * 101, "-x"])
def test_a_name_that_no_folder_can_have_is_refused(folders: EnvironmentFolders, name: str) -> None:
    with pytest.raises(UsageError):
        folders.begin(name, LOCK)


def test_room_is_that_of_the_disk_it_will_be_on(folders: EnvironmentFolders, tmp_path: Path) -> None:
    room = folders.room()
    assert not (tmp_path / "envs").exists()
    assert 0 < room.size <= shutil.disk_usage(tmp_path).free * 2
    assert room.files is None or room.files > 0


def test_a_file_system_without_a_number_of_inodes(
    folders: EnvironmentFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Seen:
        f_bavail, f_frsize, f_favail, f_files = 3, 4096, 0, 0

    monkeypatch.setattr(os, "statvfs", lambda path: Seen())
    assert (folders.room().size, folders.room().files) == (3 * 4096, None)


def test_files_are_put_and_dropped(folders: EnvironmentFolders, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    environment.mkdir()
    shared = tmp_path / "shared"
    shared.write_bytes(b"another's")
    path = environment / "lib" / "x.py"
    path.parent.mkdir()
    os.link(shared, path)
    folders.put(environment, path, b"own", 0o755)
    assert (path.read_bytes(), path.stat().st_mode & 0o777, shared.read_bytes()) == (b"own", 0o755, b"another's")
    folders.drop(environment, path)
    folders.drop(environment, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("before", "executable", "after"),
    [(0o644, True, 0o755), (0o755, False, 0o644), (0o744, True, 0o744), (0o600, False, 0o600)],
    ids=["gained", "lost", "had", "had-none"],
)
def test_exec_bits_are_given_and_taken(
    folders: EnvironmentFolders, tmp_path: Path, before: int, executable: bool, after: int
) -> None:
    path = tmp_path / "script"
    path.touch()
    path.chmod(before)
    folders.make_executable(tmp_path, path, executable=executable)
    assert path.stat().st_mode & 0o777 == after
    folders.make_executable(tmp_path, tmp_path / "none", executable=executable)
    (tmp_path / "link").symlink_to(path)
    folders.make_executable(tmp_path, tmp_path / "link", executable=not executable)
    assert path.stat().st_mode & 0o777 == after


@pytest.mark.parametrize("kind", ["dots", "outside", "link"])
def test_a_file_can_not_lead_out_of_its_environment(
    folders: EnvironmentFolders, tmp_path: Path, kind: str
) -> None:
    environment, outside = tmp_path / "environment", tmp_path / "outside"
    environment.mkdir()
    outside.mkdir()
    (environment / "link").symlink_to(outside)
    path = {
        "dots": environment / "x" / ".." / ".." / "outside" / "file",
        "outside": outside / "file",
        "link": environment / "link" / "file",
    }[kind]
    with pytest.raises(InstallFailedError, match="lies outside"):
        folders.put(environment, path, b"x", 0o644)
    with pytest.raises(InstallFailedError, match="lies outside"):
        folders.drop(environment, path)
    with pytest.raises(InstallFailedError, match="lies outside"):
        folders.make_executable(environment, path, executable=True)
    assert names(outside) == []


def test_a_target_leads_where_it_was_switched_to(folders: EnvironmentFolders, tmp_path: Path) -> None:
    first, second = make(folders), make(folders)
    target = tmp_path / "project" / ".venv"
    switched = folders.switch(first, target)
    assert (switched.target, switched.environment, switched.previous) == (target, first, None)
    assert folders.switch(second, target).previous == first
    assert target.readlink() == second
    assert [entry.targets for entry in folders.restored()] == [(), (target,)]


def test_rollback_leads_back_and_then_forward_again(folders: EnvironmentFolders, tmp_path: Path) -> None:
    first, second, third = make(folders), make(folders), make(folders)
    target = tmp_path / ".venv"
    for environment in (first, second, third):
        folders.switch(environment, target)
    back = folders.rollback(target)
    assert (back.environment, back.previous, target.readlink()) == (second, third, second)
    assert folders.rollback(target).environment == third
    assert target.readlink() == third


def test_a_real_folder_is_kept_beside_and_comes_back(folders: EnvironmentFolders, tmp_path: Path) -> None:
    environment, target = make(folders), tmp_path / ".venv"
    target.mkdir()
    (target / "pyvenv.cfg").write_text("mine\n")
    switched = folders.switch(environment, target)
    aside = tmp_path / ".venv.before-1"
    assert switched.previous == aside
    assert (aside / "pyvenv.cfg").read_text() == "mine\n"
    assert target.readlink() == environment
    assert folders.prune().removed == ()
    assert folders.rollback(target).previous == environment
    assert (target / "pyvenv.cfg").read_text() == "mine\n"
    assert not target.is_symlink()
    assert not aside.exists()
    assert folders.prune().removed == (), "what one rollback leads to is kept"
    assert folders.rollback(target).environment == environment
    assert target.readlink() == environment
    assert (aside / "pyvenv.cfg").read_text() == "mine\n"


def test_an_environment_of_somebody_elses_is_gone_back_to_as_well(
    folders: EnvironmentFolders, tmp_path: Path
) -> None:
    own, target = tmp_path / "my-venv", tmp_path / ".venv"
    own.mkdir()
    target.symlink_to(own)
    folders.switch(make(folders), target)
    assert folders.rollback(target).environment == own
    assert target.readlink() == own


@pytest.mark.parametrize("kind", ["unknown", "missing", "first"])
def test_there_may_be_nothing_to_go_back_to(folders: EnvironmentFolders, tmp_path: Path, kind: str) -> None:
    target = tmp_path / ".venv"
    if kind == "unknown":
        target.symlink_to(tmp_path)
    if kind == "first":
        folders.switch(make(folders), target)
    with pytest.raises(UsageError, match="nothing to go back to"):
        folders.rollback(target)


def test_what_was_removed_by_hand_is_passed_over(folders: EnvironmentFolders, tmp_path: Path) -> None:
    first, second, third = make(folders), make(folders), make(folders)
    target = tmp_path / ".venv"
    for environment in (first, second, third):
        folders.switch(environment, target)
    shutil.rmtree(second)
    assert folders.rollback(target).environment == first


def test_a_switch_that_was_killed_before_its_one_step_loses_nothing(
    folders: EnvironmentFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = make(folders), make(folders), make(folders)
    target = tmp_path / ".venv"
    folders.switch(first, target)
    folders.switch(second, target)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("envguard.adapters.targets.link", killed)
        with pytest.raises(KeyboardInterrupt):
            folders.switch(third, target)
    assert target.readlink() == second
    assert folders.rollback(target).environment == first
    assert folders.rollback(target).environment == second


def test_rollback_refuses_while_a_process_runs_from_it(folders: EnvironmentFolders, tmp_path: Path) -> None:
    first, second, target = make(folders), make(folders), tmp_path / ".venv"
    folders.switch(first, target)
    folders.switch(second, target)
    with running(target) as pid, pytest.raises(InUseError) as raised:
        folders.rollback(target)
    assert f"process {pid} ({target}/bin/python -c" in raised.value.message
    assert target.readlink() == second
    assert folders.rollback(target).environment == first


def test_who_runs_from_a_target(folders: EnvironmentFolders, tmp_path: Path) -> None:
    target = tmp_path / ".venv"
    assert folders.occupants(target) == ()
    folders.switch(make(folders), target)
    with running(target) as pid:
        assert [occupant.pid for occupant in folders.occupants(target)] == [pid]


def test_prune_keeps_what_targets_lead_to_now_and_by_one_rollback(
    folders: EnvironmentFolders, tmp_path: Path
) -> None:
    made = [make(folders) for _ in range(4)]
    other = make(folders, "other")
    for environment in made[:3]:
        folders.switch(environment, tmp_path / ".venv")
    folders.switch(made[3], folders.current("good"))
    (folders.wheels("good") / "a.whl").touch()
    pruned = folders.prune("good")
    assert pruned.removed == (made[0],)
    assert pruned.size > 0
    assert names(tmp_path / "envs" / "good") == [path.name for path in made[1:]] + ["current"]
    assert folders.prune().removed == (other,)
    assert folders.prune().removed == ()


def test_a_target_that_is_gone_keeps_nothing(folders: EnvironmentFolders, tmp_path: Path) -> None:
    environment, target = make(folders), tmp_path / ".venv"
    folders.switch(environment, target)
    target.unlink()
    assert folders.prune().removed == (environment,)


def test_prune_refuses_while_one_is_used_and_removes_none(folders: EnvironmentFolders) -> None:
    first, second = make(folders), make(folders)
    with running(second) as pid, pytest.raises(InUseError, match=f"process {pid} "):
        folders.prune()
    assert first.exists()
    assert second.exists()
    assert folders.prune().removed == (first, second)


def test_prune_does_not_look_at_what_it_keeps(folders: EnvironmentFolders, tmp_path: Path) -> None:
    environment = make(folders)
    folders.switch(environment, tmp_path / ".venv")
    with running(environment):
        assert folders.prune().removed == ()


def test_a_prune_that_is_killed_leaves_no_half_environment(
    folders: EnvironmentFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(folders)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module.shutil, "rmtree", killed)  # type: ignore[attr-defined]
        with pytest.raises(KeyboardInterrupt):
            folders.prune()
    assert folders.restored() == ()
    assert len(names(tmp_path / "envs" / "good")) == 1
    folders.prune()
    assert names(tmp_path / "envs" / "good") == []


def test_prune_waits_for_a_restore_of_the_name(folders: EnvironmentFolders, tmp_path: Path) -> None:
    make(folders)
    with folders.hold("good"), pytest.raises(InUseError, match="another envguard restores good"):
        EnvironmentFolders(tmp_path / "envs", wait=0.1).prune()


def test_a_lost_list_of_targets_stops_a_prune(folders: EnvironmentFolders, tmp_path: Path) -> None:
    environment = make(folders)
    (tmp_path / "envs" / ".targets.json").write_text("rubbish")
    with pytest.raises(StoreError):
        folders.prune()
    assert environment.exists()


def test_what_is_told_of_each_environment(folders: EnvironmentFolders, tmp_path: Path) -> None:
    assert folders.restored() == ()
    assert folders.restored("good") == ()
    environment = make(folders)
    (environment / "file").write_bytes(b"x" * 1000)
    os.link(environment / "file", environment / "same")
    (environment / "away").symlink_to(tmp_path)
    (tmp_path / "envs" / "good" / "stranger").mkdir()
    (tmp_path / "envs" / "good" / "odd").mkdir()
    (tmp_path / "envs" / "good" / "odd" / markers.FILENAME).write_text("rubbish")
    folders.switch(environment, folders.current("good"))
    (entry,) = folders.restored("good")
    assert (entry.name, entry.folder, entry.lock) == ("good", environment, LOCK)
    assert entry.size == 1000 + len(MARKER) + len("home = /usr/bin\n")
    assert entry.targets == (folders.current("good"),)
    assert abs(entry.made.timestamp() - time.time()) < 3600


def test_disk_faults_are_told_with_a_place(
    folders: EnvironmentFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = folders.begin("good", LOCK)
    attempt.environment.mkdir()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/x")

    with monkeypatch.context() as patch:
        patch.setattr(module.files, "write", full)  # type: ignore[attr-defined]
        with pytest.raises(InstallFailedError, match=r"No space left on device \(has ") as raised:
            folders.finish(attempt, MARKER)
    assert raised.value.where == "/x"
    assert not attempt.final.exists()
    assert folders.restored() == ()


def test_a_disk_that_can_not_be_synced_is_a_fault(
    folders: EnvironmentFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = folders.begin("good", LOCK)
    attempt.environment.mkdir()
    monkeypatch.setattr(module, "_syncfs", lambda handle: errno.EIO)
    with pytest.raises(InstallFailedError, match="Input/output error"):
        folders.finish(attempt, MARKER)
    assert not attempt.final.exists()


def test_an_unwritable_data_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InstallFailedError, match="could not write"):
        EnvironmentFolders(tmp_path / "file" / "envs").begin("good", LOCK)
