"""The tool as a user installs it, and real torch environments as users make them. Each is made once a session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from uv import find_uv_bin

ROOT = Path(__file__).parents[2]
UV = find_uv_bin()
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
EXTRAS = ("PyYAML", "ninja")
"""Beside torch: a compiled library, and a program that lies in bin/."""


@dataclass(frozen=True)
class Ended:
    """What a command came to."""

    code: int
    out: str
    err: str


@dataclass
class Place:
    """A folder in which envguard is called, with folders of its own for data, cache and state."""

    folder: Path
    tool: Path
    environ: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str | Path, **environ: str) -> Ended:
        """Call envguard."""
        ended = subprocess.run(
            [self.tool, *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**self.environ, **environ},
            check=False,
        )
        assert "Traceback" not in ended.stderr, ended.stderr
        return Ended(ended.returncode, ended.stdout, ended.stderr)


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
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """envguard installed from this checkout into a fresh environment of its own."""
    folder = tmp_path_factory.mktemp("tool") / "venv"
    shell(UV, "venv", "-q", "-p", sys.executable, folder)
    shell(UV, "pip", "install", "-q", "-p", folder / "bin" / "python", ROOT)
    return folder / "bin" / "envguard"


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
def good(make_environment: Callable[..., Path]) -> Path:
    """The environment of the known-good run: made by uv, hardlinked from its cache."""
    return make_environment("good")


@pytest.fixture(scope="session")
def place(
    tool: Path, good: Path, make_environment: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Place:
    """A project folder in which the good environment has been recorded."""
    folder = tmp_path_factory.mktemp("project")
    own = tmp_path_factory.mktemp("envguard")
    environ = clean_environ(
        UV_CACHE_DIR=str(make_environment.cache),  # type: ignore[attr-defined]
        **{f"ENVGUARD_{kind}_DIR": str(own / kind.lower()) for kind in ("DATA", "CACHE", "STATE")},
    )
    here = Place(folder, tool, environ)
    taken = here.run("snapshot", "--name", "good", "--python", good)
    assert taken.code == 0, taken.err
    return here


@contextmanager
def replaced(file: Path, content: bytes | None, aside: Path) -> Iterator[None]:
    """A file with other bytes, or gone, for a while; not through its hardlinks; size and mtime put back."""
    before = file.stat()
    kept = aside / "kept"
    shutil.move(file, kept)
    try:
        if content is not None:
            file.write_bytes(content)
            file.chmod(before.st_mode & 0o777)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        yield
    finally:
        file.unlink(missing_ok=True)
        shutil.move(kept, file)
