"""What every test gets: folders of its own for envguard's data, and no network unless it is marked online."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environments import make_environment as make_environment
from tests.environments import torch_environment as torch_environment


def pytest_configure() -> None:
    """Signals as a terminal has them: a shell's background jobs ignore some, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGHUP", "SIGQUIT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes to the home folder."""
    home = tmp_path_factory.mktemp("envguard")
    for kind in ("DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"ENVGUARD_{kind}_DIR", str(home / kind.lower()))


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only loopback may be reached by this process, unless the test is marked online."""
    if "online" not in request.keywords:
        connect = socket.socket.connect

        def guarded(self: socket.socket, address: object) -> None:
            host = address[0] if isinstance(address, tuple) else "unix"
            if host not in ("127.0.0.1", "::1", "localhost", "unix"):
                raise AssertionError(f"a test that is not marked online asked for {host}")
            connect(self, address)  # type: ignore[arg-type]

        monkeypatch.setattr(socket.socket, "connect", guarded)
    yield


@pytest.fixture(scope="session")
def find_links() -> list[Path]:
    """Folders of wheels that this machine names in PIP_FIND_LINKS."""
    return [Path(part) for part in os.environ.get("PIP_FIND_LINKS", "").split() if Path(part).is_dir()]
