"""Where wheels can be had from, combined from what several tools' settings say."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from envguard.errors import SettingsInvalidError
from envguard.formats.address import Address
from envguard.formats.index_names import DEFAULT, derived

_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE = frozenset({"0", "false", "f", "no", "n", "off", ""})


@dataclass(frozen=True, slots=True)
class NamedIndex:
    """An index as locks name it. ``flat``: one page, or folder, that lists files of many distributions."""

    name: str
    address: Address
    flat: bool = False


@dataclass(frozen=True, slots=True)
class Sources:
    """All places, in the order they are asked: folders (or wheel files), then indexes."""

    find_links: tuple[Path, ...] = ()
    indexes: tuple[NamedIndex, ...] = ()
    certificates: Path | None = None
    """Certificates that https answers must be signed by; None: those that requests brings."""

    def offline(self) -> Sources:
        """Those of this machine alone."""
        return replace(self, indexes=tuple(index for index in self.indexes if index.address.local is not None))


@dataclass(frozen=True, slots=True)
class Wish:
    """One address or path as settings name it; ``where`` is the variable, or the file and key."""

    text: str
    where: str
    base: Path
    """Folder that a relative path starts from."""
    name: str | None = None
    default: bool = False
    flat: bool = False

    def __repr__(self) -> str:
        return f"Wish({self.where})"


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one tool's settings ask for. ``no_index`` None: they don't say."""

    indexes: tuple[Wish, ...] = ()
    find_links: tuple[Wish, ...] = ()
    no_index: bool | None = None
    certificates: Wish | None = None

    def then(self, later: Wishes) -> Wishes:
        """These first, then those of a file that counts less; where only one can hold, these."""
        return Wishes(
            self.indexes + later.indexes,
            self.find_links + later.find_links,
            later.no_index if self.no_index is None else self.no_index,
            self.certificates or later.certificates,
        )


def certificates(environ: Mapping[str, str], base: Path) -> Wishes:
    """The variables by which uv, requests and curl are told of certificates."""
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        if environ.get(name):
            return Wishes(certificates=Wish(environ[name], name, base))
    return Wishes()


def combine(
    tools: Sequence[Wishes], *, default: str, home: Path, environ: Mapping[str, str] | None = None
) -> Sources:
    """One list from what several tools ask for, the first tool's first; an index that two name is kept once.

    ``default`` is the address of the default index where no tool names another, and is left out when a tool
    says that there is to be no index. ``environ`` holds uv's ``UV_INDEX_<NAME>_USERNAME`` and ``_PASSWORD``.
    """
    links = [wish for tool in tools for wish in tool.find_links]
    wishes = [wish for tool in tools for wish in _wanted(tool)]
    wishes += [wish for wish in links if not _is_local(wish.text)]
    if not any(wish.default for wish in wishes) and not any(tool.no_index for tool in tools):
        wishes.append(Wish(default, "the default index", home, default=True))
    certificate = next((tool.certificates for tool in tools if tool.certificates), None)
    return Sources(
        tuple(dict.fromkeys(local_path(wish, home) for wish in links if _is_local(wish.text))),
        tuple(_with_credentials(index, environ or {}) for index in _indexes(wishes, links, home)),
        None if certificate is None else local_path(certificate, home),
    )


def _wanted(tool: Wishes) -> Iterator[Wish]:
    """A tool's indexes, of defaults only the one that counts for the tool."""
    first_default = next((wish for wish in tool.indexes if wish.default), None)
    if not tool.no_index:
        yield from (wish for wish in tool.indexes if not wish.default or wish is first_default)


def local_path(wish: Wish, home: Path) -> Path:
    """The path that a wish names: absolute, ``~`` put in full."""
    if wish.text.startswith("file:"):
        return _address(wish, home).local or home
    text = f"{home}{wish.text[1:]}" if wish.text == "~" or wish.text.startswith("~/") else wish.text
    return wish.base / text


def _indexes(wishes: Sequence[Wish], links: Sequence[Wish], home: Path) -> Iterator[NamedIndex]:
    """Named, each once: the ones besides the default first."""
    flat = {id(wish) for wish in links}
    found: dict[tuple[str, str, str], NamedIndex] = {}
    taken: set[str] = set()
    first_default = next((wish for wish in wishes if wish.default), None)
    for wish in sorted(wishes, key=lambda wish: wish is first_default):
        address = _address(wish, home)
        key = (address.scheme, address.host, address.path.rstrip("/"))
        if key in found:
            if address.userinfo and not found[key].address.userinfo:
                found[key] = replace(found[key], address=address)
            if wish is first_default and found[key].name not in {other.name for other in wishes}:
                found[key] = replace(found[key], name=DEFAULT)
            continue
        name = _name(wish, address, taken, is_default=wish is first_default)
        taken.add(name)
        found[key] = NamedIndex(name, address, wish.flat or id(wish) in flat)
    yield from found.values()


def _name(wish: Wish, address: Address, taken: Container[str], *, is_default: bool) -> str:
    if is_default:
        return wish.name or DEFAULT
    if wish.name and wish.name != DEFAULT and wish.name not in taken:
        return wish.name
    return derived(address, taken)


def _with_credentials(index: NamedIndex, environ: Mapping[str, str]) -> NamedIndex:
    variable = "UV_INDEX_" + re.sub(r"[^A-Z0-9]", "_", index.name.upper())
    user, password = environ.get(f"{variable}_USERNAME"), environ.get(f"{variable}_PASSWORD")
    if not (user or password) or index.address.scheme == "file":
        return index
    userinfo = ":".join((_coded(user or ""), _coded(password or "")))
    return replace(index, address=index.address.with_userinfo(userinfo))


def _coded(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._~-]", lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)


def _address(wish: Wish, home: Path) -> Address:
    if _is_local(wish.text) and not wish.text.startswith("file:"):
        return Address(local_path(wish, home).as_uri())
    try:
        return Address.parse(wish.text)
    except ValueError as error:
        raise SettingsInvalidError(str(error), where=wish.where) from None


def _is_local(text: str) -> bool:
    return text.startswith("file:") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text) is None


def truth(text: str | None, where: str) -> bool | None:
    """A truth value as uv and pip spell it; None when nothing is said. SettingsInvalidError."""
    if not text:
        return None
    if text.lower() not in _TRUE | _FALSE:
        raise SettingsInvalidError("must be true or false", where=where)
    return text.lower() in _TRUE
