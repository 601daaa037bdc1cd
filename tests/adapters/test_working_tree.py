from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from envguard.adapters import working_tree
from envguard.adapters.git import GitError
from envguard.adapters.working_tree import look, root_of
from envguard.model.digest import Digest
from tests.pythons import fake
from tests.repositories import head, needs_git, repository, run

pytestmark = needs_git


def changes(root: Path, part: str = ".") -> Digest | None:
    return look(root, part, timeout=60).changes


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return repository(tmp_path / "run", train="print(1)\n", other="x = 1\n")


def write(tree: Path) -> None:
    (tree / "train.py").write_text("print(2)\n")


def new_file(tree: Path) -> None:
    (tree / "new.py").write_text("")


def new_in_folder(tree: Path) -> None:
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "c.py").write_text("1")


def remove(tree: Path) -> None:
    (tree / "train.py").unlink()


def executable(tree: Path) -> None:
    (tree / "train.py").chmod(0o755)


def link(tree: Path) -> None:
    (tree / "train.py").unlink()
    (tree / "train.py").symlink_to("other.py")


def staged(tree: Path) -> None:
    (tree / "train.py").write_text("print(3)\n")
    run(tree, "add", "train.py")


def moved(tree: Path) -> None:
    (tree / "train.py").rename(tree / "moved.py")


def folder_in_its_place(tree: Path) -> None:
    (tree / "train.py").unlink()
    (tree / "train.py").mkdir()
    (tree / "train.py" / "x").write_text("")


def pipe(tree: Path) -> None:
    (tree / "train.py").unlink()
    os.mkfifo(tree / "train.py")


CHANGES: list[Callable[[Path], None]] = [
    write,
    new_file,
    new_in_folder,
    remove,
    executable,
    link,
    staged,
    moved,
    folder_in_its_place,
    pipe,
]


def test_a_clean_tree(tree: Path) -> None:
    seen = look(tree, timeout=60)
    assert seen.commit == head(tree)
    assert seen.changes is None


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_is_seen_and_told_the_same_each_time(change: Callable[[Path], None], tree: Path) -> None:
    change(tree)
    first = changes(tree)
    assert first is not None
    assert changes(tree) == first


def test_every_change_has_another_digest(tmp_path: Path) -> None:
    seen = set()
    for number, change in enumerate(CHANGES):
        tree = repository(tmp_path / str(number), train="print(1)\n", other="x = 1\n")
        change(tree)
        seen.add(changes(tree))
    assert len(seen) == len(CHANGES)


def test_the_place_does_not_matter_nor_the_time(tree: Path, tmp_path: Path) -> None:
    write(tree)
    new_file(tree)
    copied = tmp_path / "elsewhere" / "copy"
    shutil.copytree(tree, copied)
    for file in copied.glob("*.py"):
        os.utime(file, (1, 1))
    assert changes(copied) == changes(tree)


def test_what_is_staged_does_not_matter(tree: Path) -> None:
    write(tree)
    new_file(tree)
    before = changes(tree)
    run(tree, "add", "-A")
    assert changes(tree) == before


def test_staged_and_taken_back_is_clean(tree: Path) -> None:
    staged(tree)
    (tree / "train.py").write_text("print(1)\n")
    assert run(tree, "status", "--porcelain") != ""
    assert changes(tree) is None


def test_a_touched_file_is_clean(tree: Path) -> None:
    os.utime(tree / "train.py", (1, 1))
    assert changes(tree) is None


def test_ignored_files_do_not_count(tmp_path: Path) -> None:
    tree = repository(tmp_path / "run")
    (tree / ".gitignore").write_text("*.log\nresults/\n")
    run(tree, "add", "-A")
    run(tree, "commit", "-q", "-m", "ignore")
    (tree / "x.log").write_text("1")
    (tree / "results").mkdir()
    (tree / "results" / "y").write_text("1")
    assert changes(tree) is None


