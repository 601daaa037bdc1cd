"""What lies in environments, caches and our own folders, changed by others: told, and nothing else is touched."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envguard.formats import cache_manifest
from tests.adapters.cache import world
from tests.faults.toy import Toy, tree
from tests.hostile.bounded import RESIDENT_KIB, Bounded, bounded
from tests.installs import site_of

OURS = ("data", "cache", "state", "__pycache__")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    made = Toy(tmp_path_factory.mktemp("template") / "toy").make(relocatable=True).graphs()
    made.snapshot("--archive")
    made.run("cache", "save", made.lock)
    (made.root / "outside").mkdir()
    (made.root / "outside" / "precious").write_text("precious")
    return made


@pytest.fixture
def toy(template: Toy, tmp_path: Path) -> Toy:
    """A copy of one's own."""
    shutil.copytree(template.root, tmp_path / "toy", symlinks=True)
    return Toy(tmp_path / "toy")


def told(toy: Toy, *command: str | Path, codes: tuple[int, ...]) -> Bounded:
    before = tree(toy.root, without=OURS)
    ended = bounded(toy, *command)
    assert "Traceback" not in ended.whole, ended.whole
    assert ended.code in codes, (ended.code, ended.whole[-2000:])
    assert ended.peak <= RESIDENT_KIB
    assert "\x1b" not in ended.whole
    assert tree(toy.root, without=OURS) == before
    return ended


def _info(toy: Toy) -> Path:
    return site_of(toy.environment) / "demo-1.0.dist-info"


def _row(path: str, **fields: str) -> str:
    return f"{path},{fields.get('digest', 'sha256=' + 'A' * 43)},{fields.get('size', '5')}\n"


