"""Whether a lock's text is the one that envguard would write, without the time that the writer takes.

The text is put together here by plain rules and compared: equal bytes are the writer's bytes (a test holds the two
against each other). Where they differ, the writer itself decides: it alone says what is canonical.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import cache
from json.encoder import encode_basestring
from typing import Any

from envguard.formats.lock_write import INLINE, head_of, to_write, write_lock
from envguard.model.lock import Lock

_string = encode_basestring  # JSON's escapes are TOML's; where they are not, the writer is asked
_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def canonical(lock: Lock, content: bytes, parsed: Mapping[str, Any]) -> bytes:
    """What envguard would write for a lock that was read from ``content``, whose parsed document is given."""
    quick = _written(lock, content, parsed)
    return content if quick == content else write_lock(lock, content)


def first_difference(content: bytes, wanted: bytes) -> int | None:
    """The first line (from 1) that differs; None when the bytes are equal."""
    if content == wanted:
        return None
    ours, theirs = content.split(b"\n"), wanted.split(b"\n")
    for number, (one, other) in enumerate(zip(ours, theirs, strict=False), 1):
        if one != other:
            return number
    return min(len(ours), len(theirs))


def _written(lock: Lock, content: bytes, parsed: Mapping[str, Any]) -> bytes | None:
    """The text by plain rules; None for values that only a human can have put there."""
    lines = head_of(content)
    try:
        for key, value in to_write(lock, parsed):
            lines += _entry(key, value, key)
    except TypeError:
        return None
    # tomlkit parts tables by one empty line, none at the top of the file.
    text = "\n".join(lines) + "\n"
    return text.encode("utf-8", "surrogatepass")


def _entry(key: str, value: Any, path: str) -> Iterator[str]:
    if key in INLINE:
        yield f"{_key(key)} = {_inline(value)}"
    elif isinstance(value, dict):
        yield from _table(value, f"[{path}]", path)
    elif _is_tables(value):
        for entry in value:
            yield from _table(entry, f"[[{path}]]", path)
    elif isinstance(value, list) and len(value) > 1 and sum(map(len, map(str, value))) > 80:
        yield f"{_key(key)} = {_several(value)}"
    else:
        yield f"{_key(key)} = {_value(value)}"


def _table(table: Mapping[str, Any], header: str, path: str) -> Iterator[str]:
    ordered = list(table.items())
    if any(_is_table(value) for value in table.values()):
        ordered.sort(key=lambda entry: (_is_nested(*entry), _is_table(entry[1])))
    if not ordered or not _is_nested(*ordered[0]):
        yield ""
        yield header
    elif header.startswith("[["):
        raise TypeError
    for key, value in ordered:
        if isinstance(value, str):  # nearly all of a lock
            yield f"{_key(key)} = {_string(value)}"
        else:
            yield from _entry(key, value, f"{path}.{_key(key)}")


def _inline(value: Any) -> str:
    if isinstance(value, list):
        if any(isinstance(entry, dict) for entry in value):
            return _several(value)
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {_inline(entry)}' for key, entry in value.items())}}}"
    return _value(value)


def _several(values: list[Any]) -> str:
    return "\n".join(["[", *(f"    {_inline(value)}," for value in values), "]"])


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list) and not any(isinstance(entry, dict) for entry in value):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError


@cache
def _key(key: str) -> str:
    return key if key and _BARE.issuperset(key) else _string(key)


def _is_nested(key: str, value: object) -> bool:
    """Whether it gets a header of its own."""
    return key not in INLINE and _is_table(value)


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or _is_tables(value)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)
