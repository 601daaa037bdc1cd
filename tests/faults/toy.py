"""A toy project on which whole commands are run as a user runs them: an environment, a lock, a store, a cache."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from uv import find_uv_bin

from tests import builders
from tests.adapters.cache import world

COMMAND = (sys.executable, "-P", "-m", "envguard")
"""As the console script does, the working folder is no place for modules."""


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def whole(self) -> str:
        return self.out + self.err


@dataclass
class Toy:
    """Below ``root``: ``project`` with ``.venv`` and ``lockfiles/good.toml``, ``compiled``, our own folders."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project = self.root / "project"
        self.environment = self.project / ".venv"
        self.lock = self.project / "lockfiles" / "good.toml"
        self.compiled = self.root / "compiled"
        self.wheels = self.root / "wheels"
        self.data, self.cache, self.state = (self.root / kind for kind in ("data", "cache", "state"))
        self.store = self.data / "store"
        self.objects = self.store / "blobs" / "sha256"

    def make(
        self, wheels: Iterable[tuple[str, Mapping[str, bytes | str]]] = (), *, relocatable: bool = False
    ) -> Toy:
        """Folders, an environment, ``demo`` and more wheels of ours in it."""
        self.project.mkdir(parents=True)
        self.wheels.mkdir()
        more = ["--relocatable"] if relocatable else []
        self.uv("venv", "-q", "--python", sys.executable, *more, self.environment)
        files: dict[str, bytes | str] = {f"demo/part{number}.py": f"VALUE = {number}\n" for number in range(4)}
        script: dict[str, bytes | str] = {"demo-1.0.data/scripts/run-demo": "#!python\nprint(1)\n"}
        made = [builders.wheel(self.wheels, "demo", "1.0", {"demo/__init__.py": "A = 1\n", **files, **script})]
        made += [builders.wheel(self.wheels, name, "1.0", content) for name, content in wheels]
        self.install(*made)
        return self

    def graphs(self, number: int = 2) -> Toy:
        """A compile cache with that many graphs."""
        for one in range(number):
            world.graph_entry(self.compiled, one, world.code("cpu"))
        self.compiled.chmod(0o700)
        return self

    def install(self, *wheels: Path) -> None:
        self.uv("pip", "install", "-q", "--no-deps", "--python", self.environment / "bin" / "python", *wheels)

    def uv(self, *arguments: str | Path) -> None:
        offline = ("--offline", "--no-config", "--no-cache")
        subprocess.run([find_uv_bin(), *arguments, *offline], check=True, env=_clean(), timeout=120)

    @property
    def environ(self) -> dict[str, str]:
        """What the commands see."""
        nowhere = self.root / "nowhere"
        return {
            **_clean(),
            "HOME": str(self.root),
            "PIP_CONFIG_FILE": os.devnull,
            "UV_NO_CONFIG": "1",
            "UV_CACHE_DIR": str(nowhere),
            "PIP_CACHE_DIR": str(nowhere),
            "TORCHINDUCTOR_CACHE_DIR": str(self.compiled),
            "ENVGUARD_DATA_DIR": str(self.data),
            "ENVGUARD_CACHE_DIR": str(self.cache),
            "ENVGUARD_STATE_DIR": str(self.state),
            **self.variables,
        }

    def run(
        self,
        *arguments: str | Path,
        code: int | Sequence[int] | None = 0,
        under: Sequence[str] = (),
        before: Callable[[], object] | None = None,
        timeout: float = 120,
    ) -> Ended:
        """One command; ``under``: a program that starts it; ``code`` None allows any end."""
        ended = subprocess.run(
            [*under, *COMMAND, *map(str, arguments)],
            cwd=self.project,
            env=self.environ,
            capture_output=True,
            timeout=timeout,
            check=False,
            preexec_fn=before,
        )
        told = Ended(
            ended.returncode, ended.stdout.decode("utf-8", "replace"), ended.stderr.decode("utf-8", "replace")
        )
        if code is not None:
            allowed = (code,) if isinstance(code, int) else code
            assert told.code in allowed, f"{arguments}: {told.code}\n{told.whole}"
        return told

    def snapshot(self, *arguments: str | Path) -> Ended:
        return self.run("snapshot", "-o", self.lock, "--offline", *arguments)

    def damaged(self) -> list[str]:
        """Objects at their final name whose bytes are others (I1)."""
        if not self.objects.is_dir():
            return []
        return [
            path.name
            for path in self.objects.iterdir()
            if hashlib.sha256(path.read_bytes()).hexdigest() != path.name
        ]

    def check(self) -> None:
        """I1 and I3: what is there is whole, and the lock that is there refers to nothing that is missing."""
        assert self.damaged() == []
        if self.lock.exists():
            self.run("store", "check", self.lock)


def _clean() -> dict[str, str]:
    """Without what names other environments, caches and indexes."""
    dropped = ("UV_", "PIP_", "CONDA", "VIRTUAL_ENV", "ENVGUARD_", "TORCH", "TRITON", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


def tree(folder: Path, *, without: Sequence[str] = ()) -> dict[str, str]:
    """Every path below a folder with kind, mode and content's digest; names in ``without`` are passed over."""
    seen = {}
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in without]
        for name in [*folders, *files]:
            path = Path(here) / name
            content = (
                f"→{path.readlink()}"
                if path.is_symlink()
                else hashlib.sha256(path.read_bytes()).hexdigest()
                if path.is_file()
                else ""
            )
            seen[str(path.relative_to(folder))] = f"{path.lstat().st_mode:o} {content}"
    return seen
