"""Real git repositories for tests, apart from whatever the user's own git settings say."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")

_SETTINGS = (
    "user.name=Test",
    "user.email=test@example.invalid",
    "commit.gpgsign=false",
    "init.defaultBranch=main",
    "core.hooksPath=/dev/null",
    "protocol.file.allow=always",
)


def run(folder: Path, *arguments: str) -> str:
    """What git prints."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    ended = subprocess.run(
        ["git", *settings, *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env={**environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
    )
    return ended.stdout.strip()


def repository(folder: Path, **files: str) -> Path:
    """A repository with one commit; keyword ``train`` makes ``train.py``."""
    folder.mkdir(parents=True, exist_ok=True)
    run(folder, "init", "-q")
    for name, text in (files or {"train": "print(1)\n"}).items():
        (folder / f"{name}.py").write_text(text)
    run(folder, "add", "-A")
    run(folder, "commit", "-q", "-m", "first")
    return folder


def head(folder: Path) -> str:
    """Its commit."""
    return run(folder, "rev-parse", "HEAD")
