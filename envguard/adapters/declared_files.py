"""Lock files and declaring files on disk: which lock a path means, and which declarations speak of a lock."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from envguard.adapters import project
from envguard.formats.declared import Found, Include, Kind, kind_of, read
from envguard.formats.settings import Settings
from envguard.model.declared import Unreadable

SIZE_LIMIT = 32 << 20
"""Bytes of a declaring file."""
_FOLDERS = ("requirements", "docker", ".devcontainer")
"""Folders of a project, beside its own, whose files declare."""
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "build", "dist"})
_MOST_INCLUDES = 64


def shown(path: Path, folder: Path) -> str:
    """A path as findings name it: relative to the working folder where it lies in it, with ``/``."""
    absolute = Path(os.path.normpath(folder / path))
    return absolute.relative_to(folder).as_posix() if absolute.is_relative_to(folder) else absolute.as_posix()


def project_of(path: Path) -> Path:
    """The folder whose files speak of a lock: of the nearest pyproject.toml upwards within its repository."""
    start = Path(os.path.normpath(path.absolute())).parent
    for folder in _upwards(start):
        if (folder / "pyproject.toml").is_file():
            return folder
    return start.parent if start.name == project.LOCKS else start


def _upwards(start: Path) -> Iterator[Path]:
    """Folders from ``start`` to the root of its repository."""
    for folder in (start, *start.parents):
        yield folder
        if (folder / ".git").exists():
            return


def locks_of(folder: Path) -> list[Path]:
    """Lock files of a project: those in lockfiles/, and the one that its settings name."""
    found = sorted((folder / project.LOCKS).glob("*.toml"))
    named = _settings(folder)[1].lock if (folder / "pyproject.toml").is_file() else None
    if named is not None and (folder / named).is_file():
        found.append(folder / named)
    return unique(found)


def locks_for(declaration: Path) -> list[Path]:
    """Lock files that a declaring file speaks of: of the nearest folder upwards that has any."""
    for folder in _upwards(Path(os.path.normpath(declaration.absolute())).parent):
        if found := locks_of(folder):
            return found
    return []


def all_locks(folder: Path) -> list[Path]:
    """Lock files of every project below a folder; environments and hidden folders are passed over."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        here = Path(place)
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        if project.LOCKS in folders or "pyproject.toml" in files:
            found.extend(locks_of(here))
    return unique(found)


def declares(path: Path) -> bool:
    """Whether a file of this name is a declaring one."""
    return kind_of(path.as_posix()) is not None


@cache
def _settings(folder: Path) -> tuple[Path, Settings]:
    return project.settings(folder)


def unique(paths: Iterable[Path]) -> list[Path]:
    """Each file once, by its real path, in the order given."""
    known: dict[str, Path] = {}
    for path in paths:
        known.setdefault(os.path.realpath(path), path)
    return list(known.values())


class DeclaredFiles:
    """Reads declarations; each file once, however many locks it speaks of."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, Found] = {}

    def of(self, lock: Path) -> Found:
        """All that speaks of the environment of this lock."""
        root = project_of(lock)
        if root not in self._known:
            own = lock.absolute()
            whole = self._read(path for path in self._files(root) if path != own)
            self._known[root] = Found(
                tuple(entry for found in whole for entry in found.declared),
                tuple(entry for found in whole for entry in found.unreadable),
            )
        return self._known[root]

    def _files(self, root: Path) -> list[Path]:
        only = _settings(root)[1].declarations
        if only is not None:
            return sorted({path for pattern in only for path in root.glob(pattern) if path.is_file()})
        folders = [root, *(root / name for name in _FOLDERS)]
        found = [path for folder in folders for path in _listing(folder) if declares(path)]
        if not any(path.name == "uv.lock" for path in found):
            # A workspace of uv has one lock file, at its root.
            found += [path for folder in _upwards(root) if (path := folder / "uv.lock").is_file()][:1]
        return found

    def _read(self, files: Iterable[Path]) -> list[Found]:
        """Every file once; one that another names is read as that one's."""
        whole: dict[Path, Found] = {}
        named: set[Path] = set()
        missing: list[Unreadable] = []
        pending: list[tuple[Path, Include | None]] = [(file, None) for file in files]
        while pending and len(named) < _MOST_INCLUDES:
            file, include = pending.pop(0)
            if file in named or (include is None and file in whole):
                continue
            if include is not None:
                named.add(file)
            whole[file] = found = self._one(file, include)
            for further in found.includes:
                target = Path(os.path.normpath(file.parent / further.path))
                if target.is_file():
                    pending.append((target, further))
                elif "://" not in further.path:
                    problem = f"names {further.path}, which is not there"
                    missing.append(Unreadable(shown(file, self._folder), further.line, problem))
        return [*whole.values(), Found(unreadable=tuple(dict.fromkeys(missing)))]

    def _one(self, path: Path, include: Include | None) -> Found:
        name = shown(path, self._folder)
        kind = kind_of(path.as_posix()) or Kind.REQUIREMENTS
        try:
            with path.open("rb") as stream:
                content = stream.read(SIZE_LIMIT + 1)
        except OSError as problem:
            return Found(unreadable=(Unreadable(name, None, f"could not be read: {problem.strerror}"),))
        if len(content) > SIZE_LIMIT:
            return Found(unreadable=(Unreadable(name, None, "more than 32 MiB"),))
        return read(kind, content, name, by=include)


def _listing(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_file())
    except OSError:
        return []
