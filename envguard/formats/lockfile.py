"""The lock file: read, written, identified."""

from envguard.formats.lock_document import document_of, lock_id
from envguard.formats.lock_read import lock_from, read_lock
from envguard.formats.lock_write import write_lock

__all__ = ["document_of", "lock_from", "lock_id", "read_lock", "write_lock"]
