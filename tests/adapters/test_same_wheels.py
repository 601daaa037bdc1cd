"""The same wheels, however they were installed, give the same facts; also wheels whose RECORD is wrong."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from envguard.adapters.look import Looked
from envguard.formats.record import read_wheel
from envguard.model.distribution import BOOTSTRAP
from envguard.model.facts import FileFact, FileKind
from envguard.model.target import Level
from tests.adapters.small import ALL, MINOR, Small, install, uv, wheels
from tests.builders import wheel

pytestmark = pytest.mark.slow

LONG = "a-folder-with-a-name-so-long-that-no-first-line-holds-the-path-of-its-interpreter-" * 2


def by_uv(prefix: Path, folder: Path, cache: Path, *options: str, venv: tuple[str, ...] = ()) -> Small:
    uv("venv", "--quiet", "--python", sys.executable, *venv, prefix)
    install(prefix, folder, ALL, cache, *options)
    return Small(prefix)


def by_pip(prefix: Path, folder: Path, *names: str) -> Small:
    """pip of this Python, at work in an environment that has setuptools' and pip's own files."""
    if not prefix.exists():
        subprocess.run([sys.executable, "-m", "venv", prefix], check=True)
    command: list[str | Path] = [
        prefix / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--find-links",
        folder,
        *names,
    ]
    subprocess.run(command, check=True, capture_output=True)
    return Small(prefix)


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Small]:
    root = tmp_path_factory.mktemp("ways")
    folder, cache = wheels(root / "wheels"), root / "cache"
    found = {
        "uv, hardlink": by_uv(root / "hardlink", folder, cache, "--link-mode", "hardlink"),
        "uv, hardlink again": by_uv(root / "again", folder, cache, "--link-mode", "hardlink"),
        "uv, copy, compiled": by_uv(root / "copy", folder, cache, "--link-mode", "copy", "--compile-bytecode"),
        "uv, a path with spaces": by_uv(root / "a path with spaces", folder, cache),
        "uv, a long path": by_uv(root / LONG, folder, cache),
        "pip": by_pip(root / "pip", folder, *ALL),
        "pip, a long path": by_pip(root / LONG / "pip", folder, *ALL),
    }
    moved = by_uv(root / "before", folder, cache, venv=("--relocatable",))
    found["uv, relocatable, moved"] = Small(moved.prefix.rename(root / "after"))
    return found


def own_files(looked: Looked) -> list[FileFact]:
    return [fact for fact in looked.files or () if not fact.owners or not set(fact.owners) <= BOOTSTRAP]


def told(looked: Looked) -> list[tuple[object, ...]]:
    return sorted(
        (one.name, one.version, one.record, one.record_data)
        for one in looked.distributions
        if one.name not in BOOTSTRAP
    )


@pytest.mark.parametrize("level", [Level.FAST, Level.FULL])
@pytest.mark.parametrize(
    "way",
    [
        "uv, hardlink again",
        "uv, copy, compiled",
        "uv, a path with spaces",
        "uv, a long path",
        "uv, relocatable, moved",
        "pip",
        "pip, a long path",
    ],
)
def test_every_way_is_the_same(ways: dict[str, Small], way: str, level: Level) -> None:
    one, other = ways["uv, hardlink"].look(level), ways[way].look(level)
    assert own_files(one) == own_files(other)
    assert told(one) == told(other)
    assert one.shared == tuple(shared for shared in other.shared if not set(shared.owners) <= BOOTSTRAP)
    assert len(own_files(one)) == 6
    assert [fact.detail for fact in own_files(other)] == [None] * 6


def test_what_pip_brings_is_its_own(ways: dict[str, Small]) -> None:
    names = {one.name for one in ways["pip"].look().distributions}
    assert "pip" in names
    scripts = {fact.path for fact in ways["pip"].look().files or () if fact.owners == ("pip",)}
    assert scripts >= {"pip", "pip3"}


def test_a_moved_tree_whose_scripts_start_the_old_python_is_told(ways: dict[str, Small], tmp_path: Path) -> None:
    shutil.copytree(ways["uv, hardlink"].prefix, tmp_path / "moved", symlinks=True)
    looked = Small(tmp_path / "moved").look()
    before = {fact.path: fact for fact in ways["uv, hardlink"].look().files or ()}
    moved = {fact.path for fact in looked.files or () if before[fact.path] != fact}
    assert moved == {"toy-cli", "toy-script"}
    details = {fact.detail or "" for fact in looked.files or () if fact.path in moved}
    assert all(detail.startswith("starts another interpreter: ") for detail in details)
    assert told(looked) == told(ways["uv, hardlink"].look())


def b64(content: bytes, algorithm: str = "sha256") -> str:
    return (
        f"{algorithm}={base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b'=').decode()}"
    )


@dataclass(frozen=True)
class Case:
    """A wheel with one defect: rows that are added to, or replace, the right ones."""

    files: Mapping[str, str] = field(default_factory=dict)
    rows: str = ""
    replaced: tuple[str, str] | None = None
    form: str = "{}"
    entry_points: str | None = None


M = b64(b"x = 1\n")
CASES: dict[str, Case] = {
    "sound": Case(),
    "row twice": Case(rows=f"mod.py,{M},6\n"),
    "row twice, another hash": Case(rows=f"mod.py,{b64(b'other')},6\n"),
    "row twice, without a hash": Case(rows="mod.py,,\n"),
    "phantom row": Case(rows=f"gone.py,{M},6\n"),
    "phantom row without a hash": Case(rows="gone.py,,\n"),
    "wrong hash": Case(replaced=(M, b64(b"other"))),
    "wrong size": Case(replaced=(f"{M},6", f"{M},7")),
    "no hash": Case(replaced=(f"{M},6", ",6")),
    "no size": Case(replaced=(f"{M},6", f"{M},")),
    "no hash and size": Case(replaced=(f"{M},6", ",")),
    "unlisted file": Case(replaced=(f"mod.py,{M},6\n", "")),
    "hex": Case(replaced=(M, f"sha256={hashlib.sha256(b'x = 1' + bytes([10])).hexdigest()}")),
    "padding": Case(replaced=(M, f"{M}=")),
    "sha512": Case(replaced=(M, b64(b"x = 1\n", "sha512"))),
    "md5": Case(replaced=(M, b64(b"x = 1\n", "md5"))),
    "unknown algorithm": Case(replaced=(M, "crc32=AAAA")),
    "dot": Case(replaced=("mod.py,", "./mod.py,")),
    "CRLF": Case(form="crlf"),
    "BOM": Case(form="\ufeff{}"),
    "no last newline": Case(form="strip"),
    "quoted": Case(replaced=("mod.py,", '"mod.py",')),
    "comma in a name": Case(files={"a,b.py": "y = 1\n"}),
    "quote in a name": Case(files={'a"b.py': "y = 1\n"}),
    "space in a name": Case(files={"a b.py": "y = 1\n"}),
    "not ascii": Case(files={"café.py": "y = 1\n"}),
    "folder row": Case(rows="pkg/,,\n"),
    "signature": Case(files={"bad-1.0.dist-info/RECORD.jws": "{}"}),
    "INSTALLER inside": Case(files={"bad-1.0.dist-info/INSTALLER": "conda\n"}),
    "direct_url inside": Case(files={"bad-1.0.dist-info/direct_url.json": "{}"}),
    "vendored dist-info": Case(files={"pkg/_vendor/v-1.dist-info/RECORD": "a,,\n"}),
    "bytecode of its own": Case(files={"pkg/__pycache__/mod.cpython-311.pyc": "pyc"}),
    "bytecode without a source": Case(files={"pkg/only.pyc": "pyc"}),
    "purelib": Case(files={"bad-1.0.data/purelib/pure.py": "y = 1\n"}),
    "platlib": Case(files={"bad-1.0.data/platlib/plat.py": "y = 1\n"}),
    "data in the library": Case(files={f"bad-1.0.data/data/lib/{MINOR}/site-packages/deep.py": "y = 1\n"}),
    "data": Case(files={"bad-1.0.data/data/etc/bad.conf": "a"}),
    "data beside the library": Case(files={"bad-1.0.data/data/lib/bad.conf": "a"}),
    "header": Case(files={"bad-1.0.data/headers/bad.h": "// h\n"}),
    "script with the name of an entry point": Case(
        files={"bad-1.0.data/scripts/run": "#!python\nprint(1)\n"}, entry_points="[console_scripts]\nrun = mod:x\n"
    ),
    "empty file": Case(files={"pkg/__init__.py": ""}),
}


NAMES = {name: f"bad{number}" for number, name in enumerate(CASES)}


def build(folder: Path, name: str) -> Path:
    """The wheel of a case; ``bad`` and ``mod`` get a number, so that all fit into one environment."""
    case, own = CASES[name], NAMES[name]
    files = {"mod.py": "x = 1\n", **case.files}
    files = {_numbered(path, own): content for path, content in files.items()}
    entry_points = case.entry_points
    sound = wheel(folder, own, "1.0", files, entry_points=entry_points)
    with zipfile.ZipFile(sound) as archive:
        record = archive.read(f"{own}-1.0.dist-info/RECORD").decode()
    if case.replaced:
        before, after = (_numbered(part, own) for part in case.replaced)
        assert before in record
        record = record.replace(before, after)
    record += _numbered(case.rows, own)
    if case.form == "crlf":
        record = record.replace("\n", "\r\n")
    elif case.form == "strip":
        record = record.rstrip("\n")
    else:
        record = case.form.format(record)
    return wheel(folder, own, "1.0", files, entry_points=entry_points, record=record)


def _numbered(text: str, own: str) -> str:
    return (
        text.replace("bad-1.0", f"{own}-1.0").replace("mod.py", f"{own}.py").replace("gone.py", f"{own}_gone.py")
    )


@pytest.fixture(scope="module")
def defects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All the wheels."""
    folder = tmp_path_factory.mktemp("defects")
    for name in CASES:
        build(folder, name)
    return folder


