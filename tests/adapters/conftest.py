"""Small real environments, and the default index."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest

from envguard.adapters import index_settings
from envguard.formats.index_settings import Sources
from tests.adapters.small import Small, copied, make


@pytest.fixture(scope="session")
def small_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("small"))


@pytest.fixture
def small(small_template: Path, tmp_path: Path) -> Small:
    """An environment of a test's own."""
    return copied(small_template, tmp_path / "environment")


@pytest.fixture(scope="session")
def sources() -> Sources:
    """The default index alone, with this machine's certificates."""
    whole = index_settings.read()
    found = next((index for index in whole.indexes if index.name == "default"), None)
    if found is None:
        pytest.skip("this machine's settings name no default index")
    try:
        urllib.request.urlopen(f"{found.address.bare.rstrip('/')}/idna/", timeout=20).close()
    except urllib.error.HTTPError:
        pass
    except OSError:
        pytest.skip("the default index can't be reached")
    return Sources(indexes=(found,), certificates=whole.certificates)
