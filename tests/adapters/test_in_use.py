from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from envguard.adapters.in_use import occupants

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")

READY = "import sys; print('ready', flush=True); sys.stdin.read()"


@contextmanager
def running(command: list[str], folder: Path | None = None, **environ: str) -> Iterator[int]:
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=os.environ | environ
    )
    assert child.stdout is not None
    assert child.stdin is not None
    try:
        assert child.stdout.readline().strip() == b"ready"
        yield child.pid
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A folder with a ``bin/python`` that is a link to this interpreter, as a venv has it."""
    folder = tmp_path / "env"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    return folder


def pids(folder: Path) -> list[int]:
    return [occupant.pid for occupant in occupants(folder)]


def test_nobody_uses_a_folder_at_first(environment: Path) -> None:
    assert occupants(environment) == ()


def test_a_program_started_from_it_without_any_library_of_it(environment: Path) -> None:
    with running([str(environment / "bin" / "python"), "-c", READY]) as pid:
        (occupant,) = occupants(environment)
        assert occupant.pid == pid
        assert str(occupant).startswith(f"process {pid} ({environment}/bin/python -c import sys")
        assert occupants(environment, leaving_out={pid}) == ()
    assert occupants(environment) == ()


def test_a_program_started_through_a_link_to_it(environment: Path, tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(environment)
    with running([str(tmp_path / ".venv" / "bin" / "python"), "-c", READY]) as pid:
        assert pids(environment) == [pid]
        assert pids(tmp_path / ".venv") == [pid]


def test_a_program_that_the_shell_found_in_its_path(environment: Path) -> None:
    path = f"{environment}/bin:{os.environ['PATH']}"
    with running(["/bin/sh", "-c", f'exec python -c "{READY}"'], PATH=path) as pid:
        assert pids(environment) == [pid]


def test_a_program_started_by_a_relative_name(environment: Path, tmp_path: Path) -> None:
    with running(["env/bin/python", "-c", READY], tmp_path) as pid:
        assert pids(environment) == [pid]


def test_a_process_that_works_in_it(environment: Path) -> None:
    with running([sys.executable, "-c", READY], environment / "bin") as pid:
        assert pids(environment) == [pid]


def test_a_process_that_was_given_a_file_of_it(environment: Path) -> None:
    with running([sys.executable, "-c", READY, f"{environment}/lib/x"]) as pid:
        assert pids(environment) == [pid]


@pytest.mark.parametrize("name", ["library.so", "a name.so"])
def test_a_process_that_maps_a_file_of_it(environment: Path, name: str) -> None:
    library = environment / name
    library.write_bytes(b"x" * 4096)
    program = (
        f"import mmap, sys, os; f = open({str(library)!r}, 'rb'); "
        f"m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); f.close(); {READY}"
    )
    script = environment.parent / "program.py"
    script.write_text(program)
    with running([sys.executable, str(script)]) as pid:
        assert pids(environment) == [pid]


def test_a_program_whose_executable_lies_in_it(environment: Path) -> None:
    shell = shutil.which("sh")
    assert shell is not None
    shutil.copy(os.path.realpath(shell), environment / "bin" / "own")
    with running([str(environment / "bin" / "own"), "-c", "echo ready; read line; true"]) as pid:
        assert pids(environment) == [pid]


def test_a_folder_whose_name_begins_alike_is_another(environment: Path, tmp_path: Path) -> None:
    shutil.copytree(environment, tmp_path / "env-2", symlinks=True)
    with running([str(tmp_path / "env-2" / "bin" / "python"), "-c", READY]):
        assert occupants(environment) == ()


def test_a_long_or_odd_command_is_shown_short_and_printable(environment: Path) -> None:
    with running([str(environment / "bin" / "python"), "-c", READY, "\x1b[31m" + "x" * 200]):
        (occupant,) = occupants(environment)
    assert len(occupant.command) == 120
    assert "\x1b" not in occupant.command
    assert occupant.command.endswith("…")


def test_where_there_is_no_proc_nobody_is_seen(environment: Path, tmp_path: Path) -> None:
    assert occupants(environment, proc=tmp_path / "none") == ()


def test_a_process_that_ends_while_it_is_looked_at_is_nobody(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "proc" / "4711").mkdir(parents=True)
    (tmp_path / "proc" / "self").mkdir()
    assert occupants(environment, proc=tmp_path / "proc") == ()
