from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.restoring import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small world to restore in."""
    return World(tmp_path)
