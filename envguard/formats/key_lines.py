"""The line of a lock that a key path means, by name as well as by number: ``distribution[torch].wheel``."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import takewhile

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_PAIR = re.compile(
    r"""\s*((?:"[^"\n]*"|'[^'\n]*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"\n]*"|'[^'\n]*'|[\w-]+))*)\s*=\s*(.*)"""
)
_PART = re.compile(r""""([^"\n]*)"|'([^'\n]*)'|([A-Za-z0-9_-]+)""")
_STEP = re.compile(r"""\.?([A-Za-z0-9_-]+(?::\d+)?|"[^"]*")|\[((?:[^\[\]]|\[[^\[\]]*\])*)\]""")
_NAMING = ("name", "path", "index", "check", "module")
"""Keys by which an entry of a list of tables is called, first that it has."""
_ROOTS = {"scripts": "bin/", "headers": "include/"}


class _Table:
    """A table's header line, the lines of its keys, and what it is called."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.keys: dict[str, int] = {}
        self.plain: dict[str, str] = {}


class KeyLines:
    """Lines of one TOML text. Nothing is parsed twice: the text is scanned at the first question."""

    def __init__(self, text: str) -> None:
        self._text = text

    def line(self, key: str) -> int | None:
        """Line (from 1) of a key path, of the nearest table above it that has one, or None."""
        steps = [name.strip('"') if name else f"[{place}]" for name, place in _STEP.findall(key)]
        while steps:
            found = self._find(steps)
            if found is not None:
                return found
            steps = steps[:-1]
        return None

    def _find(self, steps: list[str]) -> int | None:
        for split in range(len(steps), -1, -1):
            table = self._table(steps[:split])
            if table is None:
                continue
            rest = steps[split:]
            return self._in_table(table, rest) or self._below(steps) if rest else table.line
        return None

    def _in_table(self, table: _Table, rest: list[str]) -> int | None:
        plain = list(takewhile(lambda step: not step.startswith("["), rest))
        for take in range(len(plain), 0, -1):
            line = table.keys.get(".".join(plain[:take]))
            if line is None:
                continue
            places = [step[1:-1] for step in rest if step.startswith("[")]
            return self._in_list(line, places[0]) if places else line
        return None

    def _below(self, steps: list[str]) -> int | None:
        """``variables.NAME``: the key stands in one of the table's own tables."""
        if len(steps) != 2:
            return None
        prefix = f"{steps[0]}."
        for path, table in self._tables.items():
            if path.startswith(prefix) and steps[1] in table.keys:
                return table.keys[steps[1]]
        return None

    def _table(self, steps: list[str]) -> _Table | None:
        if not steps:
            return self._tables[""]
        if steps[-1].startswith("["):
            path, called = ".".join(steps[:-1]), steps[-1][1:-1]
            entries = self._lists.get(path, [])
            by_name = next((entry for entry in entries if _is_called(entry, called)), None)
            if by_name is None and called.isdecimal() and int(called) < len(entries):
                return entries[int(called)]
            return by_name
        return self._tables.get(".".join(steps))

    def _in_list(self, line: int, called: str) -> int:
        """The line of an inline entry (``{index = 5, …}``, a string) in a list that begins on ``line``."""
        entry = re.compile(
            rf"""\b(?:index|name)\s*=\s*"?{re.escape(called)}"?\s*[,}}]|^\s*["']{re.escape(called)}["']"""
        )
        for offset, text in enumerate(self._lines[line - 1 : line + 4096]):
            if entry.search(text):
                return line + offset
            if text.rstrip() == "]":
                break
        return line

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.split("\n")

    @cached_property
    def _scanned(self) -> tuple[dict[str, _Table], dict[str, list[_Table]]]:
        at = _Table(1)
        tables = {"": at}
        lists: dict[str, list[_Table]] = {}
        for number, line in enumerate(self._lines, 1):
            pair = _PAIR.match(line)
            if pair:
                name = _dotted(pair[1])
                at.keys.setdefault(name, number)
                at.plain.setdefault(name, pair[2])
            elif header := _HEADER.match(line):
                at = _Table(number)
                name = _dotted(header[2])
                if header[1] == "[[":
                    lists.setdefault(name, []).append(at)
                tables.setdefault(name, at)
        return tables, lists

    @property
    def _tables(self) -> dict[str, _Table]:
        return self._scanned[0]

    @property
    def _lists(self) -> dict[str, list[_Table]]:
        return self._scanned[1]


def _dotted(text: str) -> str:
    return ".".join(first or second or third for first, second, third in _PART.findall(text))


def _is_called(entry: _Table, called: str) -> bool:
    for key in _NAMING:
        if key in entry.plain:
            name = _string(entry.plain[key])
            root = _string(entry.plain.get("root", ""))
            return called in (name, _ROOTS.get(root, "") + name)
    return False


def _string(value: str) -> str:
    """A one-line TOML string's text; escapes that are seen in paths and names."""
    text = value.strip()
    if text[:1] == '"':
        body = re.match(r'"((?:[^"\\]|\\.)*)"', text)
        return re.sub(r"\\(.)", r"\1", body[1]) if body else ""
    if text[:1] == "'":
        return text[1:].partition("'")[0]
    return text.partition("#")[0].strip()
