"""Names derived from addresses."""

from __future__ import annotations

import pytest

from envguard.formats.address import Address
from envguard.formats.index_names import derived


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://download.pytorch.org/whl/cu128", "pytorch-cu128"),
        ("https://download.pytorch.org/whl/cu128/", "pytorch-cu128"),
        ("https://download.pytorch.org/whl/nightly/cu130", "pytorch-nightly-cu130"),
        ("https://download.pytorch.org/whl/rocm6.4", "pytorch-rocm6.4"),
        ("https://download.pytorch.org/whl/", "pytorch"),
        ("https://pypi.vendor.com", "vendor"),
        ("https://gitlab.example.com/api/v4/projects/42/packages/pypi/simple", "gitlab-example-42"),
        ("https://corp.registry.io/artifactory/api/pypi/team-pypi/simple", "corp-registry-team-pypi"),
        ("http://localhost:8080/simple", "localhost"),
        ("http://10.0.0.7:3141/team/+simple/", "10-0-0-7-team-simple"),
        ("http://[fd00::1]:3141/simple", "fd00-1"),
        ("https://pypi.example/simple", "pypi"),
        ("file:///srv/wheels/simple", "local-srv"),
        ("file:///srv/team-a", "local-team-a"),
        ("file:///simple", "local"),
    ],
)
def test_derived(address: str, name: str) -> None:
    assert derived(Address(address), set()) == name


@pytest.mark.parametrize(
    "address",
    [
        "https://pypi.host.example/2sXyzABCDEFGHijk99/me/",
        "https://dl.host.example/AbCdEf1234567890/org/repo/python/simple/",
        "https://h.example/deadbeefdeadbeefdeadbeef/simple",
        "https://h.example/p%40ssw0rd/simple",
        "https://user:2sXyzABCDEFGHijk99@h.example/simple",
        "https://h.example/simple?token=2sXyzABCDEFGHijk99",
    ],
)
def test_what_may_be_a_token_is_left_out(address: str) -> None:
    name = derived(Address(address), set())
    assert not any(part in name.lower() for part in ("2sxyz", "abcdef1", "deadbeef", "ssw0rd", "user"))


def test_unique() -> None:
    address = Address("https://download.pytorch.org/whl/cu128")
    assert derived(address, {"pytorch-cu128"}) == "pytorch-cu128-2"
    assert derived(address, {"pytorch-cu128", "pytorch-cu128-2"}) == "pytorch-cu128-3"


def test_never_that_of_the_default() -> None:
    assert derived(Address("http://default/"), set()) == "default-2"
