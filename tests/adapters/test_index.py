"""What is offered: folders and pages, good and bad."""

from __future__ import annotations

import gzip
import json
import resource
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters.index import SimpleIndexes
from envguard.adapters.pages import Caps
from envguard.adapters.transport import Timeouts
from envguard.errors import EnvguardError, IndexAnswerError, IndexUnreachableError
from envguard.formats.address import Address
from envguard.formats.index_settings import NamedIndex, Sources
from envguard.ports import Offer
from tests.builders import digest, wheel
from tests.fakes.fault_server import FaultServer, Reply, html

ONE = "thing-1.0-py3-none-any.whl"
PAGE = "/simple/thing/"
QUICK = Timeouts(connect=5, read=5, answer=5, page=20, attempts=3)
JSON = {"Content-Type": "application/vnd.pypi.simple.v1+json"}


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


def index_of(server: FaultServer, name: str = "default", path: str = "/simple/", **more: Any) -> NamedIndex:
    return NamedIndex(name, Address(f"{server.url}{path}"), **more)


def ask(
    *indexes: NamedIndex, name: str = "thing", pauses: list[float] | None = None, **options: Any
) -> list[Offer]:
    options.setdefault("timeouts", QUICK)
    waited = [] if pauses is None else pauses
    with SimpleIndexes(Sources(indexes=indexes), pause=waited.append, **options) as found:
        return list(found.offers(name))


def page(*files: dict[str, Any], **more: Any) -> Reply:
    whole = {"meta": {"api-version": "1.1"}, "name": "thing", "files": list(files), "versions": [], **more}
    return Reply(headers=JSON, body=json.dumps(whole).encode())


def entry(filename: str = ONE, **more: Any) -> dict[str, Any]:
    return {"filename": filename, "url": f"/files/{filename}", "hashes": {}, **more}


