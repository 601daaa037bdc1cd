"""The hooks as the real pre-commit program runs them, from a clone of this repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envguard.formats.lockfile import write_lock
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Value
from tests.builders import distribution, facts, torch_build

pytestmark = [pytest.mark.online, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
CONFIGURATION = """repos:
- repo: {clone}
  rev: {commit}
  hooks:
  - id: envguard-lint
  - id: envguard-lint-fix
    stages: [manual]
  - id: envguard-verify
    stages: [pre-push]
"""


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    ended = subprocess.run(
        ["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True, env=_environ()
    )
    return ended.stdout.strip()


def _environ() -> dict[str, str]:
    # A hook that runs the tests sets GIT_DIR and the like for its own repository.
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


@pytest.fixture(scope="session")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A clone of this repository with the working tree's files, and its commit."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    clone = tmp_path_factory.mktemp("hooks") / "envguard"
    git(ROOT, "clone", "-q", str(ROOT), str(clone))
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "--allow-empty", "-m", "the working tree")
    return clone, git(clone, "rev-parse", "HEAD")


@pytest.fixture(scope="session")
def runner_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pre-commit's cache: the hooks' environment is built once a session."""
    return tmp_path_factory.mktemp("pre-commit")


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(runner_home: Path) -> Run:
    """The pre-commit program."""

    def pre_commit(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environ = {**_environ(), "PRE_COMMIT_HOME": str(runner_home), "PRE_COMMIT_COLOR": "never", **variables}
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", *arguments],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )

    return pre_commit


def good(version: str = "2.11.0") -> Facts:
    """An environment with that torch."""
    build = replace(torch_build(), version=version, build=f"{version}+cu130")
    entries = (distribution(), distribution("torch", version), distribution("triton", "3.6.0"))
    return facts(torch=Value(build), distributions=Value(entries))


PROJECT = (
    '[project]\nname = "demo"\nversion = "1"\nrequires-python = ">=3.12"\ndependencies = [\n  "torch=={}",\n]\n'
)


@pytest.fixture
def project(tmp_path: Path, hooks: tuple[Path, str], run: Run) -> Path:
    """A repository with a lock that agrees, and the hook installed."""
    folder = tmp_path / "demo"
    (folder / "lockfiles").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT.format("2.11.0"))
    (folder / "lockfiles" / "good.toml").write_bytes(write_lock(Lock("good", good())))
    (folder / "notes.toml").write_text("[nothing]\nto = 'do with locks'\n")
    (folder / ".pre-commit-config.yaml").write_text(CONFIGURATION.format(clone=hooks[0], commit=hooks[1]))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--no-verify", "-m", "first")
    assert run(folder, "install").returncode == 0
    return folder


def commit(folder: Path, runner_home: Path) -> subprocess.CompletedProcess[str]:
    """What a person does: git commit, with the hook that pre-commit installed."""
    environ = {**_environ(), "PRE_COMMIT_HOME": str(runner_home)}
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    return subprocess.run(
        ["git", *who, "commit", "-a", "-m", "change"], cwd=folder, env=environ, capture_output=True, text=True
    )


def test_a_torch_pin_without_its_lock_is_blocked_and_passes_with_it(project: Path, runner_home: Path) -> None:
    (project / "pyproject.toml").write_text(PROJECT.format("2.12.0"))
    blocked = commit(project, runner_home)
    assert blocked.returncode == 1, blocked.stderr
    assert (
        "pyproject.toml:6: declared-version: asks for torch==2.12.0, and lockfiles/good.toml records 2.11.0+cu130"
        in blocked.stdout + blocked.stderr
    )
    (project / "lockfiles" / "good.toml").write_bytes(write_lock(Lock("good", good("2.12.0"))))
    passed = commit(project, runner_home)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert git(project, "log", "--format=%s") == "change\nfirst"


def test_a_planted_token_is_blocked(project: Path, runner_home: Path) -> None:
    lock = project / "lockfiles" / "good.toml"
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA1bC2"
    lock.write_bytes(lock.read_bytes() + f'\n[team]\nnote = "{token}"\n'.encode())
    blocked = commit(project, runner_home)
    said = blocked.stdout + blocked.stderr
    assert blocked.returncode == 1
    assert "secrets: ghp_… is the beginning of a token" in said
    assert token not in said


def test_a_lock_elsewhere_and_what_is_no_lock(project: Path, run: Run, hooks: tuple[Path, str]) -> None:
    other = project / "environments" / "one.toml"
    other.parent.mkdir()
    other.write_bytes(
        write_lock(Lock("one", good())).replace(b'build = "2.11.0+cu130"', b'build = "2.11.0+cu128"')
    )
    settings = CONFIGURATION.format(clone=hooks[0], commit=hooks[1])
    settings = settings.replace("- id: envguard-lint\n", "- id: envguard-lint\n    files: \\.toml$\n", 1)
    (project / ".pre-commit-config.yaml").write_text(settings)
    git(project, "add", "-A")
    ended = run(project, "run", "envguard-lint", "--all-files")
    assert ended.returncode == 1
    assert "environments/one.toml:9: torch-build: the build 2.11.0+cu128 is of cu128" in ended.stdout, ended.stdout
    assert "notes.toml" not in ended.stdout


def test_fix_rewrites_and_then_passes(project: Path, run: Run) -> None:
    lock = project / "lockfiles" / "good.toml"
    whole = lock.read_bytes()
    lock.write_bytes(b"# kept\n" + whole.replace(b'name = "good"\n', b"name = 'good'\n"))
    git(project, "add", "-A")
    arguments = ("run", "envguard-lint-fix", "--hook-stage", "manual", "--all-files")
    first = run(project, *arguments)
    assert first.returncode == 1
    assert "files were modified by this hook" in first.stdout
    assert lock.read_bytes() == b"# kept\n" + whole
    git(project, "add", "-A")
    assert run(project, *arguments).returncode == 0


class TestVerify:
    """The hook's own environment is never what is verified."""

    arguments = ("run", "envguard-verify", "--hook-stage", "pre-push")

    def test_without_another_environment_it_refuses(self, project: Path, run: Run) -> None:
        environ = dict.fromkeys(("CONDA_PREFIX", "VIRTUAL_ENV"), "")
        ended = run(project, *self.arguments, **environ)
        assert ended.returncode == 1
        assert "no Python to look at" in ended.stdout

    def test_the_first_python_on_path_is_refused(self, project: Path, run: Run, hooks: tuple[Path, str]) -> None:
        settings = CONFIGURATION.format(clone=hooks[0], commit=hooks[1]) + "    args: [--python, python]\n"
        (project / ".pre-commit-config.yaml").write_text(settings)
        git(project, "add", "-A")
        ended = run(project, *self.arguments)
        assert ended.returncode == 1
        assert "the target is the environment that the hook itself runs in" in ended.stdout

    def test_the_projects_environment_is_looked_at(self, project: Path, run: Run) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", project / ".venv"], check=True)
        ended = run(project, *self.arguments, "--verbose")
        assert ended.returncode == 1
        assert "drift distributions      torch 2.11.0 → missing" in ended.stdout
