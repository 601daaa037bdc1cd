"""pylock.toml (PEP 751)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envguard.formats import toml_text
from envguard.formats.declared.found import Found
from envguard.formats.declared.requirement import canonical
from envguard.formats.key_lines import KeyLines
from envguard.model.declared import Declared, Unreadable


def read(text: str, file: str, *, side: bool = False) -> Found:
    """Every version that it locks."""
    try:
        document = toml_text.parse(text.encode())
    except toml_text.TomlError as problem:
        return Found(unreadable=(Unreadable(file, problem.line, str(problem)),))
    packages = document.get("packages")
    lines = KeyLines(text)
    declared = [
        _entry(entry, file, lines, side)
        for entry in (packages if isinstance(packages, list) else [])
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    ]
    python = document.get("requires-python")
    if isinstance(python, str):
        declared.append(Declared("python", file, lines.line("requires-python") or 1, python.replace(" ", "")))
    return Found(tuple(declared))


def _entry(entry: Mapping[str, Any], file: str, lines: KeyLines, side: bool) -> Declared:
    name = entry["name"]
    marker, version, vcs = _text(entry.get("marker")), _text(entry.get("version")), entry.get("vcs")
    chosen = marker is not None and ("extras" in marker or "dependency_groups" in marker)
    return Declared(
        canonical(name),
        file,
        lines.line(f"packages[{name}].version") or 1,
        f"=={version}" if version else "",
        marker=None if chosen else marker,
        source=_text(entry.get("index")),
        commit=_text(vcs.get("commit-id")) if isinstance(vcs, dict) else None,
        wheels=dict(filter(None, map(_wheel, _tables(entry.get("wheels"))))),
        group=marker if chosen else None,
        side=side,
    )


def _wheel(wheel: Mapping[str, Any]) -> tuple[str, str] | None:
    place = _text(wheel.get("name")) or _text(wheel.get("url")) or _text(wheel.get("path"))
    hashes = wheel.get("hashes")
    digest = _text(hashes.get("sha256")) if isinstance(hashes, dict) else None
    return (place.partition("#")[0].rpartition("/")[2], digest.lower()) if place and digest else None


def _tables(found: object) -> list[Mapping[str, Any]]:
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _text(found: object) -> str | None:
    return found if isinstance(found, str) else None
