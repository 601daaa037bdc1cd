"""``requirements.txt`` with pinned versions → claims. Lines as pip has them; ``packaging`` reads requirements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from envguard.errors import LockInvalidError
from envguard.formats.address import Address
from envguard.formats.imports.claims import Claim, Claims
from envguard.model.digest import Digest
from envguard.model.distribution import Origin

if TYPE_CHECKING:
    from packaging.markers import Environment
    from packaging.requirements import Requirement

_COMMENT = re.compile(r"(^|\s+)#.*$")
_HASH = re.compile(r"\s--hash[=\s]\s*(\S+)")
_OPTION = re.compile(r"(-[A-Za-z]|--[a-z-]+)[=\s]*(.*)")
_FILES = frozenset({"-r", "--requirement"})
_EDITABLE = frozenset({"-e", "--editable"})
_DEEPEST = 8
_SHOWN = 5

Reader = Callable[[str], bytes]
"""A path as written in the file at hand, relative to the first one's folder → bytes. EnvguardError."""


@dataclass
class _Found:
    environment: Environment
    reader: Reader
    claims: dict[str, Claim] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)


def read(content: bytes, where: str, *, environment: Environment, reader: Reader) -> Claims:
    """What the file pins for ``environment``; files that it names are read by ``reader``. LockInvalidError."""
    found = _Found(environment, reader)
    _read(content, where, "", found, _DEEPEST)
    if found.loose:
        more = f" and {len(found.loose) - _SHOWN} more" if len(found.loose) > _SHOWN else ""
        raise LockInvalidError(
            f"not pinned by ==: {', '.join(found.loose[:_SHOWN])}{more}",
            where=where,
            hint=f"pin them first: uv pip compile {where} --generate-hashes -o requirements.lock.txt",
        )
    entries = tuple(found.claims[name] for name in sorted(found.claims))
    return Claims(entries, tuple(dict.fromkeys(found.remarks)))


def _read(content: bytes, where: str, folder: str, found: _Found, depth: int) -> None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise LockInvalidError("not UTF-8", where=where) from None
    for number, line in logical_lines(text):
        place = f"{where}:{number}"
        option = _OPTION.fullmatch(line)
        if option is None:
            _requirement(line, place, found)
        elif option[1] in _FILES:
            if depth == 0:
                raise LockInvalidError("files that name files, too deep", where=place)
            path = f"{folder}{option[2].strip()}"
            _read(found.reader(path), path, path.rpartition("/")[0] + "/" if "/" in path else "", found, depth - 1)
        elif option[1] in _EDITABLE:
            found.remarks.append(f"{place}: an editable install, left out: its version isn't written there")


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with what they continue, without comments and blank ones, by the number of their first line."""
    parts: list[str] = []
    first = 1
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if not parts:
            first = number
        goes_on = line.endswith("\\") and not _COMMENT.match(line)
        parts.append(_COMMENT.sub("", line[:-1] if goes_on else line).strip())
        if not goes_on:
            whole = " ".join(part for part in parts if part)
            if whole:
                yield first, whole
            parts = []


def _requirement(line: str, place: str, found: _Found) -> None:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    hashes = tuple(digest for text in _HASH.findall(line) if (digest := _digest(text, place)) is not None)
    bare = line[: match.start()] if (match := re.search(r"\s--", line)) else line
    if _is_place(bare):
        found.remarks.append(f"{place}: a file or folder without a name, left out")
        return
    try:
        wanted = Requirement(bare)
    except InvalidRequirement:
        raise LockInvalidError("not a requirement that can be read", where=place) from None
    if wanted.marker is not None and not wanted.marker.evaluate(
        {str(key): str(value) for key, value in found.environment.items()}
    ):
        return
    name = canonicalize_name(wanted.name)
    claim = _by_address(name, wanted, hashes) if wanted.url else _pinned(name, wanted, hashes)
    if claim is None:
        found.loose.append(f"{wanted.name} (line {place.rpartition(':')[2]})")
        return
    before = found.claims.setdefault(name, claim)
    if before.version != claim.version:
        raise LockInvalidError(f"{name} is also pinned to {before.version}", where=place)
    found.claims[name] = replace(before, hashes=tuple(dict.fromkeys((*before.hashes, *claim.hashes))))


def _is_place(text: str) -> bool:
    """An address or a path, without the ``name @`` that would say what it is."""
    named = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^]]*\]\s*)?(@|===?)", text)
    return named is None and (
        text.startswith((".", "/")) or "://" in text or text.endswith((".whl", ".gz", ".zip"))
    )


def _pinned(name: str, wanted: Requirement, hashes: tuple[Digest, ...]) -> Claim | None:
    specifiers = list(wanted.specifier)
    if len(specifiers) != 1 or specifiers[0].operator not in ("==", "===") or "*" in specifiers[0].version:
        return None
    return Claim(name, specifiers[0].version, hashes=hashes)


def _by_address(name: str, wanted: Requirement, hashes: tuple[Digest, ...]) -> Claim | None:
    """A wheel's address says its version; of a repository nothing is known but where it is."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    url = wanted.url or ""
    address, _, fragment = url.partition("#")
    filename = address.rpartition("/")[2].partition("?")[0].replace("%2B", "+").replace("%2b", "+")
    try:
        _, version, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return None
    named = re.search(r"(?:^|&)sha256=([0-9a-fA-F]{64})(?:&|$)", fragment)
    own = (Digest(named[1].lower()),) if named else ()
    return Claim(name, str(version), filename, (*hashes, *own)[:1], origin=Origin("archive", url=_public(address)))


def _public(text: str) -> str | None:
    try:
        address = Address.parse(text)
    except ValueError:
        return None
    return None if address.scheme == "file" else str(address)


def _digest(text: str, place: str) -> Digest | None:
    """A sha256; other algorithms say nothing that a lock can hold."""
    if not text.startswith("sha256:"):
        return None
    try:
        return Digest.parse(text.lower())
    except ValueError as problem:
        raise LockInvalidError(str(problem), where=place) from None
