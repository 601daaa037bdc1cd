"""Triton's own key, by the recipe that the files ask for. Its text is long, so its sha256 stands for it."""

from __future__ import annotations

from pathlib import Path

from envguard.adapters.cache import triton_compiler, triton_runtime
from envguard.adapters.cache.kept import Kept, Part
from envguard.adapters.cache.modules import Finder, KeyUnknownError

RECIPES = (triton_runtime.parts, triton_compiler.parts)


def triton_key(triton: Path, soabi: str, kept: Kept) -> str:
    """sha256 (hex) of the text that ``triton_key()`` of this folder's Triton answers. KeyUnknownError, OSError."""
    return kept.digest("triton", (triton,), lambda: _parts(triton, Finder(soabi)))


def _parts(triton: Path, finder: Finder) -> list[Part]:
    for recipe in RECIPES:
        parts = recipe(triton, finder)
        if parts is not None:
            return parts
    raise KeyUnknownError("this Triton makes its key in a way that envguard doesn't know")
