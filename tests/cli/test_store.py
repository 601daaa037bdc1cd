"""``envguard store`` and ``snapshot --archive`` as a user calls them: wheels of our own, no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from uv import find_uv_bin

from envguard.cli.main import main
from envguard.model.digest import Digest
from tests import builders
from tests.fakes.fault_server import FaultServer, Reply

FILES = {"demo/__init__.py": "VERSION = 1\n", "demo-1.0.data/scripts/run-demo": "#!python\nprint(1)\n"}


class Project:
    """A project folder with an environment, in the working folder."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.wheels = root / "wheels"
        self.wheels.mkdir()
        self.folder = root / "project"
        self.folder.mkdir()
        self._capsys = capsys
        self.uv("venv", "-q", "--python", sys.executable, self.environment)

    @property
    def environment(self) -> Path:
        return self.folder / ".venv"

    @property
    def lock(self) -> Path:
        return self.folder / "lockfiles" / "good.toml"

    @property
    def objects(self) -> Path:
        return Path(os.environ["ENVGUARD_DATA_DIR"]) / "store" / "blobs" / "sha256"

    def uv(self, *arguments: str | Path) -> None:
        subprocess.run([find_uv_bin(), *arguments, "--offline", "--no-config", "--no-cache"], check=True)

    def install(self, *what: str | Path) -> None:
        python = self.environment / "bin" / "python"
        self.uv("pip", "install", "-q", "--no-deps", "--python", python, *what)

    def wheel(self, name: str = "demo", version: str = "1.0", **rest: object) -> Path:
        files = rest.pop("files", FILES if name == "demo" else {f"{name}.py": "A = 1\n"})
        return builders.wheel(self.wheels, name, version, files, **rest)  # type: ignore[arg-type]

    def run(self, *arguments: str | Path, code: int = 0) -> tuple[str, str]:
        self._capsys.readouterr()
        got = main([str(argument) for argument in arguments])
        out, err = self._capsys.readouterr()
        assert got == code, out + err
        return out, err

    def document(self, *arguments: str | Path, code: int = 0) -> dict[str, object]:
        parsed = json.loads(self.run(*arguments, "--format", "json", code=code)[0])
        assert isinstance(parsed, dict)
        return parsed

    def rebuilt(self) -> str:
        """Digits of the one rebuilt wheel."""
        found = [line for line in self.lock.read_text().splitlines() if line.startswith("rebuilt = ")]
        assert len(found) == 1
        return found[0].split('"')[1].removeprefix("sha256:")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    for name in list(os.environ):
        if name.startswith(("UV_", "PIP_", "CONDA", "VIRTUAL_ENV")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "no-cache"))
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "no-cache"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "no-cache"))
    (tmp_path / "empty-index").mkdir()
    monkeypatch.setenv("UV_DEFAULT_INDEX", (tmp_path / "empty-index").as_uri())
    made = Project(tmp_path, capsys)
    monkeypatch.chdir(made.folder)
    return made


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)


