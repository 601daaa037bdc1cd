"""torch comes back from the archive alone, when its index is gone and no cache knows its wheels."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Place
from tests.environments import clean_environ, shell

pytestmark = [pytest.mark.torch, pytest.mark.slow]

GONE = "http://127.0.0.1:9/simple"


def test_torch_is_rebuilt_and_restored_without_any_index(
    tool: Path, make_environment: Callable[..., Path], tmp_path: Path
) -> None:
    environment = make_environment("archived")
    environ = {name: value for name, value in clean_environ().items() if not name.startswith(("UV_", "PIP_"))}
    environ |= {f"ENVGUARD_{kind}_DIR": str(tmp_path / kind.lower()) for kind in ("DATA", "CACHE", "STATE")}
    environ |= {"UV_DEFAULT_INDEX": GONE, "UV_NO_CONFIG": "1", "PIP_CONFIG_FILE": os.devnull}
    environ |= {"UV_CACHE_DIR": str(tmp_path / "none"), "PIP_CACHE_DIR": str(tmp_path / "none")}
    place = Place(tmp_path, tool, environ)
    taken = place.run("snapshot", "--name", "good", "--python", environment, "--archive", "--offline")
    assert taken.code == 0, taken.err
    lock = (tmp_path / "lockfiles" / "good.toml").read_text()
    assert lock.count("\nrebuilt = ") == lock.count("[[distribution]]")
    shutil.rmtree(environment)
    restored = place.run("restore", "--offline", "--target", ".venv")
    assert restored.code == 0, restored.out + restored.err
    assert place.run("verify", "--full").code == 0
    adds = "import torch; print(int((torch.ones(20) + torch.ones(20)).sum()) + 2)"
    assert shell(tmp_path / ".venv" / "bin" / "python", "-c", adds, environ=environ).startswith("42\n")
    again = place.run("snapshot", "--name", "good", "--offline")
    assert "unchanged" in again.out, again.out + again.err
