"""uv, the installer: the only place that knows its arguments."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from envguard.adapters import bytecode, process
from envguard.errors import InstallFailedError, UvUnsuitableError
from envguard.formats import pylock
from envguard.model.digest import Digest

OLDEST = (0, 11, 28)
"""Before it, hostile wheels could write or delete files outside the environment."""
TRIED_BELOW = (0, 14)
"""The restores of the tests were made with versions below this one."""

_KEPT = frozenset({"PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"})
_MINUTE = 60.0
_SECRET = re.compile(r"(?<=://)[^/\s@]+@")


class Uv:
    """``ports.Installer``. ``program`` None: the ``uv`` distribution's, else the one on PATH.

    ``limit``: seconds that one installation may take.
    """

    def __init__(self, program: Path | None = None, *, limit: float = 60 * _MINUTE) -> None:
        self._program = program
        self._limit = limit
        self._version: str | None = None

    def version(self) -> str:
        """uv's version. UvUnsuitableError when it is missing, too old, or doesn't say."""
        if self._version is None:
            self._version = self._ask()
        return self._version

    def notes(self) -> Sequence[str]:
        """A version that is newer than those tried."""
        version = self.version()
        if _numbers(version) < TRIED_BELOW:
            return ()
        return (f"uv {version} is newer than the versions envguard was tried with ({_range()})",)

    def looked(self) -> str:
        """In words, for a message that a Python is missing."""
        return "PATH, uv's and pyenv's Pythons, and the one that runs envguard"

    def pythons(self, minor: str) -> Sequence[Path]:
        """Installed interpreters that may be Python ``minor``, each path once; none is downloaded."""
        return tuple(dict.fromkeys((*_own(minor), *_of_pyenv(minor), *self._listed(minor))))

    def create(self, environment: Path, python: Path) -> None:
        """``uv venv --relocatable``. InstallFailedError."""
        options: list[str | Path] = ["--relocatable", "--no-project", "--no-python-downloads"]
        self._run(["venv", *options, "--python", python.absolute(), environment], environment, 5 * _MINUTE)

    def install(self, environment: Path, wheels: Sequence[tuple[Path, Digest]]) -> None:
        """``uv pip sync`` of a lock of paths, with a cache that only this call uses. InstallFailedError."""
        lock = environment.parent / pylock.FILENAME
        lock.write_bytes(pylock.dump([_entry(path, sha256) for path, sha256 in wheels]))
        arguments: list[str | Path] = [
            *("pip", "sync", "--preview-features", "pylock", "--require-hashes", "--no-build", "--no-index"),
            *("--allow-empty-requirements", "--python", environment / "bin" / "python", lock),
        ]
        self._run(arguments, environment, self._limit)
        lock.unlink()

    def clear_bytecode(self, environment: Path) -> None:
        """Remove every ``__pycache__``. InstallFailedError."""
        bytecode.clear(environment)

    def compile(self, environment: Path, final: Path) -> None:
        """Compile all bytecode anew. InstallFailedError."""
        bytecode.compile_anew(environment, final, clean_environ())

    def _listed(self, minor: str) -> Iterator[Path]:
        """What uv finds, in its own folder and on PATH."""
        arguments = ["python", "list", minor, "--only-installed", "--output-format", "json", "--no-cache"]
        try:
            ended = process.run(self._command(arguments), environ=clean_environ(), timeout=_MINUTE)
            found = json.loads(ended.stdout)
        except (OSError, ValueError, RecursionError, process.ChildTimeoutError):
            return
        for entry in found if isinstance(found, list) else ():
            path = entry.get("path") if isinstance(entry, dict) else None
            if isinstance(path, str):
                yield Path(path)

    def _ask(self) -> str:
        program = self._found()
        try:
            ended = process.run([program, "--version"], environ=clean_environ(), timeout=_MINUTE)
        except process.ChildTimeoutError as problem:
            raise _unsuitable(f"uv --version {problem}", program) from None
        except OSError as problem:
            raise _unsuitable(f"uv can't be started: {problem.strerror}", program) from None
        words = ended.stdout.decode(errors="replace").split()
        if ended.code != 0 or len(words) < 2 or words[0] != "uv" or not re.match(r"\d+\.\d+\.\d+", words[1]):
            raise _unsuitable(f"uv --version gave no version ({_how(ended.code)})", program)
        if _numbers(words[1]) < OLDEST:
            reason = "older ones let a hostile wheel write outside the environment"
            raise _unsuitable(f"uv {words[1]} is too old ({reason}): {_range()} will do", program)
        return words[1]

    def _found(self) -> Path:
        if self._program is not None:
            return self._program
        try:
            from uv import find_uv_bin

            return Path(find_uv_bin())
        except (ImportError, FileNotFoundError):
            found = shutil.which("uv")
        if found is None:
            raise UvUnsuitableError("uv is missing", hint=f"install it: pip install 'uv>={_text(OLDEST)}'")
        return Path(found)

    def _command(self, arguments: Sequence[str | Path]) -> list[str | Path]:
        return [self._found(), *arguments, "--offline", "--no-config", "--no-progress", "--color", "never"]

    def _run(self, arguments: Sequence[str | Path], environment: Path, limit: float) -> None:
        cache = environment.parent / "cache"
        environ = clean_environ() | {"UV_CACHE_DIR": os.fspath(cache), "UV_PYTHON_DOWNLOADS": "never"}
        what = "uv " + " ".join(str(word) for word in arguments[:2] if not str(word).startswith("-"))
        try:
            ended = process.run(
                self._command(arguments), environ=environ, folder=environment.parent, timeout=limit
            )
        except process.ChildTimeoutError as problem:
            raise _failed(f"{what} {problem} and was stopped", problem.stderr, environment) from None
        except OSError as problem:
            raise _failed(f"{what} can't be started: {problem.strerror}", b"", environment) from None
        finally:
            shutil.rmtree(cache, ignore_errors=True)
        if ended.code != 0:
            raise _failed(f"{what} failed ({_how(ended.code)})", ended.stderr, environment)


def clean_environ() -> dict[str, str]:
    """What a child of a restore may see: no setting of an installer, of Python, or of an active environment."""
    return {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("LC_")}


def _entry(path: Path, sha256: Digest) -> pylock.PathEntry:
    from packaging.utils import parse_wheel_filename

    name, version, _, _ = parse_wheel_filename(path.name)
    return pylock.PathEntry(name, str(version), os.fspath(path.absolute()), sha256, path.stat().st_size)


def _own(minor: str) -> Iterator[Path]:
    if minor == f"{sys.version_info.major}.{sys.version_info.minor}":
        yield Path(getattr(sys, "_base_executable", sys.executable))


def _of_pyenv(minor: str) -> Iterator[Path]:
    root = Path(os.environ.get("PYENV_ROOT") or Path(os.environ.get("HOME", "/")) / ".pyenv")
    yield from sorted(root.glob(f"versions/*/bin/python{minor}"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _text(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def _range() -> str:
    return f"{_text(OLDEST)} and later, below {_text(TRIED_BELOW)}"


def _how(code: int) -> str:
    if code >= 0:
        return f"exit {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def _unsuitable(message: str, program: Path) -> UvUnsuitableError:
    return UvUnsuitableError(
        message, where=str(program), hint=f"install a fitting one: pip install 'uv>={_text(OLDEST)}'"
    )


def _failed(message: str, stderr: bytes, environment: Path) -> InstallFailedError:
    told = _SECRET.sub("****@", stderr.decode(errors="replace").strip())
    return InstallFailedError(f"{message}:\n{told}" if told else message, where=str(environment))
