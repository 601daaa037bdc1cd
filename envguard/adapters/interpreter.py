"""Looks at interpreters: one child process the first time, a file of the cache folder after that."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from envguard.adapters import folders
from envguard.adapters.executable import check
from envguard.adapters.search_path import complete
from envguard.errors import EnvguardError
from envguard.formats import probe
from envguard.model.digest import Digest
from envguard.model.facts import Interpreter, Live
from envguard.model.observed import Observed, Unobserved
from envguard.model.target import Layout

_SECONDS = 60.0  # a cold Python on a shared disk of a busy cluster takes long; a hang is longer
_LARGEST_ENTRY = 1 << 20
_PROBE = Path(__file__).parent.parent / "probe" / "static.py"
_MATTER = ("HOME", "PYTHONNOUSERSITE", "PYTHONUSERBASE", "DEB_PYTHON_INSTALL_LAYOUT", "LD_LIBRARY_PATH")
"""Variables that change what ``static.py`` answers. PYTHONPATH is read anew at each look."""


class Interpreters:
    """What interpreters tell of themselves, kept under ``cache_folder`` (default: envguard's own).

    ``environ`` is what a job would have. An entry holds for one path, the stat of the executable and of
    pyvenv.cfg, the variables that matter, this host and its libc, and the probe's source.
    """

    def __init__(
        self,
        cache_folder: Path | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        timeout: float = _SECONDS,
    ) -> None:
        self._folder = cache_folder
        self._environ = os.environ if environ is None else environ
        self._timeout = timeout

    def look(self, python: Path) -> tuple[Layout, Interpreter]:
        """Where the environment of an interpreter keeps things, and which Python it is.

        Nothing of the environment is executed. TargetInvalidError, TargetBrokenError, ProbeFailedError.
        """
        asked = python.absolute()  # never resolved: a venv's link tells which venv it is
        key = self._key(asked)
        entry = self._entry(asked)
        seen = _kept(entry, key)
        if seen is None:
            seen = self._ask(asked, entry, key)
        return complete(seen, self._environ), seen.interpreter

    def live(self, python: Path, timeout: float) -> Observed[Live]:
        """What torch says of itself when it is imported as a job would, within ``timeout`` seconds."""
        from envguard.adapters.probe_child import ask

        try:
            return probe.live(ask(python.absolute(), "live", ("-B",), environ=self._environ, timeout=timeout))
        except EnvguardError as error:
            return Unobserved(f"{error.message} ({error.where})" if error.where else error.message)

    def _ask(self, python: Path, entry: Path, key: str) -> probe.Static:
        from envguard.adapters.probe_child import ISOLATED, ask

        text = ask(python, "static", ISOLATED, environ=self._environ, timeout=self._timeout)
        try:
            seen = probe.static(text)
        except EnvguardError as error:
            error.where = f"{python}: {error.where}" if error.where else str(python)
            error.hint = error.hint or f"see what it answers: {python} -I -S -B {_PROBE} START END"
            raise
        # a launcher (pyenv's shims) leads elsewhere tomorrow without having changed itself
        if os.path.realpath(python) == os.path.realpath(seen.layout.python):
            _keep(entry, key, text)
        return seen

    def _entry(self, python: Path) -> Path:
        folder = folders.cache() / "interpreters" if self._folder is None else self._folder
        return folder / f"{Digest.of(os.fsencode(python)).short}.json"

    def _key(self, python: Path) -> str:
        """One line that changes when the answer could."""
        parts = [
            _marks(check(python)),
            os.path.realpath(python),
            _stat(python.parent / "pyvenv.cfg"),
            _stat(python.parent.parent / "pyvenv.cfg"),
            [self._environ.get(name) for name in _MATTER],
            _host(),
            Digest.of(_PROBE.read_bytes()).hex,
        ]
        return Digest.of(json.dumps([str(python), *parts]).encode()).hex


def _stat(path: Path) -> list[int]:
    try:
        return _marks(path.stat())
    except OSError:
        return []


def _marks(seen: os.stat_result) -> list[int]:
    return [seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns]


def _host() -> list[str]:
    """This machine and its libc: a home folder, and with it the cache, may be shared by several."""
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        libc = ""
    return [*(os.uname() if hasattr(os, "uname") else ()), libc]


def _kept(entry: Path, key: str) -> probe.Static | None:
    """A cached answer, or None when there is none that is whole and meant."""
    try:
        with entry.open("rb") as stream:
            head, _, text = stream.read(_LARGEST_ENTRY).partition(b"\n")
        if head.decode() != f"{key} {Digest.of(text).hex}":
            return None
        seen = probe.static(text.decode())
    except (OSError, ValueError, EnvguardError):
        return None
    # the executable can outlive its standard library, and then it doesn't start any more
    return seen if any((folder / "os.py").is_file() for folder in seen.standard_library) else None


def _keep(entry: Path, key: str, text: str) -> None:
    from envguard.adapters import files

    content = text.encode()
    with contextlib.suppress(OSError):  # a cache that can't be written costs time, nothing else
        entry.parent.mkdir(parents=True, exist_ok=True)
        files.write(entry, f"{key} {Digest.of(content).hex}\n".encode() + content, mode=0o600, durable=False)
