"""CUDA by its names: what a variant needs of the driver."""

from __future__ import annotations

import re

_FLOORS = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""Least Linux driver by CUDA major (NVIDIA, CUDA Toolkit release notes, minor-version compatibility)."""


def driver_floor(variant: str) -> str | None:
    """Least driver version for a variant (``cu130`` → ``580.65.06``); None when it needs none or isn't known."""
    found = re.fullmatch(r"cu(\d{2,3})", variant)
    if found is None:
        return None
    return _FLOORS.get(int(found[1][:2]))