class TestSnapshot:
    """What is archived, when."""

    def test_an_unknown_wheel_is_archived_unasked(self, project: Project) -> None:
        project.install(project.wheel())
        shutil.rmtree(project.wheels)
        _, err = project.run("snapshot", "--name", "good", "--offline")
        assert "archiving 1 distribution, about " in err
        assert "--no-archive declines" in err
        text = project.lock.read_text()
        assert 'evidence = "archive"' in text
        assert f'sha256 = "sha256:{project.rebuilt()}"' in text
        assert text.count(f"sha256:{project.rebuilt()}") == 3, "sha256, rebuilt, and among the archive's objects"
        assert (project.objects / project.rebuilt()).exists()

    def test_not_when_it_is_declined(self, project: Project) -> None:
        project.install(project.wheel())
        shutil.rmtree(project.wheels)
        _, err = project.run("snapshot", "--name", "good", "--offline", "--no-archive")
        assert "archiving" not in err
        assert "rebuilt = " not in project.lock.read_text()

    def test_a_known_wheel_only_when_asked(self, project: Project) -> None:
        wheel = project.wheel()
        project.install(wheel)
        known = ("--find-links", project.wheels, "--offline")
        project.run("snapshot", "--name", "good", *known)
        digest = Digest.of(wheel.read_bytes())
        assert not (project.objects / digest.hex).exists()
        out, _ = project.run("snapshot", "--name", "good", *known, "--archive")
        assert "written" in out, "the facts are the same, and the archive is new"
        assert (project.objects / digest.hex).read_bytes() == wheel.read_bytes()
        assert str(digest) in project.lock.read_text().partition("[archive]")[2]
        again, _ = project.run("snapshot", "--name", "good", *known)
        assert "unchanged" in again, "what was archived once stays the lock's"

    def test_nightlies_are_archived_unasked(self, project: Project) -> None:
        wheel = project.wheel(version="1.0.dev20261101+cu130", files={"demo.py": ""})
        project.install(wheel)
        project.run("snapshot", "--name", "good", "--offline", "--find-links", project.wheels)
        assert (project.objects / Digest.of(wheel.read_bytes()).hex).exists()

    def test_an_edited_wheel_is_told_and_the_snapshot_is_written(self, project: Project) -> None:
        project.install(project.wheel())
        shutil.rmtree(project.wheels)
        (file,) = project.environment.glob("lib/*/site-packages/demo/__init__.py")
        file.write_text("VERSION = 2\n")
        _, err = project.run("snapshot", "--name", "good", "--offline")
        assert (
            "note: not archived: demo can't be rebuilt as a wheel: demo/__init__.py is not what its RECORD" in err
        )
        assert project.lock.exists()

    def test_a_lock_of_another_environment_archives_nothing(self, project: Project) -> None:
        project.install(project.wheel())
        project.run("snapshot", "--name", "good", "--offline", "--find-links", project.wheels)
        project.install(project.wheel("other"))
        shutil.rmtree(project.wheels)
        _, err = project.run("snapshot", "--name", "good", "--offline", code=1)
        assert "archiving" not in err


class TestRestore:
    """The archive alone is enough."""

    def test_offline_from_a_rebuilt_wheel(self, project: Project) -> None:
        project.install(project.wheel())
        shutil.rmtree(project.wheels)
        project.run("snapshot", "--name", "good", "--offline")
        shutil.rmtree(project.environment)
        out, _ = project.run("restore", "lockfiles/good.toml", "--offline", "--plan")
        assert "demo: rebuilt from its installed files when the lock was made" in out
        project.run("restore", "lockfiles/good.toml", "--offline", "--target", project.environment)
        project.run("verify", "--full")
        out, _ = project.run("snapshot", "--name", "good", "--offline")
        assert "unchanged" in out
        project.run("snapshot", "--name", "other", "--offline")
        other = (project.folder / "lockfiles" / "other.toml").read_text()
        assert f'rebuilt = "sha256:{project.rebuilt()}"' in other, "it is still known that it was rebuilt"

    def test_an_index_that_replaces_a_wheel_in_place(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wheel = project.wheel()
        project.install(wheel)
        good = Digest.of(wheel.read_bytes())
        project.run("snapshot", "--name", "good", "--offline", "--find-links", project.wheels, "--archive")
        shutil.rmtree(project.environment)
        evil = project.wheel(files={"demo/__init__.py": "VERSION = 666\n"})
        with FaultServer() as server:
            bad = Digest.of(evil.read_bytes())
            page = f'<a href="/{evil.name}#sha256={bad.hex}">{evil.name}</a>'
            server.on("/simple/demo/", Reply(headers={"Content-Type": "text/html"}, body=page.encode()))
            server.on(f"/{evil.name}", Reply(body=evil.read_bytes()))
            monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
            project.run("restore", "lockfiles/good.toml", "--target", project.environment)
            project.run("verify", "--full")
            (project.objects / good.hex).unlink()
            _, err = project.run("restore", "lockfiles/good.toml", "--target", project.environment, code=3)
            assert server.times("/simple/demo/") == 1
            assert not [
                asked for asked in server.asked if asked.path == f"/{evil.name}" and asked.headers.get("x")
            ]
        assert "error[other-bytes]" in err
        assert f"{good} → {bad}" in err
        ended = subprocess.run(
            [project.environment / "bin" / "python", "-c", "import demo; print(demo.VERSION)"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert ended.stdout == "1\n", "what was there before stays"

    def test_an_editable_install_is_kept_as_its_folder(self, project: Project) -> None:
        source = project.root / "mine"
        (source / "mine").mkdir(parents=True)
        (source / "mine" / "__init__.py").write_text("M = 1\n")
        editable = project.wheel("mine", files={"__editable__.mine.pth": f"{source}\n"})
        project.install(editable)
        shutil.rmtree(project.wheels)
        (info,) = project.environment.glob("lib/*/site-packages/mine-1.0.dist-info")
        (info / "direct_url.json").write_text(json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}}))
        project.run("snapshot", "--name", "good", "--offline")
        assert "rebuilt = " not in project.lock.read_text()
        _, err = project.run("restore", "lockfiles/good.toml", "--offline", code=3)
        assert "mine: it was an editable install; its files are in the store as sha256:" in err
        digest = err.partition("in the store as ")[2].partition(",")[0]
        assert f"envguard store get {digest} FOLDER" in err
        out, _ = project.run("store", "get", digest, project.root / "back")
        assert (project.root / "back" / "mine" / "__init__.py").read_text() == "M = 1\n"
        assert out.endswith("back: 1 file\n")


