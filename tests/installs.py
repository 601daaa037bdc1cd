"""Real installations for tests: uv and pip, with caches of their own, from the default index."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

_UNREACHABLE = (
    "error sending request",
    "Failed to fetch",
    "dns error",
    "Connection",
    "timed out",
    "Network connectivity is disabled",
)


@dataclass(frozen=True, slots=True)
class Installs:
    """Environments below one root; nothing is shared with the user's own caches or settings."""

    root: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def uv_cache(self) -> Path:
        return self.root / "uv-cache"

    @property
    def pip_cache(self) -> Path:
        return self.root / "pip-cache"

    def uv(self, *arguments: str | Path) -> None:
        """Run uv; skips the test when the index can't be reached."""
        import uv

        self._run([uv.find_uv_bin(), *arguments])

    def venv(self, name: str, *options: str) -> Path:
        """An empty environment of this Python."""
        environment = self.root / name
        self.uv("venv", "--quiet", "--python", sys.executable, *options, environment)
        return environment

    def uv_install(self, environment: Path, *arguments: str | Path) -> None:
        self.uv("pip", "install", "--quiet", "--python", python_of(environment), *arguments)

    def pip_install(self, environment: Path, *arguments: str | Path) -> None:
        """pip of this Python, at work in another environment."""
        self._run(
            [sys.executable, "-m", "pip", "--python", python_of(environment), "install", "--quiet", *arguments]
        )

    def pip_download(self, folder: Path, *arguments: str | Path) -> None:
        self._run([sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, *arguments])

    def _run(self, command: list[str | Path]) -> None:
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("UV_") and name != "VIRTUAL_ENV"
        }
        environ |= {"UV_CACHE_DIR": str(self.uv_cache), "PIP_CACHE_DIR": str(self.pip_cache), **self.variables}
        ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=600, check=False)
        if ended.returncode and any(words in ended.stderr for words in _UNREACHABLE):
            pytest.skip(f"the default index can't be reached: {ended.stderr.strip()[-200:]}")
        assert ended.returncode == 0, ended.stderr


def python_of(environment: Path) -> Path:
    return environment / "bin" / "python"


def site_of(environment: Path) -> Path:
    return next(environment.glob("lib/python3*/site-packages"))
