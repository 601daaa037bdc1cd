"""Run logs on disk: where a run's go, and those of all processes of a run read back."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envguard.adapters import files, folders
from envguard.errors import EnvguardError, UsageError
from envguard.formats.decode import WrongValueError
from envguard.formats.run_log import CAP, read_run_log
from envguard.model.run import RunLog

_MOST = 4096
"""Logs of one run that are read."""


def new_folder(lock: str) -> Path:
    """A folder for the logs of one run of a lock, named by time: ``<state>/runs/<lock>/<time>-<number>``."""
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in lock)[:60].lstrip(".")
    folder = (
        folders.state()
        / "runs"
        / (name or "run")
        / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise EnvguardError(
            f"no folder for the run's logs can be made: {problem.strerror}",
            where=str(folder),
            hint="name a place for them: envguard run --log FOLDER, or ENVGUARD_STATE_DIR",
        ) from None
    return folder


def keep(folder: Path, document: Mapping[str, Any]) -> None:
    """Keep what a preflight found beside the logs; a folder that can't be written is the run's own affair."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        files.write(folder / "preflight.json", (json.dumps(document, indent=1) + "\n").encode(), durable=False)


def read(path: Path) -> Sequence[RunLog]:
    """The logs of a run: of a folder all of them, of a file also those that its children wrote beside it.

    UsageError when there is none, or one can't be read.
    """
    found = _files(path)
    if not found:
        raise UsageError(
            "no run log is here", where=str(path), hint="envguard run LOCK -- COMMAND… says where it writes one"
        )
    return [_read(file) for file in found[:_MOST]]


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob("run*.json"))
    if not path.exists():
        return []
    # a process that another one of the run has started puts .rank3.4711 or .4711 before the ending
    beside = path.parent.glob(f"{glob.escape(path.stem)}.*{glob.escape(path.suffix)}")
    return [path, *sorted(file for file in beside if file != path and file.is_file())]


def _read(file: Path) -> RunLog:
    try:
        with file.open("rb") as stream:
            return read_run_log(stream.read(CAP + 1))
    except OSError as problem:
        raise UsageError(f"the run log can't be read: {problem.strerror}", where=str(file)) from None
    except WrongValueError as problem:
        raise UsageError(f"not a run log: {problem.problem}", where=f"{file} {problem.path}".rstrip()) from None
