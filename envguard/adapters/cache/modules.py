"""Modules of a folder as another Python's ``pkgutil`` and ``FileFinder`` would find them.

Torch and Triton key their caches by the files of their own modules. Which files those are depends on the suffixes
that the target's Python imports, which its SOABI tells; so the files can be found without starting it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SOURCE, _BYTECODE = ".py", ".pyc"
_DEEPEST = 40
"""Levels of packages: a link that leads up must end somewhere."""


class KeyUnknownError(Exception):
    """A key can't be computed from outside, and why."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module's full name, the file that its import would run, and its folder where it is a package."""

    name: str
    file: Path
    folder: Path | None


class Finder:
    """Finds modules as a Python with this SOABI (``cpython-311-x86_64-linux-gnu``) would."""

    def __init__(self, soabi: str) -> None:
        # ``_PyImport_DynLoadFiletab`` (CPython's dynload_shlib.c), in its order
        extensions = (f".{soabi}.so", ".abi3.so", ".so") if soabi else (".abi3.so", ".so")
        self._order = (*extensions, _SOURCE, _BYTECODE)
        self._longest_first = sorted(self._order, key=len, reverse=True)

    def listed(self, folder: Path, prefix: str) -> Iterator[Module]:
        """What ``pkgutil.iter_modules([folder], prefix)`` yields, in its order. OSError, KeyUnknownError."""
        if prefix.count(".") > _DEEPEST:
            raise KeyUnknownError(f"{folder} lies too deep")
        seen: set[str] = set()
        entries = os.listdir(folder)  # noqa: PTH208 - names, thousands of them
        there = frozenset(entries)
        for entry in sorted(entries):
            name = self._module_name(entry)
            if name == "__init__" or name in seen:
                continue
            package = name is None and "." not in entry and self._is_package(_names(folder / entry))
            if package:
                name = entry
            if name and "." not in name:
                seen.add(name)
                yield self._found(folder, prefix + name, name, there, package)

    def walked(self, folder: Path, prefix: str) -> Iterator[Module]:
        """What ``pkgutil.walk_packages([folder], prefix)`` yields, where every package can be imported."""
        for module in self.listed(folder, prefix):
            yield module
            if module.folder is not None:
                yield from self.walked(module.folder, f"{module.name}.")

    def _module_name(self, entry: str) -> str | None:
        return next((entry.removesuffix(end) for end in self._longest_first if entry.endswith(end)), None)

    def _is_package(self, names: frozenset[str]) -> bool:
        return any(self._module_name(name) == "__init__" for name in names)

    def _found(self, folder: Path, full: str, name: str, there: frozenset[str], package: bool) -> Module:
        """The file that ``FileFinder.find_spec`` names: a package before a module, extensions before source."""
        inner = folder / name
        if name in there:
            names = _names(inner)
            for suffix in self._order:
                if f"__init__{suffix}" in names:
                    return Module(full, inner / f"__init__{suffix}", inner if package else None)
        for suffix in self._order:
            if name + suffix in there:
                return Module(full, folder / (name + suffix), None)
        raise KeyUnknownError(f"{inner}: nothing there that could be imported")


def _names(folder: Path) -> frozenset[str]:
    """Names in a folder; none where it is no folder or can't be read, as pkgutil has it."""
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return frozenset()