@pytest.fixture(scope="module")
def looks(defects: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Looked]:
    root = tmp_path_factory.mktemp("installed")
    uv("venv", "--quiet", "--python", sys.executable, root / "uv")
    install(root / "uv", defects, list(NAMES.values()), root / "cache")
    by_pip(root / "pip", defects, *NAMES.values())
    return {installer: Small(root / installer).look() for installer in ("uv", "pip")}


def listings(file: Path, own: str) -> set[tuple[str, str | None]]:
    """The fingerprints that a wheel file may leave."""
    with zipfile.ZipFile(file) as archive:
        found = read_wheel(archive.read(f"{own}-1.0.dist-info/RECORD"), f"{own}-1.0.dist-info", archive.namelist())
    return {(one.record.hex, one.record_data.hex if one.record_data else None) for one in found}


_WRONG = {
    "wrong hash": FileKind.MODIFIED,
    "no hash": FileKind.ERRATA,
    "no hash and size": FileKind.ERRATA,
    "unlisted file": FileKind.ERRATA,
    "unknown algorithm": FileKind.ERRATA,
}


@pytest.mark.parametrize("installer", ["uv", "pip"])
class TestDefects:
    @pytest.mark.parametrize("name", CASES)
    def test_the_fingerprint_is_the_wheels(
        self, looks: dict[str, Looked], defects: Path, installer: str, name: str
    ) -> None:
        own = NAMES[name]
        found = next(one for one in looks[installer].distributions if one.name == own)
        assert found.problem is None
        assert (found.record, found.record_data) in listings(defects / f"{own}-1.0-py3-none-any.whl", own)

    @pytest.mark.parametrize("name", CASES)
    def test_only_what_the_wheel_says_wrongly_is_told(
        self, looks: dict[str, Looked], installer: str, name: str
    ) -> None:
        own = NAMES[name]
        found = {
            (fact.kind, fact.path)
            for fact in looks[installer].files or ()
            if fact.kind not in (FileKind.SCRIPT, FileKind.HEADER) and fact.owners == (own,)
        }
        found.discard((FileKind.MISSING, f"{own}_gone.py"))  # pip keeps the row
        assert found == ({(_WRONG[name], f"{own}.py")} if name in _WRONG else set())

    def test_no_file_is_unowned(self, looks: dict[str, Looked], installer: str) -> None:
        assert not [fact for fact in looks[installer].files or () if fact.kind is FileKind.UNOWNED]
