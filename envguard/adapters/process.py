"""Child processes: no shell, both streams, a time limit, and none outlives its parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Ended:
    """A child that ended. ``code`` is negative for a signal, as in subprocess."""

    code: int
    stdout: bytes
    stderr: bytes


class ChildTimeoutError(Exception):
    """A child did not end in time and was killed; ``stderr`` is what it had written."""

    def __init__(self, seconds: float, stderr: bytes) -> None:
        super().__init__(f"did not end within {seconds:g} s")
        self.stderr = stderr


def run(
    command: Sequence[str | Path],
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout: float | None = None,
    stdin: bytes = b"",
) -> Ended:
    """Run a child to its end. OSError when it can't be started, ChildTimeoutError when it takes too long.

    The child gets a process group of its own, so that a kill takes its children along, and dies with this process.
    """
    with subprocess.Popen(
        [os.fspath(part) for part in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if environ is None else dict(environ),
        cwd=folder,
        start_new_session=True,
        preexec_fn=_die_with_parent(),
    ) as child:
        try:
            out, err = child.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            _kill(child)
            _, err = child.communicate()
            raise ChildTimeoutError(timeout or 0.0, err) from None
        except BaseException:
            _kill(child)
            raise
    return Ended(child.returncode, out, err)


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()


def die_with_parent() -> Callable[[], None] | None:
    """``preexec_fn`` of a child that is started elsewhere, and is not to outlive this process."""
    return _die_with_parent()


def _die_with_parent() -> Callable[[], None] | None:
    """A function for the child, between fork and exec: ask Linux for SIGKILL when the parent dies (prctl(2))."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the request took effect
            os.kill(os.getpid(), signal.SIGKILL)

    return ask
