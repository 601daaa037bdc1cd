"""The same step for many things, a few at a time; the first error ends them all."""

from __future__ import annotations

import itertools
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

    @property
    def stopped(self) -> bool:
        """Whether it was stopped."""
        return self._stopped.is_set()


def each(
    do: Callable[[T], R],
    things: Sequence[T],
    progress: Progress | Stopping,
    what: str,
    unit: str,
    *,
    workers: int = WORKERS,
) -> list[R]:
    """``do`` every thing; results in order. What ``do`` raises is raised here, once the others have ended.

    After a fault nothing new is begun, and where ``do`` reports to the same ``Stopping``, the others are given up
    at their next word.
    """
    from concurrent.futures import ThreadPoolExecutor, wait

    stopping = progress if isinstance(progress, Stopping) else Stopping(progress)
    ended, mutex = itertools.count(1), threading.Lock()

    def one(thing: T) -> R:
        if stopping.stopped:
            raise StoppedError
        try:
            result = do(thing)
            with mutex:  # so that the count only grows
                stopping.step(what, next(ended), len(things), unit)
        except BaseException:
            stopping.stop()
            raise
        return result

    with ThreadPoolExecutor(workers) as threads:
        futures = [threads.submit(one, thing) for thing in things]
        try:
            wait(futures)
        except BaseException:
            stopping.stop()
            raise
    for fault in [future.exception() for future in futures]:
        if fault is not None and not isinstance(fault, StoppedError):
            raise fault
    return [future.result() for future in futures]
