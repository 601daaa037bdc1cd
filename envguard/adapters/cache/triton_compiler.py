"""Triton's key up to 3.4: ``triton_key`` lies in ``compiler/compiler.py``, which is its frontend."""

from __future__ import annotations

from pathlib import Path

from envguard.adapters.cache.kept import Part
from envguard.adapters.cache.modules import Finder
from envguard.adapters.cache.triton_recipe import holds_recipe, parts_of


def parts(triton: Path, finder: Finder) -> list[Part] | None:
    """What is hashed; None when this Triton isn't one of these."""
    file = triton / "compiler" / "compiler.py"
    return parts_of(triton, file, finder) if holds_recipe(file) else None
