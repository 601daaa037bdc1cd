"""HTTP for indexes: bounded in time, hops and credentials; its errors hold no secrets."""

from __future__ import annotations

import contextlib
import netrc
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from urllib.parse import unquote

import requests
import urllib3

from envguard.adapters.hops import MOST_HOPS, joined, refusal
from envguard.adapters.watch import Watch, WatchedAdapter
from envguard.formats.address import Address
from envguard.formats.index_settings import NamedIndex

_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long an index may take, in seconds, and how often it is asked again."""

    connect: float = 10
    read: float = 30
    """Between two pieces of an answer."""
    answer: float = 60
    """Until an answer begins."""
    page: float = 300
    """For one page, with all tries."""
    file: float = 6 * 3600
    """For one file, with all tries."""
    rate: float = 4096
    """Fewer bytes a second than this, over ``rate_window`` seconds, count as a broken connection."""
    rate_window: float = 60
    attempts: int = 4
    """Tries that bring nothing before it is given up."""
    longest_wait: float = 60
    """What an index asks us to wait is honoured up to this."""


class UnreachableError(Exception):
    """No usable answer, and another try may help. ``wait``: what the index asks for, in seconds."""

    def __init__(self, reason: str, *, wait: float | None = None, slow: bool = False, final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait
        self.slow = slow
        self.final = final


class BadAnswerError(Exception):
    """An answer that another try won't change; the text is for people."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers (names in lower case) and body of an answer. ``address``: where it came from in the end."""

    status: int
    headers: Mapping[str, str]
    address: Address
    pieces: Callable[[], Iterator[bytes]]
    """The body as it is sent, undecoded. UnreachableError when it breaks off or comes too slowly."""


class Transport:
    """Asks indexes. One for all threads."""

    def __init__(
        self,
        indexes: Iterable[NamedIndex],
        certificates: Path | None,
        timeouts: Timeouts,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._indexes = tuple(indexes)
        self._timeouts = timeouts
        self._verify: str | bool = True if certificates is None else str(certificates)
        self._environ = os.environ if environ is None else environ
        self._session = requests.Session()
        # Nothing by itself: netrc's default entry would go to every host, cookies from one index to another.
        self._session.trust_env = False
        self._session.cookies.set_policy(_NoCookies())
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, WatchedAdapter(pool_connections=16, pool_maxsize=16, max_retries=0))
        self._netrc = _netrc(self._environ)

    def close(self) -> None:
        """Close the connections that are kept."""
        self._session.close()

    @contextlib.contextmanager
    def get(self, address: Address, headers: Mapping[str, str], deadline: float) -> Iterator[Answer]:
        """Ask for an address, following redirects, until ``deadline`` (monotonic seconds).

        UnreachableError, BadAnswerError.
        """
        with contextlib.ExitStack() as stack:
            watch = stack.enter_context(Watch())
            for _ in range(MOST_HOPS + 1):
                watch.until(min(deadline, time.monotonic() + self._timeouts.answer))
                response = stack.enter_context(contextlib.closing(self._send(address, headers, watch)))
                if not (300 <= response.status_code < 400 and "location" in response.headers):
                    watch.until(deadline)
                    yield self._answer(response, address, watch, deadline)
                    return
                address = _next(address, response.headers["location"])
            raise BadAnswerError(f"more than {MOST_HOPS} redirects")

    def _send(self, address: Address, headers: Mapping[str, str], watch: Watch) -> requests.Response:
        try:
            request = requests.Request("GET", address.bare, headers=dict(headers), auth=self._credentials(address))
            response = self._session.send(
                self._session.prepare_request(request),
                stream=True,
                allow_redirects=False,
                timeout=(self._timeouts.connect, self._timeouts.read),
                verify=self._verify,
                proxies=requests.utils.get_environ_proxies(address.bare),
            )
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            if watch.expired:
                raise UnreachableError("no answer in time", slow=True) from None
            raise _translated(error) from None
        if watch.expired:  # headers that were cut off by us look whole
            response.close()
            raise UnreachableError("no answer in time", slow=True)
        return response

    def _answer(self, response: requests.Response, address: Address, watch: Watch, deadline: float) -> Answer:
        def pieces() -> Iterator[bytes]:
            begun, got = time.monotonic(), 0
            bounded = "content-length" in headers or "transfer-encoding" in headers
            while piece := _read(response, watch):
                bounded = True
                yield piece
                got += len(piece)
                now = time.monotonic()
                if now > deadline:
                    raise UnreachableError("not whole in time", slow=True)
                if now - begun > self._timeouts.rate_window:
                    if got < self._timeouts.rate * (now - begun):
                        raise UnreachableError(f"only {got / (now - begun):.0f} bytes a second came", slow=True)
                    begun, got = now, 0
            if not bounded:  # an answer cut within its headers looks like one without a body
                raise UnreachableError("it broke off")

        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, headers, address, pieces)

    def _credentials(self, address: Address) -> tuple[bytes, bytes] | None:
        """The address's own, those of an index of the same origin, those of netrc for the host; nobody else's."""
        known = (index.address.userinfo for index in self._indexes if index.address.origin == address.origin)
        userinfo = next((found for found in (address.userinfo, *known) if found), None)
        if userinfo:
            user, _, password = userinfo.partition(":")
            return unquote(user).encode(), unquote(password).encode()
        entry = self._netrc.get(address.host) or self._netrc.get(address.host.partition(":")[0])
        return entry and (entry[0].encode(), entry[1].encode())


