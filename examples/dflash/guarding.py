"""The guard where envguard is, else nothing. ``--no-guard`` is said to it before torch is imported."""

from __future__ import annotations

import contextlib
import importlib
from contextlib import AbstractContextManager
from typing import Any

guard: Any = None
with contextlib.suppress(ImportError):
    guard = importlib.import_module("envguard.runtime.guard")


def install() -> None:
    """Put the guard in place. Before the first torch.compile: that wraps what the guard looks for."""
    if guard is not None:
        guard.install()


def first_step(device: str) -> AbstractContextManager[object]:
    """Around a thread's first forward and backward; what it needs is had before."""
    block: AbstractContextManager[object] = contextlib.nullcontext() if guard is None else guard.first_step(device)
    return block


def warm() -> None:
    """All have had their first step: what compiles from here on is told."""
    if guard is not None:
        guard.warm()


def step(tokens: int) -> None:
    """A step ended."""
    if guard is not None:
        guard.step(tokens)
