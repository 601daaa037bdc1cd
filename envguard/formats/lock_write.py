"""Lock → text, keeping what a human wrote in the file that it replaces.

Kept: the comment at the head, unknown tables and keys, each distribution's own note. Comments between entries
are not: TOML libraries attach them to a neighbour, and a moved comment is worse than none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from envguard.formats import toml_text
from envguard.formats.lock_document import Document, document_of

if TYPE_CHECKING:
    from tomlkit.items import AoT, Array, InlineTable, Item
    from tomlkit.items import Table as WrittenTable

    from envguard.model.lock import Lock

INLINE = frozenset({"gpus", "cpu", "origin", "found", "graphs", "threads", "devices", "tolerance"})
"""Small tables that read best on one line."""


def write_lock(lock: Lock, previous: bytes | None = None) -> bytes:
    """The lock's text. ``previous``: the file that it replaces, whose human parts are kept."""
    import tomlkit

    written = tomlkit.document()
    for line in head_of(previous):
        written.add(tomlkit.comment(line[1:].removeprefix(" ")) if line.startswith("#") else tomlkit.nl())
    for key, value in to_write(lock, _parsed(previous)):
        written.add(key, _item(key, value))
    return tomlkit.dumps(written).encode()


def to_write(lock: Lock, before: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Keys and values in the order of writing, with what is a human's in the document that is replaced."""
    return _plain_first(_merged(document_of(lock), before))


def _parsed(previous: bytes | None) -> Mapping[str, Any]:
    if previous is None:
        return {}
    try:
        return toml_text.parse(previous)
    except toml_text.TomlError:
        return {}


def head_of(previous: bytes | None) -> list[str]:
    """Comment and blank lines before the first key."""
    lines: list[str] = []
    for line in (previous or b"").decode("utf-8-sig", "replace").splitlines():
        if line.strip() and not line.startswith("#"):
            return lines
        lines.append(line.rstrip())
    return []


def _merged(document: Document, before: Mapping[str, Any]) -> Document:
    """The new document with the unknown keys of the old one, at every place that both have."""
    merged = dict(document)
    for key, old in before.items():
        if key not in merged:
            if key not in _OURS:
                merged[key] = old
        elif isinstance(old, dict) and isinstance(merged[key], dict) and key not in _WHOLE:
            merged[key] = _merged_table(key, merged[key], old)
    if isinstance(before.get("distribution"), list) and "distribution" in merged:
        old_entries = {entry.get("name"): entry for entry in before["distribution"] if isinstance(entry, dict)}
        merged["distribution"] = [
            _merged_table("distribution", entry, old_entries.get(entry["name"], {}))
            for entry in merged["distribution"]
        ]
    return merged


def _merged_table(section: str, new: Document, old: Mapping[str, Any]) -> Document:
    ours = _KEYS.get(section, frozenset())
    return new | {key: value for key, value in old.items() if key not in new and key not in ours}


def _plain_first(document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Top-level plain values must come before any table."""
    return sorted(document.items(), key=lambda entry: _is_table(entry[1]))


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or _is_list_of_tables(value)


def _is_list_of_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def _item(key: str, value: Any) -> Item:
    import tomlkit

    if key in INLINE:
        return _inline(value)
    if isinstance(value, dict):
        return _table(value)
    if _is_list_of_tables(value):
        entries: AoT = tomlkit.aot()
        for entry in value:
            entries.append(_table(entry))
        return entries
    if isinstance(value, list) and len(value) > 1 and sum(map(len, map(str, value))) > 80:
        return _multiline(value)
    plain: Item = tomlkit.item(value)
    return plain


def _table(value: Mapping[str, Any]) -> WrittenTable:
    import tomlkit

    table = tomlkit.table()
    for key, entry in _plain_first(value) if any(map(_is_table, value.values())) else value.items():
        table.add(key, _item(key, entry))
    return table


def _inline(value: Any) -> Item:
    import tomlkit

    if isinstance(value, list):
        array: Array = tomlkit.array()
        for entry in value:
            array.append(_inline(entry))
        array.multiline(any(isinstance(entry, dict) for entry in value))
        return array
    if isinstance(value, dict):
        table: InlineTable = tomlkit.inline_table()
        for key, entry in value.items():
            table.append(key, _inline(entry))
        return table
    plain: Item = tomlkit.item(value)
    return plain


def _multiline(values: list[Any]) -> Item:
    import tomlkit

    array: Array = tomlkit.array()
    for value in values:
        array.append(value)
    array.multiline(True)
    return array


_OURS = frozenset(
    {
        "schema",
        "name",
        "created",
        "note",
        "absent",
        "unobserved",
        "torch",
        "interpreter",
        "machine",
        "variables",
        "code",
        "live",
        "cache",
        "warmup",
        "run",
        "indexes",
        "policy",
        "archive",
        "distribution",
        "file",
        "shared",
        "shadow",
    }
)
"""Top-level keys that envguard writes: one that the new lock doesn't have is gone on purpose."""

_WHOLE = frozenset({"unobserved", "indexes", "policy", "variables"})
"""Tables whose keys are all ours."""

_KEYS: Mapping[str, frozenset[str]] = {
    "torch": frozenset({"version", "build", "git-commit", "variant", "cuda", "hip", "requires", "needs"}),
    "interpreter": frozenset({"implementation", "version", "build", "soabi", "platform-tag", "libc"}),
    "machine": frozenset({"driver", "driver-floor", "gpus", "cpu"}),
    "code": frozenset({"commit", "changes"}),
    "live": frozenset(
        {"build", "git-commit", "cuda", "cudnn", "nccl", "architectures", "default-dtype", "outside"}
    ),
    "cache": frozenset(
        {
            "folder",
            "source",
            "found",
            "fingerprint",
            "keys-source",
            "attributed-by",
            "components",
            "manifest",
            "factors",
            "keys",
        }
    ),
    "run": frozenset(
        {
            "build",
            "git-commit",
            "processes",
            "warm",
            "late-compiles",
            "dense-calls",
            "tokens-per-second",
            "tolerance",
            "threads",
            "devices",
        }
    ),
    "warmup": frozenset(
        {"launch", "command", "devices", "steps", "deadline", "proven", "flex-attention", "graphs", "bypass"}
    ),
    "archive": frozenset({"objects"}),
    "distribution": frozenset(
        {
            "name",
            "version",
            "wheel",
            "sha256",
            "claimed-sha256",
            "size",
            "record",
            "record-data",
            "rows",
            "index",
            "evidence",
            "sdist",
            "rebuilt",
            "installer",
            "origin",
            "note",
        }
    ),
}
