"""The small world, as a fixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.provenance.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
