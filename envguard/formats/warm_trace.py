"""What ``TORCH_TRACE`` says of one process of a warmup: its rank, and each lookup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from envguard.formats.cache_trace import graphs_of, read_trace
from envguard.model.warm_run import Lookup, Process

_RANK = re.compile(rb'"rank": ?(\d{1,6})\b')


def read_process(lines: Iterable[bytes]) -> Process:
    """The trace of one process, as far as it can be read."""
    ranks: list[int] = []
    events = list(read_trace(_watched(lines, ranks)))
    return Process(
        rank=ranks[0] if ranks else None,
        lookups=tuple(Lookup(event.cache, event.state, event.name, event.reason) for event in events),
        graphs=graphs_of(events),
    )


def _watched(lines: Iterable[bytes], ranks: list[int]) -> Iterator[bytes]:
    for line in lines:
        if not ranks and line.startswith(b"V") and (found := _RANK.search(line)):
            ranks.append(int(found[1]))
        yield line
