from __future__ import annotations

import re

import pytest

from envguard.model.facts import VariableKind
from envguard.model.variables import KNOWN


def test_names_are_names_and_no_patterns() -> None:
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]+", name) for name in KNOWN)


def test_each_name_stands_once() -> None:
    from envguard.model import variables

    names = [name for _, _, names in variables._GROUPS for name in names.split()]
    assert sorted(names) == sorted(set(names))


def test_each_says_why_in_a_few_words() -> None:
    assert all(0 < len(known.why) < 80 and known.why[0].islower() is not None for known in KNOWN.values())


@pytest.mark.parametrize(
    "name",
    [
        "TORCHINDUCTOR_REDIS_URL",
        "TORCHINDUCTOR_REDIS_HOST",
        "TRITON_REDIS_HOST",
        "HF_TOKEN",
        "WANDB_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "HTTPS_PROXY",
        "NCCL_COMM_ID",
        "NCCL_HOSTID",
        "MASTER_ADDR",
        "HOME",
        "PATH",
        "USER",
        "HOSTNAME",
    ],
)
def test_secrets_and_hosts_are_not_in_it(name: str) -> None:
    assert name not in KNOWN


def test_no_name_sounds_like_a_secret() -> None:
    sounds = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_KEY|REDIS|_URL$|_HOST$|_ADDR$")
    assert [name for name in KNOWN if sounds.search(name)] == []


@pytest.mark.parametrize("name", ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME"])
def test_the_place_of_a_cache_is_not_in_it(name: str) -> None:
    assert name not in KNOWN


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("TORCHINDUCTOR_MAX_AUTOTUNE", VariableKind.KEY),
        ("TORCH_COMPILE_CACHE_KEY_TAG", VariableKind.KEY),
        ("OMP_NUM_THREADS", VariableKind.KEY),
        ("TRITON_OVERRIDE_ARCH", VariableKind.KEY),
        ("NVIDIA_TF32_OVERRIDE", VariableKind.NUMERICS),
        ("CUBLAS_WORKSPACE_CONFIG", VariableKind.NUMERICS),
        ("TORCH_COMPILE_DISABLE", VariableKind.NUMERICS),
        ("PYTORCH_CUDA_ALLOC_CONF", VariableKind.NOTE),
        ("TORCHINDUCTOR_COMPILE_THREADS", VariableKind.NOTE),
        ("PYTHONHASHSEED", VariableKind.NOTE),
        ("LD_LIBRARY_PATH", VariableKind.PRESENCE),
        ("LD_PRELOAD", VariableKind.PRESENCE),
        ("PYTHONPATH", VariableKind.PRESENCE),
        ("TRITON_PTXAS_PATH", VariableKind.PRESENCE),
    ],
)
def test_kinds(name: str, kind: VariableKind) -> None:
    assert KNOWN[name].kind is kind


def test_what_holds_a_path_is_kept_as_a_digest() -> None:
    paths = re.compile(r"(_PATH|_DIR|_HOME|_FILE|FILENAME)$")
    assert [
        name for name, known in KNOWN.items() if paths.search(name) and known.kind is not VariableKind.PRESENCE
    ] == []
