"""Names for indexes that have none: from host and path, the same on every machine, nothing secret in them."""

from __future__ import annotations

import re
from collections.abc import Container

from envguard.formats.address import Address

DEFAULT = "default"

_COMMON_HOSTS = frozenset(
    {"www", "download", "downloads", "pypi", "pip", "index", "dl", "packages", "wheels", "repo"}
)
_COMMON_PATHS = frozenset(
    {"simple", "pypi", "pip", "python", "whl", "wheels", "index", "api", "packages", "projects", "repository"}
    | {"artifactory", "index.html", "root", "basic"}
)
_VERSION = re.compile(r"v[0-9]{1,2}")
_ADDRESS = re.compile(r"[0-9.]+|\[.*\]")


def derived(address: Address, taken: Container[str]) -> str:
    """A name such as ``pytorch-cu128`` that isn't ``taken``: the telling parts of host and path.

    Parts that may be a token, as some services put into the path, are left out: names are written to locks.
    """
    folders = [part for part in address.path.lower().split("/") if _is_telling(part)]
    parts = ["local", *folders[-1:]] if address.scheme == "file" else [*_host(address.host), *folders]
    stem = re.sub(r"[^a-z0-9.]+", "-", "-".join(parts)).strip("-.")[:60] or "index"
    name, number = stem, 1
    while name in taken or name == DEFAULT:
        number += 1
        name = f"{stem}-{number}"
    return name


def _host(host: str) -> list[str]:
    plain = re.sub(r":[0-9]+$", "", host)
    if _ADDRESS.fullmatch(plain) or "." not in plain:
        return [plain.strip("[]").replace(":", "-").replace(".", "-")]
    labels = plain.split(".")[:-1]
    return [label for label in labels if label not in _COMMON_HOSTS] or labels[-1:]


def _is_telling(part: str) -> bool:
    if not part or part in _COMMON_PATHS or _VERSION.fullmatch(part):
        return False
    return not _may_be_token(part)


def _may_be_token(part: str) -> bool:
    longest = max((len(word) for word in re.split(r"[-_.]", part)), default=0)
    return "%" in part or longest > 20 or (longest > 11 and any(character.isdigit() for character in part))
