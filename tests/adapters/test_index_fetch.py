"""Files of indexes and folders: whole and right, or not at all."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters.index import SimpleIndexes
from envguard.adapters.part import Part
from envguard.adapters.transport import Timeouts
from envguard.errors import (
    EnvguardError,
    IndexAnswerError,
    IndexUnreachableError,
    InUseError,
    NotObtainableError,
    OtherBytesError,
)
from envguard.formats.address import Address
from envguard.formats.index_settings import NamedIndex, Sources
from envguard.model.digest import Digest
from envguard.ports import Offer
from tests.fakes.fault_server import Asked, FaultServer, Reply, Step, ranged
from tests.fakes.index import Silence
from tests.fakes.limits import largest_file

ONE = "thing-1.0-py3-none-any.whl"
FILE = f"/files/{ONE}"
CONTENT = bytes(range(256)) * 2000
RIGHT = Digest.of(CONTENT)
HALF = len(CONTENT) // 2
QUICK = Timeouts(connect=5, read=5, answer=5, page=20, file=20, attempts=3)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "staging"
    folder.mkdir()
    return folder


def offer_of(server: FaultServer, **changes: Any) -> Offer:
    address = Address(f"{server.url}{FILE}")
    whole = Offer(ONE, str(address), "default", RIGHT, len(CONTENT), reference=address)
    return replace(whole, **changes)


def fetch(
    server: FaultServer,
    folder: Path,
    *,
    offer: Offer | None = None,
    expect: Digest | None = RIGHT,
    timeouts: Timeouts = QUICK,
    progress: Silence | None = None,
    pauses: list[float] | None = None,
) -> Path:
    sources = Sources(indexes=(NamedIndex("default", Address(f"{server.url}/simple/")),))
    waited = [] if pauses is None else pauses
    with SimpleIndexes(sources, timeouts=timeouts, pause=waited.append) as indexes:
        return indexes.fetch(offer or offer_of(server), folder, expect=expect, progress=progress or Silence())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def is_right(folder: Path) -> bool:
    return names(folder) == [ONE] and (folder / ONE).read_bytes() == CONTENT


def ranges(server: FaultServer) -> list[str | None]:
    return [asked.headers.get("range") for asked in server.asked if asked.path == FILE]


def cut(after: int = HALF, **headers: str) -> Reply:
    return Reply(headers={"ETag": '"one"', **headers}, body=CONTENT, cut=after)


class TestWhole:
    def test_a_file(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, ranged(CONTENT))
        progress = Silence()
        assert fetch(server, folder, progress=progress) == folder / ONE
        assert is_right(folder)
        assert server.asked[0].headers["accept-encoding"] == "identity"
        assert progress.steps[-1] == (ONE, len(CONTENT), len(CONTENT), "B")
        assert [step[1] for step in progress.steps] == sorted(step[1] for step in progress.steps)

    def test_without_a_length(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(body=CONTENT, length=-1))
        fetch(server, folder)
        assert is_right(folder)

    def test_in_chunks(self, server: FaultServer, folder: Path) -> None:
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(CONTENT), CONTENT)
        server.on(FILE, Reply(headers={"Transfer-Encoding": "chunked"}, body=body, length=-1))
        fetch(server, folder)
        assert is_right(folder)

    def test_through_a_redirect(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(302, headers={"Location": "/blob?signature=x"}))
        server.on("/blob?signature=x", ranged(CONTENT))
        fetch(server, folder)
        assert is_right(folder), "named by the offer, not by where it is"

    def test_the_name_is_not_the_servers(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(headers={"Content-Disposition": "attachment; filename=../evil.whl"}, body=CONTENT))
        fetch(server, folder)
        assert is_right(folder)

    def test_what_is_there_is_taken(self, server: FaultServer, folder: Path) -> None:
        (folder / ONE).write_bytes(CONTENT)
        fetch(server, folder)
        assert server.asked == []

    def test_what_is_there_and_wrong_is_replaced(self, server: FaultServer, folder: Path) -> None:
        (folder / ONE).write_bytes(CONTENT[:-1])
        server.on(FILE, ranged(CONTENT))
        fetch(server, folder)
        assert is_right(folder)

    def test_without_expectation_the_page_must_be_right(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, ranged(CONTENT))
        fetch(server, folder, expect=None)
        fetch(server, folder, expect=None, offer=offer_of(server, sha256=None, size=None))
        assert is_right(folder)

    @pytest.mark.parametrize("size", [1, 10**12], ids=["less", "more"])
    def test_a_wrong_size_on_the_page_does_not_matter_when_the_hash_is_right(
        self, server: FaultServer, folder: Path, size: int
    ) -> None:
        server.on(FILE, ranged(CONTENT))
        fetch(server, folder, offer=offer_of(server, size=size, sha256=None))
        assert is_right(folder)


class TestNames:
    @pytest.mark.parametrize(
        "filename",
        ["../evil-1.0-py3-none-any.whl", "/etc/thing-1.0-py3-none-any.whl", "a/../thing-1.0-py3-none-any.whl",
         "thing-1.0-py3-none-any.whl\0", "..", "", "thing-1.0-py3-none-any.whl/", "thing-1.0-py3-none-any.tar.gz",
         "thing\n-1.0-py3-none-any.whl", f"thing-1.0-py3-none-{'a' * 300}.whl"],
        ids=["up", "absolute", "up inside", "NUL", "dots", "empty", "slash", "no wheel", "line", "long"],
    )  # fmt: skip
    def test_are_refused(self, server: FaultServer, folder: Path, filename: str) -> None:
        with pytest.raises(NotObtainableError, match="filename"):
            fetch(server, folder, offer=offer_of(server, filename=filename))
        assert server.asked == [] and names(folder) == [] and names(folder.parent) == ["staging"]

    def test_offers_of_others_are_refused(self, server: FaultServer, folder: Path) -> None:
        with pytest.raises(NotObtainableError):
            fetch(server, folder, offer=offer_of(server, reference=None))
        assert names(folder) == []


class TestOtherBytes:
    @pytest.mark.parametrize("length", [len(CONTENT), 10, len(CONTENT) + 10], ids=["same", "shorter", "longer"])
    def test_under_the_same_name(self, server: FaultServer, folder: Path, length: int) -> None:
        other = (b"other" * len(CONTENT))[:length]
        server.on(FILE, ranged(other))
        with pytest.raises(OtherBytesError) as raised:
            fetch(server, folder)
        got = Digest.of(other)
        words = f"index default now serves other bytes for {ONE}: expected {RIGHT}, got {got}"
        assert words in str(raised.value)
        assert names(folder) == []
        assert server.times(FILE) == 1

    def test_the_page_and_the_file_disagree(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, ranged(b"other"))
        with pytest.raises(IndexAnswerError, match=f"says {RIGHT} of {ONE} and serves"):
            fetch(server, folder, expect=None)
        assert names(folder) == []

    def test_a_bad_file_that_was_there_is_not_kept(self, server: FaultServer, folder: Path) -> None:
        (folder / ONE).write_bytes(b"bad")
        server.on(FILE, ranged(b"other"))
        with pytest.raises(OtherBytesError):
            fetch(server, folder)
        assert names(folder) == []

    def test_a_length_that_is_too_small(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(body=CONTENT, length=HALF))
        with pytest.raises(OtherBytesError, match=f"{HALF} bytes"):
            fetch(server, folder)
        assert names(folder) == []

    def test_more_than_the_stated_size_is_not_taken(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(body=CONTENT, zeros=1 << 30, length=-1))
        with pytest.raises(IndexAnswerError, match=f"longer than {len(CONTENT)} bytes"):
            fetch(server, folder)
        assert names(folder) == []
        assert server.sent < 100 << 20

    def test_encoded_though_not_asked_for(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(headers={"Content-Encoding": "gzip"}, body=CONTENT))
        with pytest.raises(IndexAnswerError, match="encoded as gzip"):
            fetch(server, folder)
        assert names(folder) == []

    def test_an_error_page_with_status_200(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(headers={"Content-Type": "text/html"}, body=b"<h1>Log in</h1>"))
        with pytest.raises(OtherBytesError):
            fetch(server, folder)
        assert names(folder) == []


class TestStatus:
    @pytest.mark.parametrize(
        ("status", "words"),
        [(404, "hasn't got it"), (410, "hasn't got it any more"), (403, "refuses it"), (401, "wants a user")],
    )
    def test_is_named_at_once(self, server: FaultServer, folder: Path, status: int, words: str) -> None:
        server.on(FILE, Reply(status))
        with pytest.raises(IndexAnswerError, match=f"index default, asked for {ONE}, {words}"):
            fetch(server, folder)
        assert server.times(FILE) == 1
        assert names(folder) == []

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_twice_then_good(self, server: FaultServer, folder: Path, status: int) -> None:
        server.on(FILE, Reply(status, headers={"Retry-After": "7"}), Reply(status), ranged(CONTENT))
        pauses: list[float] = []
        fetch(server, folder, pauses=pauses, timeouts=replace(QUICK, file=1000))
        assert is_right(folder)
        assert pauses[0] == 7 and len(pauses) == 2

    def test_for_ever(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(500))
        with pytest.raises(IndexUnreachableError, match=r"500 \(asked 3 times\)"):
            fetch(server, folder)
        assert names(folder) == []

    def test_refused(self, folder: Path) -> None:
        with FaultServer() as gone:
            pass
        with pytest.raises(IndexUnreachableError, match="refused"):
            fetch(gone, folder)
        assert names(folder) == []

    def test_a_redirect_to_this_machines_files(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(302, headers={"Location": "file:///etc/passwd"}))
        with pytest.raises(IndexAnswerError, match="file address"):
            fetch(server, folder)
        assert names(folder) == []


class TestGoingOn:
    def test_after_a_break(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, cut(), ranged(CONTENT))
        fetch(server, folder)
        assert is_right(folder)
        assert ranges(server) == [None, f"bytes={HALF}-"]
        assert server.asked[1].headers["if-range"] == '"one"'

    def test_in_another_process_later(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, cut())
        with pytest.raises(IndexUnreachableError, match=f"{len(CONTENT)}|broke off"):
            fetch(server, folder, timeouts=replace(QUICK, attempts=1))
        assert names(folder) == [f"{ONE}.part", f"{ONE}.part.json"], "kept, to go on"
        server.on(FILE, ranged(CONTENT))
        fetch(server, folder)
        assert is_right(folder)
        assert ranges(server)[-1] == f"bytes={HALF}-"

    def test_by_time_where_there_is_no_tag(self, server: FaultServer, folder: Path) -> None:
        time = "Wed, 21 Oct 2015 07:28:00 GMT"
        first = Reply(headers={"Last-Modified": time}, body=CONTENT, cut=HALF)
        server.on(FILE, first, ranged(CONTENT, tag=None, modified=time))
        fetch(server, folder)
        assert is_right(folder)
        assert server.asked[1].headers["if-range"] == time

    @pytest.mark.parametrize(
        "headers",
        [{}, {"ETag": 'W/"one"'}, {"ETag": "one"}, {"ETag": '"one'}],
        ids=["none", "weak", "bare", "half"],
    )
    def test_not_without_a_strong_proof(self, server: FaultServer, folder: Path, headers: dict[str, str]) -> None:
        server.on(FILE, Reply(headers=headers, body=CONTENT, cut=HALF), ranged(CONTENT))
        fetch(server, folder)
        assert is_right(folder)
        assert ranges(server) == [None, None]

    def test_many_breaks_are_no_end_while_it_gets_further(self, server: FaultServer, folder: Path) -> None:
        good, step = ranged(CONTENT), 70_000

        def breaking(asked: Asked) -> Reply:
            whole = good(asked)
            return replace(whole, cut=step)

        server.on(FILE, breaking)
        fetch(server, folder)
        assert is_right(folder)
        assert server.times(FILE) == len(CONTENT) // step + 1 > QUICK.attempts

    def test_many_breaks_that_bring_little_are_an_end(self, server: FaultServer, folder: Path) -> None:
        good = ranged(CONTENT)
        server.on(FILE, lambda asked: replace(good(asked), cut=100))
        with pytest.raises(IndexUnreachableError, match="broke off"):
            fetch(server, folder)
        assert server.times(FILE) == 3

    @pytest.mark.parametrize("length", [len(CONTENT) + 1, 10**12], ids=["by one", "by far"])
    def test_a_length_that_is_too_large_for_ever(self, server: FaultServer, folder: Path, length: int) -> None:
        server.on(FILE, Reply(body=CONTENT, length=length))
        with pytest.raises(EnvguardError, match=r"broke off|no room"):
            fetch(server, folder)
        assert names(folder) == []

    def test_a_connection_that_ends_where_no_length_is_told(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(body=CONTENT[:HALF], length=-1), ranged(CONTENT))
        fetch(server, folder)
        assert is_right(folder)


def _other_offset(asked: Asked) -> Reply:
    place = f"bytes {HALF + 1}-{len(CONTENT) - 1}/{len(CONTENT)}"
    return Reply(206, headers={"ETag": '"one"', "Content-Range": place}, body=CONTENT[HALF + 1 :])


def _from_zero(asked: Asked) -> Reply:
    place = f"bytes 0-{len(CONTENT) - 1}/{len(CONTENT)}"
    return Reply(206, headers={"ETag": '"one"', "Content-Range": place}, body=CONTENT)


def _other_total(asked: Asked) -> Reply:
    place = f"bytes {HALF}-{len(CONTENT)}/{len(CONTENT) + 1}"
    return Reply(206, headers={"ETag": '"one"', "Content-Range": place}, body=CONTENT[HALF:] + b"x")


def _other_tag(asked: Asked) -> Reply:
    place = f"bytes {HALF}-{len(CONTENT) - 1}/{len(CONTENT)}"
    return Reply(206, headers={"ETag": '"two"', "Content-Range": place}, body=b"x" * HALF)


def _fewer(asked: Asked) -> Reply:
    place = f"bytes {HALF}-{HALF + 9}/{len(CONTENT)}"
    return Reply(206, headers={"ETag": '"one"', "Content-Range": place}, body=CONTENT[HALF : HALF + 10])


class TestNeverAppendWrong:
    @pytest.mark.parametrize(
        "second",
        [
            _other_offset,
            _from_zero,
            _other_total,
            _other_tag,
            _fewer,
            Reply(206, headers={"ETag": '"one"'}, body=CONTENT[HALF:]),
            Reply(206, headers={"ETag": '"one"', "Content-Range": "rubbish"}, body=CONTENT[HALF:]),
            Reply(206, headers={"Content-Range": f"bytes {HALF}-{len(CONTENT) - 1}/*"}, body=CONTENT[HALF:]),
            Reply(206, headers={"Content-Type": "multipart/byteranges; boundary=x"}, body=b"--x\r\n"),
            Reply(416, headers={"Content-Range": "bytes */1"}),
        ],
        ids=["other offset", "from zero", "other total", "other tag", "fewer", "no range", "rubbish", "no total",
             "multipart", "416"],
    )  # fmt: skip
    def test_the_second_answer_does_not_go_on(self, server: FaultServer, folder: Path, second: Step) -> None:
        server.on(FILE, cut(), second, ranged(CONTENT))
        fetch(server, folder)
        assert is_right(folder)
        assert ranges(server) == [None, f"bytes={HALF}-", None], "it was asked for again, from zero"

    @pytest.mark.parametrize(
        "second",
        [Reply(headers={"ETag": '"one"'}, body=CONTENT), ranged(CONTENT, tag='"two"')],
        ids=["ranges are not known", "tag changed"],
    )
    def test_200_starts_anew(self, server: FaultServer, folder: Path, second: Step) -> None:
        server.on(FILE, cut(), second)
        fetch(server, folder)
        assert is_right(folder)
        assert ranges(server) == [None, f"bytes={HALF}-"]

    @pytest.mark.parametrize("step", [_from_zero, Reply(416)], ids=["206", "416"])
    def test_what_was_not_asked_for(self, server: FaultServer, folder: Path, step: Step) -> None:
        server.on(FILE, step)
        with pytest.raises(IndexAnswerError):
            fetch(server, folder)
        assert names(folder) == []

    def test_the_file_changed_between(self, server: FaultServer, folder: Path) -> None:
        other = b"y" * len(CONTENT)
        server.on(FILE, cut(), ranged(other, tag='"two"'))
        with pytest.raises(OtherBytesError, match=str(Digest.of(other))):
            fetch(server, folder)
        assert names(folder) == []

    def test_a_part_that_was_damaged_is_fetched_once_more(self, server: FaultServer, folder: Path) -> None:
        self.leave(folder, server, b"z" * HALF)
        server.on(FILE, ranged(CONTENT))
        fetch(server, folder)
        assert is_right(folder)
        assert ranges(server) == [f"bytes={HALF}-", None]

    def test_and_only_once(self, server: FaultServer, folder: Path) -> None:
        self.leave(folder, server, b"z" * HALF)
        server.on(FILE, ranged(b"y" * len(CONTENT)))
        with pytest.raises(OtherBytesError):
            fetch(server, folder)
        assert server.times(FILE) == 2
        assert names(folder) == []

    def test_a_part_that_was_whole_is_not_fetched_again(self, server: FaultServer, folder: Path) -> None:
        self.leave(folder, server, CONTENT)
        fetch(server, folder)
        assert is_right(folder)
        assert server.asked == []

    def test_a_part_from_another_place(self, server: FaultServer, folder: Path) -> None:
        self.leave(folder, server, CONTENT[:HALF], location="http://elsewhere/file")
        server.on(FILE, ranged(CONTENT))
        fetch(server, folder)
        assert is_right(folder)
        assert ranges(server) == [None]

    @pytest.mark.parametrize(
        "memo",
        [b"", b"[]", b'{"location": 1, "validator": 2, "total": 3}', b"{", b"\xff", b"[" * 50_000],
        ids=["empty", "array", "numbers", "cut", "not UTF-8", "deep"],
    )
    def test_a_part_that_does_not_say_whose_it_is(self, server: FaultServer, folder: Path, memo: bytes) -> None:
        self.leave(folder, server, CONTENT[:HALF])
        (folder / f"{ONE}.part.json").write_bytes(memo)
        server.on(FILE, ranged(CONTENT))
        fetch(server, folder)
        assert is_right(folder)
        assert ranges(server) == [None]

    def leave(self, folder: Path, server: FaultServer, content: bytes, location: str | None = None) -> None:
        (folder / f"{ONE}.part").write_bytes(content)
        memo = {"location": location or f"{server.url}{FILE}", "validator": '"one"', "total": len(CONTENT)}
        (folder / f"{ONE}.part.json").write_text(json.dumps(memo))

    def test_what_is_remembered_holds_no_secret(self, server: FaultServer, folder: Path) -> None:
        address = Address(f"http://user:s3cret@{server.authority}{FILE}?signature=s3cret")
        server.on(f"{FILE}?signature=s3cret", cut())
        with pytest.raises(IndexUnreachableError) as raised:
            offer = offer_of(server, reference=address)
            fetch(server, folder, offer=offer, timeouts=replace(QUICK, attempts=1))
        assert "s3cret" not in (folder / f"{ONE}.part.json").read_text() + f"{raised.value} {raised.value.where}"


class TestSlow:
    def test_fewer_bytes_than_the_least_rate(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(body=CONTENT, drip=0.01))
        timeouts = replace(QUICK, rate=10_000, rate_window=0.2, attempts=2)
        with pytest.raises(IndexUnreachableError, match=r"bytes a second came \(asked 2 times\)"):
            fetch(server, folder, timeouts=timeouts)
        assert server.sent < len(CONTENT)
        assert names(folder) == []

    def test_a_slow_gain_does_not_hold_us(self, server: FaultServer, folder: Path) -> None:
        good = ranged(CONTENT)
        server.on(FILE, lambda asked: replace(good(asked), drip=0.0005))
        timeouts = replace(QUICK, rate=10**9, rate_window=0.05, attempts=2)
        with pytest.raises(IndexUnreachableError):
            fetch(server, folder, timeouts=timeouts)
        assert server.times(FILE) == 2

    def test_the_whole_time_is_limited(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(body=CONTENT, drip=0.01))
        with pytest.raises(IndexUnreachableError, match="not whole in time"):
            fetch(server, folder, timeouts=replace(QUICK, file=0.3))
        assert server.times(FILE) == 1

    def test_headers_that_drip(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(raw=b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 60_000, drip=0.02))
        with pytest.raises(IndexUnreachableError, match="no answer in time"):
            fetch(server, folder, timeouts=replace(QUICK, answer=0.3, attempts=1))
        assert names(folder) == []


class TestDisk:
    def test_no_room_while_it_comes(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, ranged(CONTENT))
        with largest_file(HALF), pytest.raises(EnvguardError, match=r"needs 512\.0 kB, has ") as raised:
            fetch(server, folder)
        assert raised.value.exit_code == 3 and raised.value.hint
        assert names(folder) == []
        assert server.times(FILE) == 1, "no second try"

    def test_no_room_is_seen_before_it_comes(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, Reply(body=CONTENT, length=10**17))
        with pytest.raises(EnvguardError, match=r"no room for .*: needs 100000\.0 TB, has "):
            fetch(server, folder)
        assert names(folder) == []

    @pytest.mark.parametrize("call", ["write", "ftruncate"])
    def test_every_call_is_checked(
        self, server: FaultServer, folder: Path, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        server.on(FILE, ranged(CONTENT))
        fired = []

        def failing(*_: object) -> None:
            fired.append(call)
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, call, failing)
        with pytest.raises(EnvguardError, match="can't be written"):
            fetch(server, folder)
        monkeypatch.undo()
        assert fired and names(folder) == []

    def test_no_such_folder(self, server: FaultServer, folder: Path) -> None:
        with pytest.raises(EnvguardError, match="No such file"):
            fetch(server, folder / "missing")

    def test_a_link_is_not_written_through(self, server: FaultServer, folder: Path, tmp_path: Path) -> None:
        server.on(FILE, ranged(CONTENT))
        (tmp_path / "precious").write_text("precious")
        (folder / f"{ONE}.part").symlink_to(tmp_path / "precious")
        with pytest.raises(EnvguardError, match="can't be written"):
            fetch(server, folder)
        assert (tmp_path / "precious").read_text() == "precious"

    def test_a_link_in_the_files_place_is_replaced(
        self, server: FaultServer, folder: Path, tmp_path: Path
    ) -> None:
        server.on(FILE, ranged(CONTENT))
        (tmp_path / "precious").write_text("precious")
        (folder / ONE).symlink_to(tmp_path / "precious")
        fetch(server, folder)
        assert (tmp_path / "precious").read_text() == "precious"
        assert not (folder / ONE).is_symlink() and is_right(folder)

    @pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "folder"])
    def test_something_else_in_the_parts_place(self, server: FaultServer, folder: Path, make: Any) -> None:
        make(folder / f"{ONE}.part")
        with pytest.raises(EnvguardError):
            fetch(server, folder)

    def test_two_at_once(self, server: FaultServer, folder: Path) -> None:
        server.on(FILE, ranged(CONTENT))
        with Part(folder, ONE).held(), pytest.raises(InUseError, match=ONE):
            fetch(server, folder)
        fetch(server, folder)
        assert is_right(folder)


class TestLocal:
    def local(self, tmp_path: Path, content: bytes = CONTENT) -> tuple[SimpleIndexes, Offer]:
        source = tmp_path / "wheels"
        source.mkdir(exist_ok=True)
        (source / ONE).write_bytes(content)
        indexes = SimpleIndexes(Sources((source,)))
        return indexes, indexes.offers("thing")[0]

    @pytest.mark.parametrize("expect", [RIGHT, None], ids=["expected", "whatever it is"])
    def test_a_copy_that_shares_nothing(self, tmp_path: Path, folder: Path, expect: Digest | None) -> None:
        indexes, offer = self.local(tmp_path)
        progress = Silence()
        path = indexes.fetch(offer, folder, expect=expect, progress=progress)
        assert is_right(folder)
        assert path.stat().st_nlink == 1 and not path.samefile(offer.location)
        assert progress.steps[-1] == (ONE, len(CONTENT), len(CONTENT), "B")

    def test_other_bytes(self, tmp_path: Path, folder: Path) -> None:
        indexes, offer = self.local(tmp_path, b"other")
        with pytest.raises(OtherBytesError, match=f"find-links has other bytes for {ONE}: expected {RIGHT}, got"):
            indexes.fetch(offer, folder, expect=RIGHT, progress=Silence())
        assert names(folder) == []
        assert Path(offer.location).read_bytes() == b"other", "the source is not ours to remove"

    def test_in_the_same_folder(self, tmp_path: Path) -> None:
        indexes, offer = self.local(tmp_path, b"other")
        with pytest.raises(OtherBytesError):
            indexes.fetch(offer, tmp_path / "wheels", expect=RIGHT, progress=Silence())
        assert names(tmp_path / "wheels") == [ONE]
        path = indexes.fetch(offer, tmp_path / "wheels", expect=Digest.of(b"other"), progress=Silence())
        assert path.read_bytes() == b"other"

    def test_gone_meanwhile(self, tmp_path: Path, folder: Path) -> None:
        indexes, offer = self.local(tmp_path)
        Path(offer.location).unlink()
        with pytest.raises(IndexUnreachableError, match="No such file"):
            indexes.fetch(offer, folder, expect=RIGHT, progress=Silence())
        assert names(folder) == []

    def test_something_else_meanwhile(self, tmp_path: Path, folder: Path) -> None:
        indexes, offer = self.local(tmp_path)
        Path(offer.location).unlink()
        os.mkfifo(offer.location)
        with pytest.raises(IndexUnreachableError, match="no regular file"):
            indexes.fetch(offer, folder, expect=RIGHT, progress=Silence())
        assert names(folder) == []

    def test_a_local_page_that_is_wrong(self, tmp_path: Path, folder: Path) -> None:
        self.local(tmp_path, b"other")
        page = tmp_path / "wheels" / "list.html"
        page.write_text(f'<a href="{ONE}#sha256={RIGHT.hex}">{ONE}</a>')
        indexes = SimpleIndexes(Sources((page,)))
        with pytest.raises(IndexAnswerError):
            indexes.fetch(indexes.offers("thing")[0], folder, expect=None, progress=Silence())
        assert names(folder) == []
