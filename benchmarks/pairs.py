"""One of ours against one peer, in turn, on one machine: medians, ratios, peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import IO


def nothing() -> None:
    """No preparation."""


@dataclass(frozen=True)
class Pair:
    """Ours against a peer, and the ratio that we want to stay below (None: no goal was set)."""

    name: str
    ours: Sequence[str]
    peer: Sequence[str]
    peer_name: str
    goal: float | None = None
    folder: Path | None = None
    """Where ours runs; None: where the benchmark is, a folder that is no repository."""
    before: Callable[[], None] = nothing
    """Run before each of ours, and not timed."""
    before_peer: Callable[[], None] = nothing
    told: bool = False
    """The peer prints its seconds itself: starting it is not part of the comparison."""
    most: int = 99
    """Runs, at most."""


@dataclass(frozen=True)
class Time:
    """Of one command: seconds, and the largest resident set of it and its children, in MB."""

    seconds: float
    peak: float


def heading() -> None:
    """The table's first line."""
    _print("ours", "peer", "ours s", "peer s", "ratio", "spread", "ours MB", "goal")


def measure(pair: Pair, runs: int) -> None:
    """Both in turn, after one round that doesn't count; one line."""
    runs = min(runs, pair.most)
    if runs > 1:
        _round(pair)
    rounds = [_round(pair) for _ in range(runs)]
    ratios = sorted(ours.seconds / peer.seconds for ours, peer in rounds)
    ours = statistics.median(ours.seconds for ours, _ in rounds)
    peer = statistics.median(peer.seconds for _, peer in rounds)
    peak = max(ours.peak for ours, _ in rounds)
    ratio = statistics.median(ratios)
    spread = f"{ratios[0]:.2f}–{ratios[-1]:.2f}"
    goal = "" if pair.goal is None else f"≤{pair.goal:g} {'met' if ratio <= pair.goal else 'NOT met'}"
    numbers = (f"{ours:.3f}", f"{peer:.3f}", f"{ratio:.2f}", spread, f"{peak:.0f}")
    _print(pair.name, pair.peer_name, *numbers, goal)


def _print(name: str, peer: str, ours: str, theirs: str, ratio: str, spread: str, peak: str, goal: str) -> None:
    print(f"{name:<34}{peer:<40}{ours:>8}{theirs:>8}{ratio:>7}{spread:>14}{peak:>9}  {goal}", flush=True)


def once(command: Sequence[str], folder: Path | None = None, *, told: bool = False) -> Time:
    """Run a command. Ends the benchmark when it fails."""
    started = perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        said, complained = _text(out), _text(err)
    if child.returncode not in (0, 4):
        sys.exit(f"{' '.join(command)}: exit {child.returncode}\n{said}{complained}")
    return Time(float(said.split()[-1]) if told else seconds, usage.ru_maxrss / 1024)


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


def _round(pair: Pair) -> tuple[Time, Time]:
    pair.before()
    ours = once(pair.ours, pair.folder)
    pair.before_peer()
    return ours, once(pair.peer, told=pair.told)
