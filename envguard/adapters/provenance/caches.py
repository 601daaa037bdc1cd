"""Where uv and pip keep their caches, told from variables and files: no child process is asked.

Sources: uv's reference ("Settings", "Caching"), pip's user guide ("Caching").
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from envguard.adapters.provenance.reading import SMALL_CAP, read

_PARTS = {
    ("uv", "win32"): ("LOCALAPPDATA", "uv/cache"),
    ("pip", "win32"): ("LOCALAPPDATA", "pip/Cache"),
    ("pip", "darwin"): ("HOME", "Library/Caches/pip"),
}


def uv_cache_folder(environ: Mapping[str, str]) -> Path | None:
    """uv's cache: ``UV_CACHE_DIR``, ``cache-dir`` of the user's or the system's uv.toml, else its default.

    None where there is no such folder.
    """
    named = environ.get("UV_CACHE_DIR") or next(_configured(environ), None)
    return _existing(Path(named) if named else _default(environ, "uv"))


def pip_cache_folder(environ: Mapping[str, str]) -> Path | None:
    """pip's cache: ``PIP_CACHE_DIR``, else its default. None where there is no such folder."""
    named = environ.get("PIP_CACHE_DIR")
    return _existing(Path(named) if named else _default(environ, "pip"))


def _default(environ: Mapping[str, str], tool: str) -> Path | None:
    variable, rest = _PARTS.get((tool, sys.platform), ("XDG_CACHE_HOME", tool))
    base = environ.get(variable)
    if variable == "XDG_CACHE_HOME" and not base and (home := environ.get("HOME")):
        base = f"{home}/.cache"
    return Path(base, rest) if base else None


def _configured(environ: Mapping[str, str]) -> Iterator[str]:
    home = environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME', '')}/.config"
    for folder in (home, "/etc"):
        content = read(Path(folder, "uv", "uv.toml"), SMALL_CAP)
        try:
            settings = tomllib.loads(content.decode()) if content else {}
        except (ValueError, RecursionError):
            continue
        if isinstance(named := settings.get("cache-dir"), str) and named:
            yield named


def _existing(folder: Path | None) -> Path | None:
    try:
        return folder.absolute() if folder is not None and folder.is_dir() else None
    except (OSError, ValueError):
        return None
