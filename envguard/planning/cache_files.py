"""Which files of a compile cache may be kept and put back, and by which names.

A cache is code: it holds pickles and libraries that its next user runs. So a name is not cleaned up, it either is
one that torch gives (``codecache.py``, ``cache_dir_utils.py``; Triton's ``runtime/cache.py``) or it is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from enum import Enum
from pathlib import PurePosixPath

from envguard.model.cache_files import CachedFile

MOST_FILES = 300_000
LARGEST = 1 << 30
"""Bytes of one file."""

GROUP = "__grp__"
"""Begins the names of Triton's lists of files. They hold absolute paths, which are wrong in any other folder."""

_NAME = r"[A-Za-z0-9_][A-Za-z0-9._\-]{0,199}"
_CODE = r"[a-z2-7]{51}"
_SHELF = r"[a-z0-9]{2}"


class Part(Enum):
    """What a file is to torch."""

    GRAPH = "fxgraph"
    AUTOGRAD = "aotautograd"
    AUTOTUNE = "autotune"
    TRITON = "triton"
    NATIVE = "native"
    """A library for this very processor: worth its bytes only where CPU flags are equal."""


_SHAPES: tuple[tuple[Part, re.Pattern[str]], ...] = (
    (Part.GRAPH, re.compile(rf"fxgraph/({_SHELF})/f\1[a-z2-7]{{49}}/{_NAME}")),
    (Part.AUTOGRAD, re.compile(rf"aotautograd/a{_CODE}/{_NAME}")),
    (Part.AUTOTUNE, re.compile(rf"{_SHELF}/[A-Za-z0-9_]{{1,200}}\.best_config")),
    (Part.NATIVE, re.compile(rf"{_SHELF}/c{_CODE}(\.main)?\.so")),
    (Part.TRITON, re.compile(rf"triton/[A-Z2-7]{{52}}/(?!.*\.so(\.|$)){_NAME}")),
)
_INDEX = re.compile(r"triton/\d{1,4}/(?=[A-Z2-7]{52}/)")
_REFUSED = re.compile(r"\.tmp$|^tmp\.|\.lock$|\.tmp\.")


def part_of(path: str) -> Part | None:
    """What a path of a manifest is; None for one that must not be there."""
    if _REFUSED.search(path.rpartition("/")[2]):
        return None
    return next((part for part, shape in _SHAPES if shape.fullmatch(path)), None)


def kept_as(inside: str) -> str | None:
    """The manifest's path of a file of a cache folder; None for one that is never kept.

    Triton's level of device indices falls away: its keys don't hold the index.
    """
    path = _INDEX.sub("triton/", inside)
    return path if part_of(path) is not None else None


def is_of(path: str, keys: Collection[str]) -> bool:
    """Whether a kept file belongs to these keys (``fxgraph/f…``, ``triton/KEY``), or to none in particular."""
    part, names = part_of(path), path.split("/")
    if part is Part.GRAPH:
        return f"fxgraph/{names[2]}" in keys
    if part in (Part.AUTOGRAD, Part.TRITON):
        return f"{names[0]}/{names[1]}" in keys
    return True


def key_of(path: str) -> str | None:
    """The key that a kept file is an entry of, for graphs and autograd entries."""
    names = path.split("/")
    if part_of(path) is Part.GRAPH:
        return f"fxgraph/{names[2]}"
    return f"aotautograd/{names[1]}" if part_of(path) is Part.AUTOGRAD else None


def is_group(path: str) -> bool:
    """Whether a file is one of Triton's lists."""
    return part_of(path) is Part.TRITON and path.rpartition("/")[2].startswith(GROUP)


def without_paths(content: bytes) -> bytes:
    """A list of Triton's with names in the place of paths. ValueError when it is none."""
    names = _children(content)
    return json.dumps({"child_paths": {name: name for name in sorted(names)}}, separators=(",", ":")).encode()


def with_paths(content: bytes, folder: str) -> bytes:
    """The list again, for files that lie in ``folder``. ValueError."""
    names = sorted(_children(content))
    return json.dumps({"child_paths": {name: f"{folder}/{name}" for name in names}}).encode()


def _children(content: bytes) -> set[str]:
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deep") from None
    children = document.get("child_paths") if isinstance(document, dict) else None
    if not isinstance(children, dict) or set(document) != {"child_paths"}:
        raise ValueError("not a list of Triton's")
    for name, path in children.items():
        if not isinstance(path, str) or PurePosixPath(path).name != name or not re.fullmatch(_NAME, name):
            raise ValueError(f"a list that leads elsewhere: {str(name)[:60]!r}")
    return set(children)


def check(files: Iterable[CachedFile]) -> None:
    """ValueError for a manifest that must not be put back: names, twins, sizes."""
    seen: dict[str, str] = {}
    for number, file in enumerate(files):
        if number >= MOST_FILES:
            raise ValueError(f"more than {MOST_FILES:,} files")
        if part_of(file.path) is None:
            raise ValueError(f"not a name that torch or Triton gives: {file.path[:120]!r}")
        if file.size > LARGEST:
            raise ValueError(f"{file.path}: {file.size:,} bytes, more than a cached file has")
        # Names of different keys differ in more than case; where file systems fold it, one would hide the other.
        twin = seen.setdefault(file.path.casefold(), file.path)
        if number and twin is not file.path:
            raise ValueError(f"two files of one name: {file.path[:120]!r}")
