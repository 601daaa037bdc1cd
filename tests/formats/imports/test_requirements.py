"""requirements.txt → claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from packaging import markers

from envguard.errors import LockInvalidError
from envguard.formats.imports import requirements
from envguard.formats.imports.claims import Claim, Claims
from envguard.model.distribution import Origin
from tests.builders import digest

A, B = digest("a"), digest("b")


def read(text: str, files: Mapping[str, str] | None = None) -> Claims:
    environment: Any = {**markers.default_environment(), "sys_platform": "linux", "python_version": "3.12"}

    def reader(path: str) -> bytes:
        if path not in (files or {}):
            raise LockInvalidError("no such file", where=path)
        return (files or {})[path].encode()

    return requirements.read(text.encode(), "requirements.txt", environment=environment, reader=reader)


GOOD = {
    "a pin": ("requests==2.32.3", Claim("requests", "2.32.3")),
    "an odd name": ("Ruamel.YAML_x == 1", Claim("ruamel-yaml-x", "1")),
    "exactly": ("a===1.0-odd", Claim("a", "1.0-odd")),
    "extras": ("a[x,y]==1", Claim("a", "1")),
    "a marker that holds": ("a==1 ; sys_platform == 'linux'", Claim("a", "1")),
    "a comment behind": ("a==1  # via b", Claim("a", "1")),
    "one hash": (f"a==1 --hash=sha256:{A.hex}", Claim("a", "1", hashes=(A,))),
    "hashes over lines": (
        f"a==1 \\\n    --hash=sha256:{A.hex} \\\n    --hash=sha256:{B.hex.upper()}\n    # via x\n",
        Claim("a", "1", hashes=(A, B)),
    ),
    "another algorithm": ("a==1 --hash=md5:00", Claim("a", "1")),
    "Windows lines": (f"a==1 \\\r\n    --hash=sha256:{A.hex}\r\n", Claim("a", "1", hashes=(A,))),
    "a byte order mark": ("\ufeffa==1", Claim("a", "1")),
    "a last line that goes on": ("a==1 \\", Claim("a", "1")),
    "twice the same": (f"a==1 --hash=sha256:{A.hex}\na==1 --hash=sha256:{B.hex}", Claim("a", "1", hashes=(A, B))),
    "a wheel's address": (
        f"torch @ https://user:pw@e.invalid/torch-2.1%2Bcu130-py3-none-any.whl?x=1#sha256={A.hex}",
        Claim(
            "torch",
            "2.1+cu130",
            "torch-2.1+cu130-py3-none-any.whl",
            (A,),
            origin=Origin("archive", url="https://e.invalid/torch-2.1%2Bcu130-py3-none-any.whl"),
        ),
    ),
    "a wheel of this machine": (
        f"a @ file:///opt/a-1-py3-none-any.whl --hash=sha256:{A.hex}",
        Claim("a", "1", "a-1-py3-none-any.whl", (A,), origin=Origin("archive")),
    ),
}


@pytest.mark.parametrize(("text", "claim"), GOOD.values(), ids=GOOD.keys())
def test_lines(text: str, claim: Claim) -> None:
    assert read(text).entries == (claim,)


NOTHING = {
    "empty": "",
    "comments": "# a==1\n   # b\n\n",
    "a marker that does not hold": "a==1 ; sys_platform == 'win32'",
    "options": "--index-url https://e.invalid/simple\n-i x\n--pre\n-c constraints.txt\n--no-binary :all:\n",
}


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING.keys())
def test_lines_that_claim_nothing(text: str) -> None:
    assert read(text) == Claims(())


LEFT_OUT = {
    "editable": "-e .",
    "editable, long": "--editable=./x",
    "a folder": "./x",
    "a file": "x-1-py3-none-any.whl",
    "an address without a name": "https://e.invalid/x-1-py3-none-any.whl",
}


@pytest.mark.parametrize("text", LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_what_has_no_name_or_version_is_told(text: str) -> None:
    claims = read(f"a==1\n{text}\n")
    assert [claim.name for claim in claims.entries] == ["a"]
    assert len(claims.remarks) == 1
    assert claims.remarks[0].startswith("requirements.txt:2: ")


def test_files_that_it_names_are_read_from_their_own_folder() -> None:
    files = {"more/base.txt": "-r deep.txt\nb==2", "more/deep.txt": "c==3"}
    assert [claim.name for claim in read("-r more/base.txt\na==1", files).entries] == ["a", "b", "c"]
    assert [claim.name for claim in read("--requirement=more/deep.txt", files).entries] == ["c"]


BAD = {
    "not pinned": ("numpy>=1", r"not pinned by ==: numpy \(line 1\)", "requirements.txt"),
    "no version": ("a==1\n\nnumpy", r"numpy \(line 3\)", "requirements.txt"),
    "a star": ("a==1.*", "not pinned", "requirements.txt"),
    "two conditions": ("a==1,<2", "not pinned", "requirements.txt"),
    "a branch": ("a @ git+https://e.invalid/a@main", "not pinned", "requirements.txt"),
    "no requirement": ("a==1\n!!", "not a requirement", "requirements.txt:2"),
    "two versions": ("a==1\na==2", "also pinned to 1", "requirements.txt:2"),
    "half a hash": ("a==1 --hash=sha256:00", "not a digest", "requirements.txt:1"),
    "no such file": ("-r gone.txt", "no such file", "gone.txt"),
}


@pytest.mark.parametrize(("text", "words", "where"), BAD.values(), ids=BAD.keys())
def test_bad_files(text: str, words: str, where: str) -> None:
    with pytest.raises(LockInvalidError, match=words) as caught:
        read(text)
    assert caught.value.where == where


def test_many_loose_ones_are_counted() -> None:
    with pytest.raises(LockInvalidError, match=r"a4 \(line 5\) and 3 more"):
        read("\n".join(f"a{number}" for number in range(8)))


def test_a_file_that_names_itself_ends() -> None:
    with pytest.raises(LockInvalidError, match="too deep"):
        read("-r me.txt", {"me.txt": "-r me.txt"})


def test_not_utf_8() -> None:
    with pytest.raises(LockInvalidError, match="not UTF-8"):
        requirements.read(b"\xff", "r.txt", environment=markers.default_environment(), reader=lambda _: b"")
