"""``/proc/self/mountinfo`` (proc(5)): what is mounted where."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount: its place, kind of file system and options, the mount's own and the file system's."""

    place: str
    filesystem: str
    options: frozenset[str]


def mounts(text: str) -> tuple[Mount, ...]:
    """All mounts, in the file's order; lines that can't be understood are left out."""
    return tuple(mount for line in text.splitlines() if (mount := _mount(line)) is not None)


def mount_of(path: str, all_mounts: Iterable[Mount]) -> Mount | None:
    """The mount that an absolute, resolved path lies on: the deepest, and of two in one place the later."""
    best = None
    for mount in all_mounts:
        inside = path == mount.place or path.startswith(mount.place.rstrip("/") + "/")
        if inside and (best is None or len(mount.place) >= len(best.place)):
            best = mount
    return best


def _mount(line: str) -> Mount | None:
    front, dash, back = line.partition(" - ")
    fields, last = front.split(" "), back.split(" ")
    if not dash or len(fields) < 6 or len(last) < 3:
        return None
    place = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4])
    return Mount(place, last[0], frozenset(fields[5].split(",")) | frozenset(last[2].split(",")))
