"""The tool as a user installs it, and the environment of the known-good run. Each is made once a session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.environments import UV, clean_environ, shell

ROOT = Path(__file__).parents[2]


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


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """envguard installed from this checkout into a fresh environment of its own."""
    folder = tmp_path_factory.mktemp("tool") / "venv"
    shell(UV, "venv", "-q", "-p", sys.executable, folder)
    shell(UV, "pip", "install", "-q", "-p", folder / "bin" / "python", ROOT)
    return folder / "bin" / "envguard"


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