class TestPages:
    def test_html(self, server: FaultServer) -> None:
        hashed = digest("wheel")
        server.on(PAGE, html(ONE, "thing-1.0.tar.gz", fragment=f"#sha256={hashed.hex}"))
        (offer,) = ask(index_of(server))
        assert (offer.filename, offer.sha256, offer.source) == (ONE, hashed, "default")
        assert offer.location == f"{server.url}/files/{ONE}"
        assert offer.yanked is None

    def test_json(self, server: FaultServer) -> None:
        hashed = digest("wheel")
        server.on(
            PAGE, page(entry(hashes={"sha256": hashed.hex}, size=7, yanked="broken"), entry("thing-1.0.tar.gz"))
        )
        (offer,) = ask(index_of(server))
        assert (offer.sha256, offer.size, offer.yanked) == (hashed, 7, "broken")
        assert "json" in server.asked[0].headers["accept"]

    @pytest.mark.parametrize(
        ("yanked", "expected"), [(True, ""), (False, None), ("", ""), ("why", "why")], ids=str
    )
    def test_yanked(self, server: FaultServer, yanked: object, expected: str | None) -> None:
        server.on(PAGE, page(entry(yanked=yanked)))
        assert ask(index_of(server))[0].yanked == expected

    def test_html_yanked_and_metadata_hash_is_not_the_wheels(self, server: FaultServer) -> None:
        link = f'<a href="{ONE}" data-yanked data-core-metadata="sha256={"1" * 64}">{ONE}</a>'
        server.on(PAGE, Reply(headers={"Content-Type": "text/html"}, body=link.encode()))
        (offer,) = ask(index_of(server))
        assert offer.sha256 is None
        assert offer.yanked == ""

    def test_json_metadata_hash_is_not_the_wheels(self, server: FaultServer) -> None:
        server.on(PAGE, page({**entry(), "core-metadata": {"sha256": "1" * 64}}))
        assert ask(index_of(server))[0].sha256 is None

    @pytest.mark.parametrize("claimed", ["abc", "", "g" * 64, "1" * 63], ids=["short", "empty", "not hex", "63"])
    def test_a_hash_that_is_none_is_left_out(self, server: FaultServer, claimed: str) -> None:
        server.on(PAGE, page(entry(hashes={"sha256": claimed, "md5": "0" * 32})))
        assert ask(index_of(server))[0].sha256 is None

    def test_a_local_version_in_the_address(self, server: FaultServer) -> None:
        name = "torch-2.11.0+cu128-cp312-cp312-manylinux_2_28_x86_64.whl"
        server.on("/whl/torch/", html(name, base="/whl/cu128/"))
        (offer,) = ask(index_of(server, path="/whl"), name="torch")
        assert offer.filename == name
        assert offer.location == f"{server.url}/whl/cu128/{name.replace('+', '%2B')}"

    def test_a_list_that_names_folders_in_its_text(self, server: FaultServer) -> None:
        text = "cu121/torch-2.1.0%2Bcu121-cp310-cp310-linux_x86_64.whl"
        body = f'<a href="{text}">{text}</a><a href="cu121/other-1.0-py3-none-any.whl">other…</a>'
        server.on("/whl/stable.html", Reply(headers={"Content-Type": "text/html"}, body=body.encode()))
        index = index_of(server, path="/whl/stable.html", flat=True)
        (offer,) = ask(index, name="torch")
        assert offer.filename == "torch-2.1.0+cu121-cp310-cp310-linux_x86_64.whl"
        assert offer.location == f"{server.url}/whl/{text}"

    @pytest.mark.parametrize(
        "filename",
        ["../thing-1.0-py3-none-any.whl", "thing-1.0-py3-none-any.whl\0", "a/thing-1.0-py3-none-any.whl",
         "thing-1.0-..-none-any.whl/..", f"thing-1.0-py3-none-{'a' * 300}.whl", ".thing-1.0-py3-none-any.whl",
         "thing-1.0\n-py3-none-any.whl", "thing-1.0-py3-none-any.WHL", "thing.whl"],
        ids=["up", "NUL", "folder", "ends up", "long", "hidden", "line", "case", "too few parts"],
    )  # fmt: skip
    def test_names_that_are_none_are_left_out(self, server: FaultServer, filename: str) -> None:
        server.on(PAGE, page({**entry(filename), "url": "/files/x"}, entry()))
        assert [offer.filename for offer in ask(index_of(server))] == [ONE]

    def test_names_are_compared_as_pep_503_says(self, server: FaultServer) -> None:
        server.on("/simple/my-thing/", html("My_Thing-1.0-py3-none-any.whl", "my.thing-2.0-py3-none-any.whl", ONE))
        assert len(ask(index_of(server), name="My.Thing")) == 2

    def test_a_signed_address_is_used_and_not_shown(self, server: FaultServer) -> None:
        server.on(PAGE, page({**entry(), "url": f"/files/{ONE}?X-Amz-Signature=s3cret"}))
        (offer,) = ask(index_of(server))
        assert "s3cret" not in repr(offer)
        assert isinstance(offer.reference, Address)
        assert offer.reference.reveal().endswith("?X-Amz-Signature=s3cret")

    def test_links_to_this_machine_are_left_out(self, server: FaultServer) -> None:
        server.on(PAGE, page({**entry(), "url": "file:///etc/passwd"}, {**entry(), "url": "ftp://127.0.0.1/x"}))
        assert ask(index_of(server)) == []

    def test_one_broken_link_spoils_no_html_page(self, server: FaultServer) -> None:
        body = f'<a href="http://[oops/{ONE}">{ONE}</a><a href="/files/{ONE}">{ONE}</a>'
        server.on(PAGE, Reply(headers={"Content-Type": "text/html"}, body=body.encode()))
        assert len(ask(index_of(server))) == 1

    @pytest.mark.parametrize("charset", ["utf-8", "latin-1", "rot13", "zlib", "nonsense", "idna", '"'])
    def test_what_the_page_says_of_its_letters_is_not_trusted(self, server: FaultServer, charset: str) -> None:
        kind = f"text/html; charset={charset}"
        server.on(PAGE, Reply(headers={"Content-Type": kind}, body=html(ONE).body + b"\xff"))
        assert len(ask(index_of(server))) == 1

    def test_a_base_is_honoured(self, server: FaultServer) -> None:
        body = f'<base href="/else/"><a href="{ONE}">{ONE}</a>'
        server.on(PAGE, Reply(headers={"Content-Type": "text/html"}, body=body.encode()))
        assert ask(index_of(server))[0].location == f"{server.url}/else/{ONE}"

    def test_compressed(self, server: FaultServer) -> None:
        plain = html(ONE)
        server.on(
            PAGE, Reply(headers={**plain.headers, "Content-Encoding": "gzip"}, body=gzip.compress(plain.body))
        )
        assert len(ask(index_of(server))) == 1

    @pytest.mark.parametrize(
        "title", ["Links for thing", "Index of /simple/thing", "Directory listing for /simple/thing/"]
    )
    def test_an_empty_page_is_a_page(self, server: FaultServer, title: str) -> None:
        body = f"<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"
        server.on(PAGE, Reply(headers={"Content-Type": "text/html"}, body=body.encode()))
        assert ask(index_of(server)) == []

    def test_a_newer_minor_version_is_read(self, server: FaultServer) -> None:
        server.on(PAGE, page(entry(), meta={"api-version": "1.99"}))
        assert len(ask(index_of(server))) == 1

    def test_each_page_is_asked_for_once(self, server: FaultServer) -> None:
        server.on(PAGE, html(ONE))
        with SimpleIndexes(Sources(indexes=(index_of(server),)), timeouts=QUICK) as found:
            threads = [threading.Thread(target=found.offers, args=("Thing",)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert server.times(PAGE) == 1

    def test_a_query_of_the_index_goes_along(self, server: FaultServer) -> None:
        server.on("/simple/thing/?token=t", html(ONE))
        assert len(ask(index_of(server, path="/simple?token=t"))) == 1


class TestBadPages:
    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            (Reply(body=b"<h1>Down for maintenance</h1>"), "names no files"),
            (Reply(body=b'<a href="/login">Log in</a>'), "names no files"),
            (Reply(body=b""), "names no files"),
            (Reply(headers={"Content-Type": "image/png"}, body=b"\x89PNG"), "image/png"),
            (Reply(headers=JSON, body=b"<html>"), "JSON"),
            (Reply(headers=JSON, body=b"[" * 100_000), "JSON"),
            (Reply(headers=JSON, body=b"[]"), "JSON"),
            (Reply(headers=JSON, body=b"\xff\xfe"), "JSON"),
            (page({"filename": ONE}), r"JSON: files\.0\.url"),
            (page(meta={"api-version": "2.0"}), "newer kind"),
            (Reply(headers={"Content-Type": "text/html"},
                   body=b'<meta name="pypi:repository-version" content="2.0">'), "newer kind"),
            (Reply(headers={"Content-Type": "text/html", "Content-Encoding": "br"}, body=b"x"), "encoded as br"),
            (Reply(headers={"Content-Type": "text/html", "Content-Encoding": "gzip"}, body=b"x" * 99), "not gzip"),
            (Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b"x" * 99)[:-9]), "ends too early"),
            (Reply(400), "answers 400"),
            (Reply(304), "answers 304"),
            (Reply(206, body=b"x"), "answers 206"),
        ],
        ids=["error page", "login page", "nothing", "image", "HTML as JSON", "deep", "array", "not UTF-8",
             "no url", "JSON version 2", "HTML version 2", "br", "not gzip", "gzip cut", "400",
             "304", "206"],
    )  # fmt: skip
    def test_is_an_answer_that_cannot_be_used(self, server: FaultServer, reply: Reply, reason: str) -> None:
        server.on(PAGE, reply)
        with pytest.raises(IndexAnswerError, match=f"index default.*{reason}") as raised:
            ask(index_of(server))
        assert raised.value.where
        assert server.times(PAGE) == 1, "another try would bring the same"

    def test_the_libraries_message_is_not_shown(self, server: FaultServer) -> None:
        server.on(PAGE, page({"filename": ONE, "url": ["https://h/?token=s3cret"], "hashes": {}}))
        with pytest.raises(IndexAnswerError) as raised:
            ask(index_of(server))
        assert "s3cret" not in f"{raised.value} {raised.value.where}"

    def test_too_many_files(self, server: FaultServer) -> None:
        for reply in (page(*[entry()] * 11), html(*[ONE] * 11)):
            server.on(PAGE, reply)
            with pytest.raises(IndexAnswerError, match="more than 10 files"):
                ask(index_of(server), caps=Caps(entries=10))

    def test_two_gigabytes_are_not_taken_in(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(headers={"Content-Type": "text/html"}, zeros=2 << 30))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(IndexAnswerError, match="longer than"):
            ask(index_of(server))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        assert server.sent < 200 << 20
        assert grown < 200, "MiB"

    def test_a_compression_bomb(self, server: FaultServer) -> None:
        bomb = gzip.compress(bytes(50 << 20))
        assert len(bomb) < 100_000
        server.on(PAGE, Reply(headers={"Content-Type": "text/html", "Content-Encoding": "gzip"}, body=bomb))
        with pytest.raises(IndexAnswerError, match="longer than 1000000"):
            ask(index_of(server), caps=Caps(page=1_000_000))

    def test_html_that_is_slow_to_parse(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(headers={"Content-Type": "text/html"}, body=b"<a>x" * 100_000))
        with pytest.raises(IndexAnswerError, match="too long to read"):
            ask(index_of(server), caps=Caps(parse=0.2))

    def test_a_header_of_a_megabyte(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(headers={"X-Large": "x" * (1 << 20)}))
        with pytest.raises(IndexUnreachableError, match="asked 3 times"):
            ask(index_of(server))


