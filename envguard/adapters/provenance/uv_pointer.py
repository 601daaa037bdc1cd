"""uv's pointer files, read defensively: a private format, measured with uv 0.13 (buckets wheels-v8, sdists-v11).

``….http`` is one msgpack value, uv's HTTP cache policy, and the length of the msgpack part in the last eight bytes
(little-endian). The value is ``[archive, [{"Sha256": hex}], filename, 0, size]`` for a wheel and
``[revision, [{"Sha256": hex}], size]`` for an sdist.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from envguard.model.digest import Digest

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HEX = re.compile(r"[0-9a-f]{64}")
_SDIST = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._+%-]{0,200}?\.(?:tar\.gz|zip)")
_ADDRESS_CAP = 1 << 16


@dataclass(frozen=True, slots=True)
class WheelPointer:
    """A wheel that uv downloaded; ``archive`` names the folder below ``archive-v*`` that it was unpacked into."""

    archive: str
    filename: str
    sha256: Digest
    size: int | None


@dataclass(frozen=True, slots=True)
class SdistPointer:
    """An sdist that uv downloaded; ``revision`` names the folder with what was built from it."""

    revision: str
    sha256: Digest
    filenames: tuple[str, ...]
    """Names of sdists that its address may end in."""


def read_wheel_pointer(content: bytes) -> WheelPointer | None:
    """Read a wheel's ``.http``; None when it is none, or tells no sha256."""
    match _value(content):
        case [str(archive), list(hashes), str(filename), *rest] if _NAME.fullmatch(archive):
            sha256 = _sha256(hashes)
            size = rest[-1] if len(rest) > 1 and isinstance(rest[-1], int) else None
            return None if sha256 is None else WheelPointer(archive, filename, sha256, size)
    return None


def read_sdist_pointer(content: bytes) -> SdistPointer | None:
    """Read an sdist's ``revision.http``; None when it is none, or tells no sha256."""
    match _value(content):
        case [str(revision), list(hashes), *_] if _NAME.fullmatch(revision):
            sha256 = _sha256(hashes)
            filenames = {unquote(name.decode()) for name in _SDIST.findall(content[-_ADDRESS_CAP:])}
            return None if sha256 is None else SdistPointer(revision, sha256, tuple(sorted(filenames)))
    return None


def _value(content: bytes) -> Any:
    import msgpack

    length = int.from_bytes(content[-8:], "little")
    if not 0 < length <= len(content) - 8:
        return None
    try:
        return msgpack.unpackb(content[:length], strict_map_key=False)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException):
        return None


def _sha256(hashes: list[Any]) -> Digest | None:
    for entry in hashes:
        match entry:
            case {"Sha256": str(text)} if _HEX.fullmatch(text):
                return Digest(text)
    return None
