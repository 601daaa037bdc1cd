"""Wheels of a loopback index, read by ranges: what is asked for, and every way that a server can go wrong."""

from __future__ import annotations

import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters.index import SimpleIndexes
from envguard.adapters.remote.kept import KeptWheels
from envguard.adapters.remote.named import at_address, of_file
from envguard.adapters.remote.reader import SMALL, Wheels
from envguard.errors import (
    EnvguardError,
    IndexAnswerError,
    IndexUnreachableError,
    NotObtainableError,
    UsageError,
    WheelInvalidError,
)
from envguard.formats.record import read_wheel
from envguard.model.digest import Digest
from envguard.model.wheel_facts import EVERYTHING, Part, Says, WheelFacts
from envguard.ports import Offer
from tests import builders
from tests.fakes.fault_server import Asked, FaultServer, Reply, Step
from tests.fakes.index import Silence
from tests.fakes.ranges import bounds, indexes, page, parts, serve

VERSION = "__version__ = '2.11.0+cu130'\ngit_version = '70d99e998b4955e0049d13a98d77ae1b14db1f45'\ncuda = '13.0'\n"


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


def torch_wheel(folder: Path, *, padding: int = 0, files: int = 3, **changes: Any) -> Path:
    """A wheel of torch in small; ``padding``: bytes that can't be packed, at its start."""
    noise = random.Random(1).randbytes(padding)
    contents: dict[str, bytes | str] = {"torch/version.py": VERSION, "torch/lib/libtorch.so": noise}
    contents |= {f"torch/file_{number}.py": f"x = {number}\n" for number in range(files)}
    whole = {
        "metadata": "Requires-Dist: triton==3.6.0; platform_system == 'Linux'\n",
        "tag": "cp312-cp312-linux_x86_64",
    }
    return builders.wheel(folder, "torch", "2.11.0", contents, **{**whole, **changes})


class Shop:
    """An index with one wheel, and a reader of it."""

    def __init__(self, server: FaultServer, tmp_path: Path, wheel: Path, **details: Any) -> None:
        self.server, self.wheel = server, wheel
        self.path = f"/files/{wheel.name}"
        reading = {key: details.pop(key) for key in ("download", "say") if key in details}
        server.on("/default/torch/", page(serve(server, wheel, **details)))
        self.index = indexes(server)
        self.kept = tmp_path / "kept"
        self.reader = Wheels(self.index, progress=Silence(), kept=KeptWheels(self.kept), **reading)

    @property
    def offer(self) -> Offer:
        return self.index.offers("torch")[0]

    def read(self, needed: frozenset[Part] = EVERYTHING) -> WheelFacts:
        return self.reader.read(self.offer, needed)


def test_everything_that_a_wheel_tells(server: FaultServer, tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path, build="3")
    shop = Shop(
        server,
        tmp_path,
        wheel,
        **{"upload-time": "2026-03-23T18:10:31.481495Z", "requires-python": ">=3.10", "yanked": "too new"},
    )
    facts = shop.read()
    content = facts.content
    assert content.torch is not None
    assert (content.torch.build, content.torch.git_commit[:10], content.torch.cuda) == (
        "2.11.0+cu130",
        "70d99e998b",
        "13.0",
    )
    assert (facts.version, facts.build_tag, content.build_tag) == ("2.11.0", "3", "3")
    assert (facts.variant, facts.driver_floor, content.requires) == ("cu130", "580", ("triton==3.6.0",))
    assert (facts.sha256, facts.says) == (Digest.of(wheel.read_bytes()), Says.INDEX)
    assert (facts.size, facts.yanked, facts.requires_python) == (wheel.stat().st_size, "too new", ">=3.10")
    assert facts.uploaded is not None
    assert facts.uploaded.isoformat().startswith("2026-03-23T18:10:31")
    with zipfile.ZipFile(wheel) as archive:
        listings = read_wheel(
            archive.read("torch-2.11.0.dist-info/RECORD"), "torch-2.11.0.dist-info", archive.namelist()
        )
        assert content.files == len(archive.namelist())
    assert [one.record for one in content.fingerprints] == [listings[0].record]
    assert content.rows == listings[0].rows
    assert facts.cost.requests == 1


