"""Where envguard keeps its own things: platformdirs' folders, or those named by ``ENVGUARD_*_DIR``."""

from __future__ import annotations

import os
from pathlib import Path


def _folder(variable: str, kind: str) -> Path:
    named = os.environ.get(variable)
    if named:
        return Path(named).absolute()
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")("envguard", appauthor=False))


def data() -> Path:
    """What must not be lost: the store, environments (``ENVGUARD_DATA_DIR``)."""
    return _folder("ENVGUARD_DATA_DIR", "data")


def cache() -> Path:
    """What can be made again: the stat index, interpreters seen (``ENVGUARD_CACHE_DIR``)."""
    return _folder("ENVGUARD_CACHE_DIR", "cache")


def state() -> Path:
    """Run logs (``ENVGUARD_STATE_DIR``)."""
    return _folder("ENVGUARD_STATE_DIR", "state")
