"""Runs a script of ``envguard/probe`` in some interpreter, and says in words why there is no answer."""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from envguard.adapters import process
from envguard.adapters.executable import MAKE_ANEW, NAME_ANOTHER
from envguard.errors import EnvguardError, ProbeFailedError, TargetBrokenError, TargetInvalidError
from envguard.formats.probe import OTHER_PYTHON

ISOLATED = ("-I", "-S", "-B")
"""No variables, no user site, no start-up code, no bytecode written."""

_VERSION = re.compile(rb"Python (\d+)\.(\d+)(\S*)")
_OLDEST = (3, 9)
_VERSION_SECONDS = 10.0


def script(name: str) -> Path:
    """Where a probe lies. It is run, never imported."""
    return Path(__file__).parent.parent / "probe" / f"{name}.py"


def ask(python: Path, name: str, flags: Sequence[str], *, environ: Mapping[str, str], timeout: float) -> str:
    """The answer of a probe, as text between its markers (start-up code may print around it).

    TargetInvalidError, TargetBrokenError or ProbeFailedError say why there is none.
    """
    start, end = (f"<{mark}:{os.urandom(16).hex()}>" for mark in ("start", "end"))
    try:
        ended = process.run([python, *flags, script(name), start, end], environ=environ, timeout=timeout)
    except process.ChildTimeoutError:
        raise ProbeFailedError(
            f"the target did not answer within {timeout:g} s",
            where=str(python),
            hint=f"see what it does: {python} -I -S -c pass",
        ) from None
    except OSError as error:
        raise _not_started(python, error) from None
    _, began, rest = ended.stdout.partition(start.encode())
    answer, whole, _ = rest.partition(end.encode())
    if began and whole and answer.strip():  # a program that repeats its arguments answers nothing
        return answer.decode("utf-8", "replace")
    raise _no_answer(python, ended, environ)


def _not_started(python: Path, error: OSError) -> EnvguardError:
    where = str(python)
    if error.errno == errno.ENOENT:  # the file is there: what is missing is its loader, or the one in its #! line
        return TargetBrokenError("the program that runs this interpreter is missing", where=where, hint=MAKE_ANEW)
    if error.errno == errno.ENOEXEC:
        return TargetInvalidError("this is not a program for this machine", where=where, hint=NAME_ANOTHER)
    return TargetInvalidError(f"this can't be started: {error.strerror}", where=where, hint=NAME_ANOTHER)


def _no_answer(python: Path, ended: process.Ended, environ: Mapping[str, str]) -> EnvguardError:
    where = str(python)
    if ended.code < 0:
        return TargetBrokenError(f"the interpreter died: {_signal(-ended.code)}", where=where, hint=MAKE_ANEW)
    version = _version(python, environ)
    if version is None:
        return TargetInvalidError("this is not a Python interpreter", where=where, hint=NAME_ANOTHER)
    if version[:2] < _OLDEST:
        told = f"{version[0]}.{version[1]}{version[2]}"
        return TargetInvalidError(f"the target is Python {told}", where=where, hint=OTHER_PYTHON)
    last = _last_line(ended.stderr)
    if ended.code != 0:
        reason = f": {last}" if last else f" (exit {ended.code})"
        return TargetBrokenError(f"the interpreter doesn't start{reason}", where=where, hint=MAKE_ANEW)
    return ProbeFailedError(
        "the target ended without an answer", where=where, hint=f"see whether it runs: {python} -I -S -c pass"
    )


def _version(python: Path, environ: Mapping[str, str]) -> tuple[int, int, str] | None:
    """What ``-V`` says, which even a Python without its standard library answers."""
    try:
        ended = process.run([python, "-V"], environ=environ, timeout=_VERSION_SECONDS)
    except (OSError, process.ChildTimeoutError):
        return None
    found = _VERSION.match(ended.stdout.strip()) or _VERSION.match(ended.stderr.strip())
    return (int(found[1]), int(found[2]), found[3].decode("ascii", "replace")) if found else None


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines()]
    return next((line[:300] for line in reversed(lines) if any(letter.isalnum() for letter in line)), "")
