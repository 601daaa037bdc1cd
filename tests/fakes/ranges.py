"""Steps of the fault server for files that are asked for in parts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from envguard.adapters.index import SimpleIndexes
from envguard.adapters.transport import Timeouts
from envguard.formats.address import Address
from envguard.formats.index_settings import NamedIndex, Sources
from envguard.model.digest import Digest
from tests.fakes.fault_server import Asked, FaultServer, Reply

QUICK = Timeouts(connect=3, read=3, answer=3, page=10, file=20, attempts=3)
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def bounds(asked: Asked, total: int) -> tuple[int, int] | None:
    """First and last byte that were asked for."""
    match = _RANGE.fullmatch(asked.headers.get("range", ""))
    if match is None:
        return None
    if not match[1]:
        return max(0, total - int(match[2])), total - 1
    return int(match[1]), min(int(match[2] or total), total - 1)


def parts(content: bytes, *, tag: str | None = '"one"', **headers: str) -> Callable[[Asked], Reply]:
    """A file as a good server has it, ranges from the end too."""

    def step(asked: Asked) -> Reply:
        place = bounds(asked, len(content))
        more = {**headers, **({"ETag": tag} if tag else {})}
        if place is None:
            return Reply(headers=more, body=content)
        first, last = place
        more["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        return Reply(206, headers=more, body=content[first : last + 1])

    return step


def page(*files: Mapping[str, Any]) -> Reply:
    """An index's page as JSON."""
    document = {
        "meta": {"api-version": "1.1"},
        "name": "x",
        "files": [{"hashes": {}, "requires-python": None, "yanked": False, **one} for one in files],
    }
    kind = "application/vnd.pypi.simple.v1+json"
    return Reply(headers={"Content-Type": kind}, body=json.dumps(document).encode())


def serve(server: FaultServer, wheel: Path, *, hashed: bool = True, **changes: Any) -> dict[str, Any]:
    """Have a wheel's bytes served under ``/files/``; the entry for the page."""
    content = wheel.read_bytes()
    server.on(f"/files/{wheel.name.replace('+', '%2B')}", parts(content))
    entry: dict[str, Any] = {
        "filename": wheel.name,
        "url": f"{server.url}/files/{wheel.name.replace('+', '%2B')}",
    }
    if hashed:
        entry |= {"hashes": {"sha256": Digest.of(content).hex}, "size": len(content)}
    return {**entry, **changes}


def indexes(server: FaultServer, *names: str, find_links: tuple[Path, ...] = ()) -> SimpleIndexes:
    """Indexes at ``/NAME/`` of the server (``default`` when none is named), asked quickly."""
    named = tuple(NamedIndex(name, Address(f"{server.url}/{name}/")) for name in names or ("default",))
    return SimpleIndexes(Sources(find_links, named), timeouts=QUICK, pause=lambda _: None)