def test_a_large_wheel_costs_few_requests(server: FaultServer, tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path, padding=8 << 20, files=3000)
    facts = Shop(server, tmp_path, wheel).read()
    assert facts.content.torch is not None
    assert facts.cost.requests == server.times(f"/files/{wheel.name}") <= 4
    assert facts.cost.size < 1 << 20 < wheel.stat().st_size
    assert all("range" in asked.headers for asked in server.asked if "/files/" in asked.path)


def test_only_a_commit_costs_less(server: FaultServer, tmp_path: Path) -> None:
    shop = Shop(server, tmp_path, torch_wheel(tmp_path, padding=8 << 20, files=3000))
    commit = shop.read(frozenset({Part.TORCH})).cost
    shop.kept = tmp_path / "other"
    assert (
        commit.size < Wheels(shop.index, progress=Silence(), kept=KeptWheels(shop.kept)).read(shop.offer).cost.size
    )


def test_what_was_read_is_kept_by_sha256(server: FaultServer, tmp_path: Path) -> None:
    shop = Shop(server, tmp_path, torch_wheel(tmp_path))
    first = shop.read()
    asked = len(server.asked)
    again = shop.read()
    assert again.content == first.content
    assert again.cost.kept
    assert len(server.asked) == asked


def test_parts_that_are_missing_are_added(server: FaultServer, tmp_path: Path) -> None:
    shop = Shop(server, tmp_path, torch_wheel(tmp_path, padding=8 << 20, files=3000))
    assert Part.RECORD not in shop.read(frozenset({Part.TORCH})).content.parts
    whole = shop.read()
    assert whole.content.parts == EVERYTHING
    assert whole.content.torch is not None
    assert shop.read().cost.kept


def test_without_a_hash_the_etag_tells_one_file_from_another(server: FaultServer, tmp_path: Path) -> None:
    shop = Shop(server, tmp_path, torch_wheel(tmp_path, padding=1 << 20), hashed=False)
    assert shop.read().sha256 is None
    before = server.times(shop.path)
    shop.read()
    assert server.times(shop.path) == before + 1
    other = tmp_path / "other"
    other.mkdir()
    replaced = torch_wheel(other, padding=1 << 20, metadata="X: y\n").read_bytes()
    server.on(shop.path, parts(replaced, tag='"two"'))
    assert shop.read().content.requires == ()


def test_without_hash_and_etag_nothing_is_kept(server: FaultServer, tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path)
    shop = Shop(server, tmp_path, wheel, hashed=False)
    server.on(shop.path, parts(wheel.read_bytes(), tag=None))
    shop.read()
    assert not shop.read().cost.kept
    assert not shop.kept.exists()


@pytest.mark.parametrize("damage", [b"", b"{}", b"[1]", b"{" * 5000, b'{"schema": 1, "parts": ["x"]}', b"\xff"])
def test_a_damaged_cache_is_no_cache(server: FaultServer, tmp_path: Path, damage: bytes) -> None:
    shop = Shop(server, tmp_path, torch_wheel(tmp_path))
    right = shop.read()
    (file,) = shop.kept.iterdir()
    file.write_bytes(damage)
    assert shop.read().content == right.content


