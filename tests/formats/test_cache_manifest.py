"""The manifest: one text for one set of files, and nothing else is read."""

from __future__ import annotations

import pytest

from envguard.formats.cache_manifest import HEAD, dump, load
from envguard.model.cache_files import CachedFile
from tests.adapters.cache.world import autograd_key, triton_key
from tests.builders import digest

FILES = (
    CachedFile(f"aotautograd/{autograd_key(1)}/entry", digest("a"), 3),
    CachedFile("ab/c" + "a" * 51 + ".so", digest("so"), 10, executable=True),
    CachedFile(f"triton/{triton_key(1)}/k.cubin", digest("t"), 0),
)


def test_in_any_order_one_text_and_back() -> None:
    assert dump(FILES) == dump(reversed(FILES))
    assert load(dump(FILES)) == tuple(sorted(FILES, key=lambda file: file.path))
    assert load(dump([])) == ()
    assert dump(FILES).startswith(b"envguard-cache-manifest-1\n" + digest("so").hex.encode() + b" 10 0700 ab/c")


LINE = dump(FILES[:1])[len(HEAD) :]
BAD = {
    "nothing": b"",
    "another head": b"envguard-cache-manifest-2\n" + LINE,
    "cut off": HEAD + LINE[:-1],
    "an empty line": HEAD + b"\n",
    "a mode": HEAD + LINE.replace(b"0600", b"4755"),
    "a digest in capitals": HEAD + LINE.upper(),
    "a negative size": HEAD + LINE.replace(b" 3 ", b" -3 "),
    "a size with a zero before": HEAD + LINE.replace(b" 3 ", b" 03 "),
    "an enormous size": HEAD + LINE.replace(b" 3 ", b" 99999999999999 "),
    "a blank in a name": HEAD + LINE.replace(b"/entry", b"/en try"),
    "bytes that are no ASCII": HEAD + LINE.replace(b"/entry", b"/\xc3\xa4"),
    "a NUL": HEAD + LINE.replace(b"/entry", b"/\0"),
    "Windows' line ends": HEAD + LINE.replace(b"\n", b"\r\n"),
    "twice the same": HEAD + LINE + LINE,
    "not in order": HEAD + dump(FILES[2:])[len(HEAD) :] + LINE,
    "a pickle": b"\x80\x04.",
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_nothing_else_is_read(content: bytes) -> None:
    with pytest.raises(ValueError):
        load(content)
