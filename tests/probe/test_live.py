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
from tests.fakes.torch_module import TORCH, put_torch
from tests.pythons import supported, venv

LIVE = Path(envguard.__file__).parent / "probe" / "live.py"


def site_of(python: Path) -> Path:
    return next((python.parent.parent / "lib").glob("python3*/site-packages"))


def answer(python: Path, **environ: str) -> Any:
    ended = subprocess.run(
        [python, "-B", LIVE, "<<", ">>"],
        capture_output=True,
        timeout=60,
        env={**os.environ, **environ},
        check=True,
    )
    return json.loads(ended.stdout.decode().partition("<<")[2].partition(">>")[0])


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A venv with a torch that is none."""
    inside = venv(tmp_path_factory.mktemp("live") / "env", Path(sys.executable))
    put_torch(site_of(inside))
    return inside


@pytest.fixture(scope="module")
def library() -> Path:
    """Some shared library that any process can load."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    found = [line.split()[-1] for line in maps if "/libm.so" in line or "/libm-" in line]
    if not found:
        pytest.skip("this Python has loaded no libm")
    return Path(found[0])


def test_tells_all_sections(python: Path) -> None:
    told = {name: section["ok"] for name, section in answer(python)["sections"].items()}
    assert told == {
        "build": {
            "version": "2.11.0+cu130",
            "git_commit": "70d99e998b",
            "cuda": "13.0",
            "default_dtype": "float32",
        },
        "cudnn": "9.10.2",
        "nccl": "2.28.3",
        "architectures": ["sm_80", "sm_90"],
        "devices": ["Fake 0", "Fake 1"],
        "outside": [],
    }


def test_cudnn_8_counts_otherwise(python: Path) -> None:
    assert answer(python, FAKE_CUDNN="8902")["sections"]["cudnn"] == {"ok": "8.9.2"}


def test_libraries_from_outside_are_named(python: Path, library: Path, tmp_path: Path) -> None:
    inside = python.parent.parent / "lib" / "libcublas.so.13"
    shutil.copy(library, inside)
    names = ["libcudart.so.13", "libcuda.so.580.159.04", "libother.so.1", "libnccl.so.2"]
    for name in names:
        shutil.copy(library, tmp_path / name)
    paths = " ".join(str(path) for path in (inside, *(tmp_path / name for name in names)))
    told = answer(python, FAKE_LIBRARIES=paths)["sections"]["outside"]
    assert told == {"ok": ["libcuda.so.1", "libcudart.so.13", "libnccl.so.2"]}


def test_a_library_that_the_environment_links_to_is_its_own(python: Path, library: Path, tmp_path: Path) -> None:
    cached = tmp_path / "cache" / "libcublasLt.so.13"
    cached.parent.mkdir()
    shutil.copy(library, cached)
    link = site_of(python) / "nvidia" / "cu13" / "lib" / cached.name
    link.parent.mkdir(parents=True)
    link.symlink_to(cached)
    assert answer(python, FAKE_LIBRARIES=str(link))["sections"]["outside"] == {"ok": []}


def test_preloaded_libraries_are_named(python: Path, library: Path, tmp_path: Path) -> None:
    preloaded = tmp_path / "libtuned.so"
    shutil.copy(library, preloaded)
    told = answer(python, LD_PRELOAD=f"{preloaded}:/not/there.so")["sections"]["outside"]
    assert told == {"ok": ["libtuned.so"]}


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        pytest.param("import no_such_thing", "import", "No module named 'no_such_thing'", id="a-part-is-missing"),
        pytest.param("raise OSError('libcudart.so.13: cannot open')", "import", "libcudart.so.13", id="library"),
        pytest.param("raise SystemExit(3)", "import", "SystemExit: 3", id="exit"),
    ],
)
def test_an_import_that_fails_is_told(text: str, kind: str, words: str, tmp_path: Path) -> None:
    put_torch(tmp_path, text)
    failure = answer(Path(sys.executable), PYTHONPATH=str(tmp_path))["failure"]
    assert failure["kind"] == kind
    assert words in failure["detail"]


@pytest.mark.parametrize("base", supported())
def test_without_torch(base: Path, tmp_path: Path) -> None:
    assert answer(venv(tmp_path / "env", base))["failure"]["kind"] == "no-torch"


def test_a_section_that_fails_leaves_the_others(tmp_path: Path) -> None:
    broken = TORCH.replace('int(os.environ.get("FAKE_CUDNN", "91002"))', "1 / 0")
    assert broken != TORCH
    put_torch(tmp_path, broken)
    told = answer(Path(sys.executable), PYTHONPATH=str(tmp_path))["sections"]
    assert told["cudnn"] == {"error": "ZeroDivisionError: division by zero"}
    assert told["nccl"] == {"ok": "2.28.3"}


def test_the_probes_own_folder_is_not_on_the_path(tmp_path: Path) -> None:
    put_torch(tmp_path, "import sys; raise OSError(repr(sys.path))")
    detail = answer(Path(sys.executable), PYTHONPATH=str(tmp_path))["failure"]["detail"]
    assert str(LIVE.parent) not in detail
    assert str(tmp_path) in detail


def test_a_safe_path_loses_nothing(tmp_path: Path) -> None:
    put_torch(tmp_path, "import sys; raise OSError(repr(sys.path))")
    detail = answer(Path(sys.executable), PYTHONPATH=str(tmp_path), PYTHONSAFEPATH="1")["failure"]["detail"]
    assert repr(str(tmp_path)) in detail
