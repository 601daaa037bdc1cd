"""Chooses the Python to look at, and says why that one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from envguard.adapters.executable import MAKE_ANEW, NAME_ANOTHER
from envguard.errors import TargetBrokenError, TargetInvalidError, UsageError
from envguard.model.target import Target

_PLACES = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
"""Where an environment folder keeps its interpreter: venv and conda, on POSIX and Windows."""


def choose(
    explicit: Path | None,
    configured: Path | None,
    working_folder: Path,
    environ: Mapping[str, str],
    own: Path | None = None,
) -> Target:
    """The first there is of: named, configured, ``.venv`` here, CONDA_PREFIX, VIRTUAL_ENV unless it is our own.

    A path may be an interpreter, the folder of an environment, or a bare command name that PATH knows. Links are
    never resolved. conda's base environment, which shells activate unasked, comes last. ``own``: where envguard
    itself is installed (default: this Python's prefix). TargetInvalidError, TargetBrokenError; UsageError when
    there is none.
    """
    if explicit is not None:
        return Target(_named(explicit, working_folder, environ), "--python")
    if configured is not None:
        return Target(_named(configured, working_folder, environ), "configured")
    for folder, why in _activated(working_folder, environ, own or Path(sys.prefix)):
        python = _in_environment(folder, why)
        if python is not None:
            return Target(python, why)
    raise UsageError(
        "no Python to look at: nothing named or configured, no .venv here, no environment activated",
        hint="name the interpreter or its environment: --python PATH",
    )


def _activated(working_folder: Path, environ: Mapping[str, str], own: Path) -> Iterator[tuple[Path, str]]:
    yield working_folder / ".venv", ".venv"
    conda = environ.get("CONDA_PREFIX")
    base = environ.get("CONDA_DEFAULT_ENV") in ("base", "root")
    if conda and not base:
        yield working_folder / conda, "CONDA_PREFIX"
    virtual = environ.get("VIRTUAL_ENV")
    if virtual and not _same(working_folder / virtual, own):  # a hook runner activates the tool's own
        yield working_folder / virtual, "VIRTUAL_ENV"
    if conda and base:
        yield working_folder / conda, "CONDA_PREFIX"


def _in_environment(folder: Path, why: str) -> Path | None:
    """The interpreter of an environment folder; None when the folder is no environment at all."""
    python = _interpreter_of(folder)
    if python is None and (folder / "pyvenv.cfg").is_file():
        raise TargetBrokenError(
            f"the environment of {why} holds no interpreter", where=str(folder), hint=MAKE_ANEW
        )
    return python


def _named(path: Path, working_folder: Path, environ: Mapping[str, str]) -> Path:
    path = _home(path)
    here = working_folder / path
    if here.is_dir():
        return _of_folder(here, path, environ)
    if len(path.parts) != 1 or path.is_absolute():
        return here
    known = _on_path(path.name, environ)
    if known is None or _same(known, here):
        return here
    if os.access(here, os.X_OK):  # "./python" and "python" are one Path: which is meant can't be told
        raise UsageError(
            f"{path.name} is a program here and another one on PATH",
            where=f"{here}, {known}",
            hint=f"name the one you mean with its whole path: --python {here}",
        )
    return known


def _of_folder(here: Path, path: Path, environ: Mapping[str, str]) -> Path:
    python = _interpreter_of(here)
    if python is not None:
        return python
    known = _on_path(path.name, environ) if len(path.parts) == 1 else None
    if known is not None:
        return known
    if (here / "pyvenv.cfg").is_file():
        raise TargetBrokenError("this environment holds no interpreter", where=str(here), hint=MAKE_ANEW)
    beside = next((here / name for name in ("python", "python3") if os.path.lexists(here / name)), None)
    raise TargetInvalidError(
        "this folder is no environment: there is no bin/python in it",
        where=str(here),
        hint=f"did you mean --python {beside}" if beside else NAME_ANOTHER,
    )


def _interpreter_of(folder: Path) -> Path | None:
    """The interpreter of an environment folder; a link that leads nowhere counts, so that it is told."""
    for place in _PLACES:
        if os.path.lexists(folder / place):
            return folder / place
    return None


def _on_path(name: str, environ: Mapping[str, str]) -> Path | None:
    import shutil

    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    return Path(found).absolute() if found else None


def _home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # no home folder is known: the path is taken as it is
        return path


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