def test_a_cache_that_cannot_be_written_is_no_error(server: FaultServer, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("in the way")
    assert Shop(server, tmp_path, torch_wheel(tmp_path)).read().content.torch is not None


def _answer(change: Callable[[Reply, Asked], Reply]) -> Callable[[bytes], Step]:
    """A good server's answer with one thing wrong."""

    def made(content: bytes) -> Step:
        good = parts(content)
        return lambda asked: change(good(asked), asked)

    return made


def _another_offset(reply: Reply, asked: Asked) -> Reply:
    """As many bytes as were asked for, one further on."""
    total = int(reply.headers["Content-Range"].rpartition("/")[2])
    first = (bounds(asked, total) or (0, 0))[0] + 1
    place = f"bytes {first}-{first + len(reply.body) - 1}/{total}"
    return replace(reply, headers={**reply.headers, "Content-Range": place})


def _headers(**changes: str) -> Callable[[Reply, Asked], Reply]:
    return lambda reply, _: replace(
        reply, headers={**reply.headers, **{key.replace("_", "-"): value for key, value in changes.items()}}
    )


FAULTS: dict[str, tuple[Callable[[bytes], Step], type[EnvguardError], str]] = {
    "404": (lambda _: Reply(404), IndexAnswerError, "hasn't got it"),
    "410": (lambda _: Reply(410), IndexAnswerError, "any more"),
    "403": (lambda _: Reply(403), IndexAnswerError, "refuses"),
    "429 for ever": (lambda _: Reply(429, headers={"Retry-After": "1"}), IndexUnreachableError, "429"),
    "500 for ever": (lambda _: Reply(500), IndexUnreachableError, "500"),
    "206 from another offset": (_answer(_another_offset), IndexAnswerError, "another part"),
    "206 without saying which": (_answer(_headers(Content_Range="nonsense")), IndexAnswerError, "without saying"),
    "206 of an unknown total": (
        _answer(_headers(Content_Range="bytes 0-9/*")),
        IndexAnswerError,
        "without saying",
    ),
    "206 that is encoded": (_answer(_headers(Content_Encoding="gzip")), IndexAnswerError, "encoding"),
    "a body that is too long": (
        _answer(lambda reply, _: replace(reply, body=reply.body + b"x")),
        IndexAnswerError,
        "more bytes",
    ),
    "a body that is cut": (
        _answer(lambda reply, _: replace(reply, cut=10)),
        IndexUnreachableError,
        "broke off|ended",
    ),
    "a length that is wrong": (
        _answer(lambda reply, _: replace(reply, length=len(reply.body) + 9)),
        IndexUnreachableError,
        "broke off",
    ),
    "another size than the page's": (
        lambda content: parts(content + b"\0" * 9),
        IndexAnswerError,
        "serves a file of",
    ),
    "another file of that size": (lambda content: parts(bytes(len(content))), IndexAnswerError, "no zip"),
    "a redirect to a file": (
        lambda _: Reply(302, headers={"Location": "file:///etc/passwd"}),
        IndexAnswerError,
        "redirect",
    ),
    "redirects without end": (lambda _: Reply(302, headers={"Location": "?"}), IndexAnswerError, "redirect"),
    "an error page with 206": (
        _answer(lambda reply, _: replace(reply, body=b"<html>".ljust(len(reply.body)))),
        IndexAnswerError,
        "no zip",
    ),
}


@pytest.mark.parametrize("case", FAULTS.values(), ids=FAULTS.keys())
def test_faults(
    server: FaultServer, tmp_path: Path, case: tuple[Callable[[bytes], Step], type[EnvguardError], str]
) -> None:
    step, kind, words = case
    wheel = torch_wheel(tmp_path)
    shop = Shop(server, tmp_path, wheel)
    server.on(shop.path, step(wheel.read_bytes()))
    with pytest.raises(kind, match=words) as caught:
        shop.read()
    assert caught.value.exit_code == 3
    assert server.times(shop.path) > 0
    assert not shop.kept.exists()


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_fault_that_passes(server: FaultServer, tmp_path: Path, status: int) -> None:
    wheel = torch_wheel(tmp_path)
    shop = Shop(server, tmp_path, wheel)
    server.on(shop.path, Reply(status), Reply(status), parts(wheel.read_bytes()))
    facts = shop.read()
    assert facts.content.torch is not None
    assert facts.cost.requests == 3


@pytest.mark.parametrize("change", ["tag", "size", "offset"])
def test_a_file_that_is_replaced_between_requests(server: FaultServer, tmp_path: Path, change: str) -> None:
    wheel = torch_wheel(tmp_path, padding=8 << 20, files=3000)
    shop = Shop(server, tmp_path, wheel)
    content = wheel.read_bytes()
    second = {
        "tag": parts(content, tag='"two"'),
        "size": parts(content + b"\0"),
        "offset": _answer(_another_offset)(content),
    }[change]
    server.on(shop.path, parts(content), second)
    with pytest.raises(IndexAnswerError, match=r"replaced|another part"):
        shop.read()
    assert server.times(shop.path) == 2
    assert not shop.kept.exists()


def test_a_server_without_ranges_from_the_end(server: FaultServer, tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path)
    shop = Shop(server, tmp_path, wheel)

    def step(asked: Asked) -> Reply:
        return Reply(416) if asked.headers["range"].startswith("bytes=-") else parts(wheel.read_bytes())(asked)

    server.on(shop.path, step)
    assert shop.read().content.torch is not None


def test_redirects_are_asked_once(server: FaultServer, tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path, padding=8 << 20, files=3000)
    shop = Shop(server, tmp_path, wheel)
    server.on("/elsewhere", parts(wheel.read_bytes()))
    server.on(shop.path, Reply(302, headers={"Location": f"{server.url}/elsewhere"}))
    assert shop.read().content.torch is not None
    assert server.times(shop.path) == 1


def whole(content: bytes, **details: Any) -> Callable[[Asked], Reply]:
    """A server that sends whole files, whatever is asked for."""
    return lambda _: Reply(body=content, **details)


def test_small_files_of_a_server_without_ranges_are_fetched_and_said(server: FaultServer, tmp_path: Path) -> None:
    wheel, said = torch_wheel(tmp_path), list[str]()
    shop = Shop(server, tmp_path, wheel, say=said.append)
    server.on(shop.path, whole(wheel.read_bytes()))
    facts = shop.read()
    assert (facts.sha256, facts.says) == (Digest.of(wheel.read_bytes()), Says.BYTES)
    assert facts.cost.downloaded
    assert "sends no parts" in said[0]
    assert "fetched whole" in facts.remarks[0]


def test_large_files_of_a_server_without_ranges_only_if_asked_to(server: FaultServer, tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path, padding=SMALL + 1)
    shop = Shop(server, tmp_path, wheel)
    server.on(shop.path, whole(wheel.read_bytes()))
    with pytest.raises(NotObtainableError, match="sends no parts of files") as caught:
        shop.read()
    assert "--download" in (caught.value.hint or "")
    assert server.sent < 4 << 20
    reader = Wheels(shop.index, progress=Silence(), kept=KeptWheels(shop.kept), download=True)
    assert reader.read(shop.offer).says is Says.BYTES


def test_a_whole_file_of_unknown_size_is_not_fetched_unasked(server: FaultServer, tmp_path: Path) -> None:
    shop = Shop(server, tmp_path, torch_wheel(tmp_path), hashed=False)
    server.on(shop.path, whole(b"x" * 1000, length=-1))
    with pytest.raises(NotObtainableError, match="doesn't tell"):
        shop.read()


@pytest.mark.parametrize("content", [b"<html>sorry</html>", b""], ids=["page", "nothing"])
def test_an_error_page_with_200(server: FaultServer, tmp_path: Path, content: bytes) -> None:
    shop = Shop(server, tmp_path, torch_wheel(tmp_path), hashed=False)
    server.on(shop.path, whole(content))
    with pytest.raises(IndexAnswerError, match="no wheel that is read"):
        shop.read()


def test_a_whole_file_that_is_not_the_one_that_is_listed(server: FaultServer, tmp_path: Path) -> None:
    shop = Shop(server, tmp_path, torch_wheel(tmp_path))
    server.on(shop.path, whole(b"x" * 100))
    with pytest.raises(EnvguardError, match=r"serves|ended|longer"):
        shop.read()


def damaged(wheel: Path, change: Callable[[bytes], bytes]) -> Path:
    wheel.write_bytes(change(wheel.read_bytes()))
    return wheel


def test_a_hostile_wheel_is_refused_by_name(server: FaultServer, tmp_path: Path) -> None:
    def bomb(content: bytes) -> bytes:
        changed = bytearray(content)
        place = content.index(b"PK\1\2")
        struct.pack_into("<L", changed, place + 24, 0xF0000000)
        return bytes(changed)

    shop = Shop(server, tmp_path, damaged(torch_wheel(tmp_path), bomb))
    with pytest.raises(IndexAnswerError, match=r"torch-2\.11\.0.*(closer than deflate|two sizes)"):
        shop.read()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"torch/x.py": b""}, "0 dist-info"),
        ({"torch-2.11.0.dist-info/RECORD": b"", "evil-1.dist-info/RECORD": b""}, "2 dist-info"),
        ({"evil-1.dist-info/RECORD": b"", "evil-1.dist-info/METADATA": b""}, "something else"),
        ({"torch-2.11.0.dist-info/METADATA": b"Name: torch\nVersion: 2.11.0\n"}, "it has no (WHEEL|RECORD)"),
        (
            {f"torch-2.11.0.dist-info/{name}": b"\0" for name in ("METADATA", "WHEEL", "RECORD")},
            "can't be read",
        ),
    ],
    ids=["none", "two", "another", "no RECORD", "nonsense"],
)
def test_zips_that_are_no_wheels(server: FaultServer, tmp_path: Path, files: dict[str, bytes], words: str) -> None:
    wheel = tmp_path / "torch-2.11.0-cp312-cp312-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    with pytest.raises(IndexAnswerError, match=words):
        Shop(server, tmp_path, wheel).read()


