"""A process that runs, looked at from outside: real ones, and a made-up /proc for what can't be caused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from envguard.adapters import injected, live_process
from envguard.adapters.live_process import look
from envguard.errors import EnvguardError, SnapshotRefusedError, UsageError

SLEEPS = "print('up', flush=True); import time; time.sleep(120)"


@contextmanager
def running(*command: str | Path, folder: Path | None = None, **environ: str) -> Iterator[int]:
    """A process that is up."""
    with subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, **environ},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        try:
            yield child.pid
        finally:
            child.kill()


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A venv without anything in it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    return tmp_path / "env"


class TestReal:
    def test_python_variables_and_folder(self, environment: Path, tmp_path: Path) -> None:
        with running(environment / "bin/python", "-c", SLEEPS, folder=tmp_path, OMP_NUM_THREADS="3") as pid:
            seen = look(pid)
        assert seen.python == environment / "bin/python"
        assert (seen.pid, seen.folder, seen.cache) == (pid, Path(os.path.realpath(tmp_path)), None)
        assert seen.environ["OMP_NUM_THREADS"] == "3"
        assert any("has not loaded torch" in remark for remark in seen.remarks)

    def test_started_by_a_relative_name_or_by_path(self, environment: Path, tmp_path: Path) -> None:
        with running("env/bin/python", "-c", SLEEPS, folder=tmp_path) as pid:
            assert look(pid).python == tmp_path / "env/bin/python"
        path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
        script = tmp_path / "start.sh"
        script.write_text(f'#!/bin/sh\nexec python -c "{SLEEPS}"\n')
        script.chmod(0o755)
        with running(script, PATH=path) as pid:
            assert look(pid).python == environment / "bin/python"

    def test_a_program_that_is_no_python_and_what_it_started(self) -> None:
        with running("sh", "-c", "sleep 120 & echo up; wait") as pid:
            with pytest.raises(UsageError, match="is no Python: sh") as caught:
                look(pid)
            child = int(Path(f"/proc/{pid}/task/{pid}/children").read_text())
            os.kill(child, 9)
        assert caught.value.hint == f"it has started others: --pid {child}"

    def test_no_such_process(self) -> None:
        with pytest.raises(UsageError, match="there is no process"):
            look(2**22 + 1)

    def test_one_that_has_ended(self) -> None:
        with subprocess.Popen(["true"]) as child:
            time.sleep(0.3)  # a zombie until it is waited for
            with pytest.raises(UsageError, match="no command line"):
                look(child.pid)

    def test_the_guard_s_folder_is_not_the_run_s_own(self, environment: Path, tmp_path: Path) -> None:
        ours = str(injected.folder())
        with running(environment / "bin/python", "-c", SLEEPS, PYTHONPATH=ours) as pid:
            assert "PYTHONPATH" not in look(pid).environ
        with running(environment / "bin/python", "-c", SLEEPS, PYTHONPATH=f"{ours}:{tmp_path}") as pid:
            assert look(pid).environ["PYTHONPATH"] == str(tmp_path)

    def test_files_that_are_mapped_and_were_replaced(self, environment: Path, tmp_path: Path) -> None:
        library = environment / "lib" / "small.so"
        shutil.copy("/proc/self/exe", library)
        program = (
            "import mmap, os, sys\n"
            "file = os.open(sys.argv[1], os.O_RDONLY)\n"
            "kept = mmap.mmap(file, 4096, prot=mmap.PROT_READ)\n" + SLEEPS
        )
        with running(environment / "bin/python", "-c", program, library) as pid:
            assert look(pid).pid == pid
            library.unlink()
            with pytest.raises(SnapshotRefusedError, match=r"no longer on disk: .*small\.so"):
                look(pid)


class MadeUp:
    """A folder like /proc with one process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.place = root / "77"
        (self.place / "task/77").mkdir(parents=True)
        (root / "self").touch()
        self.write(
            cmdline=b"python\0train.py\0", environ=b"A=1\0PATH=\0", maps=b"", status=b"Uid:\t0\t4242\t0\t0\n"
        )
        self.link(cwd="/work", exe="/usr/bin/python3.12")

    def write(self, **files: bytes) -> None:
        for name, content in files.items():
            (self.place / name).write_bytes(content)

    def link(self, **links: str) -> None:
        for name, target in links.items():
            (self.place / name).unlink(missing_ok=True)
            (self.place / name).symlink_to(target)

    def map(self, *paths: object) -> None:
        self.write(maps="".join(f"1-2 r--p 0 0:0 1 {path}\n" for path in paths).encode())


