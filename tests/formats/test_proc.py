"""Texts of /proc."""

from __future__ import annotations

import pytest

from envguard.formats import proc

KEY = "A" * 52
CODE = "c" + "b" * 51


def test_variables() -> None:
    assert proc.variables(b"A=1\0B=x=y\0odd\0C=\0") == {"A": "1", "B": "x=y", "C": ""}
    assert proc.variables(b"") == {}
    assert proc.variables(b"A=\xff\0")["A"].encode("utf-8", "surrogateescape") == b"\xff"


def test_words() -> None:
    assert proc.words(b"python\0train.py\0\0") == ("python", "train.py", "")
    assert proc.words(b"") == ()


def test_mapped_files_each_once() -> None:
    maps = (
        b"7f0-7f1 r--p 00000000 fe:00 12 /env/lib/a.so\n"
        b"7f1-7f2 r-xp 00001000 fe:00 12 /env/lib/a.so\n"
        b"7f2-7f3 rw-p 00000000 00:00 0 \n"
        b"7f3-7f4 rw-p 00000000 00:00 0 [heap]\n"
        b"7f4-7f5 r--p 00000000 fe:00 13 /env/with space/b.so (deleted)\n"
        b"7f5-7f6 r--p 00000000 fe:00 14 /env/new\\012line.so\n"
    )
    assert list(proc.mapped(maps)) == [
        proc.Mapped("/env/lib/a.so"),
        proc.Mapped("/env/with space/b.so", gone=True),
        proc.Mapped("/env/new\nline.so"),
    ]


def test_user() -> None:
    assert proc.user("Name:\tx\nUid:\t1000\t1001\t1000\t1000\n") == 1001
    assert proc.user("Name:\tx\n") is None


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        ([f"/c/ind/ab/{CODE}.so"], "/c/ind"),
        ([f"/c/ind/ab/{CODE}.main.so"], "/c/ind"),
        ([f"/c/ind/triton/0/{KEY}/__triton_launcher.so"], "/c/ind"),
        ([f"/c/ind/triton/{KEY}/cuda_utils.so"], "/c/ind"),
        ([f"/c/kernels/{KEY}/cuda_utils.so"], None),
        (["/env/lib/torch/lib/libtorch.so", "/usr/lib/libc.so.6"], None),
        ([], None),
    ],
    ids=["code", "main code", "triton by index", "triton", "triton elsewhere", "no cache", "nothing"],
)
def test_cache_folder(paths: list[str], folder: str | None) -> None:
    assert proc.cache_folder(iter(paths)) == folder
