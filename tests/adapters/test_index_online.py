"""The real default index. Skipped only where it can't be reached by other means than ours either."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from envguard.adapters.index import SimpleIndexes
from envguard.errors import OtherBytesError
from envguard.formats.index_settings import Sources
from envguard.model.digest import Digest
from tests.fakes.index import Silence

pytestmark = pytest.mark.online


@pytest.fixture
def indexes(sources: Sources) -> Iterator[SimpleIndexes]:
    with SimpleIndexes(sources) as indexes:
        yield indexes


def test_torch_is_listed_with_hashes(indexes: SimpleIndexes) -> None:
    wheels = [offer for offer in indexes.offers("torch") if offer.filename.startswith("torch-2.13.0-")]
    assert len(wheels) > 5
    assert all(offer.sha256 is not None and offer.source == "default" for offer in wheels)
    assert any("x86_64" in offer.filename and "linux" in offer.filename for offer in wheels)
    assert indexes.troubles("torch") == ()


def test_a_small_wheel_is_fetched_and_checked(indexes: SimpleIndexes, tmp_path: Path) -> None:
    offer = next(offer for offer in indexes.offers("idna") if offer.filename == "idna-3.10-py3-none-any.whl")
    expect = Digest.parse("sha256:946d195a0d259cbba61165e88e65941f16e9b36ea6ddb97f00452bae8b1287d3")
    assert offer.sha256 == expect
    path = indexes.fetch(offer, tmp_path, expect=expect, progress=Silence())
    assert Digest.of(path.read_bytes()) == expect
    assert "idna/__init__.py" in zipfile.ZipFile(path).namelist()


def test_other_bytes_are_told(indexes: SimpleIndexes, tmp_path: Path) -> None:
    offer = next(offer for offer in indexes.offers("idna") if offer.filename == "idna-3.10-py3-none-any.whl")
    with pytest.raises(OtherBytesError, match="index default now serves other bytes"):
        indexes.fetch(offer, tmp_path, expect=Digest.of(b"another"), progress=Silence())
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there(indexes: SimpleIndexes) -> None:
    assert indexes.offers("envguard-no-such-distribution-8f3a") == ()