class TestStatus:
    def test_404_is_no_error(self, server: FaultServer) -> None:
        assert ask(index_of(server)) == []
        assert server.times(PAGE) == 1

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (401, "wants a user"),
            (403, r"refuses it \(403\)"),
            (410, r"hasn't got it any more \(410\)"),
            (418, "answers 418"),
        ],
    )
    def test_others_are_named_at_once(self, server: FaultServer, status: int, words: str) -> None:
        server.on(PAGE, Reply(status))
        with pytest.raises(IndexAnswerError, match=f"index default, asked for thing, {words}"):
            ask(index_of(server))
        assert server.times(PAGE) == 1

    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
    def test_twice_then_good(self, server: FaultServer, status: int) -> None:
        server.on(PAGE, Reply(status), Reply(status), html(ONE))
        pauses: list[float] = []
        assert len(ask(index_of(server), pauses=pauses)) == 1
        assert len(pauses) == 2

    def test_for_ever(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(500))
        with pytest.raises(IndexUnreachableError, match=r"answers 500 \(asked 3 times\)"):
            ask(index_of(server))
        assert server.times(PAGE) == 3

    @pytest.mark.parametrize(
        ("header", "least", "most"),
        [("0", 0, 0), ("5", 5, 5), ("1000000000", 60, 60), ("9" * 400, 60, 60), ("soon", 0, 8), ("-1", 0, 8),
         ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0), ("Fri, 31 Dec 9999 23:59:59 GMT", 60, 60), ("", 0, 8),
         ("Wed, 99 Oct 2015 07:28:00 GMT", 0, 8), ("1e9", 0, 8), ("Wed, 21 Oct 2015 07:28:00 -0000", 0, 0)],
    )  # fmt: skip
    def test_retry_after(self, server: FaultServer, header: str, least: float, most: float) -> None:
        server.on(PAGE, Reply(429, headers={"Retry-After": header}), html(ONE))
        pauses: list[float] = []
        timeouts = Timeouts(page=1000)
        assert len(ask(index_of(server), pauses=pauses, timeouts=timeouts)) == 1
        assert len(pauses) == 1
        assert least <= pauses[0] <= most

    def test_a_wait_beyond_the_deadline_is_not_begun(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(429, headers={"Retry-After": "30"}), html(ONE))
        pauses: list[float] = []
        with pytest.raises(IndexUnreachableError, match="answers 429"):
            ask(index_of(server), pauses=pauses)
        assert pauses == []


