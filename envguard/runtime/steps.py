"""Steps and tokens, by thread, where the program tells them. No lock is taken: each thread writes its own row."""

import threading
import time

from envguard.runtime import tally


class _Row:
    __slots__ = ("device", "first", "last", "steps", "thread", "tokens")

    def __init__(self):
        self.thread = tally.thread_name()
        self.device = tally.device()
        self.steps = self.tokens = 0
        self.first = self.last = 0.0


class Steps(threading.local):
    """A row for each thread, made at its first step."""

    row = None
    all = []  # noqa: RUF012 - shared on purpose

    def step(self, tokens):
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

    def rows(self):
        """``[{thread, device, steps, tokens, seconds, tokens_per_second}]``; the first step is left out of the last three."""
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

    def forked(self):
        """After a fork: the child's own."""
        del self.all[:]
        self.row = None


STEPS = Steps()