def test_architectures_by_the_names_of_compiled_files(server: FaultServer, tmp_path: Path) -> None:
    names = ("torch/lib/kernel_sm90a.so", "torch/lib/sm_80/x.h", "torch/x-sm100.cubin", "torch/prism90.so")
    wheel = builders.wheel(tmp_path, "torch", "2.11.0", dict.fromkeys(names, ""))
    assert Shop(server, tmp_path, wheel).read().content.architectures == ("sm_100", "sm_90a")


def test_a_pytorch_style_index(server: FaultServer, tmp_path: Path) -> None:
    """No hashes, %2B, another host's address, a core-metadata hash that is not the wheel's."""
    wheel = builders.wheel(
        tmp_path, "torch", "2.11.0+cu130", {"torch/version.py": VERSION}, tag="cp312-cp312-manylinux_2_28_x86_64"
    )
    coded = wheel.name.replace("+", "%2B")
    server.on(f"/whl/{coded}", parts(wheel.read_bytes()))
    link = (
        f'<a href="/whl/{coded}" data-core-metadata="sha256={"0" * 64}" '
        f'data-dist-info-metadata="sha256={"0" * 64}">{wheel.name}</a>'
    )
    server.on(
        "/default/torch/", Reply(headers={"Content-Type": "text/html"}, body=f"<!DOCTYPE html>{link}".encode())
    )
    with indexes(server) as index:
        facts = Wheels(index, progress=Silence()).read(index.offers("torch")[0])
    assert (facts.version, facts.variant, facts.sha256) == ("2.11.0+cu130", "cu130", None)
    assert facts.size == wheel.stat().st_size
    assert [asked.path for asked in server.asked if "metadata" in asked.path] == []


