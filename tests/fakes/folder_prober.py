"""A prober that reads RECORDs and hashes files, and no more: quick, without a child process."""

from __future__ import annotations

import base64
import csv
import hashlib
import platform
import sys
import sysconfig
from pathlib import Path
from typing import BinaryIO

from envguard.errors import TargetBrokenError
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution
from envguard.model.facts import Driver, Facts, FileFact, FileKind, Interpreter
from envguard.model.observed import Absent, Observed, Value
from envguard.model.target import Layout, Level, Target
from envguard.ports import Baseline, Progress

_BOOKS = ("RECORD", "INSTALLER", "REQUESTED", "uv_cache.json", "direct_url.json")


def this_python() -> Interpreter:
    """The interpreter that runs the tests."""
    return Interpreter(
        sys.implementation.name,
        platform.python_version(),
        "a build",
        str(sysconfig.get_config_var("SOABI")),
        sysconfig.get_platform().replace("-", "_"),
        " ".join(platform.libc_ver()),
    )


class FolderProber:
    """``ports.Prober`` over folders made by uv. ``driver`` and ``interpreter`` are what it says of the machine."""

    def __init__(self, *, driver: Observed[Driver] | None = None, interpreter: Interpreter | None = None) -> None:
        self.driver: Observed[Driver] = driver if driver is not None else Absent()
        self.interpreter = interpreter or this_python()
        self.broken: set[Path] = set()
        self.looked_at: list[tuple[Path, Level]] = []

    def layout(self, target: Target) -> Layout:
        """By the folder's own names."""
        prefix = target.python.parent.parent
        library = _library(prefix)
        return Layout(
            python=target.python,
            prefix=prefix,
            base_prefix=Path(sys.base_prefix),
            libraries=(library,),
            scripts=prefix / "bin",
            headers=prefix / "include",
            path=(),
            is_venv=True,
            system_site=False,
        )

    def facts(self, target: Target, level: Level, *, baseline: Baseline, progress: Progress) -> Facts:
        """Interpreter and driver; distributions and files too where it is an environment."""
        self.looked_at.append((target.python, level))
        if target.python in self.broken:
            raise TargetBrokenError("it doesn't start", where=str(target.python))
        prefix = target.python.parent.parent
        facts = Facts(interpreter=Value(self.interpreter), driver=self.driver)
        if not (prefix / "pyvenv.cfg").exists():
            return facts
        distributions, files, seen = _look(_library(prefix))
        return Facts(
            interpreter=facts.interpreter,
            driver=facts.driver,
            distributions=Value(distributions),
            files=Value(files),
            shared=Value(()),
            files_seen=seen,
        )

    def content(self, layout: Layout, fact: FileFact) -> BinaryIO:
        """The file."""
        return (layout.libraries[0] / fact.path).open("rb")


def _library(prefix: Path) -> Path:
    return next(iter(sorted(prefix.glob("lib/python*/site-packages"))))


def _look(library: Path) -> tuple[tuple[Distribution, ...], tuple[FileFact, ...], int]:
    distributions, files, owned = [], [], set()
    for folder in sorted(library.glob("*.dist-info")):
        name, version = folder.name.removesuffix(".dist-info").split("-", 1)
        rows = list(csv.reader((folder / "RECORD").read_text().splitlines()))
        kept = sorted(row for row in rows if row[1] and row[0] not in {f"{folder.name}/{book}" for book in _BOOKS})
        kept = [row for row in kept if not row[0].startswith("..")]
        record = Digest.of(repr(kept).encode())
        canonical = name.lower().replace("_", "-")
        distributions.append(Distribution(canonical, version, record=record, installer="uv"))
        owned |= {row[0] for row in rows}
        files += [fact for row in kept if (fact := _file(library, row, canonical)) is not None]
    for path in sorted(library.rglob("*")):
        inside = path.relative_to(library).as_posix()
        if path.is_file() and "__pycache__" not in path.parts and inside not in owned and path.name[0] != "_":
            digest = Digest.of(path.read_bytes())
            kind = FileKind.STARTUP if path.suffix == ".pth" else FileKind.UNOWNED
            files.append(FileFact(inside, kind, sha256=digest, mode="0644"))
    return tuple(distributions), tuple(files), len(owned)


def _file(library: Path, row: list[str], owner: str) -> FileFact | None:
    path = library / row[0]
    if not path.exists():
        return FileFact(row[0], FileKind.MISSING, owners=(owner,))
    content = path.read_bytes()
    expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    if row[1] == f"sha256={expected}":
        return None
    return FileFact(row[0], FileKind.MODIFIED, sha256=Digest.of(content), mode="0644", owners=(owner,))