class TestConnections:
    def test_refused(self) -> None:
        with FaultServer() as gone:
            pass
        with pytest.raises(IndexUnreachableError, match=r"the connection is refused \(asked 3 times\)"):
            ask(index_of(gone))

    def test_reset_then_good(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(raw=b""), Reply(raw=b"HTTP/1.1 200"), html(ONE))
        assert len(ask(index_of(server))) == 1
        assert server.times(PAGE) == 3

    def test_not_http(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(raw=b"SSH-2.0-OpenSSH_9.9\r\n"))
        with pytest.raises(IndexUnreachableError):
            ask(index_of(server))

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(headers={"Content-Type": "text/html"}, body=b"<h1>Links for", length=1000),
            Reply(headers={"Transfer-Encoding": "chunked"}, length=-1, body=b"5\r\n<h1>L\r\n", cut=10),
            Reply(headers={"Transfer-Encoding": "chunked"}, length=-1, body=b"zz\r\nrubbish", cut=11),
        ],
        ids=["length", "chunks", "not chunks"],
    )
    def test_a_body_that_breaks_off_then_good(self, server: FaultServer, reply: Reply) -> None:
        server.on(PAGE, reply, html(ONE))
        assert len(ask(index_of(server))) == 1
        assert server.times(PAGE) == 2

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(raw=b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 60_000, drip=0.02),
            Reply(headers={"Content-Type": "text/html"}, body=b"<html>" + b" " * 60_000, drip=0.02),
            Reply(headers={"Transfer-Encoding": "chunked"}, length=-1, body=b"0" * 60_000, drip=0.02),
        ],
        ids=["headers", "body", "chunk length"],
    )
    def test_a_slow_drip_is_given_up(self, server: FaultServer, reply: Reply) -> None:
        server.on(PAGE, reply)
        timeouts = Timeouts(read=5, answer=0.3, page=0.8, attempts=2)
        with pytest.raises(IndexUnreachableError, match="in time"):
            ask(index_of(server), timeouts=timeouts)
        assert server.sent < 10_000

    def test_nothing_comes(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(raw=b"H" * 100, drip=30))
        with pytest.raises(IndexUnreachableError, match="nothing came for too long"):
            ask(index_of(server), timeouts=Timeouts(read=0.1, attempts=1))

    def test_a_name_that_is_not_known(self) -> None:
        index = NamedIndex("default", Address("http://nowhere.invalid/simple/"))
        with pytest.raises(IndexUnreachableError, match="its name is not known"):
            ask(index)

    @pytest.mark.parametrize("address", ["http://127.0.0.1:99999/", "http://.x/", "http://a b/", "http://%zz:x/"])
    def test_an_address_that_cannot_be_used(self, address: str) -> None:
        with pytest.raises(EnvguardError):
            ask(NamedIndex("default", Address(address)), timeouts=Timeouts(attempts=1))