class TestStore:
    """Looking after it."""

    @pytest.fixture
    def archived(self, project: Project) -> Project:
        project.install(project.wheel())
        shutil.rmtree(project.wheels)
        project.run("snapshot", "--name", "good", "--offline")
        return project

    def test_ls(self, archived: Project) -> None:
        out, _ = archived.run("store", "ls")
        assert out.startswith(f"{archived.lock}:\n")
        assert "rebuilt wheel  demo 1.0" in out
        assert "rows           demo 1.0" in out
        document = archived.document("store", "ls")
        assert document["schema"] == "envguard-store-ls-1"
        assert {one["users"][0] for one in document["objects"]} == {str(archived.lock)}  # type: ignore[attr-defined]

    def test_all_is_whole(self, archived: Project) -> None:
        out, _ = archived.run("store", "check")
        assert out.endswith(", all whole\n")
        assert archived.run("store", "check", "-q")[0] == ""
        assert archived.run("store", "repair")[0] == "all whole\n"

    def test_a_flipped_bit_is_named_and_mended(self, archived: Project) -> None:
        damaged = archived.objects / archived.rebuilt()
        original = damaged.read_bytes()
        flip(damaged)
        out, err = archived.run("store", "check", code=1)
        assert f"sha256:{damaged.name} (rebuilt wheel demo 1.0): damaged; {damaged}\n" in out
        assert f"  needed by {archived.lock}\n" in out
        assert "1 damaged, 0 missing" in out
        assert err == "hint: envguard store repair\n"
        assert archived.document("store", "check", code=1)["damaged"]
        out, _ = archived.run("store", "repair", "--offline")
        assert f"again from {archived.environment}" in out
        assert "1 mended, 0 left" in out
        assert damaged.read_bytes() == original
        (aside,) = damaged.parents[2].joinpath("set-aside").iterdir()
        assert str(aside) in out

    def test_what_cannot_be_had_again_is_said(self, archived: Project) -> None:
        flip(archived.objects / archived.rebuilt())
        shutil.rmtree(archived.environment)
        out, _ = archived.run("store", "repair", "--offline", code=1)
        assert "(rebuilt wheel demo 1.0): not mended: no source has its bytes" in out
        out, _ = archived.run("store", "check", code=1)
        assert "0 damaged, 1 missing" in out, "it is gone, and this machine archived it"
        document = archived.document("store", "repair", "--offline", code=1)
        assert document["objects"][0]["source"] is None  # type: ignore[index]

    def test_rows_are_made_again_from_the_environment(self, archived: Project) -> None:
        rows = next(path for path in archived.objects.iterdir() if path.read_bytes().startswith(b"envguard rows"))
        flip(rows)
        assert "1 mended" in archived.run("store", "repair", "--offline")[0]
        archived.run("store", "check")

    def test_gc_keeps_what_is_needed(self, archived: Project) -> None:
        before = set(archived.objects.iterdir())
        stray = archived.objects / Digest.of(b"stray").hex
        stray.write_bytes(b"stray")
        assert "1 too young" in archived.run("store", "gc")[0]
        assert stray.exists()
        out, _ = archived.run("store", "gc", "--grace", "0s", "--dry-run")
        assert "1 objects, 5 B would be removed" in out
        assert stray.exists()
        assert archived.document("store", "gc", "--grace", "0s")["removed"] == [
            {"digest": str(Digest.of(b"stray")), "size": 5}
        ]
        assert set(archived.objects.iterdir()) == before

    def test_a_lock_that_is_not_there_now_keeps_its_objects(self, archived: Project) -> None:
        before = set(archived.objects.iterdir())
        archived.lock.unlink()
        _, err = archived.run("store", "gc", "--grace", "0s")
        assert f"note: {archived.lock} is not there now" in err
        assert set(archived.objects.iterdir()) == before
        archived.run("store", "gc", "--grace", "0s", "--forget", archived.lock)
        assert list(archived.objects.iterdir()) == []

    def test_gc_removes_nothing_when_a_lock_cannot_be_read(self, archived: Project) -> None:
        (archived.objects / Digest.of(b"stray").hex).write_bytes(b"stray")
        before = set(archived.objects.iterdir())
        archived.lock.write_text("schema = 99\n")
        _, err = archived.run("store", "gc", "--grace", "0s", code=3)
        assert "error[roots-unreadable]: a lock can't be read" in err
        assert str(archived.lock) in err
        assert set(archived.objects.iterdir()) == before

    def test_a_restored_environment_keeps_its_wheels(self, archived: Project) -> None:
        archived.run("restore", "lockfiles/good.toml", "--offline")
        wheel = archived.rebuilt()
        archived.lock.unlink()
        archived.run("store", "gc", "--grace", "0s", "--forget", archived.lock)
        assert [path.name for path in archived.objects.iterdir()] == [wheel]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            pytest.param(["gc", "--grace", "soon"], "not a time: 'soon'", id="grace"),
            pytest.param(["gc", "--forget", "nowhere.toml"], "no snapshot of this machine wrote", id="forget"),
            pytest.param(["get", "nonsense", "x"], "not a digest", id="digest"),
            pytest.param(["get", "sha256:abcdef", "."], "holds no object", id="unknown object"),
        ],
    )
    def test_bad_input(self, archived: Project, arguments: list[str], words: str) -> None:
        code = 3 if "no object" in words else 2
        assert words in archived.run("store", *arguments, code=code)[1]

    def test_a_lock_that_is_there_is_not_forgotten(self, archived: Project) -> None:
        assert "its objects are needed" in archived.run("store", "gc", "--forget", archived.lock, code=2)[1]

    def test_get_writes_a_file_and_never_over_another(self, archived: Project) -> None:
        file = archived.root / "taken" / "demo.whl"
        archived.run("store", "get", archived.rebuilt()[:12], file)
        assert Digest.of(file.read_bytes()).hex == archived.rebuilt()
        assert "something already" in archived.run("store", "get", archived.rebuilt(), file, code=2)[1]

    def test_a_tar_that_leads_outside_is_refused(self, archived: Project) -> None:
        evil = archived.root / "evil.tar"
        with tarfile.open(evil, "w") as archive:
            archive.add(archived.lock, "../outside")
        digest = Digest.of(evil.read_bytes())
        shutil.copy(evil, archived.objects / digest.hex)
        _, err = archived.run("store", "get", str(digest), archived.root / "in" / "here", code=3)
        assert "would lie outside" in err
        assert not (archived.root / "in" / "outside").exists()


