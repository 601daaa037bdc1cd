"""Starts the workers as threads of this process, or as processes, and gathers what they say."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import threading
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.process import BaseProcess

import guarding
import workers
from config import Role, Sizes
from data import Text
from torch import Tensor

_ROOM = 2
"""Batches that wait for a drafter."""


class _Ready:
    """Counts first steps; the last one ends the warm-up."""

    def __init__(self, expected: int) -> None:
        self.left, self.lock = expected, threading.Lock()

    def __call__(self) -> None:
        with self.lock:
            self.left -= 1
            last = self.left == 0
        if last:
            guarding.warm()


def threads(roles: list[Role], sizes: Sizes, text: Text, weights: dict[str, Tensor]) -> list[workers.Outcome]:
    """All in this process: they share one tracing flag, one compile cache, one set of devices."""
    targets = sum(role.kind == "target" for role in roles)
    boxes: list[workers.Box] = [queue.Queue(_ROOM) for _ in range(len(roles) - targets)]
    results: queue.Queue[workers.Outcome] = queue.Queue()
    work = workers.Work(
        sizes, text, weights, boxes, results, threading.Event(), targets, _Ready(len(roles))
    )  # fmt: skip
    started = [threading.Thread(target=workers.run, args=(role, work), name=role.name) for role in roles]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return [results.get() for _ in roles]


def processes(roles: list[Role], sizes: Sizes, text: Text, weights: dict[str, Tensor]) -> list[workers.Outcome]:
    """One process a role, each of which sees one device: for all of them it is number 0."""
    spawn = multiprocessing.get_context("spawn")
    targets = sum(role.kind == "target" for role in roles)
    boxes: list[workers.Box] = [spawn.Queue(_ROOM) for _ in range(len(roles) - targets)]
    results, stop, done = spawn.Queue(), spawn.Event(), spawn.Event()
    work = workers.Work(
        sizes, text, weights, boxes, results, stop, targets, guarding.warm, through_host=True
    )  # fmt: skip
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    started = []
    for role in roles:
        alone, shown = _alone(role, visible)
        if shown is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = shown
        started.append(spawn.Process(target=_process, args=(alone, work, done), name=role.name))
        started[-1].start()
    if visible is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = visible
    else:
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    outcomes = [_told(results, started) for _ in roles]
    done.set()
    for process in started:
        process.join()
    return outcomes


def _process(role: Role, work: workers.Work, done: threading.Event) -> None:
    guarding.install()
    workers.run(role, work)
    done.wait()  # tensors that were sent are read from this process until then


def _told(results: workers.Box, started: Sequence[BaseProcess]) -> workers.Outcome:
    while True:
        with contextlib.suppress(queue.Empty):
            outcome: workers.Outcome = results.get(timeout=1.0)
            return outcome
        dead = [process for process in started if process.exitcode not in (None, 0)]
        if dead:
            for process in started:
                process.terminate()
            raise RuntimeError(f"{dead[0].name} ended with {dead[0].exitcode}")


def _alone(role: Role, visible: str | None) -> tuple[Role, str | None]:
    """The role as its own process sees it, and the device that it may see."""
    if role.device == "cpu":
        return role, None
    index = int(role.device.rpartition(":")[2])
    return replace(role, device="cuda:0"), visible.split(",")[index] if visible else str(index)
