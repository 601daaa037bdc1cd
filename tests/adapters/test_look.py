"""What is told of an environment's files, kind by kind, on real bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
from pathlib import Path

import pytest

from envguard.adapters import hashing, tree
from envguard.adapters.site import LazyRows
from envguard.formats.record import dump_rows
from envguard.model.digest import Digest
from envguard.model.facts import FileFact, FileKind, SharedPath
from envguard.model.target import Level
from tests.adapters.small import ALL, MINOR, Small, install, wheels
from tests.builders import wheel


def one(small: Small, path: str, level: Level = Level.FAST) -> FileFact:
    found = [fact for fact in small.facts(level) if fact.shown == path]
    assert len(found) == 1, found
    return found[0]


def test_a_sound_environment(small: Small) -> None:
    looked = small.look()
    assert small.kinds() == set()
    assert [(fact.kind.value, fact.shown, fact.owners) for fact in looked.files or ()] == [
        (
            "header",
            "include/site/python3.11/my-head-er/sub/a.h".replace("python3.11", small.site.parent.name),
            ("my-head-er",),
        ),
        ("startup", "starter.pth", ("starter",)),
        ("script", "bin/toy-cli", ("toy",)),
        ("script", "bin/toy-program", ("toy",)),
        ("script", "bin/toy-script", ("toy",)),
        ("script", "bin/toy-shell", ("toy",)),
    ]
    assert looked.shared == (SharedPath("common/__init__.py", ("left", "right"), agree=True),)
    assert {one.name for one in looked.distributions} == set(ALL)
    assert all(one.problem is None and one.record for one in looked.distributions)
    assert looked.seen == 23


class TestModified:
    def test_other_bytes(self, small: Small) -> None:
        (small.site / "toy/__init__.py").write_bytes(b"X = 2\n")
        fact = one(small, "toy/__init__.py")
        assert fact == FileFact(
            "toy/__init__.py",
            FileKind.MODIFIED,
            sha256=Digest.of(b"X = 2\n"),
            mode="0644",
            owners=("toy",),
            expected=Digest.of(b"X = 1\n"),
        )
        assert fact.detail == "same size, other bytes"

    def test_another_size(self, small: Small) -> None:
        (small.site / "toy/cli.py").write_bytes(b"#")
        assert one(small, "toy/cli.py").detail == "1 bytes, not 25"

    def test_name_with_a_comma(self, small: Small) -> None:
        (small.site / "toy/name, with comma.py").write_bytes(b"Y = 2\n")
        assert small.kinds() == {("modified", "toy/name, with comma.py")}

    def test_file_in_two_pieces(self, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hashing, "LARGE", 1000)
        content = b"\0" * 4999 + b"\1"
        (small.site / "toy/table.bin").write_bytes(content)
        assert one(small, "toy/table.bin").sha256 == Digest.of(content)

    def test_data(self, small: Small) -> None:
        (small.prefix / "share/toy/notes.txt").write_bytes(b"other")
        fact = one(small, "share/toy/notes.txt")
        assert (fact.kind, fact.root, fact.owners) == (FileKind.MODIFIED, "data", ("toy",))

    def test_dist_info(self, small: Small) -> None:
        with (small.site / "toy-1.0.dist-info/METADATA").open("ab") as file:
            file.write(b"Requires-Dist: evil\n")
        assert small.kinds() == {("modified", "toy-1.0.dist-info/METADATA")}

    def test_a_link_in_its_place(self, small: Small, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere.py"
        elsewhere.write_bytes(b"X = 9\n")
        file = small.site / "toy/__init__.py"
        file.unlink()
        file.symlink_to(elsewhere)
        before = one(small, "toy/__init__.py")
        detail = "a symbolic link to other bytes is in its place"
        assert (before.kind, before.detail) == (FileKind.MODIFIED, detail)
        file.unlink()
        file.symlink_to(tmp_path / "other.py")
        now = one(small, "toy/__init__.py")
        assert now.sha256 != before.sha256
        assert now.detail == "a symbolic link that leads to no file is in its place"

    def test_a_socket_in_its_place(self, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        (small.site / "toy/cli.py").unlink()
        monkeypatch.chdir(small.site / "toy")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("cli.py")
            assert one(small, "toy/cli.py").detail == "something that is no file is in its place"

    def test_a_pipe_is_not_waited_for(self, small: Small) -> None:
        (small.site / "toy/cli.py").unlink()
        os.mkfifo(small.site / "toy/cli.py")
        os.mkfifo(small.site / "another")
        os.mkfifo(small.scripts / "pipe")
        assert small.kinds() == {("modified", "toy/cli.py"), ("unowned", "another"), ("unreadable", "bin/pipe")}


class TestMissing:
    @pytest.mark.parametrize(
        ("path", "told"),
        [
            pytest.param("site/toy/cli.py", {"toy/cli.py"}, id="file"),
            pytest.param("share/toy/notes.txt", {"share/toy/notes.txt"}, id="data"),
            pytest.param("bin/toy-cli", {"bin/toy-cli"}, id="launcher"),
            pytest.param("site/common", {"common/__init__.py", "common/left.py", "common/right.py"}, id="folder"),
        ],
    )
    def test_is_told(self, small: Small, path: str, told: set[str]) -> None:
        place = small.site / path[5:] if path.startswith("site/") else small.prefix / path
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        assert small.kinds() == {("missing", name) for name in told}
        assert small.kinds() == {("missing", name) for name in told}

    def test_has_owners_and_what_was_expected(self, small: Small) -> None:
        shutil.rmtree(small.site / "common")
        fact = one(small, "common/__init__.py")
        assert (fact.owners, fact.expected) == (("left", "right"), Digest.of(b""))

    def test_bookkeeping_is_not(self, small: Small) -> None:
        for name in ("INSTALLER", "REQUESTED", "uv_cache.json"):
            (small.site / "toy-1.0.dist-info" / name).unlink()
        assert small.kinds() == set()

    def test_behind_a_link(self, small: Small, tmp_path: Path) -> None:
        (small.site / "common").rename(tmp_path / "common")
        (small.site / "common").symlink_to(tmp_path / "common")
        assert small.kinds() == {
            ("unowned", "common"),
            *(("missing", f"common/{name}.py") for name in ("__init__", "left", "right")),
        }

    def test_data_behind_a_link_out_of_the_environment(self, small: Small, tmp_path: Path) -> None:
        (small.prefix / "share").rename(tmp_path / "share")
        (small.prefix / "share").symlink_to(tmp_path / "share")
        assert small.kinds() == {("missing", "share/toy/notes.txt")}


class TestUnreadable:
    def test_a_folder_in_its_place(self, small: Small) -> None:
        (small.site / "toy/cli.py").unlink()
        (small.site / "toy/cli.py").mkdir()
        fact = one(small, "toy/cli.py")
        assert (fact.kind, fact.detail) == (FileKind.UNREADABLE, "a folder is in its place")

    def test_file(self, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        fired = _refuse(monkeypatch, "toy/cli.py")
        fact = one(small, "toy/cli.py")
        assert (fact.kind, fact.detail, fact.owners) == (FileKind.UNREADABLE, "Input/output error", ("toy",))
        assert fired

    def test_file_half_way(self, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        real, fired = os.read, []

        def read(handle: int, count: int) -> bytes:
            if os.readlink(f"/proc/self/fd/{handle}").endswith("toy/table.bin"):
                fired.append(handle)
                raise OSError(5, "Input/output error")
            return real(handle, count)

        monkeypatch.setattr(os, "read", read)
        assert small.kinds() == {("unreadable", "toy/table.bin")}
        assert fired

    def test_script(self, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        fired = _refuse(monkeypatch, "bin/toy-shell")
        assert ("unreadable", "bin/toy-shell") in small.kinds()
        assert fired

    def test_folder(self, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
        fired = _refuse(monkeypatch, "common")
        fact = one(small, "common")
        assert (fact.kind, fact.owners) == (FileKind.UNREADABLE, ("left", "right"))
        assert fired
        monkeypatch.undo()
        assert small.kinds() == set()


def _refuse(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    real, fired = os.open, []

    def open_(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if os.fspath(path).endswith(name):
            fired.append(path)
            raise OSError(5, "Input/output error")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_)
    return fired


class TestUnowned:
    @pytest.mark.parametrize(
        "path",
        [
            pytest.param("stray.py", id="module"),
            pytest.param("toy/stray.so", id="in a package"),
            pytest.param("new/deep/x.txt", id="new folders"),
            pytest.param("stray.pyc", id="bytecode without a source"),
            pytest.param("toy-1.0.dist-info/stray", id="in a dist-info"),
            pytest.param("~oy/x.py", id="what pip failed to remove"),
            pytest.param("new\nline.py", id="newline"),
            pytest.param("caf\udce9.py", id="not UTF-8"),
            pytest.param(".hidden", id="hidden"),
        ],
    )
    def test_is_told(self, small: Small, path: str) -> None:
        place = small.site / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"stray")
        assert small.kinds() == {("unowned", path)}
        assert one(small, path).sha256 == Digest.of(b"stray")

    def test_link(self, small: Small) -> None:
        (small.site / "stray").symlink_to("/usr")
        fact = one(small, "stray")
        assert (fact.kind, fact.detail) == (FileKind.UNOWNED, "a symbolic link")

    @pytest.mark.parametrize(
        "path",
        [
            pytest.param("toy/__pycache__/x.nbi", id="other files of pycache"),
            pytest.param("pip-23.3.1.virtualenv", id="virtualenv's mark"),
        ],
    )
    def test_is_silent(self, small: Small, path: str) -> None:
        (small.site / path).parent.mkdir(exist_ok=True)
        (small.site / path).write_bytes(b"")
        assert small.kinds() == set()

    def test_leftover_of_an_upgrade_is_no_distribution(self, small: Small) -> None:
        shutil.copytree(small.site / "toy-1.0.dist-info", small.site / "~oy-0.9.dist-info")
        looked = small.look()
        assert [one.name for one in looked.distributions].count("toy") == 1
        assert ("unowned", "~oy-0.9.dist-info/METADATA") in small.kinds()


class TestStartup:
    @pytest.mark.parametrize(
        "path",
        [
            pytest.param("evil.pth", id="pth"),
            pytest.param("sitecustomize.py", id="sitecustomize"),
            pytest.param("usercustomize.py", id="usercustomize"),
            pytest.param("sitecustomize.cpython-311-x86_64-linux-gnu.so", id="compiled"),
            pytest.param("sitecustomize/__init__.py", id="package"),
        ],
    )
    def test_of_nobody(self, small: Small, path: str) -> None:
        (small.site / path).parent.mkdir(exist_ok=True)
        (small.site / path).write_bytes(b"import evil\n")
        fact = one(small, path)
        assert (fact.kind, fact.owners, fact.sha256) == (FileKind.STARTUP, (), Digest.of(b"import evil\n"))

    def test_of_a_distribution_is_always_told(self, small: Small) -> None:
        fact = one(small, "starter.pth")
        assert (fact.kind, fact.owners) == (FileKind.STARTUP, ("starter",))
        assert fact.sha256 == fact.expected == Digest.of(b"import sys\n")

    def test_changed_is_modified_too(self, small: Small) -> None:
        (small.site / "starter.pth").write_bytes(b"import evil\n")
        found = {fact.kind for fact in small.facts() if fact.path == "starter.pth"}
        assert found == {FileKind.STARTUP, FileKind.MODIFIED}

    def test_the_environments_own_is_silent_only_as_it_was_written(self, small: Small) -> None:
        (small.site / "_virtualenv.pth").write_bytes(b"import _virtualenv")
        assert small.kinds() == set()
        (small.site / "_virtualenv.pth").write_bytes(b"import _virtualenv;evil")
        (small.site / "_virtualenv.py").write_bytes(b"evil")
        assert small.kinds() == {("startup", "_virtualenv.pth"), ("startup", "_virtualenv.py")}

    def test_link(self, small: Small) -> None:
        (small.site / "evil.pth").symlink_to("/tmp/evil.pth")
        assert one(small, "evil.pth").kind is FileKind.STARTUP

    def test_names_that_only_look_like_it(self, small: Small) -> None:
        for name in ("sitecustomize.txt", "toy/x.pth", "toy/sitecustomize.py"):
            (small.site / name).write_bytes(b"")
        assert {kind for kind, _ in small.kinds()} == {"unowned"}


class TestScripts:
    def test_changed_launcher(self, small: Small) -> None:
        before = one(small, "bin/toy-cli")
        assert before.detail is None
        with (small.scripts / "toy-cli").open("ab") as file:
            file.write(b"import evil\n")
        after = one(small, "bin/toy-cli")
        assert (after.kind, after.detail) == (FileKind.SCRIPT, "changed after install")
        assert after.sha256 != before.sha256

    def test_another_interpreter(self, small: Small) -> None:
        before = one(small, "bin/toy-script")
        (small.scripts / "toy-script").write_bytes(b"#!/elsewhere/bin/python\nprint('script')\n")
        after = one(small, "bin/toy-script")
        assert after.sha256 != before.sha256
        assert after.detail == "starts another interpreter: /elsewhere/bin/python"

    def test_interpreter_by_another_name_of_the_folder(self, small: Small, tmp_path: Path) -> None:
        before = one(small, "bin/toy-script")
        link = tmp_path / "link"
        link.symlink_to(small.prefix)
        (small.scripts / "toy-script").write_bytes(f"#!{link}/bin/python\nprint('script')\n".encode())
        assert one(small, "bin/toy-script").sha256 == before.sha256

    def test_exec_bit(self, small: Small) -> None:
        assert one(small, "bin/toy-program").mode == "0755"
        (small.scripts / "toy-program").chmod(0o600)
        assert one(small, "bin/toy-program").mode == "0644"

    def test_of_nobody(self, small: Small) -> None:
        (small.scripts / "stray").write_bytes(b"#!/bin/sh\n")
        (small.scripts / "folder").mkdir()
        assert small.kinds() == {("script", "bin/stray")}

    def test_of_nobody_outside_a_venv_are_silent(self, small: Small) -> None:
        (small.scripts / "stray").write_bytes(b"#!/bin/sh\n")
        assert small.kinds(layout=small.layout(is_venv=False)) == set()

    def test_link_in_its_place(self, small: Small) -> None:
        (small.scripts / "toy-cli").unlink()
        (small.scripts / "toy-cli").symlink_to("/bin/true")
        fact = one(small, "bin/toy-cli")
        assert (fact.kind, fact.detail) == (FileKind.MODIFIED, "a symbolic link to other bytes is in its place")

    def test_large(self, small: Small) -> None:
        content = b"\x7fELF" + b"\0" * (1 << 20)
        (small.scripts / "toy-program").write_bytes(content)
        assert one(small, "bin/toy-program").sha256 == Digest.of(content)


def test_header(small: Small) -> None:
    header = next(small.prefix.glob("include/site/*/*/sub/a.h"))
    shown = f"include/site/{small.site.parent.name}/my-head-er/sub/a.h"
    fact = one(small, shown)
    assert (fact.kind, fact.root, fact.sha256, fact.detail) == (
        FileKind.HEADER,
        "headers",
        Digest.of(b"// a\n"),
        None,
    )
    header.write_bytes(b"// b\n")
    assert one(small, shown).detail == "changed after install"
    header.unlink()
    assert one(small, shown).kind is FileKind.MISSING


class TestShared:
    def test_content_of_either_owner_fits(self, small: Small, tmp_path: Path) -> None:
        folder = tmp_path / "wheels"
        folder.mkdir()
        for name, content in (("mine", "1"), ("yours", "2")):
            wheel(folder, name, "1.0", {"both/__init__.py": content})
        install(small.prefix, folder, ("mine", "yours"), tmp_path / "cache")
        assert SharedPath("both/__init__.py", ("mine", "yours"), agree=False) in small.look().shared
        for content in ("1", "2"):
            (small.site / "both/__init__.py").write_text(content)
            assert small.kinds() == set()
        (small.site / "both/__init__.py").write_text("3")
        fact = one(small, "both/__init__.py")
        assert (fact.kind, fact.owners, fact.expected) == (FileKind.MODIFIED, ("mine", "yours"), None)


def test_errata(small: Small, tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    record = f"listed.py,sha256={'0' * 64},1\nphantom.py,,\nerr-1.0.dist-info/RECORD,,\n"
    wheel(folder, "err", "1.0", {"listed.py": "x", "unlisted.py": "y"}, record=record)
    install(small.prefix, folder, ("err",), tmp_path / "cache")
    assert {told for told in small.kinds() if "dist-info" not in told[1]} == {
        ("modified", "listed.py"),
        ("errata", "unlisted.py"),
    }
    assert one(small, "unlisted.py").sha256 == Digest.of(b"y")


def test_a_hash_of_another_kind_is_held_too(small: Small, tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    files = {"x.py": b"x", "y.py": b"y"}
    rows = "".join(f"{name},sha512={hashlib.sha512(content).hexdigest()},1\n" for name, content in files.items())
    wheel(folder, "long", "1.0", files, record=f"{rows}long-1.0.dist-info/RECORD,,\n")
    install(small.prefix, folder, ("long",), tmp_path / "cache")
    for _ in range(2):
        assert {told for told in small.kinds() if "dist-info" not in told[1]} == set()
    (small.site / "x.py").write_bytes(b"z")
    fact = one(small, "x.py")
    assert (fact.kind, fact.sha256, fact.expected) == (FileKind.MODIFIED, Digest.of(b"z"), None)


class TestDamagedRecord:
    @pytest.mark.parametrize(
        ("damage", "problem"),
        [
            pytest.param(lambda record: record.unlink(), "RECORD is missing", id="missing"),
            pytest.param(
                lambda record: record.write_bytes(b"\0"), "RECORD can't be used: it holds NUL bytes", id="zeros"
            ),
            pytest.param(
                lambda record: (record.unlink(), record.mkdir()),
                "RECORD can't be read: something that is no file",
                id="folder",
            ),
            pytest.param(
                lambda record: (record.unlink(), record.symlink_to("/etc/hostname")),
                "RECORD can't be read: it is a symbolic link",
                id="link",
            ),
        ],
    )
    def test_the_locks_rows_serve(self, small: Small, damage: object, problem: str) -> None:
        toy = next(one for one in small.look().distributions if one.name == "toy")
        rows = {"toy": dump_rows(LazyRows(small.layout(), toy))}
        (small.site / "toy/cli.py").write_bytes(b"evil")
        damage(small.site / "toy-1.0.dist-info/RECORD")  # type: ignore[operator]
        looked = small.look(rows=rows)
        toy = next(one for one in looked.distributions if one.name == "toy")
        assert (toy.record, toy.problem) == (None, problem)
        told = {(fact.kind.value, fact.path) for fact in looked.files or () if fact.owners == ("toy",)}
        assert ("modified", "toy/cli.py") in told
        assert ("script", "toy-cli") in told
        assert not {path for kind, path in small.kinds(rows=rows) if kind == "unowned"}

    def test_without_rows_its_files_are_let_be(self, small: Small) -> None:
        (small.site / "toy-1.0.dist-info/RECORD").unlink()
        unowned = {path for kind, path in small.kinds() if kind == "unowned"}
        assert unowned <= {"single.py"}

    def test_damaged_rows_of_the_lock_are_none(self, small: Small) -> None:
        (small.site / "toy-1.0.dist-info/RECORD").unlink()
        assert small.kinds(rows={"toy": b"rubbish"}) == small.kinds()

    def test_coming_back(self, small: Small) -> None:
        record = small.site / "toy-1.0.dist-info/RECORD"
        content = record.read_bytes()
        record.unlink()
        small.look()
        record.write_bytes(content)
        assert small.kinds() == set()


def test_metadata_that_is_gone_is_a_missing_file(small: Small) -> None:
    (small.site / "toy-1.0.dist-info/METADATA").unlink()
    looked = small.look()
    toy = next(one for one in looked.distributions if one.folder == "toy-1.0.dist-info")
    assert (toy.name, toy.version, toy.problem) == ("toy", "1.0", None)
    assert small.kinds() == {("missing", "toy-1.0.dist-info/METADATA")}


def test_an_empty_dist_info(small: Small) -> None:
    (small.site / "ghost-1.0.dist-info").mkdir()
    ghost = next(one for one in small.look().distributions if one.name == "ghost")
    assert (ghost.version, ghost.problem) == ("1.0", "RECORD is missing")
    assert small.kinds() == set()


def test_two_of_one_name_are_both_told(small: Small) -> None:
    shutil.copytree(small.site / "toy-1.0.dist-info", small.site / "toy-0.9.dist-info")
    assert [one.folder for one in small.look().distributions if one.name == "toy"] == [
        "toy-0.9.dist-info",
        "toy-1.0.dist-info",
    ]


class TestEggInfo:
    def test_folder(self, small: Small) -> None:
        (small.site / "Old.Egg-1.2.egg-info").mkdir()
        (small.site / "Old.Egg-1.2.egg-info/PKG-INFO").write_text("Name: Old.Egg\nVersion: 1.2\n")
        (small.site / "Old.Egg-1.2.egg-info/top_level.txt").write_text("old_egg\n")
        (small.site / "old_egg.py").write_text("")
        egg = next(one for one in small.look().distributions if one.name == "old-egg")
        assert (egg.version, egg.problem) == ("1.2", "system, not a wheel (egg-info has no RECORD)")
        assert small.kinds() == set()

    def test_file(self, small: Small) -> None:
        (small.site / "older-0.1-py3.11.egg-info").write_text("Name: older\nVersion: 0.1\n")
        egg = next(one for one in small.look().distributions if one.name == "older")
        assert egg.version == "0.1"
        assert small.kinds() == set()
        (small.site / "older-0.1-py3.11.egg-info").write_text("Name: older\nVersion: 0.2\n")
        assert next(one for one in small.look().distributions if one.name == "older").version == "0.2"


def test_metadata_level_reads_records_only(small: Small) -> None:
    shutil.rmtree(small.site / "common")
    looked = small.look(Level.METADATA)
    assert looked.files is None
    assert looked.shared == (SharedPath("common/__init__.py", ("left", "right"), agree=True),)
    assert {one.name for one in looked.distributions} == set(ALL)
    assert ("missing", "common/left.py") in small.kinds()
    assert small.look(Level.METADATA).shared == looked.shared


def test_several_libraries(small: Small, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(small.site, other)
    layout = small.layout(libraries=(small.site, other))
    looked = small.look(layout=layout)
    assert [one.in_library for one in looked.distributions if one.name == "toy"] == [0, 1]
    (other / "toy/cli.py").write_bytes(b"evil")
    assert ("modified", "toy/cli.py") in small.kinds(layout=layout)


class TestRowsOfOtherFolders:
    def add(self, small: Small, row: str) -> None:
        with (small.site / "left-1.0.dist-info/RECORD").open("a") as record:
            record.write(f"{row},sha256={hashlib.sha256(b'x').hexdigest()},1\n")

    def test_the_library_by_another_name(self, small: Small) -> None:
        """``lib64`` is a link to ``lib``, or a library of its own."""
        (small.site / "fast.so").write_bytes(b"x")
        self.add(small, f"../../../lib64/{MINOR}/site-packages/fast.so")
        assert small.kinds() == set()
        (small.site / "fast.so").write_bytes(b"y")
        assert small.kinds() == {("modified", "fast.so")}

    def test_another_library(self, small: Small, tmp_path: Path) -> None:
        (small.prefix / "lib64").unlink()
        other = small.prefix / "lib64" / MINOR / "site-packages"
        other.mkdir(parents=True)
        (other / "fast.so").write_bytes(b"y")
        self.add(small, f"../../../lib64/{MINOR}/site-packages/fast.so")
        assert small.kinds(layout=small.layout(libraries=(small.site, other))) == {("modified", "fast.so")}

    def test_a_library_that_this_python_does_not_have(self, small: Small) -> None:
        self.add(small, "../../../lib/python3.2/site-packages/old.py")
        path = "lib/python3.2/site-packages/old.py"
        assert small.kinds() == {("missing", path)}
        (small.prefix / path).parent.mkdir(parents=True)
        (small.prefix / path).write_bytes(b"y")
        assert small.kinds() == {("modified", path)}

    @pytest.mark.parametrize(
        "row", ["../../../../outside.txt", "/etc/hostname", "toy/../../../../../../outside.txt"]
    )
    def test_nothing_outside_is_looked_at(self, small: Small, row: str) -> None:
        (small.prefix.parent / "outside.txt").write_bytes(b"y")
        self.add(small, row)
        assert small.kinds() == set()

    def test_below_the_scripts_folder(self, small: Small) -> None:
        self.add(small, "../../../bin/tools/deep")
        assert small.kinds() == {("missing", "bin/tools/deep")}


def test_a_system_without_descriptors_of_folders(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: paths do."""
    (small.site / "toy/cli.py").write_bytes(b"evil")
    (small.site / "stray").symlink_to("/usr")
    small.compile()
    before = small.look(Level.FULL, keep=False)
    monkeypatch.setattr(tree, "_BY_DESCRIPTOR", False)
    after = small.look(Level.FULL, keep=False)
    assert (after.distributions, after.files, after.shared) == (before.distributions, before.files, before.shared)
    assert Small(small.prefix / "none").look(Level.METADATA).distributions == ()


def test_a_library_that_is_not_there(small: Small, tmp_path: Path) -> None:
    layout = small.layout(libraries=(small.site, tmp_path / "none"))
    assert small.kinds(layout=layout) == set()


def test_nothing_at_all(tmp_path: Path) -> None:
    looked = Small(tmp_path / "none").look()
    assert (looked.distributions, looked.files) == ((), ())


def test_wheels_are_built_the_same(tmp_path: Path) -> None:
    """The environment is copied from what these make; they had better be the same each time."""
    first, second = wheels(tmp_path / "a"), wheels(tmp_path / "b")
    assert [file.read_bytes() for file in sorted(first.iterdir())] == [
        file.read_bytes() for file in sorted(second.iterdir())
    ]
