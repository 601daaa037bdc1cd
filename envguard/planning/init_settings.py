"""``[tool.envguard]`` added to a pyproject.toml, everything else as it was."""

from __future__ import annotations

import tomllib
from typing import Any

from envguard.errors import SettingsInvalidError

_WHERE = "pyproject.toml"


def with_lock(text: str | None, lock: str) -> str:
    """The file with ``[tool.envguard] lock``; unchanged where it names a lock. SettingsInvalidError."""
    before = _parsed(text or "")
    tool = before.get("tool", {})
    ours = tool.get("envguard") if isinstance(tool, dict) else None
    if isinstance(ours, dict) and "lock" in ours:
        return text or ""
    after = _appended(text or "", lock) if ours is None else _added(text or "", lock)
    if not _is_only_addition(before, after, lock):
        raise SettingsInvalidError(
            "[tool.envguard] can't be added to this file", where=_WHERE, hint=f'add lock = "{lock}" by hand'
        )
    return after


def name(text: str | None) -> str | None:
    """The project's name, where the file has one. SettingsInvalidError."""
    document = _parsed(text or "")
    for table in (document.get("project"), _poetry(document)):
        if isinstance(table, dict) and isinstance(table.get("name"), str):
            return str(table["name"])
    return None


def _poetry(document: dict[str, Any]) -> object:
    tool = document.get("tool")
    return tool.get("poetry") if isinstance(tool, dict) else None


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as problem:
        raise SettingsInvalidError(f"not TOML: {problem}", where=_WHERE) from None
    except RecursionError:
        raise SettingsInvalidError("nested too deeply", where=_WHERE) from None
    except ValueError:  # int() takes no more than some thousand digits
        raise SettingsInvalidError("a number of too many digits", where=_WHERE) from None


def _appended(text: str, lock: str) -> str:
    """A table at the end moves nothing, whatever stands before it."""
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else (end if text.endswith("\n") else end * 2)
    return f'{text}{gap}[tool.envguard]{end}lock = "{lock}"{end}'


def _added(text: str, lock: str) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document: Any = tomlkit.parse(text)
        document["tool"]["envguard"]["lock"] = lock
        return str(tomlkit.dumps(document))
    except (TOMLKitError, KeyError, TypeError):
        return text


def _is_only_addition(before: dict[str, Any], after: str, lock: str) -> bool:
    try:
        document = _parsed(after)
    except SettingsInvalidError:
        return False
    found = document.get("tool", {}).get("envguard", {})
    if not isinstance(found, dict) or found.pop("lock", None) != lock:
        return False
    if not found and "envguard" not in before.get("tool", {}):
        del document["tool"]["envguard"]
        if not document["tool"] and "tool" not in before:
            del document["tool"]
    return document == before
