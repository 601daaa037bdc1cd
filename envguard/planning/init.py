"""What ``envguard init`` would write into a project. Texts in, texts out; a second time there is nothing left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from envguard.planning import init_hooks, init_settings

WORKFLOW = ".github/workflows/envguard.yml"
GITLAB = ".gitlab-ci.yml"
HOOKS = ".pre-commit-config.yaml"
IGNORED = ".gitignore"
SETTINGS = "pyproject.toml"
READ = (SETTINGS, HOOKS, IGNORED, GITLAB, WORKFLOW)
"""Files that the plan rests on."""


class Host(Enum):
    """Where the project's checks run."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True)
class Project:
    """A project's folder as it is. ``files``: text by path of those of ``READ`` that are there."""

    files: dict[str, str] = field(default_factory=dict)
    lock: str = "lockfiles/environment.toml"
    """Path of the lock that it has, or will have."""
    in_git: bool = False
    """It is the root of a repository."""
    host: Host | None = None
    version: str = ""
    """envguard's, for the jobs to install."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file. ``before`` None: it isn't there yet."""

    path: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """All changes, and what has to be done by hand."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


def propose(project: Project) -> Proposal:
    """Settings, hook, job and ignored files. SettingsInvalidError for a pyproject.toml that can't be read."""
    notes: list[str] = []
    changes = [
        Change(path, before, after)
        for path, after in _texts(project, notes)
        if after != (before := project.files.get(path))
    ]
    return Proposal(tuple(changes), tuple(notes))


def _texts(project: Project, notes: list[str]) -> Iterator[tuple[str, str]]:
    yield SETTINGS, init_settings.with_lock(project.files.get(SETTINGS), project.lock)
    if not project.in_git:
        notes.append("hook, job and .gitignore are left out: this is not the root of a git repository")
        return
    hooks = init_hooks.with_hook(project.files.get(HOOKS))
    if hooks is None:
        notes.append(f"{HOOKS} has no list of repos that could be added to; add by hand:\n{init_hooks.ENTRY}")
    else:
        yield HOOKS, hooks
    if project.host is Host.GITHUB:
        yield WORKFLOW, project.files.get(WORKFLOW) or _WORKFLOW.format(version=project.version)
    elif project.host is Host.GITLAB:
        yield GITLAB, _with_job(project.files.get(GITLAB, ""), project.version)
    else:
        notes.append("no job is written: there is neither .github nor .gitlab-ci.yml")
    yield IGNORED, _with_lines(project.files.get(IGNORED), _IGNORED)


def _with_job(text: str, version: str) -> str:
    if re.search(r"^envguard\b[^\n]*:", text, re.MULTILINE) or "envguard lint" in text:
        return text
    return _appended(text, _JOB.format(version=version))


def _with_lines(text: str | None, lines: tuple[str, ...]) -> str:
    there = {line.strip() for line in (text or "").splitlines()}
    missing = [line for line in lines if line not in there]
    return _appended(text or "", "".join(f"{line}\n" for line in missing)) if missing else text or ""


def _appended(text: str, addition: str) -> str:
    """At the end, in the text's own kind of line ends."""
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else end
    return text + gap + addition.replace("\n", end)


_IGNORED = (".venv", ".venv.before-*")
"""What a restore leaves in the project: a link (which ``.venv/`` doesn't match), and what was there before."""

_WORKFLOW = """\
name: envguard
on: [push, pull_request]
permissions:
  contents: read
jobs:
  lint:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python -m pip install envguard=={version}
      - run: envguard lint --format github
"""

_JOB = """\

envguard:
  stage: .pre
  image: python:3.12-slim
  script:
    - python -m pip install envguard=={version}
    - envguard lint --format gitlab > gl-code-quality-report.json
  artifacts:
    when: always
    reports:
      codequality: gl-code-quality-report.json
"""
