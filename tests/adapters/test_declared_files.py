"""Which lock a path means, and which files speak of a lock: one project, several, a monorepo, nothing at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from envguard.adapters import declared_files
from envguard.adapters.declared_files import DeclaredFiles, all_locks, locks_for, locks_of, project_of, shown


def put(root: Path, *names: str, text: str = "") -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A monorepo: two projects with locks, one without, and a pyproject.toml above the repository."""
    put(tmp_path, "pyproject.toml", text="[project]\ndependencies = ['torch==9']\n")
    root = tmp_path / "repo"
    put(root, ".git/HEAD", "pyproject.toml", "lockfiles/all.toml")
    put(root, "a/pyproject.toml", "a/lockfiles/one.toml", "a/lockfiles/two.toml", "a/src/x/requirements.txt")
    put(root, "b/lockfiles/b.toml", "b/requirements.txt")
    put(root, "c/pyproject.toml", "c/env/mine.toml", text="[tool.envguard]\nlock = 'env/mine.toml'\n")
    put(root, ".venv/pyvenv.cfg", ".venv/lockfiles/no.toml", "node_modules/lockfiles/no.toml", "v/pyvenv.cfg")
    put(root, "v/lockfiles/no.toml")
    return root


def names(paths: list[Path], root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in paths]


def test_the_project_of_a_lock_is_the_nearest(repository: Path) -> None:
    assert project_of(repository / "a/lockfiles/one.toml") == repository / "a"
    assert project_of(repository / "b/lockfiles/b.toml") == repository
    assert project_of(repository / "lockfiles/all.toml") == repository


def test_a_project_without_pyproject_ends_at_its_repository(tmp_path: Path) -> None:
    put(tmp_path, "pyproject.toml", "repo/.git/HEAD", "repo/lockfiles/x.toml", "repo/env/y.toml")
    assert project_of(tmp_path / "repo/lockfiles/x.toml") == tmp_path / "repo"
    assert project_of(tmp_path / "repo/env/y.toml") == tmp_path / "repo/env"


def test_locks_of_a_project(repository: Path) -> None:
    assert names(locks_of(repository / "a"), repository) == ["a/lockfiles/one.toml", "a/lockfiles/two.toml"]
    assert names(locks_of(repository / "c"), repository) == ["c/env/mine.toml"]
    assert locks_of(repository / "node") == []


def test_locks_that_a_declaration_speaks_of(repository: Path) -> None:
    assert names(locks_for(repository / "a/src/x/requirements.txt"), repository) == [
        "a/lockfiles/one.toml",
        "a/lockfiles/two.toml",
    ]
    assert names(locks_for(repository / "pyproject.toml"), repository) == ["lockfiles/all.toml"]
    assert locks_for(repository.parent / "pyproject.toml") == []


def test_all_locks_pass_over_environments(repository: Path) -> None:
    assert names(all_locks(repository), repository) == [
        "lockfiles/all.toml",
        "a/lockfiles/one.toml",
        "a/lockfiles/two.toml",
        "b/lockfiles/b.toml",
        "c/env/mine.toml",
    ]


def test_one_file_under_two_names_is_one_lock(repository: Path) -> None:
    (repository / "b/lockfiles/link.toml").symlink_to("b.toml")
    assert names(locks_of(repository / "b"), repository) == ["b/lockfiles/b.toml"]


@pytest.mark.parametrize(
    ("path", "name"),
    [("a.toml", "a.toml"), ("./b/../a.toml", "a.toml"), ("/x/y/a.toml", "a.toml"), ("../a.toml", "/x/a.toml")],
)
def test_paths_as_findings_name_them(path: str, name: str) -> None:
    assert shown(Path(path), Path("/x/y")) == name


class TestDeclarations:
    def of(self, root: Path) -> list[str]:
        put(root, "lockfiles/good.toml", ".git/HEAD")
        found = DeclaredFiles(root).of(root / "lockfiles/good.toml")
        return [f"{entry.file}:{entry.line} {entry.name}{entry.specifier}" for entry in found.declared] + [
            f"{entry.file}:{entry.line} {entry.problem}" for entry in found.unreadable
        ]

    def test_all_kinds_of_one_folder(self, tmp_path: Path) -> None:
        put(tmp_path, "pyproject.toml", text="[project]\ndependencies = ['torch==1']\n")
        put(tmp_path, "requirements.txt", "requirements/gpu.txt", text="torch==2\n")
        put(tmp_path, "docker/Dockerfile", text="FROM x\nRUN pip install torch==3\n")
        put(tmp_path, "environment.yml", text="dependencies: [pytorch=4.0]\n")
        put(tmp_path, "notes.txt", "src/requirements.txt", text="torch==9\n")
        assert self.of(tmp_path) == [
            "environment.yml:1 torch==4.0.*",
            "pyproject.toml:2 torch==1",
            "requirements.txt:1 torch==2",
            "requirements/gpu.txt:1 torch==2",
            "docker/Dockerfile:2 torch==3",
        ]

    def test_included_files_are_read_once_as_their_own(self, tmp_path: Path) -> None:
        put(tmp_path, "requirements.txt", text="-r requirements-base.txt\n-r more/a.txt\n-c gone.txt\n")
        put(tmp_path, "requirements-base.txt", text="torch==2\n-r requirements.txt\n")
        put(tmp_path, "more/a.txt", text="numpy\n-r b.txt\n-r https://x.example/c.txt\n")
        put(tmp_path, "more/b.txt", text="scipy\n")
        assert sorted(self.of(tmp_path)) == [
            "more/a.txt:1 numpy",
            "more/b.txt:1 scipy",
            "requirements-base.txt:1 torch==2",
            "requirements.txt:3 names gone.txt, which is not there",
        ]
        found = DeclaredFiles(tmp_path).of(tmp_path / "lockfiles/good.toml")
        assert not any(entry.side for entry in found.declared)

    def test_files_that_include_each_other_without_end(self, tmp_path: Path) -> None:
        put(tmp_path, "requirements.txt", text="-r requirements.txt\n-r ./requirements.txt\ntorch\n")
        assert self.of(tmp_path) == ["requirements.txt:3 torch"]

    def test_the_lock_of_a_workspace_is_at_its_root(self, tmp_path: Path) -> None:
        root = tmp_path / "repo"
        package = '\n[[package]]\nname = "torch"\nversion = "2"\nsource = { registry = "https://x.example" }\n'
        put(root, "uv.lock", text=f"version = 1\n{package}")
        put(root, ".git/HEAD", "member/pyproject.toml", "member/lockfiles/a.toml")
        found = DeclaredFiles(root).of(root / "member/lockfiles/a.toml")
        assert [(entry.file, entry.line, entry.specifier) for entry in found.declared] == [("uv.lock", 5, "==2")]

    def test_settings_name_the_files_that_count(self, tmp_path: Path) -> None:
        settings = "[tool.envguard.lint]\ndeclarations = ['gpu/*.txt']\n[project]\ndependencies = ['torch==1']\n"
        put(tmp_path, "pyproject.toml", text=settings)
        put(tmp_path, "requirements.txt", "gpu/requirements.txt", text="torch==2\n")
        assert self.of(tmp_path) == ["gpu/requirements.txt:1 torch==2"]

    def test_a_file_that_cant_be_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        put(tmp_path, "requirements.txt", text="torch\n")
        monkeypatch.setattr(declared_files, "SIZE_LIMIT", 3)
        assert self.of(tmp_path) == ["requirements.txt:None more than 32 MiB"]
