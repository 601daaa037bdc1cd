"""TOML text before and beside its parsing: limits that hold before a parser runs, and lines of key paths."""

from __future__ import annotations

import re
import tomllib
from typing import Any

SIZE_LIMIT = 8 * 1024 * 1024
"""Bytes of a lock."""
DEPTH_LIMIT = 32
"""Parts of a dotted key."""

_PART = r"""(?:"[^"\n]*+"|'[^'\n]*+'|[A-Za-z0-9_-]++)"""
# tomllib's time grows with the square of the parts: 10,000 parts in 20 kB take a second
_DEEP = re.compile(rf"""(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{DEPTH_LIMIT},}}+""")
_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"'-]+?)\s*=")
_STEP = re.compile(r"([^.\[\]]+)(?:\[(\d+)\])?")


class TomlError(ValueError):
    """Text that isn't TOML, or is beyond a limit. ``line`` counts from 1; None when it is about the whole."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


def parse(content: bytes) -> dict[str, Any]:
    """Parse TOML within limits of size, depth and nesting; TomlError otherwise."""
    if len(content) > SIZE_LIMIT:
        raise TomlError(f"{len(content) / 1048576:.1f} MiB, more than the {SIZE_LIMIT // 1048576} MiB allowed")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise TomlError(f"not UTF-8 (byte {problem.start})", line) from None
    deep = _DEEP.search(text)
    if deep is not None:
        line = text.count("\n", 0, deep.start()) + 1
        raise TomlError(f"a key of more than {DEPTH_LIMIT} parts", line)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise TomlError(f"not TOML: {problem}", _line_in(str(problem))) from None
    except RecursionError:
        raise TomlError("nested too deeply") from None
    except ValueError:  # int() takes no more than some thousand digits
        raise TomlError("a number of too many digits") from None


def _line_in(message: str) -> int | None:
    found = re.search(r"at line (\d+)", message)
    return int(found[1]) if found else None


def line_of(text: str, path: str) -> int | None:
    """Line (from 1) of a key path such as ``distribution[3].sha256``; of its table when the key has no line."""
    wanted = [(name, int(number) if number else None) for name, number in _STEP.findall(path)]
    best: int | None = None
    seen: dict[str, int] = {}
    at: list[tuple[str, int | None]] = []
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header and not _KEY.match(line):
            at = _table(header[2], header[1] == "[[", seen)
            if at and wanted[: len(at)] == at:
                best = number
            continue
        key = _KEY.match(line)
        if (
            key
            and [*at, *((part.strip("\"' "), None) for part in key[1].split("."))]
            == [(name, index if position < len(at) else None) for position, (name, index) in enumerate(wanted)][
                : len(at) + key[1].count(".") + 1
            ]
        ):
            return number
    return best


def _table(name: str, is_list: bool, seen: dict[str, int]) -> list[tuple[str, int | None]]:
    if is_list:
        seen[name] = seen.get(name, -1) + 1
    steps: list[tuple[str, int | None]] = []
    for part in name.split("."):
        path = ".".join([*(step[0] for step in steps), part])
        steps.append((part.strip("\"' "), seen.get(path)))
    return steps
