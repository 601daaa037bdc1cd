"""Full disks, told in words: how much was needed and how much there is."""

from __future__ import annotations

import contextlib
import errno
import shutil
from pathlib import Path

_FULL = frozenset({errno.ENOSPC, errno.EFBIG, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else [])})


def is_full(error: OSError) -> bool:
    """Whether an error means: no room (disk, quota or largest file)."""
    return error.errno in _FULL


def size(count: int) -> str:
    """Bytes for people, in decimal units: ``530.6 MB``."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def needs_and_has(folder: Path, needs: int | None, written: int = 0) -> str:
    """``needs 530.6 MB, has 12.0 MB`` for the disk that holds ``folder``; what isn't known is left out.

    ``written`` bytes of what was needed are there already, and count as room.
    """
    words = [] if needs is None else [f"needs {size(needs)}"]
    with contextlib.suppress(OSError):
        words.append(f"has {size(shutil.disk_usage(folder).free + written)}")
    return ", ".join(words)
