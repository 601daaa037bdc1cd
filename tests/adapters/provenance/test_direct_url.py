"""Evidence from direct_url.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envguard.adapters.provenance.direct_url import Claimed, DirectUrl, Source, read_source
from envguard.adapters.provenance.installed import Installed
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Wheel
from tests.builders import digest, distribution

HEX = digest("wheel").hex
WHEEL = "https://user:secret@example.org/a/torch-2.11.0%2Bcu130-cp312-cp312-linux_x86_64.whl?token=x#sha256=00"
TORCH = distribution("torch", "2.11.0+cu130")


def _installed(folder: Path, document: object, what: Distribution = TORCH) -> Installed:
    (folder / "direct_url.json").write_text(json.dumps(document))
    return Installed(what, folder)


@pytest.mark.parametrize(
    "archive",
    [
        pytest.param({"hashes": {"sha256": HEX}}, id="hashes"),
        pytest.param({"hash": f"sha256={HEX}"}, id="older pip"),
        pytest.param({"hash": "md5=00", "hashes": {"md5": "00", "sha256": HEX.upper()}}, id="several"),
    ],
)
def test_pips_sha256_is_believed(tmp_path: Path, archive: object) -> None:
    installed = _installed(tmp_path, {"url": WHEEL, "archive_info": archive})
    assert DirectUrl().find(installed) == Wheel(
        filename="torch-2.11.0+cu130-cp312-cp312-linux_x86_64.whl",
        sha256=digest("wheel"),
        evidence=Evidence.DIRECT_URL,
    )


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"url": WHEEL, "archive_info": {}}, id="uv: only a fragment, which is a claim"),
        pytest.param({"url": WHEEL, "archive_info": {"hashes": {"sha256": "zz"}}}, id="no hex"),
        pytest.param({"url": WHEEL, "archive_info": {"hashes": {"md5": HEX[:32]}}}, id="md5 alone"),
        pytest.param({"url": WHEEL, "archive_info": []}, id="a list"),
        pytest.param({"url": WHEEL, "dir_info": {}}, id="a folder"),
        pytest.param({"url": 5, "archive_info": {}}, id="no address"),
        pytest.param({"url": "http://[", "archive_info": {}}, id="a broken address"),
        pytest.param([], id="a list at the top"),
        pytest.param(
            {"url": "https://e.org/torch-2.11.0.tar.gz", "archive_info": {"hashes": {"sha256": HEX}}},
            id="an sdist",
        ),
        pytest.param(
            {"url": WHEEL.replace("%2B", "%252B"), "archive_info": {"hashes": {"sha256": HEX}}}, id="coded twice"
        ),
        pytest.param(
            {"url": WHEEL.replace("2.11.0", "2.10.0"), "archive_info": {"hashes": {"sha256": HEX}}},
            id="another version",
        ),
    ],
)
def test_what_direct_url_does_not_prove(tmp_path: Path, document: object) -> None:
    assert DirectUrl().find(_installed(tmp_path, document)) is None


@pytest.mark.parametrize(
    "content", [b"", b"\xff\x00", b"[" * 100_000, b'"x"'], ids=["empty", "binary", "deep", "text"]
)
def test_no_json_of_that_kind(content: bytes) -> None:
    assert read_source(content) is None


def test_no_file_at_all(tmp_path: Path) -> None:
    assert DirectUrl().find(Installed(TORCH, tmp_path)) is None
    assert DirectUrl().find(Installed(TORCH, None)) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        pytest.param("file:///a%20b/x-1-py3-none-any.whl", Path("/a b/x-1-py3-none-any.whl"), id="a path"),
        pytest.param("file://localhost/x-1-py3-none-any.whl", Path("/x-1-py3-none-any.whl"), id="localhost"),
        pytest.param("file://elsewhere/x-1-py3-none-any.whl", None, id="another machine's"),
        pytest.param("https://example.org/x-1-py3-none-any.whl", None, id="an address"),
    ],
)
def test_paths_of_this_machine(url: str, path: Path | None) -> None:
    content = json.dumps({"url": url, "archive_info": {}}).encode()
    assert read_source(content) == Source("x-1-py3-none-any.whl", None, path)


@pytest.mark.parametrize(
    ("fragment", "claimed"),
    [
        pytest.param(f"#sha256={HEX}", digest("wheel"), id="alone"),
        pytest.param(f"#egg=torch&sha256={HEX.upper()}", digest("wheel"), id="among others"),
        pytest.param("#sha256=00", None, id="no digest"),
        pytest.param("", None, id="none"),
    ],
)
def test_what_the_address_claims_is_only_a_claim(tmp_path: Path, fragment: str, claimed: Digest | None) -> None:
    installed = _installed(tmp_path, {"url": WHEEL.partition("#")[0] + fragment, "archive_info": {}})
    expected = Wheel(filename="torch-2.11.0+cu130-cp312-cp312-linux_x86_64.whl", claimed_sha256=claimed)
    assert Claimed().find(installed) == (expected if claimed else None)
    assert DirectUrl().find(installed) is None
