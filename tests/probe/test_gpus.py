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

GPUS = Path(envguard.__file__).parent / "probe" / "gpus.py"

DRIVER = r"""
#include <string.h>
#include <stdlib.h>
static int code(const char *name) { const char *text = getenv(name); return text ? atoi(text) : 0; }
int cuInit(unsigned flags) { return code("FAKE_INIT"); }
int cuDeviceGetCount(int *count) { *count = 2; return code("FAKE_COUNT"); }
int cuDeviceGet(int *device, int index) { *device = index + 10; return 0; }
int cuDeviceGetName(char *name, int length, int device) {
    strncpy(name, device == 10 ? "Fake H200" : "Fake \xc3\xa9", length);
    return 0;
}
int cuDeviceGetAttribute(int *value, int which, int device) { *value = which == 75 ? 9 : device - 10; return 0; }
int cuDeviceTotalMem_v2(size_t *size, int device) { *size = (size_t)141 << 30; return 0; }
int cuGetErrorName(int error, const char **name) {
    *name = "CUDA_ERROR_FAKE";
    return code("FAKE_NAME");
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a libcuda that sees two GPUs."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "cuda.c").write_text(DRIVER)
    command = [compiler, "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(folder / "cuda.c")]
    subprocess.run(command, check=True, timeout=60)
    return folder


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


def test_every_device_is_told(driver: Path) -> None:
    assert answer(driver)["devices"] == [
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
def test_an_error_is_told_by_its_name(driver: Path, environ: dict[str, str], failure: dict[str, str]) -> None:
    assert answer(driver, **environ)["failure"] == failure


def test_a_library_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library")
    assert answer(tmp_path)["failure"]["kind"] == "no-library"


def test_a_library_without_the_functions(tmp_path: Path, driver: Path) -> None:
    (tmp_path / "empty.c").write_text("int nothing;")
    library = tmp_path / "libcuda.so.1"
    command = [shutil.which("cc") or "cc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "empty.c")]
    subprocess.run(command, check=True, timeout=60)
    failure = answer(tmp_path)["failure"]
    assert failure["kind"] == "no-library"
    assert "cuInit" in failure["detail"]
