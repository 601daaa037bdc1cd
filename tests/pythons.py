"""Pythons of this machine, and fake ones."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest


def _candidates() -> list[Path]:
    beside = sorted(Path(sys.base_prefix).parent.glob("*/bin/python"))
    system = [shutil.which("python3", path=os.defpath)]
    return list(dict.fromkeys([Path(sys.executable), *beside, *(Path(found) for found in system if found)]))


@functools.cache
def versions() -> dict[Path, tuple[int, ...]]:
    """Every Python found next to the running one, on the system's own path, and the running one."""
    found = {}
    for python in _candidates():
        ended = subprocess.run([python, "-V"], capture_output=True, text=True, timeout=30, check=False)
        words = (ended.stdout or ended.stderr).split()
        if len(words) == 2 and words[0] == "Python":
            found[python] = tuple(int(part) for part in words[1].split(".")[:2] if part.isdigit())
    return found


def supported() -> list[Any]:
    """Parameters: one Python of each kind that can be looked at."""
    return [
        pytest.param(python, id=f"{version[0]}.{version[1]}-{python.parent.parent.name}")
        for python, version in versions().items()
        if version >= (3, 9)
    ]


def too_old() -> list[Any]:
    """Parameters: Pythons that are too old; one that skips where there is none."""
    found = [
        pytest.param(python, id=f"{version[0]}.{version[1]}")
        for python, version in versions().items()
        if version < (3, 9)
    ]
    return found or [pytest.param(None, marks=pytest.mark.skip(reason="no Python before 3.9 here"))]


def told_by(python: Path, expression: str, *flags: str, environ: Mapping[str, str] | None = None) -> Any:
    """What an expression is in another Python, where json, os, site, sys and sysconfig are imported."""
    program = f"import json, os, site, sys, sysconfig; print(json.dumps({expression}))"
    ended = subprocess.run(
        [python, *flags, "-c", program],
        capture_output=True,
        check=True,
        timeout=60,
        env=None if environ is None else dict(environ),
    )
    return json.loads(ended.stdout)


def venv(folder: Path, python: Path, *options: str) -> Path:
    """A new venv without pip; its interpreter."""
    subprocess.run([python, "-m", "venv", "--without-pip", *options, folder], check=True, timeout=120)
    return folder / "bin" / "python"


def fake(file: Path, script: str) -> Path:
    """An executable shell script."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file
