from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import envguard
from tests.fakes.libcuda import libcuda

__all__ = ["libcuda"]

GPUS = Path(envguard.__file__).parent / "probe" / "gpus.py"


def answer(library: Path, **environ: str) -> Any:
    whole = {**os.environ, "LD_LIBRARY_PATH": str(library), **environ}
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-B", GPUS, "<<", ">>"],
        capture_output=True,
        check=True,
        timeout=60,
        env=whole,
    )
    return json.loads(ended.stdout.decode().removeprefix("<<").removesuffix(">>"))


def test_every_device_is_told(libcuda: Path) -> None:
    assert answer(libcuda)["devices"] == [
        {"index": 0, "name": "Fake H200", "capability": "9.0", "memory": 141 << 30},
        {"index": 1, "name": "Fake \u00e9", "capability": "9.1", "memory": 141 << 30},
    ]


@pytest.mark.parametrize(
    ("environ", "failure"),
    [
        pytest.param(
            {"FAKE_INIT": "100"},
            {"kind": "no-device", "detail": "cuInit answered CUDA_ERROR_FAKE (100)"},
            id="none-visible",
        ),
        pytest.param(
            {"FAKE_INIT": "803"},
            {"kind": "cuda", "detail": "cuInit answered CUDA_ERROR_FAKE (803)"},
            id="driver-mismatch",
        ),
        pytest.param(
            {"FAKE_COUNT": "999", "FAKE_NAME": "1"},
            {"kind": "cuda", "detail": "cuDeviceGetCount answered error (999)"},
            id="error-without-a-name",
        ),
    ],
)
def test_an_error_is_told_by_its_name(libcuda: Path, environ: dict[str, str], failure: dict[str, str]) -> None:
    assert answer(libcuda, **environ)["failure"] == failure


def test_a_library_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library")
    assert answer(tmp_path)["failure"]["kind"] == "no-library"


def test_a_library_without_the_functions(tmp_path: Path, libcuda: Path) -> None:
    (tmp_path / "empty.c").write_text("int nothing;")
    library = tmp_path / "libcuda.so.1"
    command = [shutil.which("cc") or "cc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "empty.c")]
    subprocess.run(command, check=True, timeout=60)
    failure = answer(tmp_path)["failure"]
    assert failure["kind"] == "no-library"
    assert "cuInit" in failure["detail"]
