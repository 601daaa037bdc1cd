"""What changes without changing anything: times, umasks, languages, users, places. No drift, in any of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.toy import Toy
from tests.installs import site_of


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    """Warm: the stat index knows every file."""
    made = Toy(tmp_path / "toy").make(relocatable=True)
    made.snapshot()
    made.run("verify", made.lock)
    return made


def _touch(moment: float) -> Callable[[Toy], None]:
    def change(toy: Toy) -> None:
        for path in site_of(toy.environment).rglob("*"):
            os.utime(path, (moment, moment))

    return change


def _moved(toy: Toy) -> None:
    toy.environment.rename(toy.project / "elsewhere")
    (toy.project / "elsewhere").rename(toy.root / "elsewhere")
    toy.variables["VIRTUAL_ENV"] = str(toy.root / "elsewhere")


def _compiled(toy: Toy) -> None:
    subprocess.run(
        [toy.environment / "bin" / "python", "-m", "compileall", "-q", site_of(toy.environment)], check=True
    )


def _stale(toy: Toy) -> None:
    """As after a copy that keeps no times: Python leaves every .pyc alone."""
    _compiled(toy)
    _touch(1_700_000_000)(toy)


def _not_compiled(toy: Toy) -> None:
    _compiled(toy)
    for cache in toy.environment.rglob("__pycache__"):
        shutil.rmtree(cache)


def _copied(toy: Toy) -> None:
    shutil.copytree(toy.environment, toy.project / "copy", symlinks=True)
    shutil.rmtree(toy.environment)
    (toy.project / "copy").rename(toy.environment)


def _linked(toy: Toy) -> None:
    """Another environment links every file, and lets go: the ctime moves, nothing else does."""
    other = toy.root / "links"
    for number, path in enumerate(site_of(toy.environment).rglob("*.py")):
        other.mkdir(exist_ok=True)
        os.link(path, other / str(number))
    shutil.rmtree(other)


def _old_index(toy: Toy) -> None:
    for path in toy.cache.rglob("*"):
        os.utime(path, (0, 0))


def _variables(**more: str) -> Callable[[Toy], None]:
    return lambda toy: toy.variables.update(more)


CHANGES: dict[str, Callable[[Toy], None]] = {
    "times of now": lambda toy: _touch(time.time())(toy),
    "times of 1970": _touch(0),
    "times of 2038 and later": _touch(2**31 + 5),
    "times of tomorrow": lambda toy: _touch(time.time() + 86_400)(toy),
    "times without parts of seconds": _touch(1_700_000_000),
    "linked and let go": _linked,
    "copied": _copied,
    "moved": _moved,
    "compiled": _compiled,
    "not compiled": _not_compiled,
    "compiled, and touched later": _stale,
    "another language": _variables(LC_ALL="C", LANG="tr_TR.UTF-8"),
    "no language": _variables(LC_ALL="POSIX", PYTHONUTF8="0"),
    "another time zone": _variables(TZ="Pacific/Kiritimati"),
    "no home": _variables(HOME="/nonexistent"),
    "a pager and colours": _variables(PAGER="less", NO_COLOR="1", FORCE_COLOR="3", TERM="dumb", COLUMNS="20"),
    "without its index": lambda toy: shutil.rmtree(toy.cache),
    "the index of another day": _old_index,
}


def verified(toy: Toy, *more: str, before: Callable[[], object] | None = None) -> None:
    python = toy.variables.get("VIRTUAL_ENV")
    where = ("--python", python) if python else ()
    for depth in ((), ("--full",), ("--metadata",)):
        ended = toy.run("verify", toy.lock, *depth, *where, *more, code=None, before=before)
        assert ended.code == 0, ended.whole
        assert "drift" not in ended.out


@pytest.mark.parametrize("name", CHANGES)
def test_no_drift(toy: Toy, name: str) -> None:
    CHANGES[name](toy)
    verified(toy)


@pytest.mark.parametrize("mask", [0o000, 0o027, 0o077], ids=oct)
def test_another_umask(tmp_path: Path, mask: int) -> None:
    """At install, at snapshot and at verify."""
    before = os.umask(mask)
    try:
        toy = Toy(tmp_path / "toy").make()
        toy.snapshot()
    finally:
        os.umask(before)
    verified(toy)
    verified(toy, before=lambda: os.umask(0o022))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user(toy: Toy) -> None:
    reach = [*toy.root.parents][:-1] + [*Path(sys.executable).resolve().parents][:-1]
    for above in reach:
        if not above.stat().st_mode & 0o001:
            pytest.skip(f"another user can't get to {above}")
    toy.variables |= {
        f"ENVGUARD_{kind}_DIR": str(toy.root / "theirs" / kind) for kind in ("DATA", "CACHE", "STATE")
    }
    (toy.root / "theirs").mkdir()
    os.chown(toy.root / "theirs", 1001, 1001)
    verified(toy, before=lambda: os.setuid(1001))


@pytest.mark.nightly
def test_two_hundred_times(tmp_path: Path) -> None:
    """Any of it, one after another, on one environment."""
    import random

    chance = random.Random(11)
    names = [name for name in CHANGES if name != "moved"]
    toy = Toy(tmp_path / "toy").make(relocatable=True)
    toy.snapshot()
    for _ in range(200):
        toy.variables.clear()
        CHANGES[chance.choice(names)](toy)
        verified(toy)
