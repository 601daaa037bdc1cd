"""A warmer that leaves what it is told to leave in the cache's folder, and says what it is told to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from envguard.model.warm_run import Lookup, Process, Ran, Start
from tests.adapters.cache.world import code, graph_entry, graph_key


def cuda(start: Start) -> int:
    """The number of the graph that a start compiles: one a device."""
    return sum(int(device.partition(":")[2] or 9) for device in start.devices) + 1


def compiles(start: Start, run: int) -> Ran:
    """Each start looks up one graph of its device, and makes it where it isn't there."""
    number = cuda(start)
    key = graph_key(number)
    there = (start.place.inductor / "fxgraph" / key[1:3] / key).exists()
    if not there:
        graph_entry(start.place.inductor, number, code(start.devices[0]))
    lookup = Lookup("fxgraph", "hit" if there else "miss", f"fxgraph/{key}")
    return Ran(0, 5.0 - run, (Process(None, (lookup,)),))


@dataclass
class SaidWarmer:
    """Implements ``ports.Warmer``. ``does``: (start, how many were before) → what it came to."""

    does: Callable[[Start, int], Ran] = compiles
    starts: list[Start] = field(default_factory=list)

    def run(self, start: Start) -> Ran:
        """Do it."""
        self.starts.append(start)
        return self.does(start, len(self.starts) - 1)
