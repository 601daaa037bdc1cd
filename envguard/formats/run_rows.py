"""The run's numbers side by side: what ``[run]`` and ``[warmup]`` of two locks say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

_SECTIONS = ("run", "warmup")
_DEEPEST = 4
_CALLED = ("role", "who", "device")
"""Keys by which an entry of a list is called."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One number or word of the run, recorded and observed; None where one side has none."""

    name: str
    was: str | None
    now: str | None

    @property
    def moved(self) -> bool:
        """Whether both sides have it, and it differs, or one side alone has it."""
        return self.was != self.now


def run_rows(old: Mapping[str, Any], new: Mapping[str, Any] | None) -> tuple[RunRow, ...]:
    """Rows of two parsed locks; without ``new`` what is recorded stands alone, as not moved."""
    was = dict(_leaves(old))
    now = was if new is None else dict(_leaves(new))
    return tuple(RunRow(name, was.get(name), now.get(name)) for name in dict.fromkeys([*was, *now]))


def _leaves(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for section in _SECTIONS:
        content = document.get(section)
        if isinstance(content, dict):
            for name, value in _below(content, 1):
                yield (name if section == "run" else f"{section}.{name}"), value


def _below(content: Mapping[str, Any], depth: int) -> Iterator[tuple[str, str]]:
    for key, value in content.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            yield from ((f"{key}.{name}", text) for name, text in _below(value, depth + 1))
        elif _is_tables(value):
            yield from _entries(key, value)
        else:
            yield key, _shown(value)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def _entries(key: str, entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """A list of tables, each called by its role and device, or by its number."""
    seen: dict[str, int] = {}
    for number, entry in enumerate(entries, 1):
        called = " ".join(str(entry[name]) for name in _CALLED if name in entry) or f"{key} {number}"
        seen[called] = seen.get(called, 0) + 1
        again = f" ({seen[called]})" if seen[called] > 1 else ""
        rest = {name: value for name, value in entry.items() if name not in _CALLED}
        if not rest:
            yield f"{key} {called}{again}", "yes"
        for name, value in rest.items():
            yield f"{called}{again} {name}", _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(entry)}" for key, entry in value.items())
    return str(value)
