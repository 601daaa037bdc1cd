from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envguard.formats.distinfo import (
    canonical,
    read_entry_points,
    read_installer,
    read_metadata,
    read_wheel_tags,
    top_level_modules,
)
from envguard.model.record import EntryPoint


@pytest.mark.parametrize(
    ("written", "name"),
    [("My.Toy_X", "my-toy-x"), ("torch", "torch"), ("a-_.b", "a-b")],
)
def test_canonical(written: str, name: str) -> None:
    assert canonical(written) == name


class TestMetadata:
    def test_header(self) -> None:
        found = read_metadata(
            b"Metadata-Version: 2.1\nName: Toy\nVersion: 1.0+cu130\n"
            b"Requires-Dist: a==1\nRequires-Dist: b; extra == 'x'\n\n"
        )
        assert (found.name, found.version, found.requires) == ("Toy", "1.0+cu130", ("a==1", "b; extra == 'x'"))

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"Name: toy\nVersion: 1\n\nName: other\nVersion: 2\n", id="description"),
            pytest.param(b"Name: toy\r\nVersion: 1\r\n\r\nVersion: 2\r\n", id="CRLF"),
            pytest.param(b"\xef\xbb\xbfName: toy\nVersion: 1\n", id="BOM"),
            pytest.param(b"NAME: toy\nversion:1\n", id="case and spaces"),
            pytest.param(b"Name: toy\nSummary: caf\xe9\nVersion: 1\n", id="latin-1"),
            pytest.param(b"Name: toy\nSummary: a\n  b: c\n\tVersion: 3\nVersion: 1", id="continuation"),
            pytest.param(b"Name: toy\nVersion: 1\nVersion: 2\nName: other\n", id="the first counts"),
            pytest.param(b"Name: toy\nVersion: 1\n \nVersion: 2\n", id="blank line of spaces"),
        ],
    )
    def test_tolerates(self, content: bytes) -> None:
        found = read_metadata(content)
        assert (found.name, found.version) == ("toy", "1")

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(b"", "no Name", id="empty"),
            pytest.param(b"Name: toy\n\nVersion: 1\n", "no Version", id="version in the description"),
            pytest.param(b"\0\0\0\0", "no Name", id="zeros, as after a power cut"),
        ],
    )
    def test_refuses(self, content: bytes, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            read_metadata(content)

    @given(st.binary(max_size=200))
    def test_any_bytes(self, content: bytes) -> None:
        try:
            read_metadata(content)
        except ValueError:
            return


class TestWheelTags:
    def test_whole(self) -> None:
        found = read_wheel_tags(
            b"Wheel-Version: 1.0\nGenerator: bdist\nRoot-Is-Purelib: false\n"
            b"Tag: cp312-cp312-a\nTag: cp312-cp312-b\nBuild: 3\n"
        )
        assert found.tags == ("cp312-cp312-a", "cp312-cp312-b")
        assert (found.build, found.root_is_purelib, found.generator) == ("3", False, "bdist")

    def test_empty(self) -> None:
        found = read_wheel_tags(b"")
        assert (found.tags, found.build, found.root_is_purelib, found.generator) == ((), None, False, None)


@pytest.mark.parametrize(
    ("content", "name"),
    [(b"uv", "uv"), (b"pip\n", "pip"), (b"", None), (b"\n", None), (b"\xff" * 100, "\ufffd" * 40)],
)
def test_installer(content: bytes, name: str | None) -> None:
    assert read_installer(content) == name


class TestEntryPoints:
    def test_launchers(self) -> None:
        found = read_entry_points(
            b"[console_scripts]\nToy-X = toy.cli:main [extra]\ntoy:2=toy:A.m\n"
            b"[gui_scripts]\ng = toy:gui\n[other]\nx = y:z\n"
        )
        assert found == (
            EntryPoint("Toy-X", "toy.cli:main"),
            EntryPoint("toy:2", "toy:A.m"),
            EntryPoint("g", "toy:gui"),
        )

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"[console_scripts]\nx = module\n", id="no attribute"),
            pytest.param(b"[console_scripts]\nx = a:b; rm -rf\n", id="no name"),
            pytest.param(b"[console_scripts]\n%(x)s = %(y)s\n", id="no interpolation"),
        ],
    )
    def test_without(self, content: bytes) -> None:
        assert read_entry_points(content) == ()

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"x = a:b\n", id="no section"),
            pytest.param(b"[console_scripts]\nx\n", id="no value"),
        ],
    )
    def test_refuses(self, content: bytes) -> None:
        with pytest.raises(ValueError, match="entry_points"):
            read_entry_points(content)

    @given(st.binary(max_size=200))
    def test_any_bytes(self, content: bytes) -> None:
        try:
            read_entry_points(content)
        except ValueError:
            return


def test_top_level_modules() -> None:
    paths = [
        "toy/__init__.py",
        "toy/data/x.json",
        "one.py",
        "fast.cpython-311-x86_64-linux-gnu.so",
        "space/sub/mod.py",
        "toy-1.0.dist-info/METADATA",
        "numpy.libs/libx.so",
        "only/data.txt",
        "__pycache__/one.cpython-311.pyc",
        "x.pth",
    ]
    assert top_level_modules(paths) == {"toy", "one", "fast", "space"}
