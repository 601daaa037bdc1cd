"""Ends each process of a warmup cleanly after ENVGUARD_STEPS optimizer steps. Waits until torch.optim is imported.

This folder is put on PYTHONPATH by ``envguard warmup``. A sitecustomize of the environment's own runs as if this
one weren't there.
"""

import atexit
import importlib.machinery
import os
import sys
import threading
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
AWAITED = "torch.optim.optimizer"


class Counted(threading.local):
    """Steps of the calling thread."""

    steps = 0


COUNTED = Counted()


def stepped(*_: Any) -> None:
    """After each optimizer step: the last one ends this thread, the main thread its process."""
    COUNTED.steps += 1
    if COUNTED.steps >= int(os.environ["ENVGUARD_STEPS"]):
        torch: Any = sys.modules["torch"]
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()
        group = getattr(torch, "distributed", None)
        if group is not None and group.is_available() and group.is_initialized():
            group.barrier()  # a rank that leaves while another still receives takes that one down with it
            atexit.register(leave, group)
        raise SystemExit(0)


def leave(group: Any) -> None:
    """At the very end, after the program's own endings: leave what it did not leave itself."""
    try:
        if group.is_initialized():
            group.destroy_process_group()
    except Exception as problem:
        sys.stderr.write("envguard: the process group could not be left: %s\n" % problem)


class Finder:
    """Finds the awaited module as the others do, and follows its execution."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """A spec, for the one module only."""
        if name != AWAITED:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                register = getattr(module, "register_optimizer_step_post_hook", None)
                if register is not None:
                    register(stepped)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def chain() -> None:
    """Run the next sitecustomize on the path; this module gives its place to it."""
    folders = [folder for folder in sys.path if os.path.abspath(folder or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
    if spec is None or spec.loader is None:
        return
    module: Any = type(sys)("sitecustomize")
    module.__spec__, module.__file__, module.__loader__ = spec, spec.origin, spec.loader
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("ENVGUARD_STEPS", "").isdecimal():
    sys.meta_path.insert(0, Finder())
chain()
