"""The same step for many things, a few at a time; the first error ends them all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from envguard.ports import Progress

T = TypeVar("T")
R = TypeVar("R")

WORKERS = 4
"""Things at a time: more only adds to a server's load."""


class StoppedError(Exception):
    """Another step failed; this one is given up."""


class Stopping:
    """``ports.Progress`` that passes on, and raises StoppedError once it was stopped. For several threads."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stopped = threading.Event()
        self._mutex = threading.Lock()

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        """Pass it on."""
        if self._stopped.is_set():
            raise StoppedError
        with self._mutex:
            self._progress.step(what, done, total, unit)

    def stop(self) -> None:
        """Give up every step at its next word."""
        self._stopped.set()


def each(
    do: Callable[[T], R],
    things: Sequence[T],
    progress: Progress | Stopping,
    what: str,
    unit: str,
    *,
    workers: int = WORKERS,
) -> list[R]:
    """``do`` every thing; results in order. What ``do`` raises first is raised here, after the others have ended.

    Where ``progress`` is a ``Stopping`` that ``do`` reports to as well, the others are given up at once.
    """
    from concurrent.futures import ThreadPoolExecutor, as_completed

    stopping = progress if isinstance(progress, Stopping) else Stopping(progress)
    with ThreadPoolExecutor(workers) as threads:
        futures = [threads.submit(do, thing) for thing in things]
        try:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                stopping.step(what, done, len(things), unit)
        except BaseException:
            stopping.stop()
            threads.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]
