from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envguard.adapters import bytecode, process
from envguard.adapters.uv import Uv, clean_environ
from envguard.errors import InstallFailedError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "environment"
    Uv().create(folder, Path(sys.executable))
    return folder


@pytest.fixture
def environment(made: Path, tmp_path: Path) -> Path:
    """A fresh copy, links kept."""
    copy = tmp_path / "attempt" / "environment"
    copy.parent.mkdir()
    subprocess.run(["cp", "-a", made, copy], check=True)
    return copy


def library(environment: Path) -> Path:
    return next(environment.glob("lib/*/site-packages"))


def compiled(source: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(source)))


def test_old_bytecode_goes_and_the_new_stays_valid_when_the_environment_moves(environment: Path) -> None:
    final = environment.parent.parent / "final"
    module = library(environment) / "demo.py"
    module.write_text("def place():\n    return place.__code__.co_filename\nVALUE = 'right'\n")
    stale = module.with_name("__pycache__")
    stale.mkdir()
    (stale / "gone.cpython-311.pyc").write_bytes(b"code of a source that is gone")
    compiled(module).write_bytes(b"no bytecode at all")
    bytecode.compile_anew(environment, final, clean_environ())
    assert not (stale / "gone.cpython-311.pyc").exists()
    content = compiled(module).read_bytes()
    assert str(final).encode() in content
    assert str(environment).encode() not in content
    environment.rename(final)
    program = "import demo; print(demo.VALUE, demo.place())"
    ended = subprocess.run(
        [final / "bin" / "python", "-v", "-c", program], capture_output=True, text=True, check=True
    )
    moved = library(final) / "demo.py"
    assert ended.stdout.split() == ["right", str(moved)]
    assert f"# {compiled(moved)} matches {moved}" in ended.stderr


def test_an_edited_source_is_noticed(environment: Path) -> None:
    module = library(environment) / "demo.py"
    module.write_text("VALUE = 'before'\n")
    bytecode.compile_anew(environment, environment, clean_environ())
    module.write_text("VALUE = 'after it'\n")
    ended = subprocess.run(
        [environment / "bin" / "python", "-c", "import demo; print(demo.VALUE)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "after it\n"


@pytest.mark.parametrize("workers", [1, 3, 50])
def test_every_source_gets_its_bytecode_whatever_the_number_of_workers(environment: Path, workers: int) -> None:
    sources = [library(environment) / "deep" / f"module {number} ä.py" for number in range(7)]
    sources[0].parent.mkdir()
    for source in sources:
        source.write_text("VALUE = 1\n")
    bytecode.compile_anew(environment, environment, clean_environ(), workers)
    assert all(compiled(source).exists() for source in sources)


def test_a_source_that_is_not_valid_gets_none_and_stops_nothing(environment: Path) -> None:
    good, bad = library(environment) / "good.py", library(environment) / "bad.py"
    good.write_text("VALUE = 1\n")
    bad.write_text("print 'Python 2'\n")
    bytecode.compile_anew(environment, environment, clean_environ())
    assert compiled(good).exists()
    assert not compiled(bad).exists()


def test_code_of_the_environment_is_not_run(environment: Path) -> None:
    canary = environment / "canary"
    (library(environment) / "hook.pth").write_text(f"import pathlib; pathlib.Path({str(canary)!r}).touch()\n")
    (library(environment) / "demo.py").write_text("VALUE = 1\n")
    bytecode.compile_anew(environment, environment, clean_environ())
    assert not canary.exists()


def test_bytecode_of_wheels_goes_and_a_module_without_a_source_stays(environment: Path) -> None:
    inside = library(environment) / "demo" / "__pycache__"
    inside.mkdir(parents=True)
    (inside / "x.cpython-311.pyc").touch()
    (inside.parent / "sourceless.pyc").touch()
    bytecode.clear(environment)
    assert [path.name for path in inside.parent.iterdir()] == ["sourceless.pyc"]


def test_bytecode_that_can_not_be_removed_is_told(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (library(environment) / "__pycache__").mkdir()

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(InstallFailedError, match="old bytecode can't be removed: Permission denied"):
        bytecode.clear(environment)


def test_a_name_with_a_line_break_stops_nothing(environment: Path) -> None:
    odd, good = library(environment) / "a\nb.py", library(environment) / "good.py"
    odd.write_text("VALUE = 1\n")
    good.write_text("VALUE = 1\n")
    bytecode.compile_anew(environment, environment, clean_environ())
    assert compiled(good).exists()
    assert not compiled(odd).exists()


def test_nothing_to_compile_is_no_error(environment: Path) -> None:
    for source in library(environment).rglob("*.py"):
        source.unlink()
    bytecode.compile_anew(environment, environment, clean_environ())


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("#!/bin/sh\necho it broke >&2\nexit 2\n", "compiling bytecode failed (exit 2): it broke"),
        ("#!/nonexistent\n", "bytecode can't be compiled"),
    ],
    ids=["fails", "missing"],
)
def test_an_interpreter_that_can_not_is_told(environment: Path, script: str, words: str) -> None:
    (library(environment) / "demo.py").write_text("VALUE = 1\n")
    python = environment / "bin" / "python"
    python.unlink()
    python.write_text(script)
    python.chmod(0o755)
    with pytest.raises(InstallFailedError) as raised:
        bytecode.compile_anew(environment, environment, dict(os.environ))
    assert words in raised.value.message


def test_one_that_never_ends_is_stopped(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> process.Ended:
        raise process.ChildTimeoutError(1.0, b"")

    monkeypatch.setattr(process, "run", late)
    (library(environment) / "demo.py").write_text("VALUE = 1\n")
    with pytest.raises(InstallFailedError, match="did not end within 1 s"):
        bytecode.compile_anew(environment, environment, clean_environ())


def test_bytecode_stays_valid_where_times_are_rounded_to_seconds(environment: Path) -> None:
    """As in a layer of a container image: half of all sources would get the next second."""
    module = library(environment) / "demo.py"
    module.write_text("VALUE = 1\n")
    os.utime(module, ns=(0, 1_700_000_015_700_000_000))
    bytecode.compile_anew(environment, environment, clean_environ())
    stamped = int.from_bytes(compiled(module).read_bytes()[8:12], "little")
    assert module.stat().st_mtime_ns == 1_700_000_015_000_000_000
    assert stamped == round(module.stat().st_mtime) == 1_700_000_015


def test_a_source_that_is_a_link_keeps_what_it_leads_to(environment: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("VALUE = 1\n")
    os.utime(outside, ns=(0, 1_700_000_015_700_000_000))
    (library(environment) / "linked.py").symlink_to(outside)
    bytecode.compile_anew(environment, environment, clean_environ())
    assert outside.stat().st_mtime_ns == 1_700_000_015_700_000_000
