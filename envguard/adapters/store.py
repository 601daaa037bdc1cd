"""The store as a folder in OCI image layout: ``oci-layout``, ``index.json``, ``blobs/sha256/<hex>``."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from envguard.adapters import files, folders
from envguard.adapters.store_folder import StoreFolder
from envguard.errors import ObjectCorruptError, ObjectMissingError, OtherBytesError
from envguard.model.digest import Digest

_CHUNK = 1 << 20
_NAME = re.compile(r"[0-9a-f]{64}")
_DAMAGE = frozenset({errno.EIO, errno.ELOOP, errno.ENXIO})


class DirectoryStore:
    """``ports.Store`` in a folder of the user's own.

    Nothing is made until the first ``put``, so a store that isn't there, or can't be written, can still be read.
    Correctness rests on names made from content, exclusive temporary files and rename; there are no locks.
    """

    def __init__(self, root: Path | None = None) -> None:
        """``root``: the store's folder; left out, ``store`` in envguard's data folder."""
        self.root = folders.data() / "store" if root is None else root
        self._folder = StoreFolder(self.root)

    def put(self, content: bytes | BinaryIO, *, expect: Digest | None = None) -> Digest:
        """Keep bytes, durably; OtherBytesError when they are not ``expect``. StoreError on disk faults.

        What the stream raises passes through, and leaves nothing behind. An object that is there and whole
        is kept and its time renewed; one that is damaged is replaced.
        """
        self._folder.prepare()
        source = io.BytesIO(content) if isinstance(content, bytes) else content
        with self._temporary_file(_left(source)) as (handle, path, disk):
            state, length = hashlib.sha256(), 0
            while chunk := source.read(_CHUNK):
                state.update(chunk)
                length += len(chunk)
                with disk:
                    _write_all(handle, chunk)
                    disk.written = length
            digest = Digest(state.hexdigest())
            if expect is not None and digest != expect:
                raise OtherBytesError(f"the store was to keep {expect}, and was given {digest}")
            with disk:
                self._keep(handle, path, digest, length)
        return digest

    def open(self, digest: Digest) -> BinaryIO:
        """The object's bytes, already held against its name, as a stream at their start.

        ObjectMissingError, ObjectCorruptError; what is found wrong stays where it is.
        """
        handle = self._open(digest)
        try:
            found = _digest_of(handle)
            os.lseek(handle, 0, os.SEEK_SET)
        except OSError as error:
            os.close(handle)
            raise self._corrupt(digest, f"can't be read: {error.strerror}") from None
        if found != digest:
            os.close(handle)
            raise self._corrupt(digest, f"holds other bytes ({found})")
        return os.fdopen(handle, "rb")

    def read(self, digest: Digest) -> bytes:
        """All bytes, checked against the name. ObjectMissingError, ObjectCorruptError."""
        handle = self._open(digest)
        try:
            with os.fdopen(handle, "rb") as stream:
                content = stream.read()
        except OSError as error:
            raise self._corrupt(digest, f"can't be read: {error.strerror}") from None
        if Digest.of(content) != digest:
            raise self._corrupt(digest, f"holds other bytes ({Digest.of(content)})")
        return content

    def has(self, digest: Digest) -> bool:
        """Whether an object of that name is there (not whether it is whole)."""
        return self._stat(digest) is not None

    def digests(self) -> Iterator[Digest]:
        """All names, in no order. What isn't an object is passed over."""
        self._folder.check_layout()
        try:
            with os.scandir(self._folder.objects) as entries:
                names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise self._folder.fault(error) from None
        yield from (Digest(name) for name in names if _NAME.fullmatch(name))

    def path(self, digest: Digest) -> Path:
        """Where an object lies, or would lie."""
        return self._folder.objects / digest.hex

    def size(self, digest: Digest) -> int:
        """The object's length on disk, in bytes. ObjectMissingError."""
        return self._there(digest).st_size

    def kept(self, digest: Digest) -> float:
        """When the object was last put, in seconds since the epoch by the file system's clock."""
        return self._there(digest).st_mtime

    def remove(self, digest: Digest) -> None:
        """Forget an object; none there is no error. StoreError."""
        self._folder.prepare()
        try:
            self.path(digest).unlink(missing_ok=True)
            files.sync_folder(self._folder.objects)
        except OSError as error:
            raise self._folder.fault(error) from None

    def remove_unrenewed(self, digest: Digest, kept: float) -> bool:
        """Forget an object unless it was put again after ``kept`` (see there); whether it was removed. StoreError.

        It is moved away, looked at and only then deleted: whoever puts it meanwhile either renewed it before,
        which is seen, or finds it gone and writes it anew.
        """
        self._folder.prepare()
        there, away = self.path(digest), self._folder.temporary / f"{digest.hex}.{os.urandom(4).hex()}"
        try:
            if there.lstat().st_mtime > kept:  # not even for an instant is it away
                return False
            there.rename(away)
            if away.lstat().st_mtime > kept:
                away.rename(there)
                return False
            away.unlink()
            files.sync_folder(self._folder.objects)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._folder.fault(error) from None
        return True

    def set_aside(self, digest: Digest) -> Path:
        """Move a damaged object out of the way, to ``set-aside``, and say where it is. ObjectMissingError."""
        self._folder.prepare()
        aside = self._folder.aside / f"{digest.hex}.{os.urandom(4).hex()}"
        try:
            self.path(digest).rename(aside)
            files.sync_folder(self._folder.objects)
        except FileNotFoundError:
            raise self._missing(digest) from None
        except OSError as error:
            raise self._folder.fault(error) from None
        return aside

    def _keep(self, handle: int, path: Path, digest: Digest, length: int) -> None:
        """The last steps, in the order that survives a power cut: length, sync, rename, sync of the folder."""
        there = self.path(digest)
        # A collector that counts ages must see that the object was asked for again, before it is relied on.
        with contextlib.suppress(OSError):
            os.utime(there)
        if not self._is_whole(digest):
            if os.fstat(handle).st_size != length:
                raise OSError(None, f"{os.fstat(handle).st_size} bytes reached the disk of {length}")
            os.fchmod(handle, 0o444)
            os.fsync(handle)
            path.replace(there)
        files.sync_folder(self._folder.objects)

    def _is_whole(self, digest: Digest) -> bool:
        try:
            self.open(digest).close()
        except (ObjectMissingError, ObjectCorruptError):
            return False
        return True

    @contextlib.contextmanager
    def _temporary_file(self, needs: int | None) -> Iterator[tuple[int, Path, _Disk]]:
        """A new file in the store's own tmp folder, gone when the block ends (unless it was renamed)."""
        disk = _Disk(self._folder, needs)
        path = self._folder.temporary / os.urandom(16).hex()
        with disk:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            yield handle, path, disk
        except BaseException:
            with contextlib.suppress(OSError):
                os.close(handle)
            raise
        else:
            with disk:
                os.close(handle)
        finally:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def _open(self, digest: Digest) -> int:
        self._folder.check_layout()
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            handle = os.open(self.path(digest), flags)
        except (FileNotFoundError, NotADirectoryError):
            raise self._missing(digest) from None
        except OSError as error:
            if error.errno in _DAMAGE:
                raise self._corrupt(digest, f"can't be opened: {error.strerror}") from None
            raise self._folder.fault(error) from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise self._corrupt(digest, "is not a regular file")
        return handle

    def _stat(self, digest: Digest) -> os.stat_result | None:
        self._folder.check_layout()
        try:
            status = self.path(digest).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._folder.fault(error) from None
        return status if stat.S_ISREG(status.st_mode) else None

    def _there(self, digest: Digest) -> os.stat_result:
        status = self._stat(digest)
        if status is None:
            raise self._missing(digest)
        return status

    def _missing(self, digest: Digest) -> ObjectMissingError:
        return ObjectMissingError(f"the store doesn't hold {digest}", where=str(self.root))

    def _corrupt(self, digest: Digest, what: str) -> ObjectCorruptError:
        return ObjectCorruptError(
            f"object {digest} of the store {what}", where=str(self.path(digest)), hint="envguard store repair"
        )


class _Disk:
    """Turns the disk's errors, and no others, into StoreError; may be entered again and again."""

    def __init__(self, folder: StoreFolder, needs: int | None) -> None:
        self._folder = folder
        self._needs = needs
        self.written = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise self._folder.fault(error, self._needs, self.written) from None


def _left(source: BinaryIO) -> int | None:
    """How many bytes a stream still has, where it can tell."""
    try:
        here = source.tell()
        end = source.seek(0, os.SEEK_END)
        source.seek(here)
    except (OSError, AttributeError, ValueError):
        return None
    return end - here


def _write_all(handle: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(handle, view) :]


def _digest_of(handle: int) -> Digest:
    state = hashlib.sha256()
    while chunk := os.read(handle, _CHUNK):
        state.update(chunk)
    return Digest(state.hexdigest())
