"""What a dist-info folder holds beside RECORD: METADATA, WHEEL, INSTALLER, entry_points.txt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from envguard.model.record import EntryPoint

_SEPARATORS = re.compile(r"[-_.]+")
_BLANK = re.compile(rb"\r?\n[ \t]*\r?\n|\r[ \t]*\r(?!\n)")
_TARGET = re.compile(r"([\w.]+)\s*:\s*([\w.]+)\s*(?:\[.*\])?")
_MODULE_ENDINGS = (".py", ".so", ".pyd", ".pyc")


@dataclass(frozen=True, slots=True)
class Metadata:
    """The header of METADATA (or PKG-INFO). ``requires``: the Requires-Dist lines as written."""

    name: str
    version: str
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WheelTags:
    """The WHEEL file."""

    tags: tuple[str, ...]
    build: str | None
    root_is_purelib: bool
    generator: str | None


def canonical(name: str) -> str:
    """A distribution's canonical name (PEP 503)."""
    return _SEPARATORS.sub("-", name).lower()


def read_metadata(content: bytes) -> Metadata:
    """Read METADATA's header; not the description. ``ValueError`` without name or version."""
    name = version = ""
    requires = []
    for key, value in _headers(content):
        if key == "name":
            name = name or value
        elif key == "version":
            version = version or value
        elif key == "requires-dist":
            requires.append(value)
    if not name or not version:
        raise ValueError(f"METADATA has no {'Version' if name else 'Name'}")
    return Metadata(name, version, tuple(requires))


def read_wheel_tags(content: bytes) -> WheelTags:
    """Read WHEEL; what is missing is empty."""
    tags = []
    rest: dict[str, str] = {}
    for key, value in _headers(content):
        if key == "tag":
            tags.append(value)
        else:
            rest.setdefault(key, value)
    return WheelTags(
        tags=tuple(tags),
        build=rest.get("build") or None,
        root_is_purelib=rest.get("root-is-purelib", "").lower() == "true",
        generator=rest.get("generator") or None,
    )


def read_installer(content: bytes) -> str | None:
    """The installer's name; None when the file says nothing."""
    lines = content.decode("utf-8", "replace").split()
    return lines[0][:40] if lines else None


def read_entry_points(content: bytes) -> tuple[EntryPoint, ...]:
    """Launchers of ``console_scripts`` and ``gui_scripts``. ``ValueError`` when the file can't be read."""
    import configparser

    parser = configparser.ConfigParser(
        delimiters=("=",), interpolation=None, strict=False, empty_lines_in_values=False
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names of launchers keep their case
    try:
        parser.read_string(content.decode("utf-8", "surrogateescape").lstrip("\ufeff"))
    except configparser.Error as problem:
        raise ValueError(f"entry_points.txt: {str(problem).splitlines()[0]}") from None
    return tuple(
        EntryPoint(name, f"{target[1]}:{target[2]}")
        for section in ("console_scripts", "gui_scripts")
        if parser.has_section(section)
        for name, value in parser.items(section)
        if (target := _TARGET.fullmatch((value or "").strip()))
    )


def top_level_modules(paths: Iterable[str]) -> frozenset[str]:
    """Names that can be imported because files of these paths (relative to a library folder) are there."""
    return frozenset(name for path in paths if (name := _module(path)).isidentifier())


def _module(path: str) -> str:
    first, slash, _ = path.partition("/")
    if slash:
        return first if path.endswith(_MODULE_ENDINGS) and first != "__pycache__" else ""
    return first.partition(".")[0] if first.endswith(_MODULE_ENDINGS) else ""


def _headers(content: bytes) -> Iterator[tuple[str, str]]:
    """Keys in lower case and values of an RFC 822 header, continuation lines joined."""
    end = _BLANK.search(content)
    text = content[: end.start() if end else None].decode("utf-8", "surrogateescape").lstrip("\ufeff")
    key, parts = "", [""]
    for line in text.splitlines():
        if line[:1] in (" ", "\t"):
            parts.append(line.strip())
            continue
        if key:
            yield key, " ".join(parts).strip()
        key, _, value = line.partition(":")
        key, parts = key.strip().lower(), [value.strip()]
    if key:
        yield key, " ".join(parts).strip()