def test_a_part_of_a_tree(tree: Path) -> None:
    new_in_folder(tree)
    inside = changes(tree, "a")
    write(tree)
    assert changes(tree, "a") == inside
    assert changes(tree) not in (inside, None)
    assert changes(tree, "other.py") is None


def test_a_part_is_a_name_and_no_pattern(tree: Path) -> None:
    (tree / ":(top)").mkdir()
    (tree / ":(top)" / "x").write_text("1")
    before = changes(tree, ":(top)")
    write(tree)
    assert before is not None
    assert changes(tree, ":(top)") == before


@pytest.mark.parametrize(
    "name",
    ["with space.py", "line\nbreak.py", "caf\u00e9.py", os.fsdecode(b"\xff.py"), '"quoted".py', "-dash.py"],
    ids=["space", "newline", "accent", "not-utf-8", "quotes", "dash"],
)
def test_odd_names(name: str, tree: Path) -> None:
    (tree / name).write_text("1")
    one = changes(tree)
    (tree / name).write_text("2")
    assert changes(tree) not in (one, None)


def test_a_conflict_counts(tree: Path) -> None:
    run(tree, "checkout", "-q", "-b", "side")
    write(tree)
    run(tree, "commit", "-q", "-am", "side")
    run(tree, "checkout", "-q", "main")
    staged(tree)
    run(tree, "commit", "-q", "-m", "main")
    with pytest.raises(Exception, match="merge"):
        run(tree, "merge", "-q", "side")
    conflicted = changes(tree)
    assert conflicted is not None
    (tree / "train.py").write_text("print(4)\n")
    assert changes(tree) not in (conflicted, None)


def test_large_files_count_by_size_and_ends(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_tree, "_LARGE", 300)
    monkeypatch.setattr(working_tree, "_END", 100)
    file = tree / "model.bin"
    seen = []
    for content in (b"a" * 400, b"a" * 401, b"b" + b"a" * 399, b"a" * 399 + b"b"):
        file.write_bytes(content)
        seen.append(changes(tree))
    assert len(set(seen)) == 4
    file.write_bytes(b"a" * 200 + b"b" + b"a" * 199)
    assert changes(tree) == seen[0]


def test_after_much_was_read_only_ends_are(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_tree, "_READ_AT_MOST", 1000)
    monkeypatch.setattr(working_tree, "_END", 10)
    (tree / "a.bin").write_bytes(b"a" * 900)
    (tree / "b.bin").write_bytes(b"b" * 500)
    before = changes(tree)
    (tree / "b.bin").write_bytes(b"b" * 250 + b"c" + b"b" * 249)
    assert changes(tree) == before
    (tree / "a.bin").write_bytes(b"a" * 450 + b"c" + b"a" * 449)
    assert changes(tree) != before


