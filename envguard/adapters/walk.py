"""Walks one environment: distributions first, since what they say decides what must be looked at anew."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from envguard.adapters import site, tree
from envguard.adapters.claims import PLACED, SCRIPTS, Claims, library_key, place_of
from envguard.adapters.hashing import Root
from envguard.adapters.site import Installed
from envguard.adapters.stat_index import Kept
from envguard.adapters.tree import Unit
from envguard.model.record import Listing
from envguard.model.target import Layout

if TYPE_CHECKING:
    from envguard.adapters.ahead import Ahead


class Walk:
    """A walk in progress: ``units`` by key, ``installed`` by key, RECORDs that were read on the way.

    ``ahead``: one that began before, for what is unchanged.
    """

    def __init__(
        self, layout: Layout, before: Kept, stack: contextlib.ExitStack, ahead: Ahead | None = None
    ) -> None:
        self._layout = layout
        self._before = before
        self._ahead = ahead if before.units else None
        self._seen: dict[int, dict[str, Unit]] = {}
        self.roots: list[Root | None] = [_open(stack, os.fspath(folder)) for folder in layout.libraries]
        """Descriptors of the libraries; None for one that can't be opened."""
        self.units: dict[str, Unit] = {}
        self.installed: dict[str, Installed] = {}
        self.listings: dict[str, Listing] = {}
        self.placed: tuple[str, ...] = before.placed

    def folders(self) -> list[tuple[str, bool]]:
        """What ``everything`` walks, and whether with all below."""
        libraries = [(os.fspath(folder), True) for folder in self._layout.libraries]
        return [*libraries, (os.fspath(self._layout.scripts), False)]

    def distributions(self, *, deep: bool) -> tuple[Installed, ...]:
        """Every distribution; those whose folder is unchanged as they were. ``deep``: their subfolders too."""
        for number, root in enumerate(self.roots):
            if root is not None:
                if deep:
                    place = os.fspath(self._layout.libraries[number])
                    self._seen[number] = self._unchanged(place, self._known(number))
                for key, one in self._distributions(number, root, deep=deep):
                    self.installed[key] = one
        return tuple(self.installed.values())

    def _distributions(self, number: int, root: Root, *, deep: bool) -> Iterator[tuple[str, Installed]]:
        names = _distribution_names(root)
        seen, apart = self._seen.get(number, {}), frozenset(names)
        self._take(number, (item for item in seen.items() if item[0].partition("/")[0] in apart))
        rest = [name for name in names if name not in seen]
        self._take(number, tree.walk(root, self._known(number), start=rest, deep=deep))
        for name in names:
            key = library_key(number, name)
            kept = self._before.distributions.get(key)
            if self.units[key].problem is not None and name.endswith(".egg-info"):
                del self.units[key]  # a lone file
                kept = None
            if kept is not None and self.units[key].digest == kept[0]:
                yield key, kept[1]
                continue
            one, listing = site.read(self._layout, number, root, name)
            if listing is not None:
                self.listings[key] = listing
            yield key, one

    def everything(self, claims: Claims | None) -> None:
        """Every folder. ``claims``: RECORDs say something new, so each is looked at with its entries."""
        for number, root in enumerate(self.roots):
            if root is not None:
                self._library(number, root, again=claims is not None)
        self._scripts(None if claims is not None else self._digest(SCRIPTS))
        self._list_placed(claims)

    def _scripts(self, known: bytes | None) -> None:
        place = os.fspath(self._layout.scripts)
        if seen := self._unchanged(place, lambda _: known):
            self.units[SCRIPTS] = seen[""]
            return
        with contextlib.suppress(OSError), tree.opened(place) as folder:
            for _, unit in tree.walk(folder, lambda _: known, deep=False):
                self.units[SCRIPTS] = unit

    def _library(self, number: int, root: Root, *, again: bool) -> None:
        apart = frozenset(name for name in _distribution_names(root) if library_key(number, name) in self.units)
        if again:
            self._take(number, tree.walk(root, _nothing, start=apart))
        elif seen := self._seen.get(number):
            self._take(number, (item for item in seen.items() if item[0].partition("/")[0] not in apart))
            return
        self._take(number, tree.walk(root, _nothing if again else self._known(number), skip=apart))

    def _list_placed(self, claims: Claims | None) -> None:
        """Owned files outside the libraries, one by one: their folders are others' too."""
        if claims is not None:
            self.placed = tuple(sorted(claims.of(PLACED)))
        if self.placed:
            inside = _Inside(self._layout)
            places = {name: place_of(self._layout, *_split(name)) for name in self.placed}
            there = {name: os.fspath(place) for name, place in places.items() if inside(place)}
            self.units[PLACED] = tree.listed(there, None if claims is not None else self._digest(PLACED))

    def _unchanged(self, folder: str, known: Callable[[str], bytes | None]) -> dict[str, Unit]:
        """What a walk ahead saw of a folder, if nothing in it is new."""
        seen = self._ahead.below(folder) if self._ahead is not None else None
        if not seen or any(known(path) != digest for path, digest, _ in seen):
            return {}
        return {path: Unit(digest, latest, None) for path, digest, latest in seen}

    def _take(self, number: int, found: Iterable[tuple[str, Unit]]) -> None:
        for path, unit in found:
            self.units[library_key(number, path)] = unit

    def _known(self, number: int) -> Callable[[str], bytes | None]:
        return lambda path: self._digest(f"{number}/{path}")

    def _digest(self, key: str) -> bytes | None:
        kept = self._before.units.get(key)
        return kept.digest if kept is not None else None


class _Inside:
    """Whether a file's folder really lies in the environment, links and all."""

    def __init__(self, layout: Layout) -> None:
        folders = (layout.prefix, layout.headers)
        self._real = tuple(f"{os.path.realpath(folder).rstrip('/')}/" for folder in folders)
        self._answers: dict[Path, bool] = {}

    def __call__(self, place: Path) -> bool:
        folder = place.parent
        if folder not in self._answers:
            self._answers[folder] = f"{os.path.realpath(folder)}/".startswith(self._real)
        return self._answers[folder]


def _distribution_names(root: Root) -> list[str]:
    try:
        return sorted(filter(site.is_distribution, os.listdir(root)))  # noqa: PTH208 - often a descriptor
    except OSError:
        return []


def _split(name: str) -> tuple[str, str]:
    root, _, path = name.partition("\0")
    return root, path


def _open(stack: contextlib.ExitStack, folder: str) -> Root | None:
    try:
        return stack.enter_context(tree.opened(folder))
    except OSError:
        return None


def _nothing(_: str) -> None:
    """No digest is known."""
