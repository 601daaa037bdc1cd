"""``envguard run``, ``snapshot --run``, ``verify --run``, as a user calls them, on a small real environment."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from uv import find_uv_bin

from tests.builders import wheel
from tests.environments import clean_environ
from tests.runlogs import document


@dataclass(frozen=True)
class Project:
    """A folder with an environment ``.venv`` and its lock."""

    folder: Path
    environ: dict[str, str]

    @property
    def module(self) -> Path:
        """A file of the environment's one distribution."""
        return next((self.folder / ".venv").glob("lib/python*/site-packages/demo/__init__.py"))

    def start(self, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "envguard", *arguments],
            cwd=self.folder,
            env={**self.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, *arguments: str, **environ: str) -> tuple[int, str, str]:
        with self.start(*arguments, **environ) as child:
            out, err = child.communicate(timeout=120)
        assert "Traceback" not in err or "envguard" not in err.split("Traceback")[1], err
        return child.returncode, out, err

    def logs(self) -> list[Path]:
        """Folders of runs, in order."""
        return sorted((Path(self.environ["ENVGUARD_STATE_DIR"]) / "runs").glob("*/*"))


def surroundings(root: Path) -> dict[str, str]:
    """A shell's variables, with folders of envguard's own below ``root``."""
    environ = clean_environ(
        PATH="/usr/bin:/bin",
        **{f"ENVGUARD_{kind}_DIR": str(root / kind.lower()) for kind in ("DATA", "CACHE", "STATE")},
    )
    return {name: value for name, value in environ.items() if not name.startswith(("COV_", "LOCAL_", "SLURM_"))}


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project made and recorded once; each test gets a copy."""
    tmp_path = tmp_path_factory.mktemp("recorded")
    folder = tmp_path / "project"
    folder.mkdir()
    environ = surroundings(tmp_path)
    uv = find_uv_bin()
    quiet = {**environ, "UV_CACHE_DIR": str(tmp_path / "uv")}
    made = wheel(tmp_path, "demo", "1.0", {"demo/__init__.py": "NAME = 'demo'\n"})
    subprocess.run([uv, "venv", "-q", "-p", sys.executable, folder / ".venv"], check=True, env=quiet)
    subprocess.run([uv, "pip", "install", "-q", "--offline", "-p", folder / ".venv", made], check=True, env=quiet)
    whole = Project(folder, environ)
    code, _, err = whole.call("snapshot", "--name", "good", "--offline")
    assert code == 0, err
    return tmp_path


@pytest.fixture
def project(recorded: Path, tmp_path: Path) -> Project:
    for name in ("project", "data"):
        shutil.copytree(recorded / name, tmp_path / name, symlinks=True)
    return Project(tmp_path / "project", surroundings(tmp_path))


class TestStart:
    def test_the_environment_s_python_with_the_guard_s_folder_and_a_log(self, project: Project) -> None:
        program = (
            "import os, sys; print(sys.prefix); print(os.environ['PYTHONPATH'].split(':')[0]);"
            "print(os.environ['ENVGUARD_RUN_LOG']); print(sys.argv[1:])"
        )
        code, out, err = project.call("run", "--", "python", "-c", program, "--", "-x")
        prefix, path, log, arguments = out.splitlines()
        (folder,) = project.logs()
        assert (code, prefix, log) == (0, str(project.folder / ".venv"), f"{folder}/")
        assert path.endswith("envguard/runtime/site") and arguments == "['--', '-x']"
        assert "target:" in err and f"run log: {folder}" in err
        kept = json.loads((folder / "preflight.json").read_text())
        schemas = Path(__file__).parents[2] / "docs" / "schema"
        jsonschema.validate(kept, json.loads((schemas / "preflight-1.json").read_text()))
        jsonschema.validate(kept["report"], json.loads((schemas / "report-1.json").read_text()))
        assert kept["starts"] is True and kept["report"]["outcome"] == "match"

    def test_quiet_says_nothing(self, project: Project) -> None:
        assert project.call("run", "lockfiles/good.toml", "-q", "--", "true") == (0, "", "")

    @pytest.mark.parametrize("code", [0, 1, 2, 125, 137])
    def test_exit_codes(self, project: Project, code: int) -> None:
        assert project.call("run", "-q", "--", "sh", "-c", f"exit {code}")[0] == code

    @pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
    def test_a_signal_ends_it_as_it_ends_the_command(self, project: Project, name: str) -> None:
        program = (
            "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n"
            "print('up', flush=True)\ntime.sleep(60)"
        )
        with project.start("run", "-q", "--", "python", "-c", program) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "up\n"
            child.send_signal(signal.Signals[name])
            assert child.wait(60) == -signal.Signals[name]

    def test_no_guard(self, project: Project) -> None:
        program = "import os; print(os.environ['ENVGUARD_GUARD'], os.environ.get('ENVGUARD_RUN_LOG'))"
        assert project.call("run", "--no-guard", "-q", "--", "python", "-c", program)[1] == "off None\n"

    def test_after_warm(self, project: Project) -> None:
        program = "import os; print(os.environ['ENVGUARD_AFTER_WARM'])"
        assert project.call("run", "--after-warm", "error", "-q", "--", "python", "-c", program)[1] == "error\n"

    def test_a_folder_for_the_log(self, project: Project) -> None:
        project.call("run", "--log", "mine", "-q", "--", "true")
        assert (project.folder / "mine" / "preflight.json").is_file() and project.logs() == []

    def test_the_command_names_another_environment(self, project: Project, tmp_path: Path) -> None:
        (project.folder / ".venv").rename(tmp_path / "other")
        python = tmp_path / "other" / "bin" / "python"
        code, out, err = project.call("run", "--", str(python), "-c", "import sys; print(sys.prefix)")
        assert (code, out) == (0, f"{tmp_path / 'other'}\n")
        assert f"target: {python} (the command's own)" in err

    def test_another_than_python_names(self, project: Project) -> None:
        code, _, err = project.call("run", "--python", sys.executable, "--", ".venv/bin/python", "-c", "")
        assert code == 125 and "of another environment than --python" in err

    def test_through_a_link_that_may_be_switched(self, project: Project, tmp_path: Path) -> None:
        real = tmp_path / "real"
        (project.folder / ".venv").rename(real)
        (project.folder / ".venv").symlink_to(real)
        _, out, _ = project.call(
            "run", "-q", "--", "python", "-c", "import sys; print(sys.prefix, sys.executable)"
        )
        assert out == f"{real} {real}/bin/python\n"

    def test_what_is_not_found(self, project: Project) -> None:
        assert project.call("run", "-q", "--", "no-such-command")[0] == 127
        (project.folder / "plain").touch()
        code, _, err = project.call("run", "-q", "--", "./plain")
        assert code == 126 and "error[not-started]: ./plain: can't be executed" in err


class TestRefusal:
    def test_drift_refuses_by_125(self, project: Project) -> None:
        project.module.write_text("NAME = 'other'\n")
        code, out, err = project.call("run", "--", "echo", "started")
        assert (code, out) == (125, "")
        assert "refused  files          demo/__init__.py" in err
        assert "to start all the same: envguard run --force files" in err

    def test_unless_the_check_is_forced(self, project: Project) -> None:
        project.module.write_text("NAME = 'other'\n")
        code, out, err = project.call("run", "--force", "files", "--", "echo", "started")
        assert (code, out) == (0, "started\n") and "forced   files" in err
        assert project.call("run", "--force", "gpus,driver", "--", "true")[0] == 125

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["run", "missing.toml", "--", "true"], "no such lock file"),
            (["run"], "no command to run"),
            (["run", "--"], "no command to run"),
            (["run", "--force", "nonsense", "--", "true"], "no check is called nonsense"),
            (["run", "--python", "missing", "--", "true"], "error["),
        ],
        ids=["no lock", "no command", "empty command", "no such check", "no such target"],
    )
    def test_envguard_s_own_errors_are_125(self, project: Project, arguments: list[str], words: str) -> None:
        code, out, err = project.call(*arguments)
        assert (code, out) == (125, "") and words in err

    def test_a_variable_that_the_lock_does_not_know(self, project: Project) -> None:
        code, _, err = project.call("run", "--", "true", TORCHINDUCTOR_MAX_AUTOTUNE="1")
        assert code == 125 and "TORCHINDUCTOR_MAX_AUTOTUNE not set → 1" in err


class TestVariables:
    SHOW = ("python", "-c", "import os; print(os.environ.get('OMP_NUM_THREADS'))")

    def test_recorded_ones_are_set_and_told(self, project: Project) -> None:
        project.call("snapshot", "--name", "good", "--offline", "--update", OMP_NUM_THREADS="3")
        code, out, err = project.call("run", "--", *self.SHOW)
        assert (code, out) == (0, "3\n") and "set OMP_NUM_THREADS=3\n" in err
        code, out, err = project.call("run", "--", *self.SHOW, OMP_NUM_THREADS="5")
        assert (code, out) == (0, "3\n") and "set OMP_NUM_THREADS=3 (was 5)" in err

    def test_forced_the_shell_s_own_stay(self, project: Project) -> None:
        project.call("snapshot", "--name", "good", "--offline", "--update", OMP_NUM_THREADS="3")
        assert project.call("run", "--force", "variables", "-q", "--", *self.SHOW, OMP_NUM_THREADS="5")[1] == "5\n"

    def test_the_compile_cache(self, project: Project) -> None:
        show = ("python", "-c", "import os; print(os.environ.get('TORCHINDUCTOR_CACHE_DIR'))")
        assert project.call("run", "-q", "--", *show)[1] == "None\n"
        assert project.call("run", "-q", "--cache", "here", "--", *show)[1] == f"{project.folder}/here\n"
        report = json.loads((project.logs()[0] / "preflight.json").read_text())["report"]
        assert report["recorded"] == "good"
        own = self.own_cache(project)
        own.mkdir(parents=True, mode=0o700)
        assert project.call("run", "-q", "--", *show)[1] == f"{own}\n"
        assert project.call("run", "-q", "--", *show, TORCHINDUCTOR_CACHE_DIR="/named")[1] == "/named\n"

    @staticmethod
    def own_cache(project: Project) -> Path:
        from envguard.adapters.project import load_lock
        from envguard.formats.lockfile import lock_id

        lock = load_lock(project.folder / "lockfiles" / "good.toml")[0]
        data = Path(project.environ["ENVGUARD_DATA_DIR"])
        return data / "caches" / f"good-{lock_id(lock)[:8]}" / "inductor"


def test_ranks_of_one_launcher_look_once(project: Project) -> None:
    launcher = (
        "import os, subprocess, sys\n"
        "ranks = [subprocess.Popen([sys.executable, '-m', 'envguard', 'run', '--', 'python', '-c',\n"
        "    'import os; print(os.environ[\"ENVGUARD_RUN_LOG\"])'], stdout=-1, stderr=-1, text=True,\n"
        "    env={**os.environ, 'LOCAL_RANK': str(number)}) for number in range(3)]\n"
        "for rank in ranks:\n"
        "    out, err = rank.communicate(); print(rank.returncode, 'preflight:' in err, out.strip())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", launcher], cwd=project.folder, env=project.environ, capture_output=True, text=True
    )
    lines = sorted(ended.stdout.splitlines())
    (folder,) = project.logs()
    assert lines == [f"0 False {folder}/", f"0 False {folder}/", f"0 True {folder}/"]


class TestRecordedRun:
    def write(self, project: Project, name: str, **changes: Any) -> str:
        folder = project.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "run.json").write_text(json.dumps(document(**changes)))
        return name

    def test_a_run_is_recorded_and_a_later_one_held_against_it(self, project: Project) -> None:
        good = self.write(project, "good-run")
        code, _, err = project.call("snapshot", "--name", "good", "--offline", "--run", good)
        assert code == 0, err
        text = (project.folder / "lockfiles/good.toml").read_text()
        assert "tokens-per-second = 4000" in text and "tolerance = {slower = 10, more-memory = 5}" in text
        assert project.call("verify", "--run", good)[0] == 0
        assert project.call("verify")[0] == 0

        slow = [{**document()["throughput"][0], "tokens_per_second": 1000}]
        later = self.write(project, "later", throughput=slow)
        code, out, _ = project.call("verify", "--run", later)
        assert code == 1 and "drift run" in out and "tokens/s 4,000 → 1,000: 75 % slower, 10 % allowed" in out

    def test_it_is_not_overwritten_by_another_without_being_asked(self, project: Project) -> None:
        project.call("snapshot", "--name", "good", "--offline", "--run", self.write(project, "one"))
        before = (project.folder / "lockfiles/good.toml").read_bytes()
        slow = self.write(project, "two", throughput=[])
        code, _, err = project.call("snapshot", "--name", "good", "--offline", "--run", slow)
        assert code == 1 and "error[lock-exists]" in err
        assert (project.folder / "lockfiles/good.toml").read_bytes() == before
        assert project.call("snapshot", "--name", "good", "--offline", "--run", slow, "--update")[0] == 0

    def test_it_outlives_a_snapshot_of_the_same_torch(self, project: Project) -> None:
        project.call("snapshot", "--name", "good", "--offline", "--run", self.write(project, "one"))
        project.call("snapshot", "--name", "good", "--offline", "--note", "new")
        assert "tokens-per-second = 4000" in (project.folder / "lockfiles/good.toml").read_text()

    def test_a_run_that_failed_is_not_recorded(self, project: Project) -> None:
        bad = self.write(project, "bad", end__how="exception", end__detail="ValueError: x")
        code, _, err = project.call("snapshot", "--name", "good", "--offline", "--run", bad)
        assert code == 3 and "can't stand for a good one: it ended with exception: ValueError: x" in err

    def test_a_log_that_is_none(self, project: Project) -> None:
        assert project.call("verify", "--run", "missing")[0] == 2
        (project.folder / "x.json").write_text("{}")
        code, _, err = project.call("verify", "--run", "x.json")
        assert code == 2 and "not a run log" in err


def test_snapshot_of_a_process(project: Project) -> None:
    with project.start(
        "run", "-q", "--", "python", "-c", "import time; print('up', flush=True); time.sleep(60)"
    ) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == "up\n"
        code, _, err = project.call("snapshot", "-o", "live.toml", "--offline", "--pid", str(one.pid))
        one.kill()
    assert code == 0, err
    text = (project.folder / "live.toml").read_text()
    assert 'source = "process"' in text and 'name = "demo"' in text
    assert f"(process {one.pid})" in err and "has not loaded torch" in err
    assert "PYTHONPATH" not in text  # the guard's folder is no fact of the run
    code, _, err = project.call("snapshot", "--pid", "1", "--python", "x")
    assert code == 2 and "both name a target" in err
