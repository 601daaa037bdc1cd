"""CUDA by name: the major that a distribution, a library or a variant belongs to, and the driver it asks for."""

from __future__ import annotations

import re

_SUFFIX = re.compile(r"-cu(?:da)?(\d{2,3})x?(?:-|$)")
_VARIANT = re.compile(r"cu(\d{2,3})(?!\d)")
_LIBRARY = re.compile(r"(lib[A-Za-z0-9_]+(?:-builtins)?)\.so\.(\d+)")

_TOOLKIT_NUMBERED = frozenset(
    {
        "cuda-bindings",
        "cuda-python",
        "cuda-toolkit",
        "nvidia-cublas",
        "nvidia-npp",
        "nvidia-nvfatbin",
        "nvidia-nvjitlink",
        "nvidia-nvjpeg",
        "nvidia-nvptxcompiler",
        "nvidia-nvtx",
        "nvidia-nvvm",
    }
)
"""Names without a suffix whose versions begin with CUDA's major; so do all of ``nvidia-cuda-*``."""

_OWN_NUMBERED = {
    "nvidia-cufft": {12: 13},
    "nvidia-cufile": {1: 13},
    "nvidia-curand": {10: 13},
    "nvidia-cusolver": {12: 13},
    "nvidia-cusparse": {12: 13},
}
"""Names without a suffix (from CUDA 13 on) that count for themselves: own major → CUDA's."""

_TOOLKIT_LIBRARIES = frozenset(
    {
        "libcublas",
        "libcublasLt",
        "libcudart",
        "libcuinj64",
        "libcupti",
        "libnppc",
        "libnvJitLink",
        "libnvblas",
        "libnvfatbin",
        "libnvjpeg",
        "libnvrtc",
        "libnvrtc-builtins",
    }
)
_OWN_LIBRARIES = {
    "libcufft": {11: 12, 12: 13},
    "libcufftw": {11: 12, 12: 13},
    "libcusolver": {12: 13},
    "libcusolverMg": {12: 13},
    "libcusparse": {11: 11},
}
"""Own soname → CUDA's major, where only one has it (``libcusolver.so.11`` is CUDA 11's and 12's)."""

_FLOORS = {10: "440.33", 11: "450.80.02", 12: "525.60.13", 13: "580"}
"""Oldest Linux driver by CUDA's major (minor-version compatibility), from NVIDIA's CUDA release notes."""

_BRANCHES = {
    (11, 8): "520",
    (12, 0): "525",
    (12, 1): "530",
    (12, 2): "535",
    (12, 3): "545",
    (12, 4): "550",
    (12, 5): "555",
    (12, 6): "560",
    (12, 8): "570",
    (12, 9): "575",
    (13, 0): "580",
}
"""Driver branch that came with a toolkit, same source."""


def distribution_major(name: str, version: str) -> int | None:
    """CUDA's major for an installed distribution (canonical name); None when it has none, or can't be told."""
    if suffix := _SUFFIX.search(name):
        return _split(suffix[1])[0]
    own = re.match(r"\d+", version)
    major = int(own[0]) if own else 0
    if name in _TOOLKIT_NUMBERED or name.startswith("nvidia-cuda-"):
        # Placeholders such as 0.0.1.dev5 belong to no CUDA.
        return major if major >= 11 else None
    return _OWN_NUMBERED.get(name, {}).get(major)


def major_of_library(soname: str) -> int | None:
    """CUDA's major for a soname (``libcudart.so.13``); None for other libraries and for ambiguous ones."""
    match = _LIBRARY.match(soname)
    if match is None:
        return None
    name, major = match[1], int(match[2])
    return major if name in _TOOLKIT_LIBRARIES else _OWN_LIBRARIES.get(name, {}).get(major)


def variant_version(variant: str) -> tuple[int, int] | None:
    """``cu128`` → (12, 8); None for ``cpu``, ``rocm6.4``, ``xpu``."""
    match = _VARIANT.match(variant)
    return _split(match[1]) if match else None


def driver_floor(variant: str) -> str | None:
    """Oldest Linux driver that a variant runs on; None when it needs no NVIDIA driver, or isn't known."""
    version = variant_version(variant)
    return _FLOORS.get(version[0]) if version else None


def driver_branch(variant: str) -> str | None:
    """Driver branch that came with a variant's CUDA; an older one above the floor runs it, but no newer PTX."""
    version = variant_version(variant)
    return _BRANCHES.get(version) if version else None


def driver_is_older(driver: str, floor: str) -> bool | None:
    """Whether a driver version is below a floor; None when it can't be read."""
    numbers, least = _numbers(driver), _numbers(floor)
    return None if numbers is None or least is None else numbers < least


def _numbers(version: str) -> tuple[int, ...] | None:
    try:
        return tuple(int(part) for part in version.strip().split("."))
    except ValueError:
        return None


def _split(digits: str) -> tuple[int, int]:
    """``128`` → (12, 8), ``13`` → (13, 0), ``92`` → (9, 2)."""
    if len(digits) == 3:
        return int(digits[:2]), int(digits[2])
    return (int(digits), 0) if int(digits) < 50 else (int(digits[0]), int(digits[1]))
