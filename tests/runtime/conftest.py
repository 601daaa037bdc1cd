"""Programs in processes of their own, with the guard's folder on the path and a small torch, or the real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from envguard.adapters import injected
from tests.runtime import fake_torch

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/run-1.json").read_text())


@dataclass
class Ended:
    """What a program came to; ``log`` is its run log."""

    code: int
    out: str
    err: str
    log: dict[str, Any] = field(default_factory=dict)


@dataclass
class Programs:
    """Runs programs guarded, in a folder of their own."""

    folder: Path
    python: str | Path = sys.executable
    path: list[Path] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)

    def command(self, program: str | Path, *arguments: str) -> list[str]:
        """How a program (a text, or a file) is started."""
        start = [str(program)] if isinstance(program, Path) else ["-c", program]
        return [str(self.python), "-B", *start, *arguments]

    def variables(self, **environ: str) -> dict[str, str]:
        """The environment of a guarded program."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ENVGUARD_", "COV_", "TORCH"))
        }
        kept.pop("PYTHONPATH", None)
        whole = {
            **kept,
            "PYTHONPATH": os.pathsep.join(map(str, [injected.folder(), *self.path])),
            "ENVGUARD_RUN_LOG": str(self.folder / "run.json"),
            **self.environ,
            **environ,
        }
        return {name: value for name, value in whole.items() if value}

    def run(self, program: str | Path, *arguments: str, timeout: float = 300, **environ: str) -> Ended:
        """Run one to its end; its log, where it wrote one, is held against the schema."""
        ended = subprocess.run(
            self.command(program, *arguments),
            capture_output=True,
            text=True,
            env=self.variables(**environ),
            cwd=self.folder,
            timeout=timeout,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr, self.log())

    def log(self, name: str = "run.json") -> dict[str, Any]:
        """A run log, or nothing where there is none."""
        path = self.folder / name
        if not path.exists():
            return {}
        document: dict[str, Any] = json.loads(path.read_text())
        jsonschema.validate(document, SCHEMA)
        return document

    def logs(self) -> list[dict[str, Any]]:
        """All run logs of the folder."""
        return [self.log(path.name) for path in sorted(self.folder.glob("run*.json"))]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    """Programs with the small torch."""
    work = tmp_path / "work"
    work.mkdir()
    return Programs(work, path=[fake_torch.write(tmp_path / "library")])


@pytest.fixture
def real(torch_environment: Path, tmp_path: Path) -> Programs:
    """Programs with the real torch, and a compile cache of the test's own."""
    work = tmp_path / "work"
    work.mkdir()
    return Programs(
        work,
        python=torch_environment / "bin" / "python",
        environ={"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")},
    )
