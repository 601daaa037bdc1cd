"""pyproject.toml: dependencies, extras, dependency groups, requires-python, and uv's own tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from envguard.formats import toml_text
from envguard.formats.declared.found import Found, declare
from envguard.formats.declared.requirement import canonical, split
from envguard.formats.key_lines import KeyLines
from envguard.model.declared import Declared, Unreadable


def read(text: str, file: str) -> Found:
    """All declarations of one file."""
    try:
        document = toml_text.parse(text.encode())
    except toml_text.TomlError as problem:
        return Found(unreadable=(Unreadable(file, problem.line, str(problem)),))
    whole = _File(text, file, document)
    overridden = {entry.name for entry in whole.overrides()}
    declared = [entry for entry in whole.dependencies() if entry.name not in overridden]
    return Found((*whole.python(), *declared, *whole.overrides(), *whole.sources()), tuple(whole.unreadable), ())


class _File:
    def __init__(self, text: str, file: str, document: Mapping[str, Any]) -> None:
        self._file = file
        self._lines = text.splitlines()
        self._keys = KeyLines(text)
        self._project = _mapping(document, "project")
        self._uv = _mapping(_mapping(document, "tool"), "uv")
        self._groups = _mapping(document, "dependency-groups")
        self.unreadable: list[Unreadable] = []

    def python(self) -> Iterator[Declared]:
        wanted = self._project.get("requires-python")
        if isinstance(wanted, str):
            line = self._keys.line("project.requires-python") or 1
            yield Declared("python", self._file, line, wanted.replace(" ", ""))

    def dependencies(self) -> Iterator[Declared]:
        yield from self._listed("project.dependencies", self._project.get("dependencies"), wanted=True)
        for extra, entries in _mapping(self._project, "optional-dependencies").items():
            yield from self._listed(f"project.optional-dependencies.{extra}", entries, group=f"extra {extra}")
        for group, entries in self._groups.items():
            yield from self._listed(f"dependency-groups.{group}", entries, group=f"group {group}")
        for key in ("dev-dependencies", "constraint-dependencies"):
            yield from self._listed(f"tool.uv.{key}", self._uv.get(key), group=key)

    def overrides(self) -> Iterator[Declared]:
        yield from self._listed("tool.uv.override-dependencies", self._uv.get("override-dependencies"))

    def sources(self) -> Iterator[Declared]:
        indexes = {
            entry.get("name"): entry.get("url") for entry in _tables(self._uv.get("index")) if entry.get("name")
        }
        for name, entries in _mapping(self._uv, "sources").items():
            several = entries if isinstance(entries, list) else [entries]
            for entry in several:
                if isinstance(entry, dict):
                    yield self._source(name, entry, indexes)

    def _source(self, name: str, entry: Mapping[str, Any], indexes: Mapping[Any, Any]) -> Declared:
        index, rev, marker = entry.get("index"), entry.get("rev"), entry.get("marker")
        limited = entry.get("extra") or entry.get("group")
        address = indexes.get(index) or index or entry.get("url")
        return Declared(
            canonical(name),
            self._file,
            self._keys.line(f"tool.uv.sources.{name}") or 1,
            marker=marker if isinstance(marker, str) else None,
            source=str(address) if address else None,
            commit=rev if isinstance(rev, str) and len(rev) == 40 else None,
            group=f"source for {limited}" if limited else None,
        )

    def _listed(
        self, key: str, entries: object, *, group: str | None = None, wanted: bool = False
    ) -> Iterator[Declared]:
        if not isinstance(entries, list):
            return
        line = self._keys.line(key) or 1
        for entry in entries:
            if not isinstance(entry, str):
                continue
            line = self._line_of(entry, line)
            parts = split(entry)
            if parts is None:
                self.unreadable.append(Unreadable(self._file, line, f"not a requirement: {entry[:60]!r}"))
                continue
            yield declare(parts, self._file, line, group=group, wanted=wanted)

    def _line_of(self, entry: str, start: int) -> int:
        """Where a string of a list stands, from the list's line on."""
        shapes = (json.dumps(entry, ensure_ascii=False), f"'{entry}'")
        for number in range(start, len(self._lines) + 1):
            if any(shape in self._lines[number - 1] for shape in shapes):
                return number
        return start


def _mapping(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = content.get(key)
    return found if isinstance(found, dict) else {}


def _tables(found: object) -> list[Mapping[str, Any]]:
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
