"""However a process ends, its run log is there."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.runtime.conftest import Programs


def test_at_exit(programs: Programs) -> None:
    ended = programs.run(
        "import torch, time\nfrom envguard.runtime import guard\n"
        "for _ in range(3): guard.step(tokens=100); time.sleep(0.01)\n"
    )

    assert ended.log["end"]["how"] == "exit"
    (row,) = ended.log["throughput"]
    assert (row["steps"], row["tokens"], row["thread"], row["device"]) == (3, 200, "MainThread", "cpu")
    assert 1_000 < row["tokens_per_second"] < 10_000
    assert ended.log["torch"] == {"build": "2.11.0+cu130", "git_commit": "0" * 40, "cuda": "13.0"}
    assert [path.name for path in programs.folder.iterdir()] == ["run.json"]
    assert (programs.folder / "run.json").stat().st_mode & 0o777 == 0o600


def test_an_exception(programs: Programs) -> None:
    ended = programs.run("import torch\nraise ValueError('a batch is\\nempty')")

    assert (ended.code, ended.log["end"]["how"]) == (1, "exception")
    assert ended.log["end"]["detail"] == "ValueError: a batch is"
    assert "ValueError" in ended.err


def test_an_exception_in_a_thread(programs: Programs) -> None:
    ended = programs.run(
        "import threading, torch\n"
        "thread = threading.Thread(target=lambda: 1 / 0, name='drafter-2'); thread.start(); thread.join()"
    )

    assert (ended.code, ended.log["end"]["how"]) == (0, "exit")
    (hazard,) = ended.log["hazards"]
    assert (hazard["hazard"], hazard["detail"]) == (
        "thread-died",
        "drafter-2: ZeroDivisionError: division by zero",
    )
    assert "ZeroDivisionError" in ended.err


def test_the_program_s_own_hooks_are_called_too(programs: Programs) -> None:
    ended = programs.run(
        "import sys, threading\nsys.excepthook = lambda *a: print('main')\n"
        "threading.excepthook = lambda a: print('thread')\nimport torch\n"
        "t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()\n1 / 0"
    )

    assert (ended.out, ended.err, ended.code) == ("thread\nmain\n", "", 1)


def started(programs: Programs, program: str) -> subprocess.Popen[str]:
    """A program that has said that it is ready."""
    child = subprocess.Popen(
        programs.command("import torch, time, signal, os, sys\n" + program),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=programs.variables(),
        cwd=programs.folder,
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    return child


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("print('ready', flush=True); time.sleep(60)", id="asleep"),
        pytest.param("print('ready', flush=True)\nwhile True: pass", id="busy"),
        pytest.param(
            "import asyncio\nasync def work():\n"
            "    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)\n"
            "    print('ready', flush=True)\n    await asyncio.sleep(60)\nasyncio.run(work())",
            id="asyncio took the pipe's place",
        ),
        pytest.param(
            "signal.pthread_sigmask(signal.SIG_BLOCK, [15])\nprint('ready', flush=True); time.sleep(60)",
            id="main thread deaf",
        ),
    ],
)
def test_sigterm_ends_it_as_ever_but_for_the_log(programs: Programs, program: str) -> None:
    child = started(programs, program)
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=30)

    assert (child.returncode, err) == (-signal.SIGTERM, "")
    assert (programs.log()["end"]["how"], programs.log()["end"]["detail"]) == ("signal", "SIGTERM")


def test_sigint_stays_a_keyboard_interrupt(programs: Programs) -> None:
    child = started(programs, "print('ready', flush=True); time.sleep(60)")
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)

    assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in err
    assert programs.log()["end"]["how"] in ("signal", "exception")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_program_s_own_function_for_sigterm_is_kept(programs: Programs, when: str) -> None:
    own = "import signal, sys; signal.signal(signal.SIGTERM, lambda *a: sys.exit(7))\n"
    first, last = (own, "") if when == "before" else ("", own)
    child = subprocess.Popen(
        programs.command(f"{first}import torch, time\n{last}print('ready', flush=True); time.sleep(60)"),
        stdout=subprocess.PIPE, text=True, env=programs.variables(), cwd=programs.folder,
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)

    assert child.returncode == 7
    assert programs.log()["end"]["how"] in ("signal", "exit")  # whichever was written last


def test_a_signal_to_a_forked_child_is_not_its_parent_s(programs: Programs) -> None:
    ended = programs.run(
        "import torch, os, signal, time\npid = os.fork()\n"
        "if pid == 0:\n    time.sleep(60)\n"
        "time.sleep(0.3); os.kill(pid, signal.SIGTERM); _, status = os.waitpid(pid, 0); time.sleep(0.3)\n"
        "print(os.WTERMSIG(status))"
    )

    assert (ended.code, ended.out) == (0, f"{int(signal.SIGTERM)}\n")
    assert ended.log["end"]["how"] == "exit"


def test_sigkill_leaves_the_log_of_warm(programs: Programs) -> None:
    child = started(
        programs, "from envguard.runtime import guard; guard.warm(); print('ready', flush=True); time.sleep(60)"
    )
    child.kill()
    child.communicate(timeout=30)

    assert (programs.log()["end"]["how"], programs.log()["guard"]["after_warm"]) == ("running", "warning")


def test_a_log_in_the_place_of_a_file_is_told(programs: Programs) -> None:
    (programs.folder / "file").write_text("")

    ended = programs.run("import torch", ENVGUARD_RUN_LOG=str(programs.folder / "file/run.json"))

    assert ended.code == 0 and "the run log can't be written" in ended.err
    assert [path.name for path in programs.folder.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("path", "names"),
    [
        pytest.param("logs/", ["run.rank3.PID.json"], id="folder"),
        pytest.param("a-{rank}-{pid}.json", ["a-3-PID.json"], id="placeholders"),
        pytest.param("plain.json", ["plain.json"], id="plain"),
    ],
)
def test_where_a_log_goes(programs: Programs, path: str, names: list[str]) -> None:
    ended = programs.run(
        "import torch, os; print(os.getpid())",
        RANK="3",
        WORLD_SIZE="4",
        ENVGUARD_RUN_LOG=str(programs.folder) + "/" + path,
    )

    found = [file.name for file in programs.folder.rglob("*.json")]
    assert found == [name.replace("PID", ended.out.strip()) for name in names]


def test_no_log_is_asked_for(programs: Programs) -> None:
    ended = programs.run("import torch", ENVGUARD_RUN_LOG="")

    assert ended.code == 0 and list(Path(programs.folder).iterdir()) == []


def test_two_writers_leave_a_whole_log(programs: Programs) -> None:
    ended = programs.run(
        "import threading, torch\nfrom envguard.runtime import guard\n"
        "threads = [threading.Thread(target=lambda: [guard.write_log() for _ in range(20)]) for _ in range(4)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()"
    )

    assert (ended.code, ended.err) == (0, "")
    assert [path.name for path in programs.folder.iterdir()] == ["run.json"]
