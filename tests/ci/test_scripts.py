"""The scripts of the GitHub Action, with stand-ins for envguard and gh; manifests against their schemas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def program(folder: Path, name: str, body: str) -> Path:
    """A shell script that first writes down how it was called."""
    file = folder / name
    file.write_text(f'#!/usr/bin/env bash\nprintf "%s\\n" "$*" >> "{folder}/{name}.calls"\n{body}\n')
    file.chmod(0o755)
    return file


def calls(folder: Path, name: str) -> list[str]:
    file = folder / f"{name}.calls"
    return file.read_text().splitlines() if file.exists() else []


def script(name: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT")}
    return subprocess.run(
        ["bash", ROOT / "ci" / name],
        cwd=folder,
        env={**environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


class TestLook:
    @pytest.mark.parametrize(
        ("variables", "called"),
        [
            ({}, ["lint --format github"]),
            ({"COMMAND": "verify"}, ["verify --format github"]),
            (
                {
                    "COMMAND": "both",
                    "LOCK": "a b.toml",
                    "TARGET": ".venv",
                    "ALLOW": "driver,gpus",
                    "PAGE": "p.html",
                },
                [
                    "lint a b.toml --format github",
                    "verify a b.toml --python .venv --allow-unknown driver,gpus --html p.html --format github",
                ],
            ),
            ({"BASELINE": "k.toml"}, ["lint --baseline k.toml --format github"]),
            ({"SARIF": "s.json"}, ["lint --format github", "lint --format sarif"]),
        ],
        ids=["lint", "verify", "both", "baseline", "sarif"],
    )
    def test_calls(self, tmp_path: Path, variables: dict[str, str], called: list[str]) -> None:
        envguard = program(tmp_path, "envguard", "exit 0")
        assert script("look.sh", tmp_path, ENVGUARD=str(envguard), **variables).returncode == 0
        assert calls(tmp_path, "envguard") == called

    @pytest.mark.parametrize("codes", [(1, 0), (0, 4), (2, 1)], ids=str)
    def test_the_first_failure_is_the_exit_code_and_all_is_looked_at(
        self, tmp_path: Path, codes: tuple[int, int]
    ) -> None:
        envguard = program(tmp_path, "envguard", f'[ "$1" = lint ] && exit {codes[0]}; exit {codes[1]}')
        ended = script("look.sh", tmp_path, ENVGUARD=str(envguard), COMMAND="both")
        assert ended.returncode == (codes[0] or codes[1])
        assert len(calls(tmp_path, "envguard")) == 2

    def test_another_command(self, tmp_path: Path) -> None:
        envguard = program(tmp_path, "envguard", "exit 0")
        assert script("look.sh", tmp_path, ENVGUARD=str(envguard), COMMAND="restore; rm").returncode == 2
        assert calls(tmp_path, "envguard") == []


class TestComment:
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        """A branch that changes one lock, and adds another."""
        folder = tmp_path / "repo"
        (folder / "lockfiles").mkdir(parents=True)
        git(folder, "init", "-q")
        (folder / "lockfiles" / "a b.toml").write_text("old\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "base")
        (folder / "lockfiles" / "a b.toml").write_text("new\n")
        (folder / "lockfiles" / "added.toml").write_text("new\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "change")
        return folder

    def run(self, folder: Path, code: int, comments: str) -> subprocess.CompletedProcess[str]:
        envguard = program(
            folder.parent,
            "envguard",
            f'cat "$2" "$3" >&2; printf "<!-- envguard-diff: good -->\\nbody\\n"; exit {code}',
        )
        gh = program(folder.parent, "gh", f'case "$*" in *--jq*) printf "{comments}" ;; esac')
        return script(
            "comment.sh", folder, ENVGUARD=str(envguard), GH=str(gh), REPOSITORY="o/r", NUMBER="7", BASE="HEAD~1"
        )

    @pytest.mark.parametrize("code", [0, 1, 4])
    def test_a_first_comment(self, repository: Path, code: int) -> None:
        ended = self.run(repository, code, "11\\tanother comment\\n")
        assert ended.returncode == 0, ended.stderr
        assert ended.stderr == "old\nnew\n"
        last = calls(repository.parent, "gh")[-1]
        assert last.startswith("api --method POST repos/o/r/issues/7/comments -F body=@")
        assert len(calls(repository.parent, "envguard")) == 1

    def test_it_is_updated_in_place(self, repository: Path) -> None:
        known = "11\\tsomebody quotes <!-- envguard-diff: good -->\\n12\\t<!-- envguard-diff: good -->\\\\nbody\\n"
        assert self.run(repository, 1, known).returncode == 0
        assert calls(repository.parent, "gh")[-1].startswith("api --method PATCH repos/o/r/issues/comments/12 ")

    def test_a_diff_that_fails(self, repository: Path) -> None:
        assert self.run(repository, 2, "").returncode == 2
        assert calls(repository.parent, "gh") == []


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, env=environ)


@pytest.mark.parametrize(
    ("schema", "file"), [("vendor.github-actions", "action.yml"), ("vendor.gitlab-ci", "ci/gitlab.yml")]
)
def test_schemas(schema: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(ROOT / file)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_hooks_manifest() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_hooks_files_are_those_that_lint_knows() -> None:
    import re

    import yaml

    from envguard.formats.declared import kind_of

    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    shape = re.compile(hooks[0]["files"])
    declaring = [
        "pyproject.toml",
        "a/uv.lock",
        "pylock.toml",
        "pylock.gpu.toml",
        "requirements.txt",
        "a/requirements-gpu.txt",
        "dev-requirements.txt",
        "requirements/gpu.txt",
        "constraints.txt",
        "environment.yml",
        "conda-env.yaml",
        "docker/Dockerfile.gpu",
        "gpu.Dockerfile",
    ]
    for path in declaring:
        assert shape.search(path), path
        assert kind_of(path), path
    assert shape.search("a/lockfiles/good.toml")
    for path in ("notes.toml", "docs/index.md", "environments.py", "lockfiles/a/b.toml"):
        assert not shape.search(path), path
