"""A server on loopback that answers as a script says: right, wrong, cut short, too slow, without end."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""


@dataclass(frozen=True)
class Reply:
    """One answer.

    ``length`` is what Content-Length says (None: the truth; -1: no such header); ``cut`` ends the body after so
    many bytes; ``zeros`` sends so many zero bytes after the body; ``drip`` sends byte by byte with so many seconds
    between; ``raw`` is sent instead of all of it, then byte by byte too when ``drip`` is set.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    length: int | None = None
    cut: int | None = None
    zeros: int = 0
    drip: float = 0
    raw: bytes | None = None


Step = Reply | Callable[[Asked], Reply]


def html(*names: str, base: str = "../../files/", fragment: str = "") -> Reply:
    """An index's page as HTML."""
    links = "".join(f'<a href="{base}{name.replace("+", "%2B")}{fragment}">{name}</a><br>\n' for name in names)
    return Reply(
        headers={"Content-Type": "text/html"}, body=f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
    )


def ranged(content: bytes, *, tag: str | None = '"one"', modified: str | None = None) -> Callable[[Asked], Reply]:
    """A file as a good server has it: ranges, honoured when If-Range holds."""
    headers = {"Accept-Ranges": "bytes"} | ({"ETag": tag} if tag else {})
    if modified:
        headers["Last-Modified"] = modified

    def step(asked: Asked) -> Reply:
        start = asked.headers.get("range", "").removeprefix("bytes=").rstrip("-")
        if not start or asked.headers.get("if-range") not in (None, tag, modified):
            return Reply(headers=headers, body=content)
        if int(start) >= len(content):
            return Reply(416, headers={"Content-Range": f"bytes */{len(content)}"})
        place = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return Reply(206, headers={**headers, "Content-Range": place}, body=content[int(start) :])

    return step


class FaultServer:
    """``with FaultServer() as server:``; ``server.on(path, step, …)`` gives the answers to one path, in order.

    The last step is repeated. A path without a script is 404. ``asked`` lists every request, so that a test can
    tell that its fault was met.
    """

    def __init__(self, encrypted: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.sent = 0
        """Bytes of bodies that were really sent."""
        self._scripts: dict[str, list[Step]] = {}
        self._mutex = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(self)
        self._scheme = "http"
        if encrypted is not None:
            self._scheme = "https"
            self._server.socket = encrypted.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        """``http://127.0.0.1:port``, without a slash at the end; https when it is encrypted."""
        return f"{self._scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def on(self, path: str, *steps: Step) -> None:
        """Answers for a path (with its query, if it has one)."""
        with self._mutex:
            self._scripts[path] = list(steps)

    def times(self, path: str) -> int:
        """How often a path was asked for."""
        return sum(1 for asked in self.asked if asked.path == path)

    def __enter__(self) -> FaultServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _next(self, asked: Asked) -> Reply:
        with self._mutex:
            self.asked.append(asked)
            script = self._scripts.get(asked.path, [Reply(404)])
            step = script.pop(0) if len(script) > 1 else script[0]
        return step if isinstance(step, Reply) else step(asked)


class _Server(ThreadingHTTPServer):
    def __init__(self, faults: FaultServer) -> None:
        self.faults = faults
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what many tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()})
        reply = self.server.faults._next(asked)
        with contextlib.suppress(OSError):  # the client hangs up, as it should
            if reply.raw is None:
                self._head(reply)
                self._write(_pieces(reply.body[: reply.cut], reply.drip), reply.drip)
                self._write((bytes(min(1 << 20, reply.zeros - at)) for at in range(0, reply.zeros, 1 << 20)), 0)
            else:
                self.close_connection = True
                self._write(_pieces(reply.raw, reply.drip), reply.drip)

    def _head(self, reply: Reply) -> None:
        whole = len(reply.body) + reply.zeros
        length = whole if reply.length is None else reply.length
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if length >= 0:
            self.send_header("Content-Length", str(length))
        if length != whole or reply.cut is not None or reply.drip:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()

    def _write(self, pieces: Iterator[bytes], pause: float) -> None:
        faults = self.server.faults
        for piece in pieces:
            if faults._closing.is_set():
                return
            self.wfile.write(piece)
            faults.sent += len(piece)
            if pause:
                faults._closing.wait(pause)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def _pieces(content: bytes, drip: float) -> Iterator[bytes]:
    step = 1 if drip else 1 << 16
    return (content[at : at + step] for at in range(0, len(content), step))