class TestRedirects:
    def test_are_followed(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(302, headers={"Location": "/a/"}))
        server.on("/a/", Reply(307, headers={"Location": f"{server.url}/b/c/"}))
        server.on("/b/c/", html(ONE, base="../"))
        assert ask(index_of(server))[0].location == f"{server.url}/b/{ONE}", "relative to where it is"

    def test_a_loop_ends(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(301, headers={"Location": PAGE}))
        with pytest.raises(IndexAnswerError, match="more than 10 redirects"):
            ask(index_of(server))
        assert server.times(PAGE) == 11

    def test_ten_hops_are_followed_and_eleven_not(self, server: FaultServer) -> None:
        for number in range(11):
            server.on(f"/{number}/", Reply(302, headers={"Location": f"/{number + 1}/"}))
        server.on("/11/", html(ONE))
        server.on("/first/thing/", Reply(302, headers={"Location": "/2/"}))
        assert len(ask(index_of(server, path="/first/"))) == 1
        server.on("/first/thing/", Reply(302, headers={"Location": "/1/"}))
        with pytest.raises(IndexAnswerError, match="more than 10"):
            ask(index_of(server, path="/first/"))

    @pytest.mark.parametrize(
        ("location", "reason"),
        [
            ("file:///etc/passwd", "a file address"),
            ("ftp://127.0.0.1/x", "a ftp address"),
            ("http://169.254.169.254/latest/", "link-local"),
            ("http://[fe80::1]/", "link-local"),
            ("http://[::ffff:169.254.1.1]/", "link-local"),
            ("javascript:alert(1)", "javascript"),
            ("http://[oops/", "an address that can't be used"),
        ],
    )
    def test_where_they_must_not_lead(self, server: FaultServer, location: str, reason: str) -> None:
        server.on(PAGE, Reply(302, headers={"Location": location}))
        with pytest.raises(IndexAnswerError, match=reason):
            ask(index_of(server))
        assert server.times(PAGE) == 1

    def test_without_a_location(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(302))
        with pytest.raises(IndexAnswerError, match="answers 302"):
            ask(index_of(server))


