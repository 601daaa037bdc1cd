"""Starts a run's command in envguard's own place, and finds out which program its first word is.

The process becomes the command (execve): its number, its terminal, its place in the job and its parent stay. So
every signal reaches it as if envguard had never been there, Ctrl-C and Ctrl-Z too, and its end is the command's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""As POSIX shells, env and nohup answer."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is started. ``words``: the command with its first word resolved."""

    file: Path
    words: tuple[str, ...]


class NotStartedError(Exception):
    """The command can't be executed; ``code`` is 126 or 127."""

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(reason)
        self.code = code


def find(command: Sequence[str], environ: Mapping[str, str], folder: Path) -> Program:
    """The program that the first word names, by the PATH of ``environ``. NotStartedError.

    A program that lies in an environment's folder behind a link (``.venv`` → …) is named by the folder itself: the
    link may be switched while the run goes on, and what it imports later would come from another environment.
    """
    first = command[0]
    if os.sep in first:
        file = folder / first
        if not file.exists():
            raise NotStartedError(f"{first}: no such file", NOT_FOUND)
        if not file.is_file() or not os.access(file, os.X_OK):
            raise NotStartedError(f"{first}: can't be executed", NOT_EXECUTABLE)
    else:
        found = shutil.which(first, path=environ.get("PATH", os.defpath)) if first else None
        if found is None:
            raise NotStartedError(f"{first!r}: no such command", NOT_FOUND)
        file = folder / found
    settled = steady(file)
    return Program(settled, (str(settled) if settled != file else first, *command[1:]))


def steady(file: Path) -> Path:
    """The same file with its environment's folder resolved; itself where it lies in none, or behind no link.

    The last part stays a link: an environment's python is one, and by its name it finds its environment.
    """
    scripts = file.parent
    inside = (scripts.parent / "pyvenv.cfg").is_file() or (scripts.parent / "conda-meta").is_dir()
    real = Path(os.path.realpath(scripts))
    return real / file.name if inside and real != scripts else file


def become(program: Program, environ: Mapping[str, str]) -> NoReturn:
    """Start the program in this process's place. NotStartedError when the system refuses."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    if sys.platform == "win32":  # pragma: no cover - execve starts another process there, and doesn't wait
        import subprocess

        raise SystemExit(subprocess.call([str(program.file), *program.words[1:]], env=dict(environ)))
    _restore_signals()
    try:
        os.execve(program.file, program.words, dict(environ))  # noqa: S606 - this is what was asked for
    except FileNotFoundError:  # the interpreter that its first line names
        raise NotStartedError(f"{program.file}: the program that runs it is missing", NOT_FOUND) from None
    except OSError as problem:
        raise NotStartedError(f"{program.file}: {problem.strerror}", NOT_EXECUTABLE) from None


def _restore_signals() -> None:
    """What Python itself ignores would stay ignored in the command: a pipe that closes would not end it."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
