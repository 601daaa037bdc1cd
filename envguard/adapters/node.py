"""One preflight a node: of the processes that one launcher started there the first looks, others take its word.

They are known by their parent: torchrun's agent, slurmstepd, mpirun's daemon each start all ranks of a node.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from envguard.adapters import files, folders
from envguard.errors import EnvguardError

_RANKED = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
_TELLS_ATTEMPT = (
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_RUN_ID",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_RESTART_COUNT",
)
_FRESH = 600.0
"""Seconds that a word is taken for; it was given for this start, and no later one."""
_WAIT = 600.0


@dataclass(frozen=True, slots=True)
class Word:
    """What the leader found. ``starts``: whether the command may start; ``log``: where run logs go."""

    starts: bool
    log: str
    variables: Mapping[str, str]


def is_rank(environ: Mapping[str, str]) -> bool:
    """Whether this process is one of several that a launcher started."""
    return any(environ.get(name, "").isdecimal() for name in _RANKED)


def once(environ: Mapping[str, str], about: str, look: Callable[[], Word]) -> tuple[Word, bool]:
    """The node's word, and whether this process is the one that looked. ``about``: what was asked for.

    EnvguardError when the leader doesn't come to an end.
    """
    import filelock

    key = _key(environ, about)
    folder = folders.state() / "preflights"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    place = folder / f"{key}.json"
    try:
        with filelock.FileLock(folder / f"{key}.lock", timeout=_WAIT):
            known = _known(place)
            if known is not None:
                return known, False
            word = look()
            files.write(place, _dumped(word), mode=0o600, durable=False)
            _forget_old(folder)
            return word, True
    except filelock.Timeout:
        raise EnvguardError(
            f"this node's first rank did not end its preflight within {_WAIT:g} s", where=str(folder)
        ) from None


def _key(environ: Mapping[str, str], about: str) -> str:
    parent = os.getppid()
    parts = [about, str(parent), _started(parent), *(environ.get(name, "") for name in _TELLS_ATTEMPT)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _started(process: int) -> str:
    """When a process started, in the kernel's ticks, and this start of the machine: numbers come back."""
    try:
        fields = (
            Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        return fields[19] + Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, IndexError):
        return ""


def _known(place: Path) -> Word | None:
    try:
        if time.time() - place.stat().st_mtime > _FRESH:
            return None
        document = json.loads(place.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    match document:
        case {"schema": 1, "starts": bool(starts), "log": str(log), "variables": dict(variables)}:
            return Word(starts, log, {str(name): str(value) for name, value in variables.items()})
    return None


def _dumped(word: Word) -> bytes:
    document = {"schema": 1, "starts": word.starts, "log": word.log, "variables": dict(word.variables)}
    return json.dumps(document).encode()


def _forget_old(folder: Path) -> None:
    for file in folder.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime > 10 * _FRESH:
                file.unlink()
