"""Steps between addresses."""

from __future__ import annotations

import pytest

from envguard.adapters.hops import joined, refusal
from envguard.formats.address import Address


@pytest.mark.parametrize(
    ("here", "there", "allowed"),
    [
        ("https://a/x", "https://b/y", True),
        ("http://a/x", "https://a/x", True),
        ("http://a/x", "http://b/x", True),
        ("https://a/x", "http://a/x", False),
        ("https://a/x", "HTTP://a/x", False),
        ("https://a/x", "file:///etc/passwd", False),
        ("http://a/x", "ftp://a/x", False),
        ("http://a/x", "data:text/html,x", False),
        ("http://a/x", "http://169.254.169.254/x", False),
        ("http://a/x", "http://169.254.169.254:80/x", False),
        ("http://169.254.169.254/x", "http://169.254.169.254/y", True),
        ("http://a/x", "http://[fe80::1]:8080/x", False),
        ("http://a/x", "http://10.0.0.1/x", True),
        ("file:///a", "file:///b", True),
        ("file:///a", "https://a/x", True),
    ],
)
def test_refusal(here: str, there: str, allowed: bool) -> None:
    assert (refusal(Address(here), Address(there)) is None) is allowed


def test_joined_leaves_the_user_behind() -> None:
    assert joined(Address("https://u:p@h/a/b"), " ../c ").reveal() == "https://h/c"
