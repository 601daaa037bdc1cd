"""NVIDIA's driver library as far as it is asked, compiled on the spot: it sees two GPUs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

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
def libcuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a libcuda that sees two GPUs."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "cuda.c").write_text(DRIVER)
    command = [compiler, "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(folder / "cuda.c")]
    subprocess.run(command, check=True, timeout=60)
    return folder
