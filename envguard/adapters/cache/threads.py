"""How many CPU threads torch would use, where keys of CPU code hold that number (torch 2.13 and later).

Torch with MKL asks MKL: MKL_NUM_THREADS before OMP_NUM_THREADS, and never more than there are cores to run on
unless MKL_DYNAMIC is off (measured on torch 2.13.0; ``aten/src/ATen/ParallelOpenMP.cpp``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from envguard.adapters.hashing import read_file

_CAP = 8 << 20
_MARK = b"cpp_runtime_thread_count"
_OFF = frozenset({"0", "false", "off", "no"})


def key_holds_threads(torch: Path) -> bool:
    """Whether this torch's keys hold the number. OSError."""
    return _MARK in read_file(str(torch / "_inductor" / "codecache.py"), cap=_CAP, follow=True)


def threads(environ: Mapping[str, str], *, mkl: bool, cores: int | None = None) -> int | None:
    """The number; None where it can't be told. ``cores``: physical ones that this process may run on."""
    here = cores if cores is not None else available_cores()
    asked = (_number(environ.get("MKL_NUM_THREADS")) if mkl else None) or _number(environ.get("OMP_NUM_THREADS"))
    if asked is None:
        return here
    fixed = not mkl or environ.get("MKL_DYNAMIC", "").strip().lower() in _OFF
    return asked if fixed or here is None else min(asked, here)


def available_cores() -> int | None:
    """Physical cores that this process may run on, None where the system doesn't tell."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    cores = set()
    for cpu in os.sched_getaffinity(0):
        place = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(place.read_text(encoding="ascii").strip())
        except OSError:
            cores.add(str(cpu))
    return len(cores) or None


def _number(text: str | None) -> int | None:
    """The first number of a list of levels (``8,2``); None for what OpenMP ignores."""
    first = (text or "").partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None