def _next(here: Address, location: str) -> Address:
    try:
        there = joined(here, location)
    except ValueError:
        raise BadAnswerError("a redirect to something that is no address") from None
    reason = refusal(here, there)
    if reason is not None:
        raise BadAnswerError(f"a redirect is not followed: {reason}")
    return Address(there.bare)


def _read(response: requests.Response, watch: Watch) -> bytes:
    try:
        piece: bytes | None = response.raw.read1(_PIECE, decode_content=False)
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        if watch.expired:
            raise UnreachableError("not whole in time", slow=True) from None
        raise _translated(error) from None
    if not piece and watch.expired:
        raise UnreachableError("not whole in time", slow=True)
    return piece or b""


def _translated(error: Exception) -> UnreachableError | BadAnswerError:
    """An error of the libraries in words of ours: theirs quote addresses, and with them secrets."""
    causes = [*_chain(error)]
    for kinds, reason, final in _REASONS:
        if any(isinstance(cause, kinds) for cause in causes):
            return UnreachableError(reason, final=final)
    if isinstance(error, (ValueError, requests.exceptions.InvalidURL)) and not isinstance(
        error, requests.exceptions.ConnectionError
    ):
        return BadAnswerError("an address that can't be used")
    return UnreachableError("the connection broke off")


_Kinds = type[BaseException] | tuple[type[BaseException], ...]
_REASONS: tuple[tuple[_Kinds, str, bool], ...] = (
    ((requests.exceptions.SSLError, urllib3.exceptions.SSLError), "its certificate is not accepted", True),
    ((requests.exceptions.ProxyError, urllib3.exceptions.ProxyError), "the proxy can't be used", False),
    (urllib3.exceptions.NameResolutionError, "its name is not known", False),
    (ConnectionRefusedError, "the connection is refused", False),
    (
        (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError, TimeoutError),
        "nothing came for too long",
        False,
    ),
    (urllib3.exceptions.IncompleteRead, "the body broke off", False),
)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was made from, as far as the libraries tell."""
    seen: set[int] = set()
    left: list[object] = [error]
    while left:
        cause = left.pop()
        if isinstance(cause, BaseException) and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            left += [*cause.args, getattr(cause, "reason", None), cause.__cause__, cause.__context__]


def _netrc(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """User and password by host. A file that can't be read counts as none, as with pip and curl."""
    named, home = environ.get("NETRC"), Path(environ.get("HOME", os.devnull))
    for path in [Path(named)] if named else [home / ".netrc", home / "_netrc"]:
        try:
            hosts = netrc.netrc(str(path)).hosts
        except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
            continue
        return {host: (login, password or "") for host, (login, _, password) in hosts.items() if host != "default"}
    return {}


class _NoCookies(DefaultCookiePolicy):
    """Neither takes nor gives cookies."""

    def __init__(self) -> None:
        super().__init__(allowed_domains=[])
