from __future__ import annotations

import importlib.util
import marshal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envguard.formats.pyc import cache_tags, is_hashed, misfit, parse_name
from envguard.model.bytecode import UNUSED, WITHOUT_SOURCE

TAG = "cpython-311"


def header(magic: int = 3495, flags: int = 0, mtime: int = 1000, size: int = 7) -> bytes:
    return b"".join(
        [magic.to_bytes(2, "little"), b"\r\n", *(part.to_bytes(4, "little") for part in (flags, mtime, size))]
    )


@pytest.mark.parametrize(
    ("soabi", "tags"),
    [
        ("cpython-311-x86_64-linux-gnu", {"cpython-311"}),
        ("cpython-313t-x86_64-linux-gnu", {"cpython-313", "cpython-313t"}),
        ("cpython-39-darwin", {"cpython-39"}),
        ("pypy310-pp73-x86_64-linux-gnu", set()),
        ("", set()),
    ],
)
def test_cache_tags(soabi: str, tags: set[str]) -> None:
    assert cache_tags(soabi) == tags


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("x.cpython-311.pyc", ("x.py", "cpython-311", "")),
        ("x.cpython-311.opt-2.pyc", ("x.py", "cpython-311", "2")),
        ("__init__.cpython-313t.pyc", ("__init__.py", "cpython-313t", "")),
        ("a.b.cpython-39.pyc", ("a.b.py", "cpython-39", "")),
        ("x.pyc", None),
        ("x.cpython-311.pyc.139", None),
        ("x.cpython-311.nbi", None),
        (".cpython-311.pyc", None),
    ],
)
def test_parse_name(name: str, parts: tuple[str, str, str] | None) -> None:
    assert parse_name(name) == parts


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(header(), None, id="fits"),
        pytest.param(header(magic=3531), "of another Python", id="magic"),
        pytest.param(header(mtime=1001), "of another time than its source", id="time"),
        pytest.param(header(size=8), "of a source of another size", id="size"),
        pytest.param(header(flags=1, mtime=0, size=0), None, id="unchecked hash"),
        pytest.param(header(flags=3, mtime=0, size=0), None, id="checked hash"),
        pytest.param(header(flags=4), "of an unknown kind", id="flags"),
        pytest.param(header()[:15], "cut off", id="short"),
        pytest.param(b"", "cut off", id="empty"),
    ],
)
def test_misfit(content: bytes, words: str | None) -> None:
    assert misfit(content, TAG, 1_000_999_999_999, 7) == words


def test_large_times_and_sizes_are_cut() -> None:
    assert misfit(header(mtime=5, size=6), TAG, (2**32 + 5) * 10**9, 2**32 + 6) is None


def test_an_unknown_python_has_no_known_magic() -> None:
    assert misfit(header(magic=9999), "cpython-399", 1_000_000_000_000, 7) is None


def test_this_python_is_known() -> None:
    magic = int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little")
    assert sys.implementation.cache_tag is not None
    assert misfit(header(magic=magic), sys.implementation.cache_tag, 1_000_000_000_000, 7) is None
    assert misfit(header(magic=magic + 1), sys.implementation.cache_tag, 1_000_000_000_000, 7) is not None


def test_is_hashed() -> None:
    assert is_hashed(header(flags=1))
    assert is_hashed(header(flags=3))
    assert not is_hashed(header())
    assert not is_hashed(b"")


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda whole: whole[:9],
    "of another Python": lambda whole: b"\0\0" + whole[2:],
    "of an unknown kind": lambda whole: whole[:4] + b"\x08\0\0\0" + whole[8:],
    "of another time than its source": lambda whole: whole[:8] + b"\1\0\0\0" + whole[12:],
    "of a source of another size": lambda whole: whole[:12] + b"\1\0\0\0" + whole[16:],
}


@pytest.mark.parametrize("words", sorted(UNUSED))
def test_python_itself_leaves_alone_what_is_told_as_left_alone(tmp_path: Path, words: str) -> None:
    """Other code lies in a .pyc: it runs while the header fits, and doesn't once it misfits in this way."""
    source = tmp_path / "asked.py"
    source.write_text("print('source')\n")
    seen = source.stat()
    evil = compile("print('compiled')", "asked.py", "exec")
    magic = importlib.util.MAGIC_NUMBER + bytes(4)
    fitting = magic + int(seen.st_mtime).to_bytes(4, "little") + seen.st_size.to_bytes(4, "little")
    compiled = Path(importlib.util.cache_from_source(str(source)))
    compiled.parent.mkdir()
    compiled.write_bytes(fitting + marshal.dumps(evil))

    def runs() -> str:
        command = [sys.executable, "-B", "-c", "import asked"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return ended.stdout.strip() or ended.stderr.strip().splitlines()[-1]

    assert runs() == "compiled"
    if words == WITHOUT_SOURCE:
        source.unlink()
        assert runs().startswith("ModuleNotFoundError")
        return
    compiled.write_bytes(SPOILT[words](compiled.read_bytes()))
    header_now = compiled.read_bytes()[:16]
    tag = sys.implementation.cache_tag
    assert misfit(header_now, tag, seen.st_mtime_ns, seen.st_size) == words
    assert runs() == "source"
