from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envguard.adapters import uv as module
from envguard.adapters.uv import Uv, clean_environ
from envguard.errors import InstallFailedError, UvUnsuitableError
from envguard.model.digest import Digest
from tests import builders


def stand_in(folder: Path, script: str) -> Path:
    """A program that is called uv."""
    program = folder / "uv"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def hashed(path: Path) -> tuple[Path, Digest]:
    return path, Digest.of(path.read_bytes())


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    folder = tmp_path / "an attempt" / "environment"
    folder.parent.mkdir()
    Uv().create(folder, Path(sys.executable))
    return folder


def installed(environment: Path) -> list[str]:
    return sorted(path.name for path in environment.glob("lib/*/site-packages/*.dist-info"))


def test_the_uv_that_came_with_envguard_is_one_that_will_do() -> None:
    uv = Uv()
    assert uv.version().count(".") == 2
    assert uv.notes() == ()


@pytest.mark.parametrize(
    ("printed", "note"),
    [("uv 0.13.9 (abc 2026-01-01)", False), ("uv 0.14.0", True), ("uv 1.0.0", True)],
    ids=["tried", "next", "major"],
)
def test_a_version_never_tried_is_named(tmp_path: Path, printed: str, note: bool) -> None:
    uv = Uv(stand_in(tmp_path, f"echo '{printed}'"))
    assert uv.version() == printed.split()[1]
    assert bool(uv.notes()) is note
    assert all(printed.split()[1] in words for words in uv.notes())


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'uv 0.11.27'", "uv 0.11.27 is too old"),
        ("echo 'uv 0.9.30 (x)'", "uv 0.9.30 is too old"),
        ("echo rubbish", "gave no version (exit 0)"),
        ("echo 'uv next'", "gave no version (exit 0)"),
        ("true", "gave no version (exit 0)"),
        ("printf '\\377\\376'", "gave no version (exit 0)"),
        ("echo 'uv 0.13.9'; exit 3", "gave no version (exit 3)"),
        ("kill -9 $$", "gave no version (ended by SIGKILL)"),
    ],
    ids=["old", "older", "rubbish", "word", "silent", "bytes", "fails", "killed"],
)
def test_a_uv_that_will_not_do_is_refused(tmp_path: Path, script: str, words: str) -> None:
    program = stand_in(tmp_path, script)
    with pytest.raises(UvUnsuitableError) as raised:
        Uv(program).version()
    assert words in raised.value.message
    assert raised.value.where == str(program)
    assert "uv>=0.11.28" in (raised.value.hint or "")


def test_a_uv_that_can_not_be_started(tmp_path: Path) -> None:
    with pytest.raises(UvUnsuitableError, match="can't be started: No such file"):
        Uv(tmp_path / "none").version()


def test_a_uv_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MINUTE", 0.2)
    with pytest.raises(UvUnsuitableError, match=r"did not end within 0\.2 s"):
        Uv(stand_in(tmp_path, "exec sleep 60")).version()


def test_without_the_distribution_the_one_on_the_path_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> str:
        raise FileNotFoundError

    monkeypatch.setattr("uv.find_uv_bin", missing)
    stand_in(tmp_path, "echo 'uv 0.12.1'")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert Uv().version() == "0.12.1"
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(UvUnsuitableError, match="uv is missing"):
        Uv().version()


def test_children_see_no_setting_of_an_installer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "UV_INDEX",
        "PIP_INDEX_URL",
        "PYTHONPATH",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "UV_LINK_MODE",
        "LD_PRELOAD",
    ):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("TMPDIR", "/tmp")
    monkeypatch.setenv("LC_ALL", "C")
    environ = clean_environ()
    assert {"PATH", "TMPDIR", "LC_ALL"} <= environ.keys()
    assert not [name for name in environ if name.startswith(("UV_", "PIP_", "PYTHON", "VIRTUAL", "CONDA", "LD_P"))]


def test_an_environment_is_empty_and_relocatable(environment: Path, tmp_path: Path) -> None:
    assert installed(environment) == []
    assert "relocatable = true" in (environment / "pyvenv.cfg").read_text()
    assert sorted(path.name for path in environment.parent.iterdir()) == ["environment"]


def test_exactly_the_given_files_are_installed(environment: Path, tmp_path: Path) -> None:
    wheels = tmp_path / "w+h%20eels"
    wheels.mkdir()
    plain = builders.wheel(wheels, "demo", "1.0", {"demo/__init__.py": "BUILD = None\n"})
    third = builders.wheel(wheels, "demo", "1.0", {"demo/__init__.py": "BUILD = 3\n"}, build="3")
    local = builders.wheel(
        wheels, "other", "2.0+cu130", {"other.py": "X = 1\n"}, entry_points="[console_scripts]\nhi = other:x\n"
    )
    assert plain != third
    Uv().install(environment, [hashed(third), hashed(local)])
    assert installed(environment) == ["demo-1.0.dist-info", "other-2.0+cu130.dist-info"]
    source = next(environment.glob("lib/*/site-packages/demo/__init__.py"))
    assert source.read_text() == "BUILD = 3\n"
    assert source.stat().st_nlink == 1, "a file of the environment is shared with a cache"
    assert sorted(path.name for path in environment.parent.iterdir()) == ["environment"]


