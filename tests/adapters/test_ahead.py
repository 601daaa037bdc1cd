"""A walk ahead: in a process of its own it saves the walk, and never changes what is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from envguard.adapters import ahead, folders
from tests.adapters.small import Small

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="one core: no walk ahead"
)

ROOT = Path(__file__).parents[2]
LOOK = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from envguard.adapters import ahead, folders
begun = ahead.begin(lambda: str(folders.cache()))
assert begun is not None
child = begun._child
import json, os
from pathlib import Path
from envguard.adapters import tree
from envguard.adapters.look import Asked, look
from envguard.model.target import Level
from tests.adapters.small import SOABI, Silent, Small
walked = []
real = tree._look
tree._look = lambda root, path, *rest: (walked.append(path), real(root, path, *rest))[1]
small = Small(Path(sys.argv[1]))
looked = look(Asked(small.layout(), Level.FAST, SOABI, dict(os.environ), lambda name: None, Silent(), begun))
looked.save()
begun.end()
left = os.path.exists(f"/proc/{{child}}")
told = sorted((fact.kind.value, fact.shown, fact.detail) for fact in looked.files)
print(json.dumps({{"told": told, "walked": len(walked), "left": left, "seen": looked.seen}}))
"""


class Told(NamedTuple):
    told: list[list[str | None]]
    walked: int
    left: bool
    seen: int


Looks = Callable[[], Told]


@pytest.fixture
def looks(small: Small, tmp_path: Path) -> Looks:
    """A look in a process of its own, with a walk ahead; the index and what is kept are this test's."""

    def looked() -> Told:
        command = [sys.executable, "-c", LOOK, str(small.prefix)]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert ended.returncode == 0, ended.stderr
        return Told(**json.loads(ended.stdout))

    time.sleep(0.15)
    looked()
    return looked


def test_nothing_is_walked_when_nothing_changed(small: Small, looks: Looks) -> None:
    told = looks()
    assert (told.walked, told.left, told.seen) == (0, False, 23)
    assert sorted((fact.kind.value, fact.shown, fact.detail) for fact in small.facts()) == [
        tuple(fact) for fact in told.told
    ]


def _changed(path: str) -> Callable[[Small], object]:
    def change(small: Small) -> None:
        file = small.prefix / path.replace("site/", f"{small.site.relative_to(small.prefix)}/")
        before = file.stat()
        file.write_bytes(file.read_bytes()[:-1] + b"#")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    return change


CHANGES: dict[str, Callable[[Small], object]] = {
    "a byte": _changed("site/toy/__init__.py"),
    "a byte of dist-info": _changed("site/toy-1.0.dist-info/METADATA"),
    "a byte of a script": _changed("bin/toy-program"),
    "a byte of data": _changed("share/toy/notes.txt"),
    "a new file": lambda small: (small.site / "toy/new.py").write_bytes(b"x"),
    "a new folder": lambda small: (small.site / "other").mkdir(),
    "a new .pth": lambda small: (small.site / "evil.pth").write_bytes(b"import os\n"),
    "a file gone": lambda small: (small.site / "toy/cli.py").unlink(),
    "a folder gone": lambda small: shutil.rmtree(small.site / "toy"),
    "a distribution gone": lambda small: shutil.rmtree(small.site / "toy-1.0.dist-info"),
    "a lone egg-info": lambda small: (small.site / "lone.egg-info").write_bytes(b"Name: lone\n"),
    "the library gone": lambda small: shutil.rmtree(small.site),
    "a folder is a link": lambda small: os.symlink(
        (small.site / "toy").rename(small.prefix / "t"), small.site / "toy"
    ),
}


NOT_TOLD = ("a new folder", "a lone egg-info")


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_told_as_ever(small: Small, looks: Looks, change: str) -> None:
    before = looks()
    CHANGES[change](small)
    told = looks()
    expected = sorted((fact.kind.value, fact.shown, fact.detail) for fact in small.facts(keep=False))
    assert [tuple(fact) for fact in told.told] == expected
    assert (told.told == before.told) is (change in NOT_TOLD)


def _hint() -> Path:
    (file,) = (folders.cache() / "stat").glob("*.ahead")
    return file


@pytest.mark.parametrize("content", [b"", b"\0" * 99, b"rubbish"], ids=["empty", "zeros", "rubbish"])
def test_a_damaged_hint_is_none(looks: Looks, content: bytes) -> None:
    _hint().write_bytes(content)
    assert looks().walked > 0
    assert looks().walked == 0, "it has been written anew"


def test_a_hint_of_another_environment_is_none(
    looks: Looks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    ahead.remember(str(folders.cache()), [(str(tmp_path / "elsewhere"), True)])
    assert looks().walked > 0
    assert looks().walked == 0


def test_a_child_that_fails_says_nothing() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from envguard.adapters import ahead\n"
        "print('once', end='')\n"
        "begun = ahead.begin(lambda: 1 / 0)\n"
        "print(begun.below('/'), begun.below('/'))\n"
        "killed = ahead.begin(lambda: __import__('time').sleep(600))\n"
        "killed.end(); killed.end()\n"
        "print(killed.below('/'))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "onceNone None\nNone\n", "")
