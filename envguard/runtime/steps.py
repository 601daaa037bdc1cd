"""Steps and tokens, by thread, where the program tells them. No lock is taken: each thread writes its own row."""

from __future__ import annotations

import threading
import time
from typing import Any

from envguard.runtime import tally


class _Row:
    __slots__ = ("device", "first", "last", "steps", "thread", "tokens")

    def __init__(self) -> None:
        self.thread = tally.thread_name()
        self.device = tally.device()
        self.steps = self.tokens = 0
        self.first = self.last = 0.0


class Steps(threading.local):
    """A row for each thread, made at its first step."""

    row: _Row | None = None
    all: list[_Row] = []  # noqa: RUF012 - shared on purpose

    def step(self, tokens: int) -> None:
        """One step ended, with so many tokens; the first one's are not counted, since it compiles."""
        row = self.row
        if row is None:
            row = self.row = _Row()
            self.all.append(row)
            row.first = time.perf_counter()
        else:
            row.tokens += tokens
        row.steps += 1
        row.last = time.perf_counter()

    def rows(self) -> list[dict[str, Any]]:
        """A dict a thread; ``tokens``, ``seconds`` and ``tokens_per_second`` leave its first step out."""
        return [
            {
                "thread": row.thread,
                "device": row.device,
                "steps": row.steps,
                "tokens": row.tokens,
                "seconds": round(row.last - row.first, 6),
                "tokens_per_second": round(row.tokens / (row.last - row.first), 3) if row.steps > 1 else None,
            }
            for row in list(self.all)
        ]

    def forked(self) -> None:
        """After a fork: the child's own."""
        del self.all[:]
        self.row = None


STEPS = Steps()
