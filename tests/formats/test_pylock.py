from __future__ import annotations

import tomllib

import pytest

from envguard.formats.pylock import PathEntry, dump
from tests.builders import digest

WHOLE = PathEntry("demo", "1.0", "/wheels/demo-1.0-py3-none-any.whl", digest("demo"), 904)


def test_a_lock_names_each_file_by_path_hash_and_size() -> None:
    document = tomllib.loads(dump([WHOLE]).decode())
    assert document == {
        "lock-version": "1.0",
        "created-by": "envguard",
        "packages": [
            {
                "name": "demo",
                "version": "1.0",
                "wheels": [{"path": WHOLE.path, "size": 904, "hashes": {"sha256": digest("demo").hex}}],
            }
        ],
    }


def test_it_is_one_that_the_standards_own_library_reads() -> None:
    from packaging.pylock import Pylock

    Pylock.from_dict(tomllib.loads(dump([WHOLE]).decode()))


def test_nothing_to_install_is_a_lock_as_well() -> None:
    assert tomllib.loads(dump([]).decode())["packages"] == []


def test_order_does_not_matter() -> None:
    other = PathEntry("other", "2.0", "/wheels/other.whl", digest("other"), 1)
    assert dump([WHOLE, other]) == dump([other, WHOLE])


@pytest.mark.parametrize("path", ['/a "b"/c', "/a\\b", "/a\nb", "/ä ✓ 🧪", "/a\x7fb", "/a\tb", "/a'b", "/a%2Bb+c"])
def test_any_path_survives(path: str) -> None:
    document = tomllib.loads(dump([PathEntry("demo", "1.0", path, digest("demo"), 1)]).decode())
    assert document["packages"][0]["wheels"][0]["path"] == path


def test_a_path_that_is_not_text_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        dump([PathEntry("demo", "1.0", "/a\udcff", digest("demo"), 1)])
