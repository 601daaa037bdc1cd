"""Real torch environments as users make them. Each is made once a session, and seen by every test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from uv import find_uv_bin

UV = find_uv_bin()
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
EXTRAS = ("PyYAML", "ninja")
"""Beside torch: a compiled library, and a program that lies in bin/."""


def shell(*command: str | Path, environ: dict[str, str] | None = None, code: int = 0) -> str:
    """Run a command that must end so."""
    ended = subprocess.run(list(command), capture_output=True, text=True, env=environ, check=False)
    assert ended.returncode == code, f"{command}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout + ended.stderr


def clean_environ(**more: str) -> dict[str, str]:
    """The environment of a user's shell, without what would lead to this project's own."""
    dropped = ("VIRTUAL_ENV", "PYTHONPATH", "CONDA_PREFIX", "PYTEST_CURRENT_TEST")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**kept, **more}


@pytest.fixture(scope="session")
def make_environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make a real torch environment with uv or pip; the same wheels each time. Answers with its folder."""
    cache = tmp_path_factory.mktemp("uv-cache")
    folders = [Path(part) for part in os.environ.get("PIP_FIND_LINKS", "").split() if Path(part).is_dir()]
    found = sorted(wheel for folder in folders for wheel in folder.glob("torch-*-cp311-cp311-*x86_64.whl"))
    here = bool(found) and sys.version_info[:2] == (3, 11)
    places: list[str | Path] = ["--find-links", found[-1].parent] if here else ["--extra-index-url", CPU_INDEX]
    torch = f"torch=={found[-1].name.split('-')[1]}" if here else "torch"
    pins: list[str] = []

    def make(name: str, *, installer: str = "uv", venv: Sequence[str] = (), install: Sequence[str] = ()) -> Path:
        folder = tmp_path_factory.mktemp(name) / "env"
        python = folder / "bin" / "python"
        wanted = pins or [torch, *EXTRAS]
        if installer == "pip":
            shell(sys.executable, "-m", "venv", folder)
            shell(python, "-m", "pip", "install", "-q", *install, *places, *wanted, environ=clean_environ())
        else:
            environ = clean_environ(UV_CACHE_DIR=str(cache))
            shell(UV, "venv", "-q", "-p", sys.executable, *venv, folder, environ=environ)
            shell(UV, "pip", "install", "-q", "-p", python, *install, *places, *wanted, environ=environ)
        if not pins:
            pins.extend(shell(UV, "pip", "freeze", "-q", "-p", python).split())
        return folder

    make.cache = cache  # type: ignore[attr-defined]
    make.torch = found[-1] if here else None  # type: ignore[attr-defined]
    return make


@pytest.fixture(scope="session")
def torch_environment(make_environment: Callable[..., Path]) -> Path:
    """A real torch: the environment that ENVGUARD_TEST_TORCH names (nothing is written there), else a new one."""
    named = os.environ.get("ENVGUARD_TEST_TORCH")
    return Path(named) if named else make_environment("guarded")
