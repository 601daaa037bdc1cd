"""What all benchmarks share: the tool, a target, a lock of it, and folders that are thrown away."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

KINDS = ("DATA", "CACHE", "STATE")
SCRIPTS = Path(sysconfig.get_path("scripts"))


@dataclass(frozen=True)
class Place:
    """``folder`` holds everything that is written; ``python`` and ``site`` are the target's, and only read."""

    folder: Path
    python: Path
    site: Path

    @property
    def tool(self) -> str:
        """envguard."""
        return str(SCRIPTS / "envguard")

    @property
    def uv(self) -> str:
        """The uv that restore calls."""
        return str(SCRIPTS / "uv")

    @property
    def lock(self) -> Path:
        """The target's lock."""
        return self.folder / "bench.toml"

    def call(self, *command: object) -> None:
        """Run a step that isn't timed; ends the benchmark when it fails."""
        ended = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        if ended.returncode:
            sys.exit(f"{' '.join(map(str, command))}: exit {ended.returncode}\n{ended.stdout}{ended.stderr}")

    def own(self, kind: str) -> Path:
        """envguard's own folder of a kind."""
        return self.folder / kind.lower()

    def emptied(self, *paths: Path) -> Callable[[], None]:
        """A preparation that removes these."""

        def empty() -> None:
            for path in paths:
                _remove(path)

        return empty

    def kept(self) -> Callable[[], None]:
        """A preparation that puts envguard's own folders back to what they are now."""
        aside = self.folder / "aside"
        _remove(aside)
        for kind in KINDS:
            if self.own(kind).exists():
                shutil.copytree(self.own(kind), aside / kind.lower(), symlinks=True)

        def put_back() -> None:
            for kind in KINDS:
                _remove(self.own(kind))
                if (aside / kind.lower()).exists():
                    shutil.copytree(aside / kind.lower(), self.own(kind), symlinks=True)

        return put_back


@contextmanager
def place(folder: Path, python: Path) -> Iterator[Place]:
    """Work in ``folder``; envguard keeps its own things there too."""
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    for kind in KINDS:
        os.environ[f"ENVGUARD_{kind}_DIR"] = str(folder / kind.lower())
    before = Path.cwd()
    os.chdir(folder)
    try:
        here = Place(folder, python, site)
        here.call(here.tool, "snapshot", "-q", "--offline", "-o", here.lock, "--python", python)
        yield here
    finally:
        os.chdir(before)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
