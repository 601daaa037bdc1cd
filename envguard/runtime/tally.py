"""Counts by device and thread. Only rare events are counted through the lock; a warm step costs nothing here."""

from __future__ import annotations

import collections
import sys
import threading
from typing import Any

_NAMES = {
    "autograd_cache_hit": "autograd_hits",
    "autograd_cache_miss": "autograd_misses",
    "autograd_cache_bypass": "autograd_bypasses",
    "fxgraph_cache_hit": "graph_hits",
    "fxgraph_cache_miss": "graph_misses",
    "fxgraph_cache_bypass": "graph_bypasses",
}
"""Torch's own names (``torch._dynamo.utils.counters``, 2.8 and later) and ours."""
COUNTED = (*_NAMES.values(), "compiles", "backward_compiles", "fx_traces", "dense_calls")


class _Here(threading.local):
    device: str | None = None
    """What the program said this thread's device is."""


HERE = _Here()
_lock = threading.RLock()  # a signal function may count while its thread counts
_counts: dict[tuple[str, str], collections.Counter[str]] = {}
_hazards: dict[tuple[str, str, str, str], int] = {}


def thread_name() -> str:
    """The calling thread's name; threads that Python didn't start (the autograd engine's) go by their number."""
    ident = threading.get_ident()
    thread: threading.Thread | None = threading._active.get(ident)  # type: ignore[attr-defined]
    return thread.name if thread is not None else "native-%d" % ident


def device() -> str:
    """The calling thread's device: as it said, else torch's current one, else ``cpu``."""
    if HERE.device is not None:
        return HERE.device
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_initialized():
            return "cuda:%d" % torch.cuda.current_device()
    except (AttributeError, RuntimeError):
        pass
    return "cpu"


def where() -> str:
    """``thread drafter-1, device cuda:3``."""
    return "thread %s, device %s" % (thread_name(), device())


def add(name: str, number: int = 1) -> None:
    """Count something of the calling thread."""
    key = (device(), thread_name())
    with _lock:
        counts = _counts.setdefault(key, collections.Counter())
        counts[name] += number


def hazard(slug: str, detail: str) -> None:
    """Note a hazard that was seen; one that repeats is counted."""
    key = (slug, detail, device(), thread_name())
    with _lock:
        _hazards[key] = _hazards.get(key, 0) + 1


def counts() -> dict[tuple[str, str], dict[str, int]]:
    """``{(device, thread): {name: number}}``."""
    with _lock:
        return {key: dict(counted) for key, counted in _counts.items()}


def hazards() -> list[tuple[str, str, str, str, int]]:
    """``[(slug, detail, device, thread, times)]``, in the order they were first seen."""
    with _lock:
        return [(*key, times) for key, times in _hazards.items()]


def total(name: str) -> int:
    """A count over all threads and devices."""
    return sum(counted.get(name, 0) for counted in counts().values())


def forked() -> None:
    """After a fork: the child counts for itself."""
    global _lock
    _lock = threading.RLock()
    _counts.clear()
    _hazards.clear()


class _Watched(collections.Counter):  # type: ignore[type-arg]
    """One of torch's counters, that also tells which thread counted. Copies and pickles are plain ones."""

    def __setitem__(self, key: Any, value: int) -> None:
        name = _NAMES.get(key)
        before = self.get(key, 0)
        if name is not None and value > before:
            add(name, value - before)
        super().__setitem__(key, value)

    def copy(self) -> Any:
        """A plain Counter."""
        return collections.Counter(dict(self))

    def __reduce__(self) -> Any:
        return (collections.Counter, (dict(self),))


def follow(counters: Any) -> bool:
    """Follow ``torch._dynamo.utils.counters``. Answers whether they are of the known kind."""
    if not isinstance(counters, collections.defaultdict):
        return False
    for group in ("aot_autograd", "inductor"):
        kept = _Watched()
        for key, value in counters.get(group, {}).items():
            dict.__setitem__(kept, key, value)
        counters[group] = kept
    counters.default_factory = _Watched  # programs clear the counters
    return True
