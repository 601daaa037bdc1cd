"""uv.lock → pylock, by uv itself: its own lock is read by no other tool."""

from __future__ import annotations

import re
from pathlib import Path

from envguard.adapters import process
from envguard.adapters.uv import clean_environ
from envguard.errors import LockInvalidError, UvUnsuitableError

_LIMIT = 120.0
_SECRET = re.compile(r"(?<=://)[^/\s@]+@")


def export(file: Path) -> bytes:
    """The pylock of a project's uv.lock, with its default groups; nothing is resolved, downloaded or written.

    LockInvalidError holds uv's reason; UvUnsuitableError when uv is missing.
    """
    program = _program()
    if not (file.parent / "pyproject.toml").is_file():
        raise LockInvalidError(
            "there is no pyproject.toml beside it, and without the project uv reads no uv.lock", where=str(file)
        )
    command: list[str | Path] = [
        *(program, "export", "--frozen", "--offline", "--no-config", "--no-progress", "--color", "never"),
        *("--no-python-downloads", "--format", "pylock.toml", "--no-header", "--project", file.parent),
    ]
    try:
        ended = process.run(command, environ=clean_environ(), folder=file.parent, timeout=_LIMIT)
    except process.ChildTimeoutError as problem:
        raise UvUnsuitableError(f"uv export {problem}", where=str(file)) from None
    except OSError as problem:
        raise UvUnsuitableError(f"uv can't be started: {problem.strerror}", where=str(program)) from None
    if ended.code != 0:
        reason = _SECRET.sub("****@", ended.stderr.decode(errors="replace").strip())
        raise LockInvalidError(
            f"uv can't read it: {reason[:1000]}", where=str(file), hint="bring it up to date: uv lock"
        )
    return ended.stdout


def _program() -> Path:
    try:
        from uv import find_uv_bin

        return Path(find_uv_bin())
    except (ImportError, FileNotFoundError):
        import shutil

        found = shutil.which("uv")
    if found is None:
        raise UvUnsuitableError("uv is missing", hint="install it: pip install uv")
    return Path(found)
