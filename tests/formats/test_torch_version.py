from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envguard.formats.torch_version import read_torch_version

WHOLE = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.11.0+cu130'
debug = False
cuda: Optional[str] = '13.0'
git_version = '70d99e998b4955e0049d13a98d77ae1b14db1f45'
hip: Optional[str] = None
rocm: Optional[str] = None
xpu: Optional[str] = None
"""


def test_whole() -> None:
    found = read_torch_version(WHOLE.encode())
    assert (found.version, found.cuda, found.hip, found.xpu, found.debug) == (
        "2.11.0+cu130",
        "13.0",
        None,
        None,
        False,
    )
    assert found.git_version == "70d99e998b4955e0049d13a98d77ae1b14db1f45"


@pytest.mark.parametrize(
    ("old", "new", "variant"),
    [
        pytest.param("", "", "cu130", id="label"),
        pytest.param("+cu130", "", "cu130", id="cuda without a label"),
        pytest.param("+cu130", "+gitabc1234", "cu130", id="a label that says nothing"),
        pytest.param("+cu130", "+cu128", "cu128", id="the label before cuda"),
        pytest.param("+cu130", "+cu130.post1", "cu130", id="a longer label"),
        pytest.param("+cu130", "+cpu", "cpu", id="cpu"),
        pytest.param("+cu130", "+cpu.cxx11.abi", "cpu", id="cpu, longer"),
        pytest.param("+cu130", "+rocm6.4", "rocm6.4", id="rocm"),
        pytest.param("+cu130", "+xpu", "xpu", id="xpu"),
        pytest.param("'13.0'", "'12.9'", "cu130", id="label wins"),
    ],
)
def test_variant(old: str, new: str, variant: str) -> None:
    assert read_torch_version(WHOLE.replace(old, new, 1).encode()).variant == variant


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("hip = '6.4.43482-0f2d60242'", "rocm6.4"),
        ("xpu = '20250101'", "xpu"),
        ("cuda = None", "cpu"),
        ("", "cpu"),
        ("cuda = '12.8.1'", "cu128"),
    ],
)
def test_variant_without_a_label(text: str, variant: str) -> None:
    assert read_torch_version(f"__version__ = '2.9.0'\n{text}\n".encode()).variant == variant


def test_older_form() -> None:
    found = read_torch_version(
        b"__all__ = []\n__version__ = '1.13.1'\ndebug = True\ncuda = None\ngit_version = ''\n"
    )
    assert (found.git_version, found.debug) == ("Unknown", True)


def test_nothing_is_executed() -> None:
    with pytest.raises(ValueError, match="no __version__"):
        read_torch_version(b"__version__ = __import__('os').abort()\n")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"def", id="not Python"),
        pytest.param(b"\0", id="NUL"),
        pytest.param(b"__version__ = 3\n", id="a number"),
        pytest.param(b"__version__ = '\xff'\n", id="not UTF-8"),
        pytest.param(b"(" * 30000, id="deep"),
        pytest.param(b"#" * 100_000, id="large"),
    ],
)
def test_refuses(content: bytes) -> None:
    with pytest.raises(ValueError, match="version"):
        read_torch_version(content)


@given(st.binary(max_size=100))
def test_any_bytes(content: bytes) -> None:
    try:
        read_torch_version(content)
    except ValueError:
        return
