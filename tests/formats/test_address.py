"""Addresses: what is shown, what is used, what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from envguard.formats.address import Address

WHOLE = "https://user:s3cret@Example.org:443/simple/?token=s3cret#s3cret"


def test_nothing_prints_the_secret() -> None:
    address = Address.parse(WHOLE)
    shown = [str(address), repr(address), f"{address}", f"{address!r}", f"{[address]}"]
    assert not any("s3cret" in text or "user" in text for text in shown)
    assert str(address) == "https://example.org/simple/"


def test_it_can_be_used() -> None:
    address = Address.parse(WHOLE)
    assert address.reveal() == WHOLE
    assert address.bare == "https://example.org/simple/?token=s3cret"
    assert address.userinfo == "user:s3cret"
    assert address.origin == ("https", "example.org")
    assert address.with_userinfo("a:b").userinfo == "a:b"
    assert str(address.with_userinfo("a:b")) == str(address)
    assert address == Address.parse(WHOLE) and hash(address) == hash(Address.parse(WHOLE))
    assert pickle.loads(pickle.dumps(address)) == address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://h:8080", "http://h:8080"),
        ("http://h:80/", "http://h/"),
        ("https://h:80/", "https://h:80/"),
        ("HTTPS://H/Path", "https://h/Path"),
        ("https://[::1]:8443/x", "https://[::1]:8443/x"),
        ("https://token@h/x", "https://h/x"),
        ("https://a:b:c@@h/x", "https://h/x"),
        ("https://%40%2F:x@h/%40", "https://h/%40"),
        ("file:///a%20b/c", "file:///a%20b/c"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert str(Address.parse(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "https://user/s3cret:x@h/",
        "https://user:s3c/ret@h/",
        "https://s3cret?x@h/",
        "https://s3cret#x@h/",
        "https://user:s3cret",
        "user:s3cret@h/simple",
        "s3cret@h/simple",
        "//s3cret@h/simple",
        "ftp://s3cret@h/",
        "git+ssh://s3cret@h/",
        "https://",
        "https://s3cret@",
        "https:///s3cret",
        "https://h s3cret/",
        "https://h/\ns3cret",
        "https://h/\0s3cret",
        "file://s3cret/share",
        "",
    ],
)
def test_what_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ValueError) as raised:
        Address.parse(text)
    assert "s3cret" not in str(raised.value)
    assert "user" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("file:///a%20b/c", "/a b/c"),
        ("file://localhost/a", "/a"),
        ("file:///a%2Bb", "/a+b"),
        ("file:///%C3%A9", "/é"),
        ("file:///%E9", "/\udce9"),
        ("file:///a%252Bb", "/a%2Bb"),
    ],
)
def test_local_paths(text: str, path: str) -> None:
    assert Address.parse(text).local == Path(path)


def test_network_addresses_have_no_path_here() -> None:
    assert Address.parse("https://h/x").local is None