class TestExport:
    """What an export says when a wheel has no place."""

    def test_what_only_the_store_has_is_named(self, project: Project) -> None:
        project.install(project.wheel())
        shutil.rmtree(project.wheels)
        project.run("snapshot", "--name", "good", "--offline")
        _, err = project.run("export", "--format", "pylock", code=3)
        assert "error[not-obtainable]: demo: " in err
        digest = f"sha256:{project.rebuilt()}"
        assert f"the store holds one: envguard store get {digest} FOLDER/demo-1.0-py3-none-any.whl" in err
        project.run("store", "get", digest, project.root / "given" / "demo-1.0-py3-none-any.whl")
        out, _ = project.run("export", "--format", "pylock", "--find-links", project.root / "given")
        assert f'path = "{project.root}/given/demo-1.0-py3-none-any.whl"' in out
        out, _ = project.run("export", "--format", "requirements", "--find-links", project.root / "given")
        assert f"demo @ file://{project.root}/given/demo-1.0-py3-none-any.whl --hash={digest}" in out

    def test_a_wheel_can_be_left_out(self, project: Project) -> None:
        project.install(project.wheel(), project.wheel("other"))
        known = ("--find-links", project.wheels)
        project.run("snapshot", "--name", "good", "--offline", *known)
        out, _ = project.run("export", "--format", "requirements", "--without", "other", *known)
        assert [line.split()[0] for line in out.splitlines()] == ["#", "demo"]
        assert (
            "no distribution nothing"
            in project.run("export", "--format", "pylock", "--without", "nothing", *known, code=2)[1]
        )
