"""Settings and threads as the target's own files and MKL have them, and where a cache lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from envguard.adapters.cache.place import place
from envguard.adapters.cache.settings import read_settings, settings
from envguard.adapters.cache.threads import available_cores, threads
from envguard.model.digest import Digest

CONFIG = """
import os
from torch.utils._config_module import Config
off = os.environ.get("TORCHINDUCTOR_OFF") == "1"
on = os.environ.get("TORCHINDUCTOR_ON", "1") == "1"
home = os.environ.get("TORCHINDUCTOR_HOME", "0" if is_fbcode() else "1") == "1"
number = int(os.environ.get("TORCHINDUCTOR_NUMBER", "16"))
counted: int = int(os.getenv("TORCHINDUCTOR_COUNTED", 25))
text = os.environ.get("TORCHINDUCTOR_TEXT", "ATEN,TRITON")
odd = os.environ.get("TORCHINDUCTOR_ODD", default_odd) == "1"
forced: bool = Config(justknob="x", env_name_force="TORCHINDUCTOR_FORCED", default=True)
several: str = Config(env_name_default=["TORCHINDUCTOR_ONE", "TORCHINDUCTOR_TWO"], default="")

def decide():
    return os.environ.get("TORCHINDUCTOR_DECIDED", "x")

decided = decide()
compile_threads = int(os.environ.get("TORCHINDUCTOR_COMPILE_THREADS", "1"))
class trace:
    debug = os.environ.get("TORCHINDUCTOR_DEBUG") == "1"
class cpp:
    cxx = (None, os.environ.get("CXX", "g++"))
class secrets:
    password = os.environ.get("DATABASE_PASSWORD", "")
