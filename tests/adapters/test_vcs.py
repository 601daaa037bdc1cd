from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters.vcs import code, origin, public
from envguard.model.distribution import Origin
from envguard.model.facts import Code
from envguard.model.observed import Absent, Unobserved, Value
from tests.pythons import fake
from tests.repositories import head, needs_git, repository, run

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def direct_url(**content: Any) -> bytes:
    return json.dumps(content).encode()


class TestCode:
    pytestmark = needs_git

    def test_a_clean_repository(self, tmp_path: Path) -> None:
        tree = repository(tmp_path / "run")
        assert code(tree) == Value(Code(head(tree)))

    def test_a_folder_below_stands_for_the_whole(self, tmp_path: Path) -> None:
        tree = repository(tmp_path / "run")
        (tree / "a").mkdir()
        (tree / "train.py").write_text("print(2)\n")
        seen = code(tree / "a")
        assert seen == code(tree)
        assert isinstance(seen, Value)
        assert seen.value.changes is not None

    def test_no_repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))  # git isn't even looked for
        assert code(tmp_path) == Absent()
        assert code(tmp_path / "not" / "there") == Absent()

    def test_an_empty_git_folder_is_no_repository(self, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        assert code(tmp_path) == Absent()

    def test_no_commit_yet(self, tmp_path: Path) -> None:
        run(tmp_path, "init", "-q")
        assert code(tmp_path) == Unobserved("the git repository has no commit yet")

    def test_no_git(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tree = repository(tmp_path / "run")
        monkeypatch.setenv("PATH", str(tmp_path))
        seen = code(tree)
        assert isinstance(seen, Unobserved)
        assert "git can't be started" in seen.reason

    @pytest.mark.parametrize(
        ("script", "words"),
        [
            pytest.param(
                "echo \"fatal: detected dubious ownership in repository at '/x'\" >&2; exit 128",
                "safe.directory",
                id="dubious-ownership",
            ),
            pytest.param('echo "fatal: bad object HEAD" >&2; exit 128', "fatal: bad object HEAD", id="damage"),
            pytest.param("exit 3", "exit 3", id="no-words"),
        ],
    )
    def test_what_git_says_is_the_reason(
        self, script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / ".git").mkdir()
        fake(tmp_path / "bin" / "git", script)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        seen = code(tmp_path)
        assert isinstance(seen, Unobserved)
        assert words in seen.reason

    def test_a_git_that_hangs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / ".git").mkdir()
        fake(tmp_path / "bin" / "git", "sleep 600")
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        seen = code(tmp_path, timeout=0.3)
        assert isinstance(seen, Unobserved)
        assert ".gitignore" in seen.reason


class TestPublic:
    @pytest.mark.parametrize(
        ("url", "wanted"),
        [
            ("https://host/a/b.git", "https://host/a/b.git"),
            ("https://user:secret@host/a", "https://host/a"),
            ("https://secret@host/a?token=secret#secret", "https://host/a"),
            ("https://us%40er:sec%2fret@host:8443/a", "https://host:8443/a"),
            ("https://user:p@secret@host/a", "https://host/a"),
            ("git+ssh://git@host/a.git@v1", "git+ssh://host/a.git@v1"),
            ("ssh://git@host:22/a", "ssh://host:22/a"),
            ("https://user/x:secret@host/a", None),
            ("https://host/x?next=https://u:secret@h", "https://host/x"),
            ("file:///home/me/a", None),
            ("git+file:///home/me/a", None),
            ("file://server/share", None),
            ("/home/me/a", None),
            ("C:\\Users\\me", None),
            ("git@host:secret/a.git", None),
            ("https://[broken", None),
            ("", None),
        ],
    )
    def test_nothing_secret_or_of_this_machine_is_left(self, url: str, wanted: str | None) -> None:
        assert public(url) == wanted
        assert "secret" not in (public(url) or "")


class TestOrigin:
    @pytest.mark.parametrize(
        ("content", "wanted"),
        [
            pytest.param(
                {
                    "url": "https://me:token@host/a.git?x#egg=y",
                    "vcs_info": {"vcs": "git", "commit_id": COMMIT, "requested_revision": "main"},
                    "subdirectory": "python",
                },
                Origin("vcs", url="https://host/a.git", commit=COMMIT, subdirectory="python"),
                id="vcs",
            ),
            pytest.param(
                {"url": "file:///home/me/a", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
                Origin("vcs", commit=COMMIT),
                id="vcs-of-this-machine",
            ),
            pytest.param(
                {"url": "https://host/a-1.tar.gz?sig=1", "archive_info": {"hash": "sha256=00"}},
                Origin("archive", url="https://host/a-1.tar.gz"),
                id="archive",
            ),
            pytest.param(
                {"url": "file:///home/me/a-1-py3-none-any.whl", "archive_info": {}}, Origin("archive"), id="file"
            ),
            pytest.param(
                {"url": "file:///not/there", "dir_info": {"editable": True}},
                Origin("folder", editable=True),
                id="editable-that-is-gone",
            ),
            pytest.param({"url": "file:///not/there", "dir_info": {}}, Origin("folder"), id="folder-that-is-gone"),
            pytest.param(
                {"url": "file://elsewhere/share", "dir_info": {}}, Origin("folder"), id="folder-of-a-server"
            ),
            pytest.param(
                {"url": "https://[broken", "dir_info": {"editable": "yes"}}, Origin("folder"), id="odd-values"
            ),
            pytest.param({"url": "file:///a%00b", "dir_info": {}}, Origin("folder"), id="zero-byte"),
            pytest.param(
                {"url": "https://host/a", "vcs_info": {"commit_id": 3}, "subdirectory": []},
                Origin("vcs", url="https://host/a"),
                id="values-of-another-kind",
            ),
        ],
    )
    def test_kinds(self, content: dict[str, Any], wanted: Origin, tmp_path: Path) -> None:
        assert origin(direct_url(**content), tmp_path) == wanted

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"{", id="cut"),
            pytest.param(b"\xff\xfe", id="not-text"),
            pytest.param(b"[]", id="a-list"),
            pytest.param(b"[" * 100_000, id="deep"),
            pytest.param(b"{}", id="no-url"),
            pytest.param(b'{"url": 3, "dir_info": {}}', id="url-is-a-number"),
            pytest.param(b'{"url": "https://host/a"}', id="no-kind"),
            pytest.param(b'{"url": "https://host/a", "vcs_info": "git"}', id="kind-is-text"),
        ],
    )
    def test_what_can_t_be_understood_is_none(self, text: bytes, tmp_path: Path) -> None:
        assert origin(text, tmp_path) is None

    @needs_git
    def test_an_editable_install_is_told_by_its_repository(self, tmp_path: Path) -> None:
        tree = repository(tmp_path / "with space")
        content = direct_url(url=tree.as_uri(), dir_info={"editable": True})
        assert origin(content, tmp_path) == Origin("folder", editable=True, commit=head(tree))
        (tree / "train.py").write_text("print(2)\n")
        changed = origin(content, tmp_path)
        assert changed is not None
        assert changed.changes is not None

    @needs_git
    def test_a_folder_of_a_repository_is_told_by_its_own_changes(self, tmp_path: Path) -> None:
        tree = repository(tmp_path / "run")
        (tree / "python" / "lib").mkdir(parents=True)
        content = direct_url(url=(tree / "python" / "lib").as_uri(), dir_info={})
        (tree / "train.py").write_text("print(2)\n")
        assert origin(content, tmp_path) == Origin("folder", commit=head(tree), subdirectory="python/lib")

    @needs_git
    def test_a_relative_folder_is_taken_from_the_site_folder(self, tmp_path: Path) -> None:
        tree = repository(tmp_path / "run")
        (tmp_path / "site").mkdir()
        seen = origin(direct_url(url="../run", dir_info={}), tmp_path / "site")
        assert seen == Origin("folder", commit=head(tree))

    def test_a_folder_without_a_repository(self, tmp_path: Path) -> None:
        content = direct_url(url=tmp_path.as_uri(), dir_info={"editable": True})
        assert origin(content, tmp_path) == Origin("folder", editable=True)

    def test_a_folder_that_git_can_t_tell_of(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / ".git").mkdir()
        monkeypatch.setenv("PATH", str(tmp_path))
        assert origin(direct_url(url=tmp_path.as_uri(), dir_info={}), tmp_path) == Origin("folder")
