"""Lock files of other tools."""

from __future__ import annotations

import tomllib

import pytest

from envguard.formats import export_pylock, export_requirements
from envguard.model.exported import ExportedWheel
from tests.builders import digest

TORCH = ExportedWheel(
    "torch",
    "2.11.0+cu130",
    "torch-2.11.0+cu130-cp312-cp312-linux_x86_64.whl",
    digest("t"),
    7,
    "https://index.example/torch-2.11.0%2Bcu130-cp312-cp312-linux_x86_64.whl",
)
LOCAL = ExportedWheel(
    "idna", "3.10", "idna-3.10-py3-none-any.whl", digest("i"), None, "/a folder/idna-3.10-py3-none-any.whl"
)


def test_pylock() -> None:
    content = export_pylock.dump([TORCH, LOCAL], comment="from a lock\nsecond line")
    assert content.startswith(b"# from a lock\n# second line\n")
    packaging = pytest.importorskip("packaging.pylock")
    document = tomllib.loads(content.decode())
    packaging.Pylock.from_dict(document).validate()
    assert document["packages"] == [
        {
            "name": "idna",
            "version": "3.10",
            "wheels": [{"name": LOCAL.filename, "path": LOCAL.location, "hashes": {"sha256": digest("i").hex}}],
        },
        {
            "name": "torch",
            "version": "2.11.0+cu130",
            "wheels": [
                {"name": TORCH.filename, "url": TORCH.location, "size": 7, "hashes": {"sha256": digest("t").hex}}
            ],
        },
    ]
    assert content == export_pylock.dump([LOCAL, TORCH], comment="from a lock\nsecond line")


def test_an_empty_pylock() -> None:
    assert tomllib.loads(export_pylock.dump([], comment="").decode())["packages"] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [("pylock.toml", True), ("pylock.good-5t3d.toml", True), ("good.toml", False), ("pylock.a.b.toml", False)],
)
def test_names_that_pip_and_uv_take(name: str, expected: bool) -> None:
    assert export_pylock.is_pylock_name(name) is expected


def test_requirements() -> None:
    assert export_requirements.dump([TORCH, LOCAL], comment="from a lock").decode().splitlines() == [
        "# from a lock",
        f"idna @ file:///a%20folder/idna-3.10-py3-none-any.whl --hash=sha256:{digest('i').hex}",
        f"torch @ {TORCH.location} --hash=sha256:{digest('t').hex}",
    ]


@pytest.mark.parametrize("location", ["https://x/a b.whl", "https://x/a\n--index-url=https://evil/"])
def test_an_address_that_would_be_more_than_one_is_refused(location: str) -> None:
    wheel = ExportedWheel("x", "1", "x-1-py3-none-any.whl", digest("x"), 1, location)
    with pytest.raises(ValueError, match="spaces or control characters"):
        export_requirements.dump([wheel], comment="")
