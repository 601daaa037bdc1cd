from __future__ import annotations

import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from envguard.adapters.archive import source_tree as module
from envguard.adapters.archive.source_tree import source_tree
from envguard.errors import NotRebuildableError
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Origin
from envguard.model.target import Layout
from tests.builders import distribution
from tests.fakes import prober


class Place:
    """An environment whose distribution ``mine`` came from ``source``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = root / "source"
        self.source.mkdir()
        self.layout: Layout = prober.layout(root / "env")
        self.info = self.layout.libraries[0] / "mine-1.0.dist-info"
        self.info.mkdir(parents=True)
        self.entry: Distribution = distribution(
            "mine", "1.0", folder="mine-1.0.dist-info", origin=Origin("folder", editable=True)
        )
        self.point(self.source)

    def point(self, folder: Path) -> None:
        document = {"url": folder.as_uri(), "dir_info": {"editable": True}}
        (self.info / "direct_url.json").write_text(json.dumps(document))

    def git(self, *arguments: str, folder: Path | None = None) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        command = ["git", *identity, *arguments]
        ended = subprocess.run(command, cwd=folder or self.source, check=True, capture_output=True, text=True)
        return ended.stdout.strip()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def take(self, **rest: Path) -> dict[str, str]:
        tree = source_tree(self.layout, self.entry, self.root, **rest)
        assert tree is not None
        with tarfile.open(tree.path) as archive:
            found = {
                member.name: member.linkname or (archive.extractfile(member) or b"").read().decode()  # type: ignore[union-attr]
                for member in archive.getmembers()
            }
            assert tree.files == len(found)
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_commit_with_local_changes(place: Place) -> None:
    place.write({"a.py": "1", "gone.py": "", ".gitignore": "*.log\n", "sub/b.py": "2"})
    place.git("init", "-q")
    place.git("add", ".")
    place.git("commit", "-q", "-m", "x")
    place.write({"a.py": "changed", "new.py": "new", "run.log": "noise"})
    (place.source / "gone.py").unlink()
    assert place.take() == {".gitignore": "*.log\n", "a.py": "changed", "new.py": "new", "sub/b.py": "2"}


def test_only_the_part_that_was_installed(place: Place) -> None:
    place.write({"mine/a.py": "1", "other/b.py": "2"})
    place.git("init", "-q")
    place.point(place.source / "mine")
    assert place.take() == {"a.py": "1"}


def test_a_repository_inside_it(place: Place) -> None:
    place.write({"a.py": "1", "inner/b.py": "2"})
    place.git("init", "-q", folder=place.source / "inner")
    place.git("add", ".", folder=place.source / "inner")
    place.git("commit", "-q", "-m", "x", folder=place.source / "inner")
    place.git("init", "-q")
    place.git("-c", "advice.addEmbeddedRepo=false", "add", ".")
    assert place.take() == {"a.py": "1", "inner/b.py": "2"}


def test_a_folder_without_git(place: Place) -> None:
    place.write({"a.py": "1", "__pycache__/a.pyc": "x", "venv/pyvenv.cfg": "", "venv/lib/x.py": ""})
    (place.source / "link").symlink_to("a.py")
    os.mkfifo(place.source / "pipe")
    assert place.take() == {"a.py": "1", "link": "a.py"}


def test_the_same_files_give_the_same_bytes(place: Place) -> None:
    place.write({"b.py": "1", "a.py": "2"})
    (place.source / "a.py").chmod(0o700)
    first = source_tree(place.layout, place.entry, place.root)
    for path in place.source.iterdir():
        os.utime(path, (1, 1))
    again = source_tree(place.layout, place.entry, place.root)
    assert first is not None
    assert again is not None
    assert Digest.of(first.path.read_bytes()) == Digest.of(again.path.read_bytes())
    with tarfile.open(first.path) as archive:
        assert [(one.name, one.mode, one.mtime) for one in archive] == [("a.py", 0o755, 0), ("b.py", 0o644, 0)]


def test_none_where_the_folder_is_gone(place: Place) -> None:
    place.point(place.root / "gone")
    assert source_tree(place.layout, place.entry, place.root) is None
    (place.info / "direct_url.json").unlink()
    assert source_tree(place.layout, place.entry, place.root) is None


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_BYTES"])
def test_too_much_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    place.write({"a.py": "12345", "b.py": ""})
    monkeypatch.setattr(module, limit, 1)
    with pytest.raises(NotRebuildableError, match="too much to keep"):
        source_tree(place.layout, place.entry, place.root)
    assert not list(place.root.glob("*.tmp"))


def test_a_checkout_in_uvs_cache_at_that_very_commit(place: Place) -> None:
    place.write({"a.py": "1"})
    place.git("init", "-q")
    place.git("add", ".")
    place.git("commit", "-q", "-m", "x")
    commit = place.git("rev-parse", "HEAD")
    cache = place.root / "uv"
    checkout = cache / "git-v0" / "checkouts" / "0123" / commit[:8]
    checkout.parent.mkdir(parents=True)
    place.source.rename(checkout)
    origin = Origin("vcs", url="https://code.example/mine", commit=commit)
    place.entry = distribution("mine", "1.0", folder="mine-1.0.dist-info", origin=origin)
    assert place.take(uv_cache=cache) == {"a.py": "1"}
    lying = checkout.with_name("f" * 8)
    checkout.rename(lying)
    other = Origin("vcs", url="https://code.example/mine", commit="f" * 40)
    place.entry = distribution("mine", "1.0", folder="mine-1.0.dist-info", origin=other)
    assert source_tree(place.layout, place.entry, place.root, uv_cache=cache) is None
