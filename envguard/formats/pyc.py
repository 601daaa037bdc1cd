"""Names and headers of compiled Python files (PEP 3147, PEP 552)."""

from __future__ import annotations

import re
from typing import NamedTuple

from envguard.model.bytecode import CUT, OTHER_PYTHON, OTHER_SIZE, OTHER_TIME, UNKNOWN

HEADER_SIZE = 16

_NAME = re.compile(r"(?P<stem>.+?)\.(?P<tag>[a-z]+-?\d+t?)(?:\.opt-(?P<optimisation>\w+))?\.pyc", re.DOTALL)
_SOABI = re.compile(r"(cpython-\d+)(t?)d?(?:-|$)")
_MAGIC = {
    "cpython-39": 3425,
    "cpython-310": 3439,
    "cpython-311": 3495,
    "cpython-312": 3531,
    "cpython-313": 3571,
    "cpython-314": 3627,
}
"""Magic numbers of releases, from ``importlib.util.MAGIC_NUMBER`` of each."""
_HASHED = 0b01
_CHECKED = 0b10


class CompiledName(NamedTuple):
    """``x.cpython-311.opt-1.pyc``, taken apart."""

    source: str
    tag: str
    optimisation: str


def cache_tags(soabi: str) -> frozenset[str]:
    """Tags that an interpreter of that SOABI looks for; none when that isn't known."""
    found = _SOABI.match(soabi)
    return frozenset({found[1], found[1] + found[2]}) if found else frozenset()


def parse_name(name: str) -> CompiledName | None:
    """Take the name of a file in ``__pycache__`` apart; None when it isn't a module's."""
    found = _NAME.fullmatch(name)
    return CompiledName(f"{found['stem']}.py", found["tag"], found["optimisation"] or "") if found else None


def is_hashed(header: bytes) -> bool:
    """Whether it is held against its source's bytes, not against size and time."""
    return len(header) == HEADER_SIZE and bool(header[4] & _HASHED)


def misfit(header: bytes, tag: str, mtime_ns: int, size: int) -> str | None:
    """Why a header doesn't fit its source, in a few words; None when it does, as far as size and time can tell."""
    if len(header) < HEADER_SIZE:
        return CUT
    magic = _MAGIC.get(tag.removesuffix("t"))
    if magic is not None and header[:4] != magic.to_bytes(2, "little") + b"\r\n":
        return OTHER_PYTHON
    flags = int.from_bytes(header[4:8], "little")
    if flags & ~(_HASHED | _CHECKED):
        return UNKNOWN
    if flags & _HASHED:
        return None
    if int.from_bytes(header[8:12], "little") != (mtime_ns // 1_000_000_000) & 0xFFFFFFFF:
        return OTHER_TIME
    if int.from_bytes(header[12:16], "little") != size & 0xFFFFFFFF:
        return OTHER_SIZE
    return None
