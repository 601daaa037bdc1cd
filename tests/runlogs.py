"""Run logs for tests: a good one as the guard writes it, of which a case changes one thing."""

from __future__ import annotations

import copy
from typing import Any

GIB = 1 << 30

_WHOLE: dict[str, Any] = {
    "schema": "envguard-run-1",
    "started": "2026-11-29T17:00:00Z",
    "written": "2026-11-29T18:00:00Z",
    "process": {
        "rank": None,
        "local_rank": None,
        "world_size": None,
        "local_world_size": None,
        "pid": 4711,
        "parent": 1,
        "role": "run",
    },
    "python": "3.12.3",
    "torch": {"build": "2.11.0+cu130", "git_commit": "7" * 40, "cuda": "13.0"},
    "guard": {"mode": "on", "flag": "guard", "followed": {}, "refused": None, "after_warm": "warning"},
    "end": {"how": "exit", "detail": None, "flag_raised": False, "flag_stuck": False, "settings": []},
    "threads": [
        {"thread": "drafter-0", "device": "cuda:0"},
        {"thread": "target-0", "device": "cuda:0"},
        {"thread": "native-140", "device": "cuda:0"},
    ],
    "counts": [
        {"device": "cuda:0", "thread": "drafter-0", "autograd_hits": 2, "graph_hits": 4, "compiles": 2},
        {"device": "cuda:0", "thread": "native-140", "backward_compiles": 1, "graph_hits": 1},
    ],
    "totals": {},
    "first_steps": {"passed": 2, "waited_seconds": 0.5},
    "throughput": [
        {
            "thread": "drafter-0",
            "device": "cuda:0",
            "steps": 9,
            "tokens": 8000,
            "seconds": 2.0,
            "tokens_per_second": 4000.4,
        }
    ],
    "memory": [
        {
            "device": "cuda:0",
            "name": "NVIDIA H200",
            "peak_allocated": 2 * GIB,
            "peak_reserved": 3 * GIB,
            "process": 3 * GIB + 600 * (1 << 20) + 1,
            "context": 600 * (1 << 20) + 1,
            "total": 140 * GIB,
            "used_by_all": 4 * GIB,
        }
    ],
    "peak_host_memory": 1000,
    "hazards": [],
}


def document(**changes: Any) -> dict[str, Any]:
    """A log; ``changes`` by key path with ``__`` for a dot (``end__how="signal"``) replace values."""
    whole = copy.deepcopy(_WHOLE)
    for path, value in changes.items():
        place = whole
        *above, last = path.split("__")
        for key in above:
            place = place[key]
        place[last] = value
    return whole