def test_an_unreadable_file_counts(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_file(tree)
    asked = []

    def refused(path: bytes, mode: str) -> None:
        asked.append(path)
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(working_tree, "open", refused, raising=False)
    assert changes(tree) is not None
    assert asked == [os.fsencode(tree / "new.py")]


def test_a_repository_inside_counts_by_its_commit_and_changes(tree: Path) -> None:
    inner = repository(tree / "inner")
    seen = [changes(tree)]
    (inner / "train.py").write_text("print(2)\n")
    seen.append(changes(tree))
    run(inner, "commit", "-q", "-am", "second")
    seen.append(changes(tree))
    assert len(set(seen)) == 3


def test_a_submodule_counts_by_its_commit_and_changes(tree: Path, tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    run(tree, "submodule", "add", "-q", str(library), "lib")
    run(tree, "commit", "-q", "-m", "submodule")
    assert changes(tree) is None
    (tree / "lib" / "train.py").write_text("print(2)\n")
    edited = changes(tree)
    (tree / "lib" / "train.py").write_text("print(3)\n")
    assert len({None, edited, changes(tree)}) == 3


def test_repositories_in_repositories_end_somewhere(tree: Path) -> None:
    place = tree
    for _ in range(working_tree._DEEPEST + 2):
        place = repository(place / "inner")
    assert changes(tree) is not None


def test_no_commit_yet(tmp_path: Path) -> None:
    tree = tmp_path / "run"
    tree.mkdir()
    run(tree, "init", "-q")
    (tree / "x").write_text("1")
    seen = look(tree, timeout=60)
    assert seen.commit is None
    assert seen.changes is not None


def test_looking_writes_nothing(tree: Path) -> None:
    write(tree)
    os.utime(tree / "other.py", (1, 1))
    before = {path: path.stat().st_mtime_ns for path in (tree / ".git").rglob("*")}
    changes(tree)
    assert {path: path.stat().st_mtime_ns for path in (tree / ".git").rglob("*")} == before


@pytest.mark.parametrize("key", ["core.fsmonitor", "core.hooksPath"])
def test_no_program_of_the_repositorys_is_run(key: str, tree: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    hooks = tmp_path / "hooks"
    program = fake(hooks / "post-index-change", f"touch {canary}")
    value = str(hooks if key == "core.hooksPath" else program)
    run(tree, "config", key, value)
    os.utime(tree / "other.py", (1, 1))
    run(tree, "-c", f"{key}={value}", "status")
    assert canary.exists(), "git itself runs it"
    canary.unlink()
    os.utime(tree / "other.py", (2, 2))
    write(tree)
    assert changes(tree) is not None
    assert not canary.exists()


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"])
def test_a_hooks_variables_do_not_lead_elsewhere(
    name: str, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tree)
    wanted = look(tree, timeout=60)
    monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    assert look(tree, timeout=60) == wanted


def test_a_damaged_repository_inside_counts(tree: Path) -> None:
    inner = repository(tree / "inner")
    whole = changes(tree)
    (inner / ".git" / "index").write_bytes(b"rubbish")
    assert changes(tree) not in (whole, None)


def test_a_damaged_submodule_is_an_error(tree: Path) -> None:
    """Neither clean nor the repository around it: git itself gives up."""
    inner = repository(tree / "inner")
    run(tree, "add", "-A")
    run(tree, "commit", "-q", "-m", "inner")
    assert changes(tree) is None
    (inner / ".git" / "HEAD").unlink()
    with pytest.raises(GitError, match="inner"):
        changes(tree)


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="gone"):
        look(tmp_path / "gone", timeout=60)


def test_a_repository_with_longer_names(tmp_path: Path) -> None:
    tree = tmp_path / "run"
    tree.mkdir()
    run(tree, "init", "-q", "--object-format=sha256")
    (tree / "train.py").write_text("print(1)\n")
    run(tree, "add", "-A")
    run(tree, "commit", "-q", "-m", "first")
    staged(tree)
    assert changes(tree) is not None
    (tree / "train.py").write_text("print(1)\n")
    assert changes(tree) is None


def test_the_root_is_found_upwards(tree: Path, tmp_path: Path) -> None:
    deep = tree / "a" / "b"
    deep.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(deep)
    assert root_of(tree) == root_of(deep) == root_of(link) == tree
    assert root_of(tmp_path) is None or root_of(tmp_path) in tmp_path.parents


def test_a_worktree_is_a_root(tree: Path, tmp_path: Path) -> None:
    run(tree, "worktree", "add", "-q", str(tmp_path / "second"))
    assert root_of(tmp_path / "second") == tmp_path / "second"
    assert look(tmp_path / "second", timeout=60).commit == head(tree)


def test_a_damaged_repository_is_an_error(tree: Path) -> None:
    (tree / ".git" / "HEAD").write_text("ref: refs/heads/../../x\n")
    (tree / ".git" / "index").write_bytes(b"rubbish")
    with pytest.raises(GitError):
        look(tree, timeout=60)
