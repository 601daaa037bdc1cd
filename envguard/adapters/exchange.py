"""Two names swapped in one step: Linux's renameat2(2), which Python doesn't offer."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NUMBERS = {"x86_64": 316, "aarch64": 276, "ppc64le": 357, "riscv64": 276, "s390x": 347}
"""Of the system call, for C libraries without a function for it (glibc before 2.28)."""

_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


class ExchangeUnsupportedError(Exception):
    """This system, or this file system, can't swap two names."""


def exchange(one: Path, other: Path) -> None:
    """Swap two existing names of one file system. OSError; ExchangeUnsupportedError, and nothing has changed."""
    if sys.platform != "linux":
        raise ExchangeUnsupportedError
    ctypes.set_errno(0)
    if _call(os.fsencode(one), os.fsencode(other)) == 0:
        return
    number = ctypes.get_errno()
    if number in _CANNOT:
        raise ExchangeUnsupportedError
    raise OSError(number, os.strerror(number), os.fspath(one), None, os.fspath(other))


def _call(one: bytes, other: bytes) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        function = libc.renameat2
    except AttributeError:
        number = _NUMBERS.get(platform.machine())
        if number is None:
            raise ExchangeUnsupportedError from None
        return int(libc.syscall(number, _AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE))
    return int(function(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE))
