"""Texts of Linux's /proc, read (proc(5))."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

_CODE = re.compile(r"(/.+)/[a-z0-9]{2}/c[a-z2-7]{51}(?:\.main)?\.so")
_TRITON = re.compile(r"(/.+)/[A-Z2-7]{52}/[^/]+\.so")
_GONE = " (deleted)"


@dataclass(frozen=True, slots=True)
class Mapped:
    """A file that a process has mapped. ``gone``: it was removed, or replaced, since."""

    path: str
    gone: bool = False


def variables(content: bytes) -> Mapping[str, str]:
    """``/proc/PID/environ``: as the process was started; what it set itself later is not there."""
    pairs = (part.decode("utf-8", "surrogateescape").partition("=") for part in content.split(b"\0"))
    return {name: value for name, equals, value in pairs if equals}


def words(content: bytes) -> tuple[str, ...]:
    """``/proc/PID/cmdline``."""
    return tuple(part.decode("utf-8", "surrogateescape") for part in content.split(b"\0")[:-1])


def mapped(content: bytes) -> Iterator[Mapped]:
    """The files of ``/proc/PID/maps``, each once."""
    seen = set()
    for line in content.splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5].startswith(b"/") and fields[5] not in seen:
            seen.add(fields[5])
            path = fields[5].replace(b"\\012", b"\n").decode("utf-8", "surrogateescape")
            yield Mapped(path.removesuffix(_GONE), path.endswith(_GONE))


def user(content: str) -> int | None:
    """The effective user of ``/proc/PID/status``."""
    found = re.search(r"^Uid:\s+\d+\s+(\d+)", content, re.M)
    return int(found[1]) if found else None


def cache_folder(paths: Iterator[str]) -> str | None:
    """Inductor's cache folder, by the compiled libraries that are mapped from it; None where there are none."""
    for path in paths:
        found = _CODE.fullmatch(path)
        if found:
            return found[1]
        kernel = _TRITON.fullmatch(path)
        if kernel:
            keys = PurePosixPath(kernel[1])
            triton = keys.parent if keys.name.isdecimal() else keys
            if triton.name == "triton":
                return str(triton.parent)
    return None
