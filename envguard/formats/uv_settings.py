"""Indexes as uv's variables and files name them, and envguard's own table, which has the same shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from envguard.errors import SettingsInvalidError
from envguard.formats.index_names import DEFAULT
from envguard.formats.index_settings import Wish, Wishes, truth

_INDEX_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


def own(setting: object, where: str, base: Path) -> Wishes:
    """``[tool.envguard.index]``: a table of name = address, or tables as ``[[tool.uv.index]]`` has them."""
    if isinstance(setting, Mapping):
        setting = [{"name": name, "url": url, "default": name == DEFAULT} for name, url in setting.items()]
    return Wishes(tuple(_index_tables(setting, where, base)))


def variables(environ: Mapping[str, str], base: Path) -> Wishes:
    """uv's variables: words apart by white space, ``UV_FIND_LINKS`` by commas."""
    indexes = [
        _named(Wish(word, name, base, default=default))
        for name, default in (
            ("UV_INDEX", False),
            ("UV_EXTRA_INDEX_URL", False),
            ("UV_DEFAULT_INDEX", True),
            ("UV_INDEX_URL", True),
        )
        for word in environ.get(name, "").split()
    ]
    links = [word.strip() for word in environ.get("UV_FIND_LINKS", "").split(",")]
    return Wishes(
        tuple(indexes),
        tuple(Wish(word, "UV_FIND_LINKS", base) for word in links if word),
        truth(environ.get("UV_NO_INDEX"), "UV_NO_INDEX"),
    )


def table(tables: Mapping[str, object], where: str, base: Path) -> Wishes:
    """``uv.toml`` or ``[tool.uv]``, with its ``pip`` table; relative paths start at ``base``."""
    wishes = _level(tables, where, base)
    inner = tables.get("pip")
    if inner is None:
        return wishes
    if not isinstance(inner, Mapping):
        raise SettingsInvalidError("pip must be a table", where=f"{where}: pip")
    return wishes.then(_level(inner, f"{where}: pip", base))


def _level(table: Mapping[str, object], where: str, base: Path) -> Wishes:
    indexes = list(_index_tables(table.get("index", []), f"{where}: index", base))
    indexes += [Wish(text, f"{where}: extra-index-url", base) for text in _texts(table, "extra-index-url", where)]
    address = table.get("index-url")
    if address is not None:
        indexes.append(Wish(_text(address, f"{where}: index-url"), f"{where}: index-url", base, default=True))
    no_index = table.get("no-index")
    if no_index is not None and not isinstance(no_index, bool):
        raise SettingsInvalidError("no-index must be true or false", where=f"{where}: no-index")
    links = tuple(Wish(text, f"{where}: find-links", base) for text in _texts(table, "find-links", where))
    return Wishes(tuple(indexes), links, no_index)


def _index_tables(tables: object, where: str, base: Path) -> Iterator[Wish]:
    if not isinstance(tables, list):
        raise SettingsInvalidError("index must be an array of tables", where=where)
    for position, table in enumerate(tables):
        here = f"{where}[{position}]"
        if not isinstance(table, Mapping):
            raise SettingsInvalidError("an index must be a table with a url", where=here)
        name = table.get("name")
        if name is not None and not (isinstance(name, str) and _INDEX_NAME.fullmatch(name)):
            raise SettingsInvalidError(
                "an index's name may have letters, digits, points, dashes and underscores", where=f"{here}.name"
            )
        yield Wish(
            _text(table.get("url"), f"{here}.url"),
            f"{here}.url",
            base,
            name,
            table.get("default") is True,
            table.get("format") == "flat",
        )


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise SettingsInvalidError("must be an address or a path", where=where)
    return value


def _texts(table: Mapping[str, object], key: str, where: str) -> list[str]:
    values = table.get(key, [])
    if not isinstance(values, list):
        raise SettingsInvalidError(f"{key} must be an array", where=f"{where}: {key}")
    return [_text(value, f"{where}: {key}[{position}]") for position, value in enumerate(values)]


def _named(wish: Wish) -> Wish:
    """``name=address`` taken apart."""
    name, mark, address = wish.text.partition("=")
    return replace(wish, text=address, name=name) if mark and _INDEX_NAME.fullmatch(name) else wish
