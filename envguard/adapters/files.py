"""The one layer through which envguard writes files: whole or not at all, and on disk before it is reported."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def sync_folder(folder: Path) -> None:
    """Make renames and links in a folder survive a power cut; file systems that can't do it are let be."""
    flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
    try:
        handle = os.open(folder, flags)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o644, durable: bool = True) -> Iterator[BinaryIO]:
    """A stream whose bytes replace ``path`` when the block ends without an error; otherwise nothing changes.

    The temporary file lies beside ``path`` (``.name.<random>.tmp``), so that the last step is one rename.
    """
    temporary = path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            if durable:
                os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        sync_folder(path.parent)


def write(path: Path, content: bytes, *, mode: int = 0o644, durable: bool = True) -> None:
    """Replace a file's content by ``content``, whole or not at all."""
    with replacing(path, mode=mode, durable=durable) as stream:
        stream.write(content)