@pytest.fixture
def made_up(tmp_path: Path) -> MadeUp:
    return MadeUp(tmp_path / "proc")


def installed(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").touch()
    (folder / "pyvenv.cfg").touch()
    return folder


class TestMadeUp:
    def test_torch_s_own_place_says_which_environment_runs(self, made_up: MadeUp, tmp_path: Path) -> None:
        """The name that it was started by may be a link that has since been switched."""
        old, new = installed(tmp_path / "old"), installed(tmp_path / "new")
        (tmp_path / "link").symlink_to(new)
        made_up.write(cmdline=f"{tmp_path}/link/bin/python\0".encode())
        made_up.map(old / "lib/python3.12/site-packages/torch/lib/libtorch_cpu.so")
        seen = look(77, made_up.root)
        assert (seen.python, seen.remarks) == (old / "bin/python", ())

    def test_libraries_from_outside_are_told(self, made_up: MadeUp, tmp_path: Path) -> None:
        inside = installed(tmp_path / "env") / "lib/python3.12/site-packages/torch/lib/libtorch.so"
        made_up.map(inside, "/opt/nvidia/cudnn/libcudnn.so.9", "/usr/lib/libc.so.6")
        assert look(77, made_up.root).remarks == (
            "process 77 has libraries of torch or CUDA from outside its environment: libcudnn.so.9",
        )

    def test_the_cache_is_known_by_what_is_mapped_from_it(self, made_up: MadeUp) -> None:
        made_up.map(f"/c/ind/ab/c{'b' * 51}.so")
        assert look(77, made_up.root).cache == Path("/c/ind")

    def test_the_program_itself_where_nothing_else_tells(self, made_up: MadeUp) -> None:
        assert look(77, made_up.root).python == Path("/usr/bin/python3.12")

    @pytest.mark.parametrize(
        ("user", "words"), [("4242", "it belongs to user 4242"), (str(os.geteuid()), "the system forbids it")]
    )
    def test_another_user_s(self, made_up: MadeUp, monkeypatch: pytest.MonkeyPatch, user: str, words: str) -> None:
        def forbidden(self: Path) -> bytes:
            if self.name == "environ":
                raise PermissionError(13, "Permission denied")
            return real(self)

        real = Path.read_bytes
        monkeypatch.setattr(Path, "read_bytes", forbidden)
        made_up.write(status=f"Uid:\t0\t{user}\t0\t0\n".encode())
        with pytest.raises(EnvguardError, match=words) as caught:
            look(77, made_up.root)
        assert caught.value.exit_code == 3
        assert caught.value.hint == "run envguard as the user that the run belongs to"

    def test_a_system_without_proc(self, tmp_path: Path) -> None:
        with pytest.raises(EnvguardError, match="where there is a /proc"):
            look(1, tmp_path)

    def test_a_read_that_fails(self, made_up: MadeUp) -> None:
        (made_up.place / "environ").unlink()
        (made_up.place / "environ").mkdir()
        with pytest.raises(EnvguardError, match="can't be looked at: Is a directory"):
            look(77, made_up.root)


def test_many_are_counted() -> None:
    assert live_process._few(list("abcdef")) == "a, b, c, d and 2 more"
