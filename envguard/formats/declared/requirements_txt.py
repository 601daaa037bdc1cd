"""requirements*.txt: pip's lines, with their hashes, markers, included files and indexes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envguard.formats.declared.found import Found, Include, declare, one_variant
from envguard.formats.declared.requirement import Parts, split
from envguard.model.declared import Declared, Unreadable

_OPTION = re.compile(r"\s--?[A-Za-z]")
_HASH = re.compile(r"--hash[=\s]sha256:([0-9A-Fa-f]{64})")
_INDEX = re.compile(r"(?:-i|--index-url|--extra-index-url|-f|--find-links)[=\s]\s*(\S+)")
_INCLUDE = re.compile(r"(?:-r|--requirement|(-c|--constraint))[=\s]?\s*(\S+)")
_URL = re.compile(r"(?:[a-z]+\+)?(?:https?|file|ssh|git)://|\.{0,2}/|[^\s@]+\.(?:whl|tar\.gz|zip)$")


def read(text: str, file: str, *, side: bool = False, wanted: bool = True) -> Found:
    """All declarations of one file. ``side``, ``wanted``: as of Declared."""
    declared: list[Declared] = []
    unreadable: list[Unreadable] = []
    includes: list[Include] = []
    lines = list(logical_lines(text))
    source = one_variant(found[1] for _, line in lines if (found := _INDEX.match(line)))
    for number, line in lines:
        if include := _INCLUDE.match(line):
            includes.append(Include(number, include[2], include[1] is not None))
        elif line.startswith("-"):
            continue
        elif parts := _requirement(line):
            hashes = frozenset(digest.lower() for digest in _HASH.findall(line))
            declared.append(
                declare(parts, file, number, source=source, hashes=hashes, side=side, wanted=wanted and not side)
            )
        elif not _URL.match(line):
            unreadable.append(Unreadable(file, number, f"not a requirement: {line[:60]!r}"))
    return Found(tuple(declared), tuple(unreadable), tuple(includes))


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, joined where one ends in a backslash, with the number of their first."""
    whole, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(?:^|\s)#.*$", "", raw).strip()
        first = first or number
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        whole += line
        if whole.strip():
            yield first, whole.strip()
        whole, first = "", 0
    if whole.strip():
        yield first, whole.strip()


def _requirement(line: str) -> Parts | None:
    option = _OPTION.search(line)
    text = line[: option.start()] if option else line
    return None if _URL.match(text) else split(text)
