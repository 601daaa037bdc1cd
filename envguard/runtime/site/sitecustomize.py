"""Guards the processes of ``envguard run``: nothing happens here until torch is imported.

This folder is put on PYTHONPATH. A sitecustomize of the environment's own runs as if this one weren't there.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


def await_torch() -> None:
    """Load the import hook (one file, without its package) and wait for torch."""
    name = "envguard.runtime.hook"
    if name in sys.modules:
        return
    spec = importlib.machinery.PathFinder.find_spec(name, [os.path.dirname(HERE)])
    if spec is None or spec.loader is None:
        return
    hook: Any = type(sys)(name)
    hook.__spec__, hook.__file__, hook.__loader__ = spec, spec.origin, spec.loader
    sys.modules[name] = hook
    spec.loader.exec_module(hook)
    hook.lend_runtime()
    hook.after("torch", arrived)


def arrived(_: object) -> None:
    """Torch was imported: so is the guard."""
    from envguard.runtime import guard

    guard.injected()


def chain() -> None:
    """Run the next sitecustomize on the path; this module gives its place to it."""
    folders = [folder for folder in sys.path if os.path.abspath(folder or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
    if spec is None or spec.loader is None:
        return
    module: Any = type(sys)("sitecustomize")
    module.__spec__, module.__file__, module.__loader__ = spec, spec.origin, spec.loader
    module.__package__ = ""
    module.__cached__ = spec.cached
    if spec.submodule_search_locations is not None:
        module.__path__, module.__package__ = spec.submodule_search_locations, "sitecustomize"
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("ENVGUARD_GUARD") != "off":
    await_torch()
chain()
