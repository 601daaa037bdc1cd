"""Bytecode of an environment, compiled anew by its own interpreter."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from envguard.adapters import process
from envguard.errors import InstallFailedError

_LIMIT = 3600.0
"""Seconds: 20,000 files take a minute on one core."""


def clear(environment: Path) -> None:
    """Remove every ``__pycache__`` of the environment's libraries. InstallFailedError."""
    try:
        for library in _libraries(environment):
            for folder, folders, _ in os.walk(library):
                if "__pycache__" in folders:
                    folders.remove("__pycache__")
                    shutil.rmtree(os.path.join(folder, "__pycache__"))  # noqa: PTH118
    except OSError as problem:
        where = str(problem.filename or environment)
        raise InstallFailedError(f"old bytecode can't be removed: {problem.strerror}", where=where) from None


def compile_anew(environment: Path, final: Path, environ: Mapping[str, str], workers: int | None = None) -> None:
    """Compile all sources of the environment's libraries, whatever bytecode there is. InstallFailedError.

    Bytecode is held against its source by time and size, which a rename keeps; the path that tracebacks show is
    the one under ``final``. A source that isn't valid Python gets none, as with every installer. Sources get times
    of whole seconds.
    """
    clear(environment)
    sources = _sources(environment)
    _whole_seconds(sources)
    count = max(1, min(workers or os.cpu_count() or 1, len(sources)))
    # compileall's own workers would outlive a killed parent, so each share gets a process that dies with us.
    shares = [sources[number::count] for number in range(count)]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count) as threads:
        for done in [threads.submit(_compile, environment, final, environ, share) for share in shares if share]:
            done.result()


def _libraries(environment: Path) -> list[Path]:
    return sorted(environment.glob("lib/*/site-packages"))


def _sources(environment: Path) -> list[str]:
    """Every source but those whose names can't be listed one a line."""
    found: list[str] = []
    for library in _libraries(environment):
        for folder, _, files in os.walk(library):
            if "\n" not in folder:
                sources = (name for name in files if name.endswith(".py") and "\n" not in name)
                found += [os.path.join(folder, name) for name in sources]  # noqa: PTH118
    return sorted(found)


def _whole_seconds(sources: Sequence[str]) -> None:
    """Layers of images keep times rounded to a second: bytecode of a source from :15.7 would be stale."""
    try:
        for path in sources:
            seen = os.lstat(path)
            whole = seen.st_mtime_ns // 10**9 * 10**9
            os.utime(path, ns=(seen.st_atime_ns, whole), follow_symlinks=False)
    except OSError as problem:
        raise InstallFailedError(
            f"a source's time can't be set: {problem.strerror}", where=str(problem.filename)
        ) from None


def _compile(environment: Path, final: Path, environ: Mapping[str, str], share: Sequence[str]) -> None:
    command: list[str | Path] = [
        environment / "bin" / "python",
        *("-I", "-S", "-X", "utf8", "-m", "compileall", "-q", "-f", "--invalidation-mode", "timestamp"),
        *("-s", environment, "-p", final, "-i", "-"),
    ]
    listed = "".join(f"{path}\n" for path in share)
    try:
        ended = process.run(command, environ=environ, stdin=os.fsencode(listed), timeout=_LIMIT)
    except process.ChildTimeoutError as problem:
        raise InstallFailedError(f"compiling bytecode {problem}", where=str(environment)) from None
    except OSError as problem:
        raise InstallFailedError(
            f"bytecode can't be compiled: {problem.strerror}", where=str(environment)
        ) from None
    if ended.code not in (0, 1):  # 1: some sources are not valid Python
        reason = ended.stderr.decode(errors="replace").strip()
        raise InstallFailedError(
            f"compiling bytecode failed (exit {ended.code}): {reason}", where=str(environment)
        )
