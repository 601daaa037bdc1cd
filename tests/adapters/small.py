"""A small real environment, made once by uv and copied for each test, and looks at it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envguard.adapters.look import Asked, Looked, look
from envguard.model.facts import FileFact, FileKind
from envguard.model.target import Layout, Level, PathEntry
from tests.builders import wheel

SOABI = sysconfig.get_config_var("SOABI")
TAG = sys.implementation.cache_tag
MINOR = f"python{sys.version_info[0]}.{sys.version_info[1]}"


class Silent:
    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        pass


@dataclass(frozen=True, slots=True)
class Small:
    """An environment in a folder."""

    prefix: Path

    @property
    def site(self) -> Path:
        return self.prefix / "lib" / MINOR / "site-packages"

    @property
    def scripts(self) -> Path:
        return self.prefix / "bin"

    @property
    def python(self) -> Path:
        return self.scripts / "python"

    def layout(self, *path: PathEntry, **changes: object) -> Layout:
        whole: dict[str, object] = {
            "python": self.python,
            "prefix": self.prefix,
            "base_prefix": Path(sys.base_prefix),
            "libraries": (self.site,),
            "scripts": self.scripts,
            "headers": self.prefix / "include" / "site" / MINOR,
            "path": (*path, PathEntry(self.site, "site-packages")),
            "is_venv": True,
            "system_site": False,
        }
        return Layout(**{**whole, **changes})  # type: ignore[arg-type]

    def look(
        self,
        level: Level = Level.FAST,
        *,
        rows: Mapping[str, bytes] | None = None,
        keep: bool = True,
        layout: Layout | None = None,
    ) -> Looked:
        """A look, kept for the next one; ``rows`` are what the lock's objects say."""
        asked = Asked(
            layout or self.layout(), level, SOABI, dict(os.environ), lambda name: (rows or {}).get(name), Silent()
        )
        looked = look(asked)
        if keep:
            looked.save()
        return looked

    def facts(self, level: Level = Level.FAST, **options: object) -> list[FileFact]:
        return list(self.look(level, **options).files or ())  # type: ignore[arg-type]

    def kinds(self, level: Level = Level.FAST, **options: object) -> set[tuple[str, str]]:
        """What is told beyond what a sound environment tells: (kind, path)."""
        return {
            (fact.kind.value, fact.shown)
            for fact in self.facts(level, **options)
            if fact.kind not in (FileKind.SCRIPT, FileKind.HEADER, FileKind.STARTUP) or not fact.owners
        }

    def compile(self) -> None:
        subprocess.run([self.python, "-m", "compileall", "-q", self.site], check=True)


def wheels(folder: Path) -> Path:
    """Small wheels, of all that wheels hold."""
    folder.mkdir(exist_ok=True)
    data = "toy-1.0.data"
    wheel(
        folder,
        "toy",
        "1.0",
        {
            "toy/__init__.py": "X = 1\n",
            "toy/cli.py": "def main():\n    return 0\n",
            "toy/table.bin": b"\0" * 5000,
            "toy/name, with comma.py": "Y = 1\n",
            "single.py": "Z = (1, 'a', 2.0)\n",
            f"{data}/scripts/toy-script": "#!python\nprint('script')\n",
            f"{data}/scripts/toy-shell": "#!/bin/sh\necho shell\n",
            f"{data}/data/share/toy/notes.txt": "notes\n",
            f"{data}/data/bin/toy-program": b"\x7fELF program",
        },
        entry_points="[console_scripts]\ntoy-cli = toy.cli:main\n",
        modes={f"{data}/data/bin/toy-program": 0o755},
    )
    wheel(folder, "My.Head_Er", "2.0", {"header_only.py": "", "My.Head_Er-2.0.data/headers/sub/a.h": "// a\n"})
    for name in ("left", "right"):
        wheel(folder, name, "1.0", {"common/__init__.py": "", f"common/{name}.py": f"NAME = '{name}'\n"})
    wheel(folder, "starter", "1.0", {"starter.pth": "import sys\n"})
    return folder


def uv(*arguments: str | Path) -> None:
    import uv as package

    environ = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    environ.pop("VIRTUAL_ENV", None)
    subprocess.run([package.find_uv_bin(), *arguments], env=environ, check=True, capture_output=True)


def install(environment: Path, find_links: Path, names: Sequence[str], cache: Path, *options: str) -> None:
    """Install by uv, offline."""
    python = environment / "bin" / "python"
    offline = ("--offline", "--no-index", "--cache-dir", cache, "--find-links", find_links)
    uv("pip", "install", "--quiet", "--python", python, *offline, *options, *names)


ALL = ("toy", "my-head-er", "left", "right", "starter")


def make(folder: Path) -> Path:
    """The environment that is copied."""
    environment = folder / "environment"
    uv("venv", "--quiet", "--relocatable", "--python", sys.executable, environment)
    install(environment, wheels(folder / "wheels"), ALL, folder / "cache", "--link-mode", "copy")
    return environment


def copied(template: Path, to: Path) -> Small:
    shutil.copytree(template, to, symlinks=True)
    return Small(to)