_cache_config_ignore_prefix: list[str] = ["trace", "compile_threads"]
"""


@pytest.fixture
def torch(tmp_path: Path) -> Path:
    for name, text in (("_inductor", CONFIG), ("_functorch", "import os\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "value", "seen"),
    [
        ("TORCHINDUCTOR_OFF", "1", "1"),
        ("TORCHINDUCTOR_OFF", "0", None),
        ("TORCHINDUCTOR_OFF", "yes", None),
        ("TORCHINDUCTOR_ON", "1", None),
        ("TORCHINDUCTOR_ON", "0", "0"),
        ("TORCHINDUCTOR_ON", "", "0"),
        ("TORCHINDUCTOR_HOME", "1", None),
        ("TORCHINDUCTOR_HOME", "0", "0"),
        ("TORCHINDUCTOR_NUMBER", "16", None),
        ("TORCHINDUCTOR_NUMBER", " 16", None),
        ("TORCHINDUCTOR_NUMBER", "8", "8"),
        ("TORCHINDUCTOR_COUNTED", "25", None),
        ("TORCHINDUCTOR_COUNTED", "5", "5"),
        ("TORCHINDUCTOR_TEXT", "ATEN,TRITON", None),
        ("TORCHINDUCTOR_TEXT", "ATEN", "ATEN"),
        ("TORCHINDUCTOR_ODD", "0", "0"),
        ("TORCHINDUCTOR_FORCED", "1", None),
        ("TORCHINDUCTOR_FORCED", "0", "0"),
        ("TORCHINDUCTOR_ONE", "x", "x"),
        ("TORCHINDUCTOR_TWO", "x", "x"),
        ("TORCHINDUCTOR_DECIDED", "y", "y"),
        ("TORCHINDUCTOR_COMPILE_THREADS", "7", None),
        ("TORCHINDUCTOR_DEBUG", "1", None),
        ("CXX", "clang++", "clang++"),
        ("CXX", "/opt/bin/g++", str(Digest.of(b"/opt/bin/g++"))),
        ("DATABASE_PASSWORD", "hunter2", str(Digest.of(b"hunter2"))),
        ("TORCH_COMPILE_CACHE_KEY_TAG", "x", "x"),
        ("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1", "1"),
        ("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "0", None),
        ("PTXAS_OPTIONS", "-O1", "-O1"),
        ("TORCHINDUCTOR_REDIS_URL", "redis://user:secret@host", None),
        ("HOME", "here", None),
    ],
)
def test_a_variable_counts_when_it_makes_a_difference(
    torch: Path, name: str, value: str, seen: str | None
) -> None:
    assert settings(torch, {name: value}) == (((name, seen),) if seen is not None else ())


def test_without_variables_there_is_none(torch: Path) -> None:
    assert settings(torch, {}) == ()


def test_a_file_that_cant_be_parsed_tells_nothing() -> None:
    assert read_settings(b"def (") == {}
    assert read_settings(b"") == {}


@pytest.mark.parametrize(
    ("environ", "mkl", "expected"),
    [
        ({}, True, 4),
        ({"OMP_NUM_THREADS": "2"}, True, 2),
        ({"OMP_NUM_THREADS": "2,1"}, True, 2),
        ({"OMP_NUM_THREADS": "9"}, True, 4),
        ({"OMP_NUM_THREADS": "9"}, False, 9),
        ({"OMP_NUM_THREADS": "9", "MKL_DYNAMIC": "FALSE"}, True, 9),
        ({"OMP_NUM_THREADS": "0"}, True, 4),
        ({"OMP_NUM_THREADS": "many"}, True, 4),
        ({"MKL_NUM_THREADS": "3", "OMP_NUM_THREADS": "1"}, True, 3),
        ({"MKL_NUM_THREADS": "0", "OMP_NUM_THREADS": "1"}, True, 1),
        ({"MKL_NUM_THREADS": "3", "OMP_NUM_THREADS": "1"}, False, 1),
    ],
)
def test_threads(environ: dict[str, str], mkl: bool, expected: int) -> None:
    """As torch 2.13.0+cpu answered (with MKL)."""
    assert threads(environ, mkl=mkl, cores=4) == expected


def test_there_are_cores() -> None:
    cores = available_cores()
    assert cores is None or cores >= 1


class TestPlace:
    """As torch's own cache_dir_utils has it."""

    def test_by_the_variable(self, tmp_path: Path) -> None:
        where = place({"TORCHINDUCTOR_CACHE_DIR": "cache", "TRITON_CACHE_DIR": "/t"}, tmp_path)
        assert (where.folder, where.source, where.triton) == (
            tmp_path / "cache",
            "TORCHINDUCTOR_CACHE_DIR",
            Path("/t"),
        )

    def test_named(self, tmp_path: Path) -> None:
        assert place({"TORCHINDUCTOR_CACHE_DIR": "/x"}, tmp_path, Path("y")).folder == tmp_path / "y"

    def test_by_default(self, tmp_path: Path) -> None:
        where = place({"TMPDIR": str(tmp_path), "USER": "a:b/c"}, Path("/"))
        assert where.folder == tmp_path / "torchinductor_a_b_c"
        assert where.source == "default"
        assert where.shown({"USER": "a:b/c"}) == f"{tmp_path}/torchinductor_<user>"

    def test_without_a_name(self, tmp_path: Path) -> None:
        assert place({"TMPDIR": str(tmp_path)}, Path("/")).folder.name.startswith("torchinductor_")

    def test_a_folder_that_is_not_there_is_passed_over(self, tmp_path: Path) -> None:
        where = place({"TMPDIR": str(tmp_path / "no"), "TMP": str(tmp_path), "USER": "u"}, Path("/"))
        assert where.folder == tmp_path / "torchinductor_u"

    def test_the_home_is_not_shown(self) -> None:
        assert place({"TORCHINDUCTOR_CACHE_DIR": "/home/ann/c"}, Path("/")).shown({"HOME": "/home/ann"}) == "~/c"
        shown = place({"TORCHINDUCTOR_CACHE_DIR": "/scratch/ann/c"}, Path("/")).shown({"USER": "ann"})
        assert shown == "/scratch/<user>/c"
