"""Encrypted connections and proxies: real ones, on loopback."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from envguard.adapters.index import SimpleIndexes
from envguard.adapters.transport import Timeouts
from envguard.errors import EnvguardError, IndexAnswerError, IndexUnreachableError
from envguard.formats.address import Address
from envguard.formats.index_settings import NamedIndex, Sources
from envguard.ports import Offer
from tests.fakes.fault_server import FaultServer, Reply, html

PAGE = "/simple/thing/"
ONE = "thing-1.0-py3-none-any.whl"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate")
    folder = tmp_path_factory.mktemp("certificate")
    key, signed, both = folder / "key.pem", folder / "signed.pem", folder / "both.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=loopback",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", signed],
        check=True, capture_output=True,
    )  # fmt: skip
    both.write_bytes(key.read_bytes() + signed.read_bytes())
    return both


@pytest.fixture
def secure(certificate: Path) -> Iterator[FaultServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with FaultServer(context) as server:
        yield server


def ask(server: FaultServer, certificates: Path | None, timeouts: Timeouts | None = None) -> list[Offer]:
    index = NamedIndex("default", Address(f"{server.url}/simple/"))
    sources = Sources(indexes=(index,), certificates=certificates)
    with SimpleIndexes(sources, timeouts=timeouts, pause=lambda _: None) as indexes:
        return list(indexes.offers("thing"))


class TestEncrypted:
    def test_with_the_certificate_it_is_signed_by(self, secure: FaultServer, certificate: Path) -> None:
        secure.on(PAGE, html(ONE))
        assert ask(secure, certificate)[0].location.startswith("https://")

    def test_a_certificate_that_nobody_knows_is_refused_at_once(self, secure: FaultServer) -> None:
        secure.on(PAGE, html(ONE))
        with pytest.raises(IndexUnreachableError, match=r"its certificate is not accepted$"):
            ask(secure, None)
        assert secure.asked == []

    def test_certificates_that_are_none(self, secure: FaultServer, tmp_path: Path) -> None:
        (tmp_path / "none.pem").write_text("nothing")
        for path in (tmp_path / "none.pem", tmp_path / "missing.pem"):
            with pytest.raises(EnvguardError):
                ask(secure, path, Timeouts(attempts=1))
        assert secure.asked == []

    def test_no_step_from_https_to_http(self, secure: FaultServer, certificate: Path) -> None:
        with FaultServer() as plain:
            plain.on("/there/", html(ONE))
            secure.on(PAGE, Reply(302, headers={"Location": f"{plain.url}/there/"}))
            with pytest.raises(IndexAnswerError, match="from https to http"):
                ask(secure, certificate)
            assert plain.asked == []

    def test_links_from_https_to_http_are_left_out(self, secure: FaultServer, certificate: Path) -> None:
        secure.on(PAGE, html(ONE, base="http://127.0.0.1:1/"))
        assert ask(secure, certificate) == []

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(raw=b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 60_000, drip=0.02),
            Reply(headers={"Content-Type": "text/html"}, body=b"<html>" + b" " * 60_000, drip=0.02),
        ],
        ids=["headers", "body"],
    )
    def test_a_slow_drip_is_given_up(self, secure: FaultServer, certificate: Path, reply: Reply) -> None:
        secure.on(PAGE, reply)
        with pytest.raises(IndexUnreachableError, match="in time"):
            ask(secure, certificate, Timeouts(answer=0.4, page=0.8, attempts=2))
        assert 0 < secure.sent < 10_000

    def test_a_server_that_speaks_no_tls(self, certificate: Path) -> None:
        with FaultServer() as plain:
            index = NamedIndex("default", Address(f"https://{plain.authority}/simple/"))
            with (
                SimpleIndexes(Sources(indexes=(index,), certificates=certificate)) as indexes,
                pytest.raises(IndexUnreachableError),
            ):
                indexes.offers("thing")


class TestProxies:
    def test_the_variables_are_honoured(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with FaultServer() as proxy:
            monkeypatch.setenv("http_proxy", f"http://user:s3cret@{proxy.authority}")
            proxy.on("http://index.example/simple/thing/", html(ONE))
            with SimpleIndexes(
                Sources(indexes=(NamedIndex("i", Address("http://index.example/simple")),))
            ) as found:
                assert len(found.offers("thing")) == 1
            assert proxy.asked[0].headers["proxy-authorization"].startswith("Basic ")
            assert "authorization" not in proxy.asked[0].headers

    def test_one_that_is_gone_is_told_without_its_password(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with FaultServer() as gone:
            pass
        monkeypatch.setenv("http_proxy", f"http://user:s3cret@{gone.authority}")
        index = NamedIndex("i", Address("http://index.example/simple"))
        with (
            SimpleIndexes(Sources(indexes=(index,)), pause=lambda _: None) as found,
            pytest.raises(IndexUnreachableError, match="the proxy can't be used") as raised,
        ):
            found.offers("thing")
        assert "s3cret" not in str(raised.value)