class TestCredentials:
    def with_user(self, server: FaultServer, path: str = "/simple/") -> NamedIndex:
        return NamedIndex("private", Address(f"http://user:p%40ss@{server.authority}{path}"))

    def test_the_addresses_own_are_sent(self, server: FaultServer) -> None:
        server.on(PAGE, html(ONE))
        (offer,) = ask(self.with_user(server))
        assert server.asked[0].headers["authorization"] == "Basic dXNlcjpwQHNz"
        assert "p%40ss" not in repr(offer) and "p@ss" not in repr(offer)

    def test_they_do_not_go_to_another_origin(self, server: FaultServer) -> None:
        with FaultServer() as other:
            server.on(PAGE, Reply(302, headers={"Location": f"http://user:p%40ss@{other.authority}/there/"}))
            other.on("/there/", html(ONE))
            assert len(ask(self.with_user(server))) == 1
            assert other.times("/there/") == 1
            assert "authorization" not in other.asked[0].headers

    def test_they_stay_within_the_origin(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(302, headers={"Location": "/there/"}))
        server.on("/there/", html(ONE))
        ask(self.with_user(server))
        assert "authorization" in server.asked[1].headers

    def test_netrc_for_its_host_and_never_its_default(
        self, server: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.on(PAGE, html(ONE))
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        (tmp_path / "netrc").write_text("default login all password everywhere\n")
        ask(index_of(server))
        (tmp_path / "netrc").write_text("machine 127.0.0.1 login user password p@ss\n")
        ask(index_of(server))
        assert [asked.headers.get("authorization") for asked in server.asked] == [None, "Basic dXNlcjpwQHNz"]

    @pytest.mark.parametrize("content", ["machine", "\xff", "machine 127.0.0.1 login"], ids=["cut", "odd", "half"])
    def test_a_broken_netrc_counts_as_none(
        self, server: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
    ) -> None:
        server.on(PAGE, html(ONE))
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        (tmp_path / "netrc").write_bytes(content.encode("latin-1"))
        assert len(ask(index_of(server))) == 1

    def test_cookies_are_not_kept(self, server: FaultServer) -> None:
        server.on(PAGE, Reply(302, headers={"Location": "/there/", "Set-Cookie": "session=s3cret; Path=/"}))
        server.on("/there/", html(ONE))
        ask(index_of(server))
        assert "cookie" not in server.asked[1].headers

    @pytest.mark.parametrize(
        "reply",
        [Reply(401), Reply(403), Reply(500), Reply(raw=b""), Reply(302, headers={"Location": "ftp://u:s3cret@h/?s3cret"}),
         Reply(302, headers={"Location": "http://u:s3cret@127.0.0.1:1/?t=s3cret"}), Reply(body=b"s3cret"),
         Reply(raw=b"HTTP/1.1 999 s3cret\r\n\r\n"), Reply(raw=b"s3cret\r\n\r\n")],
        ids=["401", "403", "500", "cut", "ftp", "refused", "error page", "999", "not HTTP"],
    )  # fmt: skip
    def test_no_error_shows_a_secret(self, server: FaultServer, reply: Reply) -> None:
        path = "/simple/thing/?token=s3cret"
        server.on(path, reply)
        index = NamedIndex(
            "private", Address(f"http://s3cret:s3cret@{server.authority}/simple/?token=s3cret#s3cret")
        )
        with pytest.raises(EnvguardError) as raised:
            ask(index)
        assert server.times(path) >= 1
        error = raised.value
        assert "s3cret" not in f"{error} {error!r} {error.where} {error.hint} {index!r}"
        assert "s3cret" not in "".join(traceback.format_exception(error))


class TestSeveralSources:
    def test_folders_first_then_indexes_in_order(self, server: FaultServer, tmp_path: Path) -> None:
        wheel(tmp_path, "thing", "1.0", {"thing.py": "x = 1"})
        wheel(tmp_path, "other", "1.0", {"other.py": ""})
        server.on("/a/thing/", html(ONE))
        server.on("/b/thing/", html(ONE))
        indexes = (index_of(server, "b", "/b/"), index_of(server, "a", "/a/"))
        with SimpleIndexes(Sources((tmp_path,), indexes)) as found:
            offers = found.offers("thing")
        assert [offer.source for offer in offers] == ["find-links", "b", "a"]
        assert offers[0].location == str(tmp_path / ONE)
        assert offers[0].size == (tmp_path / ONE).stat().st_size

    def test_one_that_fails_is_passed_over_and_told(self, server: FaultServer) -> None:
        server.on("/a/thing/", Reply(403))
        server.on("/b/thing/", html(ONE))
        indexes = (index_of(server, "a", "/a/"), index_of(server, "b", "/b/"))
        with SimpleIndexes(Sources(indexes=indexes), timeouts=QUICK) as found:
            assert [offer.source for offer in found.offers("thing")] == ["b"]
            assert ["index a" in str(error) for error in found.troubles("thing")] == [True]
            assert found.troubles("other") == ()

    def test_the_first_error_is_raised_when_nothing_is_found(self, server: FaultServer) -> None:
        server.on("/a/thing/", Reply(403))
        with pytest.raises(IndexAnswerError, match="index a"):
            ask(index_of(server, "a", "/a/"), index_of(server, "b", "/b/"))


class TestLocalIndexes:
    def folder(self, tmp_path: Path) -> NamedIndex:
        return NamedIndex("local", Address((tmp_path / "sim ple").as_uri()))

    def test_a_folder_with_pages(self, tmp_path: Path) -> None:
        project = tmp_path / "sim ple" / "thing"
        project.mkdir(parents=True)
        (tmp_path / "files").mkdir()
        path = wheel(tmp_path / "files", "thing", "1.0", {"thing.py": ""})
        hashed = digest("x")
        (project / "index.html").write_text(f'<a href="../../files/{ONE}#sha256={hashed.hex}">{ONE}</a>')
        (offer,) = ask(self.folder(tmp_path))
        assert (offer.filename, offer.source, offer.sha256) == (ONE, "local", hashed)
        assert Path(offer.location).resolve() == path

    def test_a_folder_without_pages(self, tmp_path: Path) -> None:
        project = tmp_path / "sim ple" / "thing"
        project.mkdir(parents=True)
        wheel(project, "thing", "1.0", {"thing.py": ""})
        assert len(ask(self.folder(tmp_path))) == 1
        assert ask(self.folder(tmp_path), name="other") == []

    def test_a_flat_folder(self, tmp_path: Path) -> None:
        wheel(tmp_path, "thing", "1.0", {"thing.py": ""})
        assert len(ask(NamedIndex("local", Address(tmp_path.as_uri()), flat=True))) == 1

    def test_a_page_that_is_none(self, tmp_path: Path) -> None:
        project = tmp_path / "sim ple" / "thing"
        project.mkdir(parents=True)
        (project / "index.html").write_text("<h1>oops</h1>")
        with pytest.raises(IndexAnswerError, match="index local"):
            ask(self.folder(tmp_path))
        (project / "index.html").write_bytes(bytes(11))
        with pytest.raises(IndexAnswerError, match="longer than 10"):
            ask(self.folder(tmp_path), caps=Caps(page=10))

    def test_find_links_that_are_a_wheel_a_page_or_nothing(self, tmp_path: Path) -> None:
        path = wheel(tmp_path, "thing", "1.0", {"thing.py": ""})
        (tmp_path / "list.html").write_text(f'<a href="{ONE}">{ONE}</a>')
        links = (path, tmp_path / "list.html", tmp_path / "nothing")
        with SimpleIndexes(Sources(links)) as found:
            assert [Path(offer.location) for offer in found.offers("thing")] == [path, path]

    def test_a_folder_that_has_a_wheels_name(self, tmp_path: Path) -> None:
        (tmp_path / ONE).mkdir()
        (tmp_path / "thing-2.0-py3-none-any.whl").symlink_to(tmp_path / "gone")
        with SimpleIndexes(Sources((tmp_path,))) as found:
            assert found.offers("thing") == ()
