"""What a user is given by others: locks, wheels, settings, logs, traces. Refused in words, and nothing more."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import builders
from tests.faults.toy import Toy, tree
from tests.hostile.bounded import RESIDENT_KIB, Bounded, bounded

Change = Callable[[str], str | bytes]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    made = Toy(tmp_path_factory.mktemp("hostile") / "toy").make().graphs()
    made.snapshot("--archive")
    made.run("cache", "save", made.lock)
    outside = made.root / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    return made


def told(toy: Toy, *command: str | Path, codes: tuple[int, ...]) -> Bounded:
    """In words, within limits, with nothing changed but our own folders."""
    before = tree(toy.root, without=("data", "cache", "state", "__pycache__"))
    ended = bounded(toy, *command)
    assert "Traceback" not in ended.whole, ended.whole
    assert ended.code in codes, (ended.code, ended.whole[-2000:])
    assert ended.peak <= RESIDENT_KIB
    assert "\x1b" not in ended.whole, "what others wrote steers the terminal"
    if ended.code in (2, 3):
        assert ended.err.count("error[") == 1
    assert tree(toy.root, without=("data", "cache", "state", "__pycache__")) == before
    return ended


def swap(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


def add(more: str) -> Change:
    return lambda text: text + more


SHA = "sha256:" + "a" * 64
WHEEL = '[[distribution]]\nname = "x"\nversion = "1"\n'
LOCKS: dict[str, Change] = {
    "empty": lambda text: "",
    "rubbish": lambda text: bytes(range(256)),
    "UTF-16": lambda text: text.encode("utf-16"),
    "NUL bytes": lambda text: text.replace("good", "go\0d"),
    "cut off": lambda text: text[:500],
    "9 MiB": lambda text: text + "#" * (9 << 20),
    "a key of 10,000 parts": add("\n" + "a." * 10_000 + "b = 1\n"),
    "a header of 20,000 parts": add("\n[" + "a." * 20_000 + "b]\n"),
    "arrays in arrays": add("\nx = " + "[" * 100_000),
    "tables in tables": add("\nx = " + "{a=" * 100_000),
    "a number of 100,000 digits": swap("size = ", "size = 1" + "0" * 100_000 + "\nsize2 = "),
    "a size below zero": swap("size = ", "size = -1\nsize2 = "),
    "schema of tomorrow": swap("schema = 1", "schema = 999"),
    "schema is a text": swap("schema = 1", 'schema = "1"'),
    "no schema": swap("schema = 1", ""),
    "a distribution that leads out": swap('name = "demo"', 'name = "../demo"'),
    "a distribution with a space": swap('name = "demo"', 'name = "de mo"'),
    "a distribution twice": add(f"{WHEEL}{WHEEL}"),
    "a wheel that leads out": swap('wheel = "demo-1.0', 'wheel = "../outside/demo-1.0'),
    "a wheel at an absolute path": swap('wheel = "demo-1.0', 'wheel = "/tmp/demo-1.0'),
    "a wheel of another name": swap('wheel = "demo-1.0-py3-none-any.whl"', 'wheel = "x.tar.gz"'),
    "a short digest": swap('record = "sha256:', 'record = "sha256:00\n#'),
    "a digest of another kind": swap('record = "sha256:', 'record = "md5:'),
    "a file that leads out": swap('path = "run-demo"', 'path = "../../outside/precious"'),
    "a file at an absolute path": swap('path = "run-demo"', 'path = "/etc/passwd"'),
    "a file with a NUL": swap('path = "run-demo"', 'path = "a\\u0000b"'),
    "a file with a backslash": swap('path = "run-demo"', 'path = "..\\\\..\\\\x"'),
    "a mode with setuid": swap('kind = "script"', 'kind = "script"\nmode = "4755"'),
    "a kind that isn't": swap('kind = "script"', 'kind = "\\u001b[31mred"'),
    "a key of a cache that leads out": swap('cpu = ["fxgraph/', 'cpu = ["../../outside/'),
    "a fingerprint of other keys": swap('"fxgraph/faa', '"fxgraph/fbb'),
    "a device that isn't": swap("[cache.keys]\ncpu", '[cache.keys]\n"../cpu"'),
    "a date that isn't": swap("created = 2026", "created = 9999-99"),
    "a command with a NUL": add('[warmup]\ncommand = ["a\\u0000b"]\nlaunch = "per-device"\ndevices = ["cpu"]\n'),
    "an index with a secret": add('[indexes]\nx = "https://u:pw@h/x"\n[indexes.y]\nz = 1\n'),
    "archived objects that aren't digests": swap('objects = ["sha256:', 'objects = ["../sha256:'),
}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock(toy: Toy, name: str) -> None:
    content = LOCKS[name](toy.lock.read_text())
    lock = toy.root / "given.toml"
    lock.write_bytes(content if isinstance(content, bytes) else content.encode())
    told(toy, "verify", lock, "--metadata", codes=(2,))


def _fifo(path: Path) -> None:
    os.mkfifo(path)


SPECIAL: dict[str, Callable[[Path], None]] = {
    "a folder": lambda path: path.mkdir(),
    "a loop of links": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to(path.with_name("nothing")),
    "a file without end": lambda path: path.symlink_to("/dev/zero"),
    "a pipe that nobody writes": _fifo,
}


@pytest.mark.parametrize("name", [name for name in SPECIAL if "pipe" not in name])  # a shell's <(…) is one
def test_a_lock_that_is_no_file(toy: Toy, tmp_path: Path, name: str) -> None:
    SPECIAL[name](tmp_path / "given.toml")
    told(toy, "verify", tmp_path / "given.toml", codes=(2, 3))


@pytest.mark.parametrize("name", SPECIAL)
def test_a_wheel_that_is_no_file(toy: Toy, tmp_path: Path, name: str) -> None:
    SPECIAL[name](tmp_path / "demo-1.0-py3-none-any.whl")
    told(toy, "inspect", tmp_path / "demo-1.0-py3-none-any.whl", codes=(2, 3))


NOTES: dict[str, str] = {
    "a note that steers the terminal": '\nnote = "\\u001b]0;owned\\u0007\\u001b[2J"\n',
    "a reason that steers the terminal": (
        '\n[[policy.ignore]]\ncheck = "files"\nsubject = "\\u001b[31m*"\nby = "x"\nreason = "\\u001b[2J"\n'
    ),
}


@pytest.mark.parametrize("name", NOTES)
@pytest.mark.parametrize("command", ["verify", "lint", "diff"])
def test_words_that_steer_the_terminal(toy: Toy, name: str, command: str) -> None:
    lock = toy.root / "given.toml"
    text = toy.lock.read_text()
    more = NOTES[name]
    lock.write_text(more + text if more.startswith("\nnote") else text + more)
    told(toy, command, lock, *([toy.lock] if command == "diff" else []), codes=(0, 1, 2))


def _zip(**entries: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _good(folder: Path) -> bytes:
    return builders.wheel(folder, "demo", "1.0", {"demo.py": "A = 1\n"}).read_bytes()


def _twice(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("demo-1.0.dist-info/METADATA", "Name: demo\nVersion: 1.0\n")
        archive.writestr("demo-1.0.dist-info/METADATA", "Name: demo\nVersion: 6.6\n")
    return stream.getvalue()


def _end(content: bytes, **fields: int) -> bytes:
    """Numbers of the end record replaced."""
    at = content.rfind(b"PK\5\6")
    values = list(struct.unpack("<4s4H2LH", content[at : at + 22]))
    for name, value in fields.items():
        values[("mark", "disk", "first", "here", "entries", "size", "start", "comment").index(name)] = value
    return content[:at] + struct.pack("<4s4H2LH", *values) + content[at + 22 :]


WHEELS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda good: b"",
    "no zip": lambda good: b"MZ" + b"\0" * 5000,
    "cut off": lambda good: good[:-30],
    "bytes before": lambda good: b"#!/bin/sh\n" + good,
    "bytes after": lambda good: good + b"PK" * 50,
    "an end inside the comment": lambda good: _end(good, comment=22) + good[good.rfind(b"PK\5\6") :],
    "65,535 entries": lambda good: _end(good, entries=65535, here=65535),
    "a directory of 4 GB": lambda good: _end(good, size=0xFFFFFFF0),
    "a directory past the end": lambda good: _end(good, start=0xFFFFFF),
    "several disks": lambda good: _end(good, disk=1),
    "a name that leads out": lambda good: _zip(**{"../outside/x": b"", "demo-1.0.dist-info/METADATA": b""}),
    "an absolute name": lambda good: _zip(**{"/tmp/x": b"", "demo-1.0.dist-info/METADATA": b""}),
    "two of one name": _twice,
    "no metadata": lambda good: _zip(**{"demo.py": b""}),
    "metadata without a name": lambda good: _zip(**{"demo-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\n\n"}),
    "a bomb": lambda good: good.replace(b"demo.py", b"demo.py")[:18] + struct.pack("<L", 0xFFFFFFF0) + good[22:],
    "encrypted": lambda good: good[:6] + b"\1" + good[7:],
    "a checksum of something else": lambda good: good.replace(b"A = 1", b"B = 2"),
}


@pytest.mark.parametrize("name", WHEELS)
def test_a_wheel(toy: Toy, tmp_path: Path, name: str) -> None:
    file = tmp_path / "demo-1.0-py3-none-any.whl"
    good = _good(tmp_path)
    file.write_bytes(WHEELS[name](good))
    codes = (2,) if name not in ("a bomb", "encrypted", "a checksum of something else") else (0, 2)
    told(toy, "inspect", file, codes=codes)


LEADING = {
    "out": "../../../../../outside/evil.py",
    "to an absolute path": "{outside}/evil.py",
    "out of the scripts": "demo-1.0.data/scripts/../../../../outside/evil",
    "to the interpreter": "demo-1.0.data/scripts/python",
}


@pytest.mark.parametrize("name", LEADING)
def test_a_wheel_whose_files_lead_elsewhere_is_not_restored(toy: Toy, tmp_path: Path, name: str) -> None:
    """The lock names these very bytes: all of it is the attacker's."""
    links = tmp_path / "links"
    links.mkdir()
    path = LEADING[name].format(outside=toy.root / "outside")
    wheel = builders.wheel(links, "demo", "1.0", {"demo.py": "A = 1\n", path: "evil\n"})
    text = toy.lock.read_text()
    old = next(line for line in text.splitlines() if line.startswith("sha256 = "))
    lines = [line for line in text.splitlines() if not line.startswith("rebuilt")]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    given = "\n".join(lines).replace(old, f'sha256 = "sha256:{digest}"', 1) + "\n"
    (toy.root / "given.toml").write_text(given.replace("size = ", f"size = {wheel.stat().st_size} #"))
    before = tree(toy.root, without=("data", "cache", "state"))
    command = (
        "restore",
        toy.root / "given.toml",
        "--target",
        tmp_path / "env",
        "--offline",
        "--find-links",
        links,
    )
    ended = toy.run(*command, code=None)
    assert ended.code in (1, 2, 3), ended.whole
    assert "Traceback" not in ended.whole
    assert not (tmp_path / "env").exists()
    assert tree(toy.root, without=("data", "cache", "state")) == before


