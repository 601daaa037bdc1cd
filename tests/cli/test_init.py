"""init on three kinds of projects: the hook passes at once, and a second run changes nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uv
import yaml

from tests.builders import wheel

PYPROJECT = """\
# the project's own comment
[project]
name = "Demo_Train"
version = "0.1"
requires-python = ">=3.11"
dependencies = ["one==1.0"]   # kept as it is

[tool.uv]
find-links = ["wheels"]
"""


@dataclass
class Sample:
    """A project in a repository of its own, with an environment."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *command: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
        return subprocess.run(
            [str(part) for part in command],
            cwd=self.root,
            env=clean | self.variables,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            check=False,
        )

    def envguard(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "envguard", *arguments)

    def uv(self, *arguments: str | Path) -> None:
        ended = self.run(uv.find_uv_bin(), "--quiet", *arguments, "--offline")
        assert ended.returncode == 0, ended.stderr

    def files(self) -> Mapping[str, bytes]:
        """The project's own ones, with their content."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not {".git", ".venv", "conda", "wheels"} & set(path.relative_to(self.root).parts)
        }


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    root = tmp_path / "demo"
    (root / "wheels").mkdir(parents=True)
    wheel(root / "wheels", "one", "1.0", {"one.py": "VALUE = 1\n"})
    made = Sample(root, {"UV_CACHE_DIR": str(tmp_path / "uv-cache"), "PIP_FIND_LINKS": "", "PIP_NO_INDEX": "1"})
    assert made.run("git", "init", "--quiet").returncode == 0
    return made


def of_uv(sample: Sample) -> None:
    (sample.root / "pyproject.toml").write_text(PYPROJECT)
    (sample.root / ".github").mkdir()
    (sample.root / ".gitignore").write_text("/dist/\n.venv/\n")
    sample.uv("sync", "--python", sys.executable)


def of_pip(sample: Sample) -> None:
    (sample.root / "requirements.txt").write_text("--find-links wheels\none==1.0\n")
    (sample.root / ".gitlab-ci.yml").write_text("stages: [train]\ntrain:\n  stage: train\n  script: make\n")
    (sample.root / ".pre-commit-config.yaml").write_text("# ours\nrepos:\n- repo: local\n  hooks: []  # none\n")
    sample.uv("venv", "--python", sys.executable)
    sample.uv("pip", "install", "-r", "requirements.txt")


def of_conda(sample: Sample) -> None:
    text = "name: demo\nchannels: [conda-forge]\ndependencies:\n  - python\n  - pip:\n      - one==1.0\n"
    (sample.root / "environment.yml").write_text(text)
    environment = sample.root.parent / "conda"
    sample.uv("venv", "--python", sys.executable, environment)
    (environment / "conda-meta").mkdir()
    (environment / "conda-meta" / "history").write_text("")
    sample.variables["CONDA_PREFIX"] = str(environment)
    sample.uv("pip", "install", "--python", environment, "--find-links", "wheels", "one==1.0")


KINDS = {"uv": of_uv, "pip": of_pip, "conda and pip": of_conda}
each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())


def hook(sample: Sample) -> dict[str, str]:
    repos = yaml.safe_load((sample.root / ".pre-commit-config.yaml").read_text())["repos"]
    found: dict[str, str] = repos[-1]["hooks"][0]
    return found


def run_hook(sample: Sample) -> subprocess.CompletedProcess[str]:
    """As a hook runner would: the files that match, behind the entry's words."""
    ours = hook(sample)
    words = ours["entry"].split()
    assert words[0] == "envguard"
    files = [path for path in sample.files() if re.search(ours["files"], path)]
    assert files
    return sample.envguard(*words[1:], *files)


