"""Indexes as pip's variables and files name them."""

from __future__ import annotations

import configparser
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from envguard.errors import SettingsInvalidError
from envguard.formats.index_settings import Wish, Wishes, truth


def read(text: str, where: str) -> dict[str, str]:
    """A pip.conf: keys as pip knows them, ``[install]`` over ``[global]``."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text, source=where)
    except configparser.Error as error:
        # The library's message quotes the line, and with it a password.
        line = getattr(error, "lineno", None) or next((line for line, _ in getattr(error, "errors", ())), None)
        raise SettingsInvalidError(
            "not a pip settings file", where=f"{where}: line {line}" if line else where
        ) from None
    values: dict[str, str] = {}
    for section in ("global", "install"):
        if parser.has_section(section):
            values |= {_pip_key(key): value or "" for key, value in parser.items(section)}
    return values


def wishes(files: Sequence[tuple[str, Mapping[str, str]]], environ: Mapping[str, str], base: Path) -> Wishes:
    """pip's settings: later files over earlier ones, variables over files; a key replaces, it doesn't add."""
    values: dict[str, tuple[str, str]] = {}
    for where, content in files:
        values |= {key: (f"{where}: {key}", value) for key, value in content.items()}
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            values[_pip_key(name[4:])] = (name, value)
    indexes = [Wish(word, where, base) for where, word in _words(values.get("extra-index-url"))]
    indexes += [Wish(word, where, base, default=True) for where, word in _words(values.get("index-url"))]
    where, text = values.get("no-index", ("", ""))
    certificate = values.get("cert")
    return Wishes(
        tuple(indexes),
        tuple(Wish(word, where, base) for where, word in _words(values.get("find-links"))),
        truth(text, where),
        Wish(certificate[1], certificate[0], base) if certificate and certificate[1] else None,
    )


def _words(value: tuple[str, str] | None) -> Iterable[tuple[str, str]]:
    return [(value[0], word) for word in value[1].split()] if value else []


def _pip_key(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")