def reader(server: FaultServer) -> Wheels:
    index: SimpleIndexes = indexes(server)
    return Wheels(index, progress=Silence())


def test_a_file_of_this_machine(server: FaultServer, tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path)
    facts = reader(server).read(of_file(wheel))
    assert (facts.sha256, facts.says, facts.size) == (
        Digest.of(wheel.read_bytes()),
        Says.BYTES,
        wheel.stat().st_size,
    )
    assert server.asked == []


def test_an_address(server: FaultServer, tmp_path: Path) -> None:
    wheel = torch_wheel(tmp_path)
    serve(server, wheel)
    digest = Digest.of(wheel.read_bytes())
    facts = reader(server).read(at_address(f"{server.url}/files/{wheel.name}#sha256={digest.hex}"))
    assert (facts.sha256, facts.says, facts.source) == (digest, Says.INDEX, "address")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("https://example.invalid/", UsageError),
        ("https://example.invalid/x.tar.gz", UsageError),
        ("ftp://example.invalid/x-1-py3-none-any.whl", UsageError),
        ("https://u:p/w@example.invalid/x-1-py3-none-any.whl", UsageError),
        ("file:///nowhere/x-1-py3-none-any.whl", WheelInvalidError),
    ],
)
def test_addresses_that_are_none(text: str, kind: type[EnvguardError]) -> None:
    with pytest.raises(kind) as caught:
        at_address(text)
    assert caught.value.exit_code == 2
    assert "p/w" not in str(caught.value.message)


@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 5000], ids=["empty", "short", "noise"])
def test_files_that_are_no_wheels(server: FaultServer, tmp_path: Path, content: bytes) -> None:
    wheel = tmp_path / "x-1-py3-none-any.whl"
    wheel.write_bytes(content)
    with pytest.raises(WheelInvalidError, match="no wheel that is read") as caught:
        reader(server).read(of_file(wheel))
    assert caught.value.exit_code == 2


def test_paths_that_are_no_wheels(server: FaultServer, tmp_path: Path) -> None:
    with pytest.raises(WheelInvalidError, match="no such file"):
        of_file(tmp_path / "x-1-py3-none-any.whl")
    (tmp_path / "x.whl").touch()
    with pytest.raises(WheelInvalidError, match="filename"):
        of_file(tmp_path / "x.whl")
    folder = tmp_path / "y-1-py3-none-any.whl"
    folder.mkdir()
    with pytest.raises(WheelInvalidError, match="regular file"):
        reader(server).read(of_file(folder))


def test_ranges_of_the_fault_server() -> None:
    assert bounds(Asked("/", {"range": "bytes=-5"}), 20) == (15, 19)
    assert bounds(Asked("/", {"range": "bytes=2-5"}), 20) == (2, 5)
    assert bounds(Asked("/", {}), 20) is None
