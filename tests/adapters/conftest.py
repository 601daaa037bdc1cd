"""Small real environments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.small import Small, copied, make


@pytest.fixture(scope="session")
def small_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("small"))


@pytest.fixture
def small(small_template: Path, tmp_path: Path) -> Small:
    """An environment of a test's own."""
    return copied(small_template, tmp_path / "environment")
