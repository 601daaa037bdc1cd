from __future__ import annotations

import pytest

from envguard.model.digest import Digest
from envguard.model.facts import Variable, VariableKind, Variables
from envguard.planning.variables import select


def test_only_the_tables_by_name() -> None:
    environ = {
        "TORCHINDUCTOR_MAX_AUTOTUNE": "1",
        "NVIDIA_TF32_OVERRIDE": "0",
        "HF_TOKEN": "secret",
        "TORCHINDUCTOR_REDIS_URL": "redis://u:secret@h",
        "omp_num_threads": "8",
        "PATH": "/usr/bin",
    }
    assert select(environ, "process") == Variables(
        "process",
        (
            Variable("NVIDIA_TF32_OVERRIDE", VariableKind.NUMERICS, "0"),
            Variable("TORCHINDUCTOR_MAX_AUTOTUNE", VariableKind.KEY, "1"),
        ),
    )


def test_none() -> None:
    assert select({}, "shell") == Variables("shell", ())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("LD_LIBRARY_PATH", "lib", id="presence"),
        pytest.param("LD_PRELOAD", "", id="presence-empty"),
        pytest.param("CXX", "/home/me/bin/g++", id="path"),
        pytest.param("CXX", "C:\\tools\\cl.exe", id="windows-path"),
        pytest.param("TORCH_COMPILE_CACHE_KEY_TAG", "https://u:secret@h", id="address"),
        pytest.param("TORCH_COMPILE_JOB_ID", "me@host", id="user-at-host"),
        pytest.param("TORCH_COMPILE_CACHE_KEY_TAG", "x" * 501, id="long"),
        pytest.param("CXX", "/\udcff", id="not-utf-8"),
    ],
)
def test_paths_addresses_and_long_values_become_digests(name: str, value: str) -> None:
    kept = select({name: value}, "shell").values[0].value
    assert kept == str(Digest.of(value.encode("utf-8", "surrogateescape")))


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        pytest.param(":4096:8", ":4096:8", id="plain"),
        pytest.param("", "", id="empty"),
        pytest.param("caf\u00e9", "caf\u00e9", id="accent"),
        pytest.param("a\udcffb", "a\\xffb", id="not-utf-8"),
    ],
)
def test_other_values_are_kept(value: str, wanted: str) -> None:
    assert select({"CUBLAS_WORKSPACE_CONFIG": value}, "shell").values[0].value == wanted


def test_the_order_of_the_environment_does_not_matter() -> None:
    one = {"OMP_NUM_THREADS": "8", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert select(one, "shell") == select(dict(reversed(one.items())), "shell")
