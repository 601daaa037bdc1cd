"""The last line: shapes of secrets, and values that the shell calls secret."""

from __future__ import annotations

import pytest

from envguard.planning.masking import is_secret, masked, secrets_of


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("at https://user:pw@host/x", "at https://****@host/x"),
        ("https://token@host/x and http://a:b@c", "https://****@host/x and http://****@c"),
        ("//user:pw@host/x", "//****@host/x"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("ssh://git:pw@host/x", "ssh://****@host/x"),
        ("https://${USER}@host", "https://${USER}@host"),
        ("https://a:p@ss@host/x", "https://****@host/x"),
        ("https://h/x?a=1&token=abc&b=2", "https://h/x?a=1&token=****&b=2"),
        ("https://h/x?X-Amz-Signature=abcdef", "https://h/x?X-Amz-Signature=****"),
        ("ghp_" + "a" * 36, "****"),
        ("demo @ file:///a/b, x==1.0", "demo @ file:///a/b, x==1.0"),
        ("mail me@host.org", "mail me@host.org"),
    ],
)
def test_shapes(text: str, wanted: str) -> None:
    assert masked(text) == wanted


def test_values_that_the_shell_calls_secret() -> None:
    environ = {
        "HF_TOKEN": "opensesame",
        "MY_PASSWORD": "a%40b cdef",
        "SHORT_TOKEN": "abc",
        "SSH_KEY": "/home/x/.ssh/id",
        "PROXY": "http://u:sw0rdfish@host",
        "PLAIN": "plainvalue",
    }
    text = "opensesame a%40b cdef a@b cdef abc /home/x/.ssh/id sw0rdfish plainvalue"
    assert masked(text, secrets_of(environ)) == "**** **** **** abc /home/x/.ssh/id **** plainvalue"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("1", False),
        ("expandable_segments:True,garbage_collection_threshold:0.8", False),
        ("hf_" + "aB3" * 10, True),
        ("q9ZtRw72LkXc8VbN4mPyHs1D", True),
    ],
)
def test_a_token_for_a_value(value: str, wanted: bool) -> None:
    assert is_secret(value) is wanted