RECORDS: dict[str, bytes] = {
    "empty": b"",
    "rubbish": bytes(range(256)) * 50,
    "rows that lead out": (_row("../../../../../outside/precious") * 3).encode(),
    "absolute rows": (_row("/etc/passwd") + _row("/dev/zero")).encode(),
    "a NUL": _row("a\0b").encode(),
    "a field of 200 kB": _row("x" * 200_000).encode(),
    "an open quote": b'"demo/__init__.py,sha256=x,5\n' * 100,
    "20,000 rows": "".join(_row(f"demo/x{number}.py") for number in range(20_000)).encode(),
    "backslashes": _row("..\\..\\outside\\precious").encode(),
    "other algorithms": (_row("demo/__init__.py", digest="md5=x") + _row("demo/a.py", digest="sha256=")).encode(),
    "a size that isn't": _row("demo/__init__.py", size="-5" * 400).encode(),
    "not UTF-8": b"demo/\xff\xfe.py,sha256=x,5\n",
    "a terminal's codes": b"demo/\x1b[31m.py,sha256=x,5\n",
    "newlines in names": b'"demo/a\nb.py",sha256=x,5\n',
    "the interpreter": _row("../../../bin/python").encode(),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record(toy: Toy, name: str) -> None:
    record = _info(toy) / "RECORD"
    record.unlink()
    record.write_bytes(RECORDS[name])
    told(toy, "verify", toy.lock, "--full", codes=(1,))


def _swap(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


SWAPS: dict[str, Callable[[Toy], object]] = {
    "RECORD is a pipe": lambda toy: _swap(_info(toy) / "RECORD", os.mkfifo),
    "RECORD is a folder": lambda toy: _swap(_info(toy) / "RECORD", Path.mkdir),
    "RECORD is a link out": lambda toy: _swap(
        _info(toy) / "RECORD", lambda path: path.symlink_to(toy.root / "outside" / "precious")
    ),
    "RECORD is gone": lambda toy: (_info(toy) / "RECORD").unlink(),
    "RECORD has no end": lambda toy: _swap(_info(toy) / "RECORD", lambda path: path.symlink_to("/dev/zero")),
    "METADATA is a pipe": lambda toy: _swap(_info(toy) / "METADATA", os.mkfifo),
    "METADATA is empty": lambda toy: _swap(_info(toy) / "METADATA", Path.touch),
    "METADATA of 30 MB": lambda toy: _swap(
        _info(toy) / "METADATA", lambda path: path.write_bytes(b"A: b\n" * 6_000_000)
    ),
    "entry points are rubbish": lambda toy: (_info(toy) / "entry_points.txt").write_bytes(b"[\0\xff"),
    "direct_url is deep": lambda toy: (_info(toy) / "direct_url.json").write_bytes(b"[" * 100_000),
    "a module is a pipe": lambda toy: _swap(site_of(toy.environment) / "demo" / "part0.py", os.mkfifo),
    "a module has no end": lambda toy: _swap(
        site_of(toy.environment) / "demo" / "part0.py", lambda path: path.symlink_to("/dev/zero")
    ),
    "a folder is a link to itself": lambda toy: (site_of(toy.environment) / "loop").symlink_to("."),
    "a name with a newline": lambda toy: (site_of(toy.environment) / "a\n\x1b[31mb.py").touch(),
    "a name that is no text": lambda toy: Path(
        os.fsdecode(os.fsencode(site_of(toy.environment)) + b"/\xff.py")
    ).touch(),
    "a name of 255 bytes": lambda toy: (site_of(toy.environment) / ("x" * 252 + ".py")).touch(),
    "a path of more than 4096 bytes": lambda toy: _deep(site_of(toy.environment)),
    "a pth of 5 MB": lambda toy: (site_of(toy.environment) / "big.pth").write_bytes(b"x\n" * 2_500_000),
    "a pth that is a pipe": lambda toy: os.mkfifo(site_of(toy.environment) / "pipe.pth"),
    "two of one distribution": lambda toy: _copy(_info(toy), "Demo-2.0.dist-info"),
    "compiled rubbish": lambda toy: _compiled(toy),
}


def _deep(folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("y" * 200, dir_fd=here)
        inner = os.open("y" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("x.py", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def _copy(info: Path, name: str) -> None:
    shutil.copytree(info, info.with_name(name))


def _compiled(toy: Toy) -> None:
    cache = site_of(toy.environment) / "demo" / "__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / f"part0.{sys.implementation.cache_tag}.pyc").write_bytes(b"\xff" * 5000)


@pytest.mark.parametrize("name", SWAPS)
def test_an_environment(toy: Toy, name: str) -> None:
    """Said as drift, as what could not be seen, or as a target that can't be used; never as a match."""
    SWAPS[name](toy)
    harmless = name in ("a folder is a link to itself", "direct_url is deep")
    if "4096" in name:
        ended = bounded(toy, "verify", toy.lock, "--full")
        assert ended.code in (1, 3, 4), ended.whole
        assert "Traceback" not in ended.whole
        shutil.rmtree(toy.environment, ignore_errors=True)
        return
    if name == "compiled rubbish":  # Python leaves it alone, and so it is a note
        assert "note bytecode" in told(toy, "verify", toy.lock, "--full", codes=(0,)).out
        return
    told(toy, "verify", toy.lock, "--full", codes=(0, 1, 2, 3, 4) if harmless else (1, 2, 3, 4))


GRAPH = f"fxgraph/aa/{world.graph_key(0)}/entry"
SHA = "a" * 64
MANIFESTS: dict[str, bytes] = {
    "another head": b"envguard-cache-manifest-9\n",
    "a path that leads out": f"{SHA} 5 0600 ../../outside/evil\n".encode(),
    "an absolute path": f"{SHA} 5 0600 /tmp/evil\n".encode(),
    "dots inside": f"{SHA} 5 0600 fxgraph/aa/../../../evil\n".encode(),
    "a hidden name": f"{SHA} 5 0600 {GRAPH[:-5]}.entry\n".encode(),
    "a temporary name": f"{SHA} 5 0600 {GRAPH}.tmp\n".encode(),
    "setuid": f"{SHA} 5 4755 {GRAPH}\n".encode(),
    "of 10^13 bytes": f"{SHA} 9999999999999 0600 {GRAPH}\n".encode(),
    "one name twice": f"{SHA} 5 0600 {GRAPH}\n{SHA} 5 0600 {GRAPH}\n".encode(),
    "two that differ in case": f"{SHA} 5 0600 {GRAPH[:-5]}ENTRY\n{SHA} 5 0600 {GRAPH}\n".encode(),
    "out of order": f"{SHA} 5 0600 {GRAPH}b\n{SHA} 5 0600 {GRAPH}a\n".encode(),
    "cut off": f"{SHA} 5 0600 {GRAPH}".encode(),
    "a NUL": f"{SHA} 5 0600 {GRAPH}\0\n".encode(),
    "a backslash": f"{SHA} 5 0600 fxgraph\\aa\\x\n".encode(),
    "a name of 400 letters": f"{SHA} 5 0600 {GRAPH}{'x' * 400}\n".encode(),
    "a library of another name": f"{SHA} 5 0700 aa/evil.so\n".encode(),
    "an object that is missing": f"{SHA} 5 0600 {GRAPH}\n".encode(),
    "the size of something else": b"",
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_of_a_cache(toy: Toy, name: str) -> None:
    """Refused before any file lands."""
    body = MANIFESTS[name]
    if name == "the size of something else":
        content = next(toy.compiled.rglob("entry")).read_bytes()
        body = f"{hashlib.sha256(content).hexdigest()} {len(content) - 1} 0600 {GRAPH}\n".encode()
    whole = body if body.startswith(b"envguard") else cache_manifest.HEAD + body
    _trusted(toy, whole)
    told(toy, "cache", "load", toy.lock, "--trust-cache", codes=(1, 2, 3))
    assert not [path for path in (toy.data / "caches").rglob("*") if path.is_file()]


def _trusted(toy: Toy, manifest: bytes) -> None:
    """In the store, and named by the lock."""
    digest = hashlib.sha256(manifest).hexdigest()
    (toy.objects / digest).write_bytes(manifest)
    text = toy.lock.read_text()
    old = next(line for line in text.splitlines() if line.startswith("manifest = "))
    toy.lock.write_text(text.replace(old, f'manifest = "sha256:{digest}"'))


def test_a_list_of_tritons_that_leads_elsewhere(toy: Toy) -> None:
    group = json.dumps({"child_paths": {"../../../outside/evil": "/x"}}).encode()
    digest = hashlib.sha256(group).hexdigest()
    (toy.objects / digest).write_bytes(group)
    path = f"triton/{world.triton_key(0)}/__grp__x.json"
    _trusted(toy, cache_manifest.HEAD + f"{digest} {len(group)} 0600 {path}\n".encode())
    told(toy, "cache", "load", toy.lock, "--trust-cache", codes=(1, 2, 3))
    assert not list((toy.data / "caches").rglob("__grp__*"))


CACHES: dict[str, Callable[[Path], object]] = {
    "a pickle without end": lambda cache: world.graph_entry(cache, 5, b"(" * 3_000_000),
    "a pickle that is cut": lambda cache: world.graph_entry(
        cache, 5, b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f"
    ),
    "a long text": lambda cache: world.graph_entry(cache, 5, b"\x80\x04\x8d" + b"\xff" * 7 + b"\x7f"),
    "a pipe": lambda cache: os.mkfifo(world.graph_entry(cache, 5, b"x").with_name("pipe")),
    "a link out": lambda cache: world.graph_entry(cache, 5, b"x").with_name("link").symlink_to("/etc/passwd"),
    "a link to itself": lambda cache: (cache / "fxgraph" / "loop").symlink_to(cache),
    "an entry without end": lambda cache: _swap(
        world.graph_entry(cache, 5, b"x"), lambda path: path.symlink_to("/dev/zero")
    ),
    "names that steer the terminal": lambda cache: world.put(cache / "fxgraph" / "a\x1b[2Jb" / "x" / "y", b"z"),
    "5,000 names": lambda cache: [world.put(cache / "zz" / f"{number}.py", b"") for number in range(5000)],
    "a trace of Triton's": lambda cache: world.put(
        cache / "triton" / world.triton_key(1) / "__grp__a.json", b"[" * 90_000
    ),
}


@pytest.mark.parametrize("command", ["show", "save"])
@pytest.mark.parametrize("name", CACHES)
def test_a_compile_cache(toy: Toy, name: str, command: str) -> None:
    CACHES[name](toy.compiled)
    if command == "save":
        ended = bounded(toy, "cache", "save", toy.lock)
        assert ended.code in (0, 1, 3), ended.whole
        assert "Traceback" not in ended.whole
        assert (toy.root / "outside" / "precious").read_text() == "precious"
    else:
        told(toy, "cache", "show", codes=(0,))


RUBBISH = {"empty": b"", "zeros": bytes(100), "deep": b"[" * 100_000, "another shape": b'{"schema": 1, "x": []}'}
PLACES: dict[str, tuple[str, tuple[str, ...], tuple[int, ...]]] = {
    "the store's layout": ("data/store/oci-layout", ("store", "ls"), (1, 3)),
    "the store's index": ("data/store/index.json", ("store", "ls"), (0, 1, 3)),
    "an object": ("data/store/blobs/sha256/{object}", ("store", "check"), (1,)),
    "a note of a lock": ("state/locks/{note}", ("store", "gc"), (0, 1, 3)),
    "the list of targets": ("data/envs/.targets.json", ("list",), (0, 1, 3)),
    "a marker": ("data/envs/good/0-1/envguard-restored.json", ("list",), (0, 1, 3)),
    "the stat index": ("cache/{stat}", ("verify", "lockfiles/good.toml"), (0,)),
    "what is known of interpreters": ("cache/{interpreter}", ("verify", "lockfiles/good.toml"), (0,)),
}


@pytest.mark.parametrize("rubbish", RUBBISH)
@pytest.mark.parametrize("place", PLACES)
def test_our_own_files(toy: Toy, place: str, rubbish: str) -> None:
    """Made again, or clearly said; never believed, never a traceback."""
    path, command, codes = PLACES[place]
    toy.run("verify", "lockfiles/good.toml")
    file = toy.root / path.format(
        object=next(iter(toy.objects.iterdir())).name,
        note=next((one.name for one in sorted((toy.state / "locks").iterdir())), "none"),
        stat=_first(toy.cache, "stat"),
        interpreter=_first(toy.cache, "interpreters"),
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists():
        file.chmod(0o600)
    file.write_bytes(RUBBISH[rubbish])
    told(toy, *command, codes=codes)


def _first(folder: Path, name: str) -> str:
    found = sorted(path for path in (folder / name).rglob("*") if path.is_file())
    assert found, f"nothing below {name}"
    return str(found[0].relative_to(folder))
