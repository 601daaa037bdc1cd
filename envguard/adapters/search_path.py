"""The search path as a job would have it: what ``site`` adds, found by reading. Nothing is ever executed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from envguard.formats.probe import Static
from envguard.model.target import Layout, PathEntry

_LARGEST_PTH = 1 << 20


def complete(seen: Static, environ: Mapping[str, str]) -> Layout:
    """A layout with ``path`` and all of ``libraries``, as the disk and ``environ`` are now."""
    return replace(seen.layout, path=search_path(seen, environ), libraries=_libraries(seen.layout.libraries, seen))


def search_path(seen: Static, environ: Mapping[str, str]) -> tuple[PathEntry, ...]:
    """``sys.path`` in Python's order, without the script's folder: PYTHONPATH, standard library, site folders."""
    found = _Path()
    named = environ.get("PYTHONPATH", "")
    for part in named.split(os.pathsep) if named else ():  # an empty part is the working folder
        found.add(part, "PYTHONPATH")
    for folder in seen.standard_library:
        found.add(folder, "standard library")
    for folder in seen.first_sites:
        found.add_site(folder, "site-packages")
    if seen.user_site is not None:
        found.add_site(seen.user_site, "user site")
    for folder in seen.last_sites:
        found.add_site(folder, "site-packages")
    return tuple(found.entries.values())


class _Path:
    """A search path being put together; a folder counts once, where it came first."""

    def __init__(self) -> None:
        self.entries: dict[str, PathEntry] = {}

    def add(self, folder: str | Path, source: str) -> None:
        absolute = os.path.abspath(folder)  # noqa: PTH100 - as site does it: ``..`` is taken out as text
        self.entries.setdefault(os.path.normcase(absolute), PathEntry(Path(absolute), source))

    def add_site(self, folder: Path, source: str) -> None:
        if not folder.is_dir():
            return
        self.add(folder, source)
        for named in pth_lines(folder):
            if os.path.exists(os.path.join(folder, named)):  # noqa: PTH110, PTH118 - odd names must not raise
                self.add(os.path.join(folder, named), ".pth")  # noqa: PTH118


def pth_lines(folder: Path) -> Iterable[str]:
    """The path lines of a folder's ``.pth`` files, in the order that ``site`` reads them; ``import`` lines not."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".pth") and name[0] != ".")  # noqa: PTH208
    except OSError:
        return
    for name in names:
        for line in _text(folder / name).splitlines():
            if line.strip() and not line.startswith(("#", "import ", "import\t")) and "\0" not in line:
                yield line.rstrip()


def _text(file: Path) -> str:
    try:
        if not file.is_file():  # a pipe would keep us for ever
            return ""
        with file.open("rb") as stream:
            return stream.read(_LARGEST_PTH).decode("utf-8-sig", "surrogateescape")
    except OSError:
        return ""


def _libraries(own: tuple[Path, ...], seen: Static) -> tuple[Path, ...]:
    """Each folder once by what it really is: ``lib64`` is often a link to ``lib``."""
    there = (folder for folder in (*seen.first_sites, *seen.last_sites) if folder.is_dir())
    found: dict[str, Path] = {}
    for folder in (*own, *there):
        found.setdefault(os.path.realpath(folder), folder)
    return tuple(found.values())
