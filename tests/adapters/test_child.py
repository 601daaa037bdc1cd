"""The command takes envguard's place: its end, its signals, its terminal are its own."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters.child import NotStartedError, find, steady

BECOME = """
import os, sys
from pathlib import Path
from envguard.adapters import child
try:
    child.become(child.find(sys.argv[1:], os.environ, Path.cwd()), os.environ)
except child.NotStartedError as problem:
    print(problem, file=sys.stderr)
    sys.exit(problem.code)
"""
SH = ["sh", "-c"]


def start(*command: str, **rest: Any) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen(
        [sys.executable, "-c", BECOME, *command],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **rest,
    )


def ended(*command: str) -> tuple[int, str, str]:
    with start(*command) as child:
        out, err = child.communicate(timeout=60)
    return child.returncode, out, err


def started(child: subprocess.Popen[str]) -> None:
    """Wait until the command says that it is up."""
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"


class TestEnd:
    @pytest.mark.parametrize("code", [0, 1, 2, 3, 70, 124, 125, 137, 255])
    def test_exit_codes_are_the_command_s(self, code: int) -> None:
        assert ended(*SH, f"echo out; echo err >&2; exit {code}") == (code, "out\n", "err\n")

    @pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGINT", "SIGHUP"])
    def test_an_end_by_a_signal_is_one_by_that_signal(self, name: str) -> None:
        code, _, _ = ended(*SH, f"kill -{name[3:]} $$")
        assert code == -signal.Signals[name]

    def test_it_is_the_same_process(self) -> None:
        with start(*SH, "echo $$") as child:
            out, _ = child.communicate(timeout=60)
        assert int(out) == child.pid

    def test_no_signal_is_ignored_that_was_not_before(self) -> None:
        """Python itself ignores SIGPIPE and SIGXFSZ; a command that inherits that runs on with a closed pipe."""
        _, out, _ = ended("grep", "SigIgn", "/proc/self/status")
        assert int(out.split()[1], 16) == 0

    def test_what_was_ignored_stays_ignored(self) -> None:
        """As under nohup."""
        with start(
            *SH, "kill -HUP $$; echo lived", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        ) as one:
            out, _ = one.communicate(timeout=60)
        assert out == "lived\n"


class TestSignals:
    @pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT"])
    def test_reach_the_command_once(self, name: str) -> None:
        program = (
            "import signal, sys, time\n"
            f"signal.signal(signal.{name}, lambda *_: print('got', flush=True))\n"
            "signal.signal(signal.SIGALRM, lambda *_: sys.exit(7))\n"
            "print('up', flush=True)\nwhile True: time.sleep(0.01)\n"
        )
        with start(sys.executable, "-u", "-c", program) as child:
            started(child)
            child.send_signal(signal.Signals[name])
            assert child.stdout is not None
            assert child.stdout.readline() == "got\n"
            child.send_signal(signal.SIGALRM)
            out, _ = child.communicate(timeout=60)
        assert (child.returncode, out) == (7, "")

    def test_stop_and_go_on(self) -> None:
        with start(*SH, "echo up; read line; echo $line; exit 3", stdin=subprocess.PIPE) as child:
            started(child)
            child.send_signal(signal.SIGSTOP)  # SIGTSTP is discarded where no shell watches (an orphaned group)
            _, status = os.waitpid(child.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            child.send_signal(signal.SIGCONT)
            out, _ = child.communicate("on\n", timeout=60)
        assert (out, child.returncode) == ("on\n", 3)

    def test_control_c_once_ends_it(self) -> None:
        """On a terminal of its own, as a user has one."""
        number, terminal = pty.fork()
        if number == 0:
            environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
            sleeper = "import time; print('up', flush=True); time.sleep(60)"
            arguments = [sys.executable, "-c", BECOME, sys.executable, "-c", sleeper]
            os.execve(sys.executable, arguments, environ)
        text = b""
        until = time.monotonic() + 60
        while b"up" not in text and time.monotonic() < until:
            text += os.read(terminal, 1000)
        os.write(terminal, b"\x03")
        while True:
            try:
                more = os.read(terminal, 1000)
            except OSError:
                break
            if not more:
                break
            text += more
        _, status = os.waitpid(number, 0)
        os.close(terminal)
        assert text.count(b"KeyboardInterrupt") == 1
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT  # a shell says 130


class TestFind:
    def test_the_first_word_by_path(self, tmp_path: Path) -> None:
        program = script(tmp_path / "bin" / "tool")
        found = find(["tool", "-x"], {"PATH": str(program.parent)}, tmp_path)
        assert (found.file, found.words) == (program, ("tool", "-x"))

    def test_a_path_is_relative_to_the_folder(self, tmp_path: Path) -> None:
        program = script(tmp_path / "bin" / "tool")
        assert find(["bin/tool"], {}, tmp_path).file == program

    @pytest.mark.parametrize(
        ("word", "code"),
        [("nothing-of-this-name", 127), ("./missing", 127), ("", 127), ("./plain", 126), ("./folder", 126)],
    )
    def test_what_can_t_be_started(self, tmp_path: Path, word: str, code: int) -> None:
        (tmp_path / "plain").write_text("x")
        (tmp_path / "folder").mkdir()
        with pytest.raises(NotStartedError) as caught:
            find([word], {"PATH": "/usr/bin:/bin"}, tmp_path)
        assert caught.value.code == code

    def test_a_program_whose_interpreter_is_missing(self, tmp_path: Path) -> None:
        code, _, err = ended(str(script(tmp_path / "tool", "#!/no/such/interpreter\n")))
        assert (code, "is missing" in err) == (127, True)

    def test_a_program_for_another_machine(self, tmp_path: Path) -> None:
        program = tmp_path / "tool"
        program.write_bytes(b"\x00\x01\x02")
        program.chmod(0o755)
        assert ended(str(program))[0] == 126


class TestBehindALink:
    """What ``restore`` switches must not move under a run."""

    def test_the_environment_s_own_folder_is_named(self, tmp_path: Path) -> None:
        link, real = environment(tmp_path)
        assert steady(link / "bin" / "python") == real / "bin" / "python"
        found = find(["python", "train.py"], path(link), tmp_path)
        assert found.words == (str(real / "bin" / "python"), "train.py")

    def test_the_interpreter_stays_the_environment_s(self, tmp_path: Path) -> None:
        link, real = environment(tmp_path)
        (real / "bin" / "python").unlink()
        (real / "bin" / "python").symlink_to(sys.executable)
        assert find(["python"], path(link), tmp_path).file == real / "bin" / "python"

    def test_what_is_no_environment_stays_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        program = script(tmp_path / "real" / "tool")
        (tmp_path / "link").symlink_to(program.parent)
        assert steady(tmp_path / "link" / "tool") == tmp_path / "link" / "tool"

    def test_an_environment_behind_no_link_stays_as_it_is(self, tmp_path: Path) -> None:
        _, real = environment(tmp_path)
        assert find(["python"], path(real), tmp_path).words == ("python",)


def script(file: Path, text: str = "#!/bin/sh\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def environment(root: Path) -> tuple[Path, Path]:
    real = Path(os.path.realpath(root)) / "envs" / "good-1"
    script(real / "bin" / "python")
    (real / "pyvenv.cfg").touch()
    (root / ".venv").symlink_to(real)
    return root / ".venv", real


def path(environment: Path) -> Mapping[str, str]:
    return {"PATH": str(environment / "bin")}