def by_pre_commit(sample: Sample) -> subprocess.CompletedProcess[str]:
    """The real program, which finds envguard on PATH."""
    sample.variables["PRE_COMMIT_HOME"] = str(sample.root.parent / "pre-commit")
    sample.variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    assert sample.run("git", "add", "--all").returncode == 0
    return sample.run(sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose")


@each_kind
def test_the_hook_passes_at_once_and_a_second_run_changes_nothing(
    sample: Sample, make: Callable[[Sample], None]
) -> None:
    make(sample)
    before = sample.files()
    ended = sample.envguard("init", "--yes", "--offline")
    assert ended.returncode == 0, ended.stderr
    after = sample.files()
    for path, content in before.items():
        assert after[path].startswith(content.rstrip(b"\n")), path
    lock = tomllib.loads(after["pyproject.toml"].decode())["tool"]["envguard"]["lock"]
    assert [entry["name"] for entry in tomllib.loads(after[lock].decode())["distribution"]] == ["one"]
    passed = run_hook(sample)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    hooked = by_pre_commit(sample)
    assert hooked.returncode == 0, hooked.stdout + hooked.stderr
    assert "envguard lint...." in hooked.stdout
    assert "Passed" in hooked.stdout
    again = sample.envguard("init", "--yes", "--offline")
    assert again.returncode == 0
    assert again.stdout == ""
    assert "nothing to do" in again.stderr
    assert sample.files() == after


def test_a_lock_that_the_declarations_left_fails_the_hook(sample: Sample) -> None:
    of_pip(sample)
    assert sample.envguard("init", "--yes", "--offline").returncode == 0
    (sample.root / "requirements.txt").write_text("one==2.0\n")
    failed = run_hook(sample)
    assert failed.returncode == 1, failed.stdout
    assert "one" in failed.stdout
    hooked = by_pre_commit(sample)
    assert hooked.returncode == 1
    assert "requirements.txt:1" in hooked.stdout


def test_without_yes_it_is_shown_and_nothing_is_written(sample: Sample) -> None:
    of_uv(sample)
    before = sample.files()
    ended = sample.envguard("init", "--offline")
    assert ended.returncode == 1
    assert '+lock = "lockfiles/demo-train.toml"' in ended.stdout.splitlines()
    assert "envguard init --yes" in ended.stderr
    assert "lockfiles/demo-train.toml" in ended.stderr
    assert sample.files() == before


def test_json_shows_and_writes_only_with_yes(sample: Sample) -> None:
    of_uv(sample)
    before = sample.files()
    ended = sample.envguard("init", "--offline", "--format", "json")
    document = json.loads(ended.stdout)
    assert (ended.returncode, document["written"]) == (1, False)
    assert {change["path"] for change in document["changes"]} == {
        "pyproject.toml",
        ".pre-commit-config.yaml",
        ".github/workflows/envguard.yml",
        ".gitignore",
    }
    assert sample.files() == before
    written = json.loads(sample.envguard("init", "--yes", "--offline", "--format", "json").stdout)
    assert written["written"] is True
    assert written["lock"] == "lockfiles/demo-train.toml"


def test_without_an_environment_the_first_lock_is_of_claims(sample: Sample) -> None:
    (sample.root / "requirements.txt").write_text("one==1.0\n")
    ended = sample.envguard("init", "--yes", "--offline", "--name", "first")
    assert ended.returncode == 0, ended.stderr
    document = tomllib.loads((sample.root / "lockfiles" / "first.toml").read_text())
    assert document["unobserved"]["files"] == "no environment was looked at, made from requirements.txt"
    passed = run_hook(sample)
    assert passed.returncode == 0, passed.stdout + passed.stderr


def test_claims_that_make_no_lock_are_told(sample: Sample) -> None:
    (sample.root / "requirements.txt").write_text("one\n")
    ended = sample.envguard("init", "--yes", "--offline")
    assert ended.returncode == 0
    assert "no first lock from requirements.txt: not pinned by ==" in ended.stderr
    assert not (sample.root / "lockfiles").exists()
    assert (sample.root / "pyproject.toml").exists()


def test_with_neither_it_says_so(sample: Sample) -> None:
    ended = sample.envguard("init", "--yes")
    assert ended.returncode == 0
    assert "neither an environment nor another tool's lock file" in ended.stderr


def test_a_snapshot_that_is_refused_leaves_the_project_as_it_was(sample: Sample) -> None:
    of_uv(sample)
    library = next((sample.root / ".venv").glob("lib/*/site-packages"))
    (library / "one-0.9.dist-info").mkdir()
    (library / "one-0.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: one\nVersion: 0.9\n")
    before = sample.files()
    ended = sample.envguard("init", "--yes", "--offline")
    assert ended.returncode == 3
    assert "one is installed 2 times" in ended.stderr
    assert sample.files() == before


def test_several_locks_need_a_name(sample: Sample) -> None:
    (sample.root / "lockfiles").mkdir()
    for name in ("a", "b"):
        (sample.root / "lockfiles" / f"{name}.toml").write_text("")
    ended = sample.envguard("init", "--yes")
    assert ended.returncode == 2
    assert "--name NAME" in ended.stderr


@pytest.mark.parametrize("name", ["", "../x", "a/b", "-x", 'a"\n'], ids=repr)
def test_a_name_that_is_none(sample: Sample, name: str) -> None:
    ended = sample.envguard("init", "--yes", f"--name={name}")
    assert ended.returncode == 2
    assert "not a lock's name" in ended.stderr


@pytest.mark.parametrize(
    "content", [b"[tool\n", b"\xff\xfe", b"tool = 1\n"], ids=["no TOML", "no UTF-8", "no table"]
)
def test_a_pyproject_that_can_not_be_read(sample: Sample, content: bytes) -> None:
    (sample.root / "pyproject.toml").write_bytes(content)
    ended = sample.envguard("init", "--yes")
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert (sample.root / "pyproject.toml").read_bytes() == content
