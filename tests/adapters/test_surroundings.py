"""Looks around a run, on real folders."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from envguard.adapters import surroundings
from envguard.adapters.surroundings import RunSurroundings
from envguard.model.hazards import CacheFolder, Signs
from envguard.model.observed import Absent, Unobserved, Value
from envguard.model.target import Layout


def layout(library: Path) -> Layout:
    """An environment whose library is that folder."""
    return Layout(library, library, library, (library,), library, library, (), is_venv=True, system_site=False)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The run's folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def cache(environ: dict[str, str], work: Path) -> CacheFolder:
    """What is seen of the cache folder."""
    seen = RunSurroundings(environ, work).seen(layout(work)).cache
    assert isinstance(seen, Value)
    return seen.value


def test_signs_are_read_from_the_installed_source(tmp_path: Path, work: Path) -> None:
    file = tmp_path / "lib/torch/fx/_symbolic_trace.py"
    file.parent.mkdir(parents=True)
    file.write_text("_is_fx_tracing_flag = False\n")

    assert RunSurroundings({}, work).seen(layout(tmp_path / "lib")).signs == Value(Signs(flag="process"))
    assert RunSurroundings({}, work).seen(layout(tmp_path / "none")).signs == Absent()


def test_a_cache_folder_of_ones_own(work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/nowhere")
    monkeypatch.setattr(surroundings, "_TEMPORARY", ())
    (work / "cache").mkdir()

    seen = cache({"TORCHINDUCTOR_CACHE_DIR": str(work / "cache"), "HOME": str(work)}, work)

    assert (seen.shown, seen.temporary, seen.foreign) == ("~/cache", False, None)


def test_the_default_is_temporary(work: Path, tmp_path: Path) -> None:
    assert cache({"TMPDIR": str(tmp_path), "USER": "ada"}, work).temporary


def test_everybody_may_write(work: Path) -> None:
    (work / "cache").mkdir()
    (work / "cache").chmod(0o777)

    assert cache({"TORCHINDUCTOR_CACHE_DIR": "cache"}, work).foreign == "everybody may write there"


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a folder away")
def test_another_user_s(work: Path) -> None:
    (work / "cache").mkdir()
    os.chown(work / "cache", 4242, 4242)

    assert cache({"TORCHINDUCTOR_CACHE_DIR": "cache"}, work).foreign == "it belongs to user 4242"


def test_mounts_are_looked_up(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mountinfo").write_text(f"1 2 0:1 / {os.path.realpath(work)} rw,noexec - nfs4 server rw\n")
    monkeypatch.setattr(surroundings, "_MOUNTS", tmp_path / "mountinfo")

    seen = cache({"TORCHINDUCTOR_CACHE_DIR": "cache"}, work)

    assert (seen.filesystem, seen.noexec) == ("nfs4", True)


def test_no_mounts_are_told_on_other_systems(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "_MOUNTS", tmp_path / "none")

    assert cache({"TORCHINDUCTOR_CACHE_DIR": "cache"}, work).filesystem is None


def test_a_folder_that_cannot_be_looked_at_says_why(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(surroundings, "place", fails)

    assert RunSurroundings({}, work).seen(layout(work)).cache == Unobserved("Permission denied")


def test_variables(work: Path) -> None:
    seen = RunSurroundings(
        {
            "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1",
            "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE": "0",
            "TORCHDYNAMO_DISABLE": "1",
            "TORCH_COMPILE_DISABLE": "0",
            "TORCHDYNAMO_SUPPRESS_ERRORS": "0",
        },
        work,
    ).seen(layout(work))

    assert seen.remote == ("TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE",)
    assert seen.disabling == ("TORCHDYNAMO_DISABLE=1", "TORCHDYNAMO_SUPPRESS_ERRORS=0")


def test_the_run_s_own_code_is_read_and_no_environment_s(work: Path) -> None:
    text = "torch._dynamo.config.suppress_errors = True\n"
    for name in (
        "train.py",
        "deep/er.py",
        "tests/test_x.py",
        ".hidden/x.py",
        "env/lib/x.py",
        "notes.txt",
        "large.py",
    ):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    (work / "env/pyvenv.cfg").write_text("")
    (work / "large.py").write_text(text + "#" * (1 << 20))
    (work / "gone.py").symlink_to(work / "nowhere")

    seen = RunSurroundings({}, work).seen(layout(work))

    assert seen.settings == ("train.py:1: suppress_errors = True", "deep/er.py:1: suppress_errors = True")
