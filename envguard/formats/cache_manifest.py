"""The manifest of a cache's bytes: an object of the store, one line a file, the same text for the same files.

``envguard-cache-manifest-1`` then ``<sha256> <size> <mode> <path>`` in order of path; mode is 0600 or 0700.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from envguard.model.cache_files import CachedFile
from envguard.model.digest import Digest

HEAD = b"envguard-cache-manifest-1\n"
LARGEST = 128 << 20
_LINE = re.compile(rb"([0-9a-f]{64}) (0|[1-9]\d{0,12}) (0600|0700) ([\x21-\x7e]{1,400})")


def dump(files: Iterable[CachedFile]) -> bytes:
    """The text."""
    lines = (
        f"{file.sha256.hex} {file.size} {'0700' if file.executable else '0600'} {file.path}\n"
        for file in sorted(files, key=lambda file: file.path)
    )
    return HEAD + "".join(lines).encode("ascii")


def load(content: bytes) -> tuple[CachedFile, ...]:
    """The files, by names that ``planning.cache_files.check`` must still allow. ValueError for other text."""
    if len(content) > LARGEST:
        raise ValueError(f"larger than {LARGEST >> 20} MiB")
    if not content.startswith(HEAD):
        raise ValueError("not a manifest of a cache")
    body = content[len(HEAD) :]
    if body and not body.endswith(b"\n"):
        raise ValueError("cut off")
    files = tuple(_file(number, line) for number, line in enumerate(body.split(b"\n")[:-1], 2))
    if any(one.path >= other.path for one, other in itertools.pairwise(files)):
        raise ValueError("not in order of path")
    return files


def _file(number: int, line: bytes) -> CachedFile:
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"line {number}: not a file")
    return CachedFile(found[4].decode("ascii"), Digest(found[1].decode()), int(found[2]), found[3] == b"0700")