def test_nothing_to_install_is_no_error(environment: Path) -> None:
    Uv().install(environment, [])
    assert installed(environment) == []


def test_settings_of_the_user_do_not_count(
    environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "uv.toml"
    settings.write_text("this is not even TOML")
    monkeypatch.setenv("UV_CONFIG_FILE", str(settings))
    monkeypatch.setenv("UV_NO_VERIFY_HASHES", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "shared"))
    wheel = builders.wheel(tmp_path, "demo", "1.0", {"demo.py": ""})
    Uv().install(environment, [hashed(wheel)])
    assert installed(environment) == ["demo-1.0.dist-info"]
    assert not (tmp_path / "shared").exists()


def test_other_bytes_than_the_digest_are_not_installed(environment: Path, tmp_path: Path) -> None:
    wheel = builders.wheel(tmp_path, "demo", "1.0", {"demo.py": ""})
    with pytest.raises(InstallFailedError) as raised:
        Uv().install(environment, [(wheel, builders.digest("another"))])
    assert "uv pip sync failed (exit 1)" in raised.value.message
    assert "Hash mismatch" in raised.value.message
    assert installed(environment) == []


def test_a_wheel_for_another_platform_is_told_in_uvs_words(environment: Path, tmp_path: Path) -> None:
    wheel = builders.wheel(tmp_path, "demo", "1.0", {"demo.py": ""}, tag="cp27-cp27m-win32")
    with pytest.raises(InstallFailedError, match="demo"):
        Uv().install(environment, [hashed(wheel)])


def test_a_file_that_is_no_wheel(environment: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "demo-1.0-py3-none-any.whl"
    wheel.write_bytes(b"no zip")
    with pytest.raises(InstallFailedError, match="uv pip sync failed"):
        Uv().install(environment, [hashed(wheel)])


def test_a_python_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InstallFailedError, match="uv venv failed"):
        Uv().create(tmp_path / "environment", tmp_path / "python")


def test_all_that_uv_says_is_kept_and_secrets_are_masked(tmp_path: Path) -> None:
    lines = "\\n".join(f"line {number}" for number in range(500))
    script = f"printf '{lines}\\n'>&2; echo 'at https://user:s3cret@host/simple?x=1' >&2; exit 2"
    with pytest.raises(InstallFailedError) as raised:
        Uv(stand_in(tmp_path, script)).create(tmp_path / "environment", Path(sys.executable))
    assert raised.value.message.startswith("uv venv failed (exit 2):\nline 0\n")
    assert "line 499" in raised.value.message
    assert "s3cret" not in raised.value.message
    assert "https://****@host/simple" in raised.value.message


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo working >&2; exec sleep 60", "uv pip sync did not end within 0.5 s and was stopped:\nworking"),
        ("kill -9 $$", "uv pip sync failed (ended by SIGKILL)"),
        ("kill -34 $$", "uv pip sync failed (ended by"),
    ],
    ids=["hangs", "killed", "odd-signal"],
)
def test_a_uv_that_hangs_or_is_killed(tmp_path: Path, script: str, words: str) -> None:
    program = stand_in(tmp_path, script)
    with pytest.raises(InstallFailedError) as raised:
        Uv(program, limit=0.5).install(tmp_path / "environment", [])
    assert words in raised.value.message


def test_a_uv_that_went_away(tmp_path: Path) -> None:
    with pytest.raises(InstallFailedError, match="uv venv can't be started"):
        Uv(tmp_path / "none").create(tmp_path / "environment", Path(sys.executable))


def test_the_interpreter_of_the_tests_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = Uv().pythons(minor)
    assert found
    assert len(set(found)) == len(found)
    version = subprocess.run(
        [found[0], "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert version.stdout.strip() == minor


def test_pythons_of_pyenv_and_those_that_uv_lists_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("3.99.1", "3.99.2", "3.9.1"):
        folder = tmp_path / "versions" / version / "bin"
        folder.mkdir(parents=True)
        (folder / f"python{version.rpartition('.')[0]}").touch()
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    listed = json.dumps([{"path": "/opt/python3.99"}, {"path": None}, "odd", {"path": "/opt/python3.99"}])
    uv = Uv(stand_in(tmp_path, f"echo '{listed}'"))
    assert [path.name for path in uv.pythons("3.99")] == ["python3.99", "python3.99", "python3.99"]
    assert uv.pythons("3.99")[2] == Path("/opt/python3.99")
    assert "pyenv" in uv.looked()


@pytest.mark.parametrize("script", ["echo rubbish", "echo '{}'", "exit 2"], ids=["rubbish", "other", "fails"])
def test_when_uv_can_not_list_pythons_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert Uv(stand_in(tmp_path, script)).pythons("3.99") == ()


def test_bytecode_is_compiled_by_the_environments_own_python(environment: Path, tmp_path: Path) -> None:
    wheel = builders.wheel(tmp_path, "demo", "1.0", {"demo.py": "VALUE = 1\n"})
    Uv().install(environment, [hashed(wheel)])
    Uv().compile(environment, environment)
    assert list(environment.glob("lib/*/site-packages/__pycache__/demo.*.pyc"))
    shutil.rmtree(environment)
