"""find: which builds on the indexes are of a commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from envguard.errors import EnvguardError, UsageError
from envguard.model.offer import Offer
from envguard.model.wheel_facts import Cost, Part, WheelFacts
from envguard.operations.parallel import each
from envguard.planning import wheel_match
from envguard.planning.wheel_match import Wanted
from envguard.ports import Index, Progress, WheelReader

_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_AT_ONCE = 4
_NEEDED = frozenset({Part.TORCH})


@dataclass(frozen=True, slots=True)
class Found:
    """A build of the commit. ``files``: how many files its version and build tag have; one of them was read."""

    wheel: WheelFacts
    files: int


@dataclass(frozen=True, slots=True)
class Search:
    """What was found, newest first; of how many builds, at what cost; which could not be read."""

    found: tuple[Found, ...]
    searched: int
    builds: int
    cost: Cost
    failures: tuple[EnvguardError, ...] = ()


def find(
    name: str,
    commit: str,
    *,
    variant: str | None,
    want: Wanted,
    first: bool,
    index: Index,
    reader: WheelReader,
    progress: Progress,
) -> Search:
    """Read ``torch/version.py`` of one file of each build, newest first; ``first``: stop at the first that is it.

    ``commit``: at least 7 hex digits. UsageError.
    """
    prefix = commit.lower()
    if not _COMMIT.fullmatch(prefix):
        raise UsageError(f"not a commit: {commit[:60]!r}", hint="write 7 to 40 hex digits: --commit 70d99e998b")
    if name != "torch":
        raise UsageError(f"wheels of {name[:60]} tell no commit", hint="envguard find torch --commit …")
    builds = wheel_match.builds(wheel_match.once(index.offers(name)), want)
    found: list[Found] = []
    failures: list[EnvguardError] = []
    searched, cost = 0, Cost()
    for batch in _batches(builds, _AT_ONCE if first else len(builds)):
        searched += len(batch)
        for (_, files), facts in zip(batch, _read(batch, reader, progress), strict=True):
            if isinstance(facts, EnvguardError):
                failures.append(facts)
                continue
            cost += facts.cost
            if _is(facts, prefix, variant):
                found.append(Found(facts, files))
        if first and found:
            break
    return Search(tuple(found[:1] if first else found), searched, len(builds), cost, tuple(failures))


def _batches(builds: list[tuple[Offer, int]], size: int) -> Iterator[list[tuple[Offer, int]]]:
    for start in range(0, len(builds), max(size, 1)):
        yield builds[start : start + size]


def _read(
    batch: list[tuple[Offer, int]], reader: WheelReader, progress: Progress
) -> list[WheelFacts | EnvguardError]:
    def one(build: tuple[Offer, int]) -> WheelFacts | EnvguardError:
        try:
            return reader.read(build[0], _NEEDED)
        except EnvguardError as fault:
            return fault

    return each(one, batch, progress, "read", "builds", workers=_AT_ONCE)


def _is(facts: WheelFacts, prefix: str, variant: str | None) -> bool:
    torch = facts.content.torch
    if torch is None or not torch.git_commit.lower().startswith(prefix):
        return False
    return variant is None or facts.variant == variant
