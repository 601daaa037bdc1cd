"""Connections with an end: a server that sends a byte now and then can't hold us for ever."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

from requests.adapters import HTTPAdapter
from urllib3 import ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.response import HTTPResponse


class Watch:
    """Shuts a connection down at a moment, so that a server that drips can't hold us."""

    current = threading.local()

    def __init__(self) -> None:
        self.expired = False
        self._timer: threading.Timer | None = None
        self._socket: socket.socket | None = None
        self._mutex = threading.Lock()

    def __enter__(self) -> Watch:
        self.current.watch = self
        return self

    def __exit__(self, *_: object) -> None:
        self.current.watch = None
        self._stop()

    def until(self, moment: float) -> None:
        """From now on, the end is at ``moment`` (monotonic seconds)."""
        self._stop()
        self._timer = threading.Timer(max(0.0, moment - time.monotonic()), self._expire)
        self._timer.daemon = True
        self._timer.start()

    def follow(self, connection: socket.socket | None) -> None:
        """This is the connection to shut down."""
        with self._mutex:
            self._socket = connection
            if self.expired:
                self._shut()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        with self._mutex:
            self.expired = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            # Not the method of an SSL socket: that one changes state which the reading thread uses.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


def _follow(connection: HTTPConnection) -> None:
    watch = getattr(Watch.current, "watch", None)
    if watch is not None:
        watch.follow(connection.sock)


class _Connection(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3 itself has it
        _follow(self)
        return super().getresponse()


class _SecureConnection(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3 itself has it
        _follow(self)
        return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


_POOLS = {"http": _Pool, "https": _SecurePool}


class WatchedAdapter(HTTPAdapter):
    """requests' own, over connections that can be watched."""

    def init_poolmanager(self, *arguments: object, **options: object) -> None:
        """Over our kinds of connection."""
        super().init_poolmanager(*arguments, **options)  # type: ignore[arg-type]
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **options: object) -> ProxyManager:
        """Over our kinds of connection."""
        pools: ProxyManager = super().proxy_manager_for(proxy, **options)
        pools.pool_classes_by_scheme = _POOLS
        return pools
