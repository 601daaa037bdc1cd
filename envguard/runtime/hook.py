"""Runs a function right after a module was imported, by a finder that goes away when nothing is awaited any more.

Also lends ``envguard.runtime`` to a process that has no envguard on its path. Needs no other file of this folder.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from _thread import _local  # threading would bring half the standard library into every start

TYPE_CHECKING = False  # typing is not imported: this file is loaded at every start
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any

    Spec = importlib.machinery.ModuleSpec | None

FOLDER = os.path.dirname(os.path.abspath(__file__))
RUNTIME = "envguard.runtime"


class Awaiting:
    """A finder (first in ``sys.meta_path``) that finds nothing itself: it lets the others find, and listens."""

    def __init__(self) -> None:
        self.wanted: dict[str, Callable[[Any], None]] = {}
        self.lends = False
        self._here = _local()

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Spec:
        """The spec of an awaited module as the other finders have it, told to call back after execution."""
        if self.lends and (name == "envguard" or name == RUNTIME):
            return self._lent(name, path, target)
        if name not in self.wanted:
            return None
        spec = self._others(name, path, target)
        if spec is not None and spec.loader is not None:
            self._listen(name, spec.loader)
        return spec

    def _others(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> Spec:
        if getattr(self._here, "looking", False):
            return None
        self._here.looking = True
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                spec: Spec = find(name, path, target) if find is not None and finder is not self else None
                if spec is not None:
                    return spec
        finally:
            self._here.looking = False
        return None

    def _listen(self, name: str, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            self._arrived(name, module)

        try:
            loader.exec_module = exec_module
        except (
            AttributeError
        ):  # a loader that takes no attributes: the module goes unguarded, and its user is told
            self.wanted.pop(name, None)
            sys.stderr.write("envguard: can't follow the import of %s\n" % name)

    def _arrived(self, name: str, module: ModuleType) -> None:
        function = self.wanted.pop(name, None)
        if function is not None:
            function(module)
        if not self.wanted and not self.lends:
            self.leave()

    def leave(self) -> None:
        """Stop listening."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def _lent(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> Spec:
        """envguard as installed, else an empty one; the runtime is this folder's: there is but one guard."""
        if name == RUNTIME:
            return importlib.machinery.PathFinder.find_spec(name, [os.path.dirname(FOLDER)])
        spec = self._others(name, path, target)
        if spec is None:
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        return spec


AWAITING = Awaiting()


def after(name: str, function: Callable[[Any], None]) -> None:
    """Call ``function(module)`` once, as soon as a module is there: now, or right after its import."""
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        function(module)
        return
    AWAITING.wanted[name] = function
    if AWAITING not in sys.meta_path:
        sys.meta_path.insert(0, AWAITING)


def lend_runtime() -> None:
    """Make ``envguard.runtime`` importable, from this folder."""
    AWAITING.lends = True
    if AWAITING not in sys.meta_path:
        sys.meta_path.insert(0, AWAITING)


def lend_no_more() -> None:
    """The runtime has been imported."""
    AWAITING.lends = False
    if not AWAITING.wanted:
        AWAITING.leave()
