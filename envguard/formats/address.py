"""Addresses of indexes and files: a type that can be used, and can't be printed with its secret."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

# Appendix B of RFC 3986, with the authority's parts. It always matches.
_PARTS = re.compile(
    r"(?:(?P<scheme>[^:/?#]+):)?(?P<mark>//)?(?(mark)(?:(?P<user>[^/?#]*)@)?(?P<host>[^/?#]*))"
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?",
    re.DOTALL,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
_HOST = re.compile(r"(?:\[[0-9a-f:.]+\]|[^\s:@\[\]\\]+)(?::[0-9]{1,5})?", re.IGNORECASE)
_CODED = re.compile(r"(?:%[0-9a-f]{2})+", re.IGNORECASE)
_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A URL. ``str``, ``repr`` and formatting leave out userinfo, query and fragment; ``reveal`` is all of it."""

    _whole: str
    scheme: str = field(init=False, compare=False)
    host: str = field(init=False, compare=False)
    """With the port, unless it is the scheme's own; lower-case."""
    path: str = field(init=False, compare=False)
    userinfo: str | None = field(init=False, compare=False)
    """What stands before ``@``, still percent-coded."""
    _tail: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        parts = cast("re.Match[str]", _PARTS.fullmatch(self._whole))
        scheme = (parts["scheme"] or "").lower()
        host = (parts["host"] or "").lower()
        object.__setattr__(self, "scheme", scheme)
        object.__setattr__(self, "host", host.removesuffix(_PORTS.get(scheme, "\0")))
        object.__setattr__(self, "path", parts["path"])
        object.__setattr__(self, "userinfo", parts["user"])
        object.__setattr__(self, "_tail", parts["query"] or "")

    @classmethod
    def parse(cls, text: str) -> Address:
        """An absolute http, https or file address, as a user wrote it.

        ValueError, whose text holds nothing of a secret, when it is none, or when it can't be told which part
        of it is a password.
        """
        if any(character.isspace() or not character.isprintable() for character in text):
            raise ValueError("an address can't hold spaces or control characters")
        whole = cls(text)
        if not _SCHEME.fullmatch(whole.scheme):
            raise ValueError("not an address: it has no scheme (https://…)")
        if whole.scheme == "file":
            if whole.host not in ("", "localhost"):
                raise ValueError("a file address names another host")
            return whole
        if whole.scheme not in ("http", "https") or not whole.host:
            raise ValueError("only http, https and file addresses can be used")
        if not _HOST.fullmatch(whole.host) or "@" in _after_host(text):
            # https://user:pa/ss@host: what comes before the @ would be printed as a host and a path.
            raise ValueError("it can't be told which part of the address is a password; write / as %2F, @ as %40")
        return whole

    def reveal(self) -> str:
        """The whole URL, secrets and all: for requests, never for people or files."""
        return self._whole

    @property
    def bare(self) -> str:
        """The URL without userinfo and fragment; the query, which may be a signature, is kept."""
        return f"{self}{self._tail}"

    @property
    def origin(self) -> tuple[str, str]:
        """Scheme and host with port: credentials are for one origin."""
        return self.scheme, self.host

    @property
    def local(self) -> Path | None:
        """The path that a file address names."""
        return Path(_CODED.sub(_decoded, self.path)) if self.scheme == "file" else None

    def with_userinfo(self, userinfo: str) -> Address:
        """The same address for a user (``name:password``, percent-coded)."""
        return Address(f"{self.scheme}://{userinfo}@{self.host}{self.path}{self._tail}")

    def __str__(self) -> str:
        slashes = "//" if self.host or self.scheme == "file" else ""
        return f"{self.scheme}:{slashes}{self.host}{self.path}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"


def _after_host(text: str) -> str:
    parts = cast("re.Match[str]", _PARTS.fullmatch(text))
    return f"{parts['path']}{parts['query'] or ''}{parts['fragment'] or ''}"


def _decoded(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "surrogateescape")
