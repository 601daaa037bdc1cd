"""Wheels made again from installed files, by the rules that were measured on real ones."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from envguard.adapters.interpreter import Interpreters
from envguard.adapters.prober import EnvironmentProber
from envguard.adapters.rebuilt_wheel import rebuilt_wheel
from envguard.errors import NotRebuildableError
from envguard.formats.record import read_wheel
from envguard.model.archive import RebuiltWheel
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution
from envguard.model.observed import Value
from envguard.model.target import Layout, Level, Target
from tests.builders import wheel
from tests.fakes.index import Silence

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
SITE = f"lib/{PYTHON}/site-packages"


class Place:
    """An environment and what is rebuilt from it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = root / "environment"
        self.made = root / "made"
        self.made.mkdir()
        self.uv("venv", "-q", "--python", sys.executable, self.environment)

    def uv(self, *arguments: str | Path) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
        subprocess.run(
            [find_uv_bin(), *arguments, "--offline", "--no-config", "--no-cache"], env=environ, check=True
        )

    def install(self, *wheels: Path, into: Path | None = None) -> None:
        python = (into or self.environment) / "bin" / "python"
        self.uv("pip", "install", "-q", "--no-deps", "--python", python, *wheels)

    def wheel(self, name: str = "demo", files: Mapping[str, Any] | None = None, **rest: object) -> Path:
        return wheel(self.made, name, "1.0", files or {f"{name}/__init__.py": "A = 1\n"}, **rest)  # type: ignore[arg-type]

    @property
    def site(self) -> Path:
        return self.environment / SITE

    def look(self) -> tuple[Layout, dict[str, Distribution]]:
        prober = EnvironmentProber(interpreters=Interpreters(), environ=os.environ, working_folder=None)
        target = Target(self.environment / "bin" / "python", "test")
        seen = prober.facts(target, Level.METADATA, baseline=lambda name: None, progress=Silence())
        assert isinstance(seen.distributions, Value)
        return prober.layout(target), {entry.name: entry for entry in seen.distributions.value}

    def rebuild(
        self, name: str = "demo", elsewhere: Callable[[str, str], Path | None] | None = None
    ) -> tuple[RebuiltWheel, Path]:
        layout, found = self.look()
        out = self.root / "out"
        out.mkdir(exist_ok=True)
        rebuilt = rebuilt_wheel(layout, found[name], out, elsewhere=elsewhere)
        return rebuilt, rebuilt.path.rename(out / rebuilt.filename)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def content(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def rows(path: Path) -> dict[str, tuple[str, str]]:
    text = content(path, next(name for name in names(path) if name.endswith(".dist-info/RECORD"))).decode()
    return {row[0]: (row[1], row[2]) for row in csv.reader(text.splitlines())}


def files(environment: Path) -> dict[str, tuple[bytes, bool]]:
    """All files but bytecode, launchers' and bookkeeping ones, with their exec bit."""
    return {
        path.relative_to(environment).as_posix(): (path.read_bytes(), os.access(path, os.X_OK))
        for path in sorted(environment.rglob("*"))
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.name not in ("RECORD", "INSTALLER", "REQUESTED", "uv_cache.json", "direct_url.json", "pyvenv.cfg")
        and not path.name.startswith(("python", "activate"))
    }


WHOLE = {
    "demo/__init__.py": "A = 1\n",
    "demo/data.bin": b"\x00\x01" * 700_000,
    "demo/tool": "#!/bin/sh\n",
    "demo/vendored/other-1.dist-info/RECORD": "payload\n",
    "demo.pth": "import sys\n",
    "demo-1.0.data/scripts/run.py": "#!python\nprint('run')\n",
    "demo-1.0.data/scripts/shell": "#!/bin/sh\necho hello\n",
    "demo-1.0.data/data/bin/verbatim": b"\x7fELF and more",
    "demo-1.0.data/data/share/demo/read.me": "read\n",
    "demo-1.0.data/data/include/plain/x.h": "#define PLAIN\n",
    "demo-1.0.data/headers/sub/demo.h": "#define DEMO\n",
    "demo-1.0.data/purelib/demo/extra.py": "B = 2\n",
}


def test_every_kind_of_file_comes_back(place: Place) -> None:
    original = place.wheel(
        files=WHOLE,
        entry_points="[console_scripts]\nDemo-Tool = demo:main\n",
        modes={"demo/tool": 0o755, "demo-1.0.data/data/bin/verbatim": 0o755},
    )
    place.install(original)
    rebuilt, path = place.rebuild()
    assert rebuilt.filename == original.name
    assert rebuilt.remarks == ()
    assert set(names(path)) == {
        *(name for name in names(original) if "scripts/shell" not in name and "purelib" not in name),
        "demo-1.0.data/data/bin/shell",
        "demo/extra.py",
    }
    assert content(path, "demo-1.0.data/scripts/run.py") == b"#!python\nprint('run')\n"
    again = place.root / "again"
    place.uv("venv", "-q", "--python", sys.executable, again)
    place.install(path, into=again)
    before, after = files(place.environment), files(again)
    assert before.keys() == after.keys()
    assert "bin/Demo-Tool" in before
    for name, (bytes_before, executable) in before.items():
        assert after[name][0] == bytes_before.replace(bytes(place.environment), bytes(again)), name
        assert after[name][1] == executable, name


def test_the_record_fingerprint_is_the_installed_one(place: Place) -> None:
    place.install(place.wheel(files=WHOLE))
    _, path = place.rebuild()
    entry = place.look()[1]["demo"]
    text = content(path, "demo-1.0.dist-info/RECORD")
    for listing in read_wheel(text, "demo-1.0.dist-info", names(path)):
        assert (listing.record, listing.record_data) == (entry.record, entry.record_data)


def test_twice_gives_the_same_bytes(place: Place) -> None:
    place.install(place.wheel(files=WHOLE))
    first = place.rebuild()[1].read_bytes()
    for path in place.environment.rglob("demo*"):
        os.utime(path)
    assert place.rebuild()[1].read_bytes() == first


def test_the_order_of_the_zip(place: Place) -> None:
    place.install(place.wheel(files={"z.py": "", "demo/a.py": ""}))
    assert names(place.rebuild()[1]) == [
        "demo/a.py",
        "z.py",
        "demo-1.0.dist-info/METADATA",
        "demo-1.0.dist-info/WHEEL",
        "demo-1.0.dist-info/RECORD",
    ]


@pytest.mark.parametrize(
    ("file", "edit"),
    [
        pytest.param(f"{SITE}/demo/__init__.py", b"A = 2\n", id="library"),
        pytest.param(f"{SITE}/demo/data.bin", b"\x01" * 1_400_000, id="large"),
        pytest.param("share/demo/read.me", b"other\n", id="data"),
        pytest.param("bin/verbatim", b"other", id="verbatim script"),
        pytest.param("bin/run.py", b"#!/usr/bin/env python\n", id="script"),
        pytest.param(f"include/site/{PYTHON}/demo/sub/demo.h", b"x", id="header"),
        pytest.param(f"{SITE}/demo-1.0.dist-info/METADATA", b"Name: demo\nVersion: 1.0\n", id="METADATA"),
    ],
)
def test_an_edited_file_is_no_source_and_is_named(place: Place, file: str, edit: bytes) -> None:
    place.install(place.wheel(files=WHOLE))
    (place.environment / file).write_bytes(edit)
    with pytest.raises(NotRebuildableError) as raised:
        place.rebuild()
    assert "is not what its RECORD says" in raised.value.message
    assert Path(file).name in raised.value.message
    assert raised.value.where == str(place.environment / file)
    assert list((place.root / "out").iterdir()) == [], "nothing half made stays"


def test_a_link_that_leads_to_the_claimed_bytes_is_as_good(place: Place) -> None:
    place.install(place.wheel())
    usual = place.rebuild()[1].read_bytes()
    file = place.site / "demo" / "__init__.py"
    file.rename(place.root / "real.py")
    file.symlink_to(place.root / "real.py")
    assert place.rebuild()[1].read_bytes() == usual


def test_a_script_that_is_a_link_is_rebuilt(place: Place) -> None:
    place.install(place.wheel(files={"demo.py": "", "demo-1.0.data/scripts/tool": b"\x7fELF"}))
    usual = place.rebuild()[1].read_bytes()
    file = place.environment / "bin" / "tool"
    file.rename(place.root / "tool")
    file.symlink_to(place.root / "tool")
    assert place.rebuild()[1].read_bytes() == usual


def test_a_link_to_other_bytes_is_refused(place: Place) -> None:
    place.install(place.wheel())
    file = place.site / "demo" / "__init__.py"
    file.unlink()
    (place.root / "secret").write_bytes(b"secret")
    file.symlink_to(place.root / "secret")
    with pytest.raises(NotRebuildableError, match=r"demo/__init__\.py is not what its RECORD says"):
        place.rebuild()


def test_a_row_without_its_file_stays_a_row(place: Place) -> None:
    place.install(place.wheel(files={"demo/__init__.py": "", "demo/gone.py": "x"}))
    (place.site / "demo" / "gone.py").unlink()
    rebuilt, path = place.rebuild()
    assert rebuilt.remarks == ("demo: RECORD names demo/gone.py, which is not there",)
    assert "demo/gone.py" not in names(path)
    assert rows(path)["demo/gone.py"][0].startswith("sha256=")


def test_a_file_without_a_hash_is_brought_with_none(place: Place) -> None:
    """uv lists files that the wheel's RECORD didn't, with an empty hash."""
    place.install(place.wheel())
    (place.site / "demo" / "healed.py").write_text("H = 1\n")
    record = place.site / "demo-1.0.dist-info" / "RECORD"
    record.write_text(record.read_text() + "demo/healed.py,,\n")
    _, path = place.rebuild()
    assert rows(path)["demo/healed.py"] == ("", "")
    assert content(path, "demo/healed.py") == b"H = 1\n"


def test_bytecode_in_its_cache_is_left_out(place: Place) -> None:
    shipped = {
        "demo/__init__.py": "",
        "demo/__pycache__/__init__.cpython-311.pyc": b"shipped",
        "demo/only.pyc": b"x",
    }
    place.install(place.wheel(files=shipped))
    assert [name for name in names(place.rebuild()[1]) if name.endswith(".pyc")] == ["demo/only.pyc"]


def test_pips_own_launchers_are_no_files_of_its_wheel(place: Place) -> None:
    place.install(place.wheel("pip", entry_points="[console_scripts]\npip = pip:main\npip3 = pip:main\n"))
    assert (place.environment / "bin" / "pip3").exists()
    assert not [name for name in names(place.rebuild("pip")[1]) if ".data" in name]


class TestShared:
    """A path that several distributions own: the last one installed brought its bytes."""

    @pytest.fixture
    def both(self, place: Place) -> Place:
        place.install(place.wheel(files={"shared/__init__.py": "ONE = 1\n", "demo.py": ""}))
        place.install(place.wheel("other", files={"shared/__init__.py": "OTHER = 1\n", "other.py": ""}))
        return place

    def test_the_last_one_is_whole(self, both: Place) -> None:
        assert content(both.rebuild("other")[1], "shared/__init__.py") == b"OTHER = 1\n"

    def test_the_first_one_needs_its_bytes_from_elsewhere(self, both: Place) -> None:
        with pytest.raises(NotRebuildableError, match=r"shared/__init__\.py is not what"):
            both.rebuild()
        kept = both.root / "kept"
        kept.write_text("ONE = 1\n")
        asked: list[tuple[str, str]] = []

        def elsewhere(path: str, digest: str) -> Path:
            asked.append((path, digest))
            return kept

        assert content(both.rebuild(elsewhere=elsewhere)[1], "shared/__init__.py") == b"ONE = 1\n"
        assert asked == [("shared/__init__.py", str(Digest.of(b"ONE = 1\n")))]

    def test_elsewhere_is_not_believed(self, both: Place) -> None:
        kept = both.root / "kept"
        kept.write_text("lies\n")
        with pytest.raises(NotRebuildableError, match="is not what its RECORD says"):
            both.rebuild(elsewhere=lambda path, digest: kept)

    def test_a_file_of_one_owner_is_not_looked_for(self, place: Place) -> None:
        place.install(place.wheel())
        (place.site / "demo" / "__init__.py").write_text("edited")
        asked: list[str] = []
        with pytest.raises(NotRebuildableError):
            place.rebuild(elsewhere=lambda path, digest: asked.append(path))
        assert asked == []


class TestNoWheel:
    """What is no wheel's."""

    def test_an_editable_install(self, place: Place) -> None:
        place.install(place.wheel(files={"__editable__.demo.pth": "/somewhere\n"}))
        (place.site / "demo-1.0.dist-info" / "direct_url.json").write_text(
            '{"url": "file:///somewhere", "dir_info": {"editable": true}}'
        )
        with pytest.raises(NotRebuildableError, match="it is an editable install"):
            place.rebuild()

    def test_a_damaged_record(self, place: Place) -> None:
        place.install(place.wheel())
        (place.site / "demo-1.0.dist-info" / "RECORD").write_bytes(b"\0")
        with pytest.raises(NotRebuildableError, match="RECORD can't be used"):
            place.rebuild()

    @pytest.mark.parametrize("installer", ["conda", "rpm"])
    def test_another_installer(self, place: Place, installer: str) -> None:
        place.install(place.wheel())
        (place.site / "demo-1.0.dist-info" / "INSTALLER").write_text(installer)
        with pytest.raises(NotRebuildableError, match=f"installed by {installer}"):
            place.rebuild()

    def test_no_wheel_file(self, place: Place) -> None:
        place.install(place.wheel())
        (place.site / "demo-1.0.dist-info" / "WHEEL").unlink()
        with pytest.raises(NotRebuildableError, match="No such file"):
            place.rebuild()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"tag": "py2.py3-none-any"}, "demo-1.0-py2.py3-none-any.whl", id="compressed tags"),
        pytest.param({"build": "3"}, "demo-1.0-3-py3-none-any.whl", id="build tag"),
    ],
)
def test_the_name_comes_from_its_tags(place: Place, options: dict[str, str], expected: str) -> None:
    place.install(place.wheel(**options))  # type: ignore[arg-type]
    assert place.rebuild()[0].filename == expected
