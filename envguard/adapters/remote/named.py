"""A wheel that somebody names by its address or its path, as an offer."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from envguard.adapters.local_wheels import LocalWheel
from envguard.adapters.pages import is_filename
from envguard.errors import UsageError, WheelInvalidError
from envguard.formats.address import Address
from envguard.model.digest import Digest
from envguard.ports import Offer

_CLAIM = re.compile(r"#(?:.*&)?sha256=([0-9a-fA-F]{64})(?:&|$)")


def at_address(text: str) -> Offer:
    """The wheel at an http, https or file address; a ``#sha256=`` in it is its word. UsageError."""
    try:
        address = Address.parse(text)
    except ValueError as error:
        raise UsageError(f"not an address that can be used: {error}") from None
    local = address.local
    if local is not None:
        return of_file(local)
    filename = unquote(address.path.rpartition("/")[2])
    if not is_filename(filename):
        raise UsageError("the address doesn't end in a wheel's filename", where=str(address))
    claim = _CLAIM.search(text)
    return Offer(
        filename, str(address), "address", sha256=Digest(claim[1].lower()) if claim else None, reference=address
    )


def of_file(path: Path) -> Offer:
    """A wheel file of this machine. WheelInvalidError."""
    if not path.exists():
        raise WheelInvalidError("there is no such file", where=str(path))
    if not is_filename(path.name):
        raise WheelInvalidError("not a wheel's filename: NAME-VERSION-PYTHON-ABI-PLATFORM.whl", where=str(path))
    return Offer(path.name, str(path), "file", reference=LocalWheel(path))
