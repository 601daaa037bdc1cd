"""Which step from one address to another is allowed: redirects, and the links of an index's page."""

from __future__ import annotations

import ipaddress
from urllib.parse import urljoin

from envguard.formats.address import Address

MOST_HOPS = 10


def joined(base: Address, target: str) -> Address:
    """The address that ``target``, as found in an answer of ``base``, stands for. ValueError."""
    return Address(urljoin(base.bare, target.strip()))


def refusal(here: Address, there: Address) -> str | None:
    """Why a step must not be taken, in words; None when it may.

    Never from the network to this machine's files, never from https to http, never to an address that only
    this machine's cloud answers at (link-local), unless the index itself is there.
    """
    if here.scheme == "file" and there.scheme == "file":
        return None
    if there.scheme not in ("http", "https"):
        return f"it leads to a {there.scheme or 'nameless'} address, and only http and https are followed"
    if here.scheme == "https" and there.scheme == "http":
        return "it leads from https to http"
    if _is_link_local(there.host) and there.host != here.host:
        return "it leads to a link-local address"
    return None


def _is_link_local(host: str) -> bool:
    plain = host.rpartition("]")[0].strip("[") if host.startswith("[") else host.partition(":")[0]
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_link_local or (mapped is not None and mapped.is_link_local)