def test_a_lock_whose_name_leads_out(toy: Toy) -> None:
    """It can be looked at; no folder is made by that name."""
    lock = toy.root / "given.toml"
    lock.write_text(toy.lock.read_text().replace('name = "good"', 'name = "../../outside/x"'))
    told(toy, "restore", lock, "--offline", codes=(2, 3))
    told(toy, "cache", "load", lock, "--trust-cache", codes=(2, 3))
    told(toy, "run", lock, "--", "true", codes=(0, 125))


SETTINGS = {
    "not TOML": "[tool.envguard\n",
    "a number of 5,000 digits": "[tool.envguard]\nlock = 1" + "0" * 5000 + "\n",
    "a lock that is a number": "[tool.envguard]\nlock = 5\n",
    "a deep key": "[tool.envguard]\n" + "a." * 10_000 + "b = 1\n",
    "a policy that isn't": "[tool.envguard]\npolicy = [1]\n",
    "an ignore without a reason": '[tool.envguard]\n[[tool.envguard.policy.ignore]]\ncheck = "files"\n',
    "not UTF-8": '[tool.envguard]\nlock = "\udcff"\n',
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(toy: Toy, name: str) -> None:
    file = toy.project / "pyproject.toml"
    file.write_bytes(SETTINGS[name].encode("utf-8", "surrogateescape"))
    try:
        told(toy, "verify", toy.lock, codes=(2,))
    finally:
        file.unlink()


@pytest.mark.parametrize("content", [b"", b"\0", b"[" * 100_000, b"x = 1", b"[[policy.ignore]]\n"], ids=repr)
def test_a_baseline(toy: Toy, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "baseline.toml").write_bytes(content)
    told(toy, "verify", toy.lock, "--baseline", tmp_path / "baseline.toml", codes=(0, 2))


RUN_LOGS = {
    "empty": b"",
    "rubbish": bytes(range(256)),
    "deep": b"[" * 100_000,
    "another schema": b'{"schema": "x"}',
    "no parts": b'{"schema": "envguard-run-1"}',
    "numbers": b'{"schema": "envguard-run-1", "process": 1e999}',
    "17 MiB": b" " * (17 << 20),
}


@pytest.mark.parametrize("name", RUN_LOGS)
def test_a_run_log(toy: Toy, tmp_path: Path, name: str) -> None:
    (tmp_path / "run.json").write_bytes(RUN_LOGS[name])
    told(toy, "verify", toy.lock, "--run", tmp_path / "run.json", codes=(2,))


@pytest.mark.parametrize(
    "content",
    [b"", b"V\t" * 5000, b"\t" + b"x" * (20 << 20), b"[" * 100_000],
    ids=["empty", "tabs", "long", "deep"],
)
def test_a_trace(toy: Toy, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "dedicated_log_torch_trace_x.log").write_bytes(content)
    told(toy, "cache", "explain", "--trace", tmp_path, codes=(2,))


DECLARED = {
    "requirements.txt": "-r requirements.txt\n",
    "environment.yml": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)),
    "Dockerfile": "FROM x\nRUN pip install " + "\\\n" * 20_000 + "torch==2.11\n",
    "uv.lock": "version = 1\n" + "[[package]]\nname = 5\n" * 3000,
    "pylock.toml": "[" * 50_000,
}


@pytest.mark.parametrize("name", DECLARED)
def test_declared_files(toy: Toy, name: str) -> None:
    file = toy.project / name
    file.write_text(DECLARED[name])
    try:
        told(toy, "lint", toy.lock, codes=(0, 1, 2))
    finally:
        file.unlink()


@pytest.mark.parametrize("name", ["requirements.txt", "pylock.toml", "uv.lock"])
@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"[" * 50_000, b"-r requirements.txt\n", b"\0" * 1000], ids=repr
)
def test_another_tools_lock(toy: Toy, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    told(toy, "snapshot", "-o", tmp_path / "out.toml", "--from", tmp_path / name, codes=(0, 2, 3))
