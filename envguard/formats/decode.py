"""Typed reads of parsed TOML or JSON that remember where they are, so that an error names its key path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any, TypeVar

from envguard.model.digest import Digest

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


class WrongValueError(ValueError):
    """A value isn't what its place asks for; ``path`` is the key path (``distribution[3].sha256``)."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem


class Table:
    """A table being read. Getters raise WrongValueError; ``*_or_none`` allow the key to be missing."""

    def __init__(self, content: Mapping[str, Any], path: str = "") -> None:
        self.content = content
        self.path = path

    def where(self, key: str) -> str:
        """Key path of one of this table's keys."""
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return key in self.content

    def _get(self, key: str, kind: type[T], wanted: str) -> T:
        if key not in self.content:
            raise WrongValueError(self.where(key), "missing")
        return self._checked(self.where(key), self.content[key], kind, wanted)

    @staticmethod
    def _checked(path: str, value: object, kind: type[T], wanted: str) -> T:
        # bool is an int, and a date-time a date, to isinstance: neither is meant
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise WrongValueError(path, f"expected {wanted}, found {_kind_of(value)}")
        return value

    def _optional(self, read: Callable[[str], T], key: str) -> T | None:
        return read(key) if key in self.content else None

    def text(self, key: str) -> str:
        """A string."""
        return self._get(key, str, "a string")

    def text_or_none(self, key: str) -> str | None:
        """A string, or None when the key is missing."""
        return self._optional(self.text, key)

    def integer(self, key: str) -> int:
        """An integer of at least 0."""
        value = self._get(key, int, "an integer")
        if value < 0:
            raise WrongValueError(self.where(key), f"expected at least 0, found {value}")
        return value

    def integer_or_none(self, key: str) -> int | None:
        """An integer of at least 0, or None when the key is missing."""
        return self._optional(self.integer, key)

    def flag(self, key: str) -> bool:
        """A boolean, False when the key is missing."""
        return self._get(key, bool, "true or false") if key in self.content else False

    def time_or_none(self, key: str) -> datetime | None:
        """A date-time with a zone."""
        if key not in self.content:
            return None
        value = self._get(key, datetime, "a date-time")
        if value.tzinfo is None:
            raise WrongValueError(self.where(key), "expected a date-time with a zone (2026-11-29T17:00:00Z)")
        return value

    def day_or_none(self, key: str) -> date | None:
        """A day."""
        if key not in self.content:
            return None
        value = self._get(key, date, "a day")
        if isinstance(value, datetime):
            raise WrongValueError(self.where(key), "expected a day (2026-11-29), found a date-time")
        return value

    def digest(self, key: str) -> Digest:
        """A digest, ``sha256:hex``."""
        try:
            return Digest.parse(self.text(key))
        except WrongValueError:
            raise
        except ValueError as problem:
            raise WrongValueError(self.where(key), str(problem)) from None

    def digest_or_none(self, key: str) -> Digest | None:
        """A digest, or None when the key is missing."""
        return self._optional(self.digest, key)

    def choice(self, key: str, kind: type[E]) -> E:
        """One of an enum's values."""
        text = self.text(key)
        for member in kind:
            if member.value == text:
                return member
        known = ", ".join(sorted(str(member.value) for member in kind))
        raise WrongValueError(self.where(key), f"expected one of {known}; found {text[:80]!r}")

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; none when the key is missing."""
        if key not in self.content:
            return ()
        values = self._get(key, list, "a list")
        return tuple(
            self._checked(f"{self.where(key)}[{number}]", value, str, "a string")
            for number, value in enumerate(values)
        )

    def table(self, key: str) -> Table:
        """A table."""
        return Table(self._get(key, dict, "a table"), self.where(key))

    def table_or_none(self, key: str) -> Table | None:
        """A table, or None when the key is missing."""
        return self._optional(self.table, key)

    def tables(self, key: str) -> Iterator[Table]:
        """A list of tables; none when the key is missing."""
        if key not in self.content:
            return
        for number, value in enumerate(self._get(key, list, "a list of tables")):
            path = f"{self.where(key)}[{number}]"
            yield Table(self._checked(path, value, dict, "a table"), path)

    def mapping(self, key: str) -> dict[str, str]:
        """A table of strings; empty when the key is missing."""
        if key not in self.content:
            return {}
        table = self.table(key)
        return {name: table.text(name) for name in table.content}


def _kind_of(value: object) -> str:
    kinds: dict[type, str] = {
        bool: "true or false",
        str: "a string",
        int: "an integer",
        float: "a number",
        list: "a list",
        dict: "a table",
        datetime: "a date-time",
        date: "a day",
        type(None): "null",
    }
    return kinds.get(type(value), type(value).__name__)
