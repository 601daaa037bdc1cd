"""Bytecode held against its source."""

from __future__ import annotations

import importlib.util
import marshal
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envguard.adapters import compiled
from envguard.model.facts import FileFact, FileKind
from envguard.model.target import Level
from tests.adapters.small import TAG, Small

CLI = f"toy/__pycache__/cli.{TAG}.pyc"


def pyc(small: Small, path: str = CLI) -> Path:
    return small.site / path


@pytest.fixture
def ready(small: Small) -> Small:
    small.compile()
    assert pyc(small).exists()
    return small


def test_compiled_is_fine(ready: Small) -> None:
    assert ready.kinds() == set()
    assert ready.kinds(Level.FULL) == set()


def test_optimised_is_fine(ready: Small) -> None:
    (ready.site / "toy/cli.py").read_bytes()
    for level in ("-O", "-OO"):
        subprocess.run([ready.python, level, "-m", "compileall", "-q", ready.site], check=True)
    assert (ready.site / f"toy/__pycache__/cli.{TAG}.opt-2.pyc").exists()
    assert ready.kinds(Level.FULL) == set()


def test_moved_and_compiled_elsewhere_is_fine(ready: Small, tmp_path: Path) -> None:
    moved = Small(ready.prefix.rename(tmp_path / "moved"))
    assert moved.kinds(Level.FULL) == set()


def _other_time(file: Path, source: Path) -> None:
    os.utime(source, (5, 5))


def _other_size(file: Path, source: Path) -> None:
    content = bytearray(file.read_bytes())
    content[12] ^= 1
    file.write_bytes(bytes(content))


def _other_magic(file: Path, source: Path) -> None:
    content = bytearray(file.read_bytes())
    content[0] ^= 1
    file.write_bytes(bytes(content))


def _cut(file: Path, source: Path) -> None:
    file.write_bytes(file.read_bytes()[:10])


def _no_source(file: Path, source: Path) -> None:
    (file.parent / f"gone.{TAG}.pyc").write_bytes(file.read_bytes())


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        pytest.param(_other_time, "of another time than its source", id="time"),
        pytest.param(_other_size, "of a source of another size", id="size"),
        pytest.param(_other_magic, "of another Python", id="magic"),
        pytest.param(_cut, "cut off", id="cut off"),
        pytest.param(_no_source, "without a source", id="no source"),
    ],
)
@pytest.mark.parametrize("level", [Level.FAST, Level.FULL])
def test_a_header_that_does_not_fit(
    ready: Small, change: Callable[[Path, Path], None], detail: str, level: Level
) -> None:
    change(pyc(ready), ready.site / "toy/cli.py")
    found = told(ready, level)
    assert [fact.detail for fact in found] == [detail]
    assert found[0].sha256 is not None
    assert found[0].owners == (() if detail == "without a source" else ("toy",))


def told(small: Small, level: Level = Level.FAST) -> list[FileFact]:
    return [fact for fact in small.facts(level) if fact.kind is FileKind.BYTECODE]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("cli.cpython-27.pyc", id="another Python's"),
        pytest.param(f"cli.{TAG}.pyc.12345", id="half written"),
        pytest.param("cli.pyc", id="no tag"),
    ],
)
def test_what_is_never_run_is_not_told(ready: Small, name: str) -> None:
    (ready.site / "toy/__pycache__" / name).write_bytes(b"rubbish")
    assert ready.kinds(Level.FULL) == set()


def test_a_link(ready: Small, tmp_path: Path) -> None:
    pyc(ready).rename(tmp_path / "x.pyc")
    pyc(ready).symlink_to(tmp_path / "x.pyc")
    assert ready.kinds() == set()


class TestCode:
    """The header fits, the code is another: what only a comparison tells."""

    def swap(self, small: Small, text: str, path: str = CLI) -> None:
        file = pyc(small, path)
        code = compile(text, "elsewhere.py", "exec", dont_inherit=True)
        file.write_bytes(file.read_bytes()[:16] + marshal.dumps(code))

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("def main():\n    return 1\n", id="a constant"),
            pytest.param("def main():\n    return False\n", id="an equal constant"),
            pytest.param("def main():\n    return 0.0\n", id="an equal number"),
            pytest.param("def main(x=0):\n    return 0\n", id="an argument"),
            pytest.param("def other():\n    return 0\n", id="a name"),
            pytest.param("import os\ndef main():\n    return 0\n", id="an import"),
        ],
    )
    def test_is_told_by_full(self, ready: Small, text: str) -> None:
        self.swap(ready, text)
        assert ready.kinds() == set()
        assert [(fact.path, fact.detail, fact.owners) for fact in told(ready, Level.FULL)] == [
            (CLI, "not its source's code", ("toy",))
        ]
        assert ready.kinds() == set()

    def test_signs_and_kinds_of_constants(self, ready: Small) -> None:
        self.swap(ready, "Z = (1, 'a', -2.0)\n", f"__pycache__/single.{TAG}.pyc")
        assert len(told(ready, Level.FULL)) == 1

    def test_file_names_do_not_matter(self, ready: Small) -> None:
        self.swap(ready, (ready.site / "toy/cli.py").read_text())
        assert told(ready, Level.FULL) == []

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(b"rubbish", id="rubbish"),
            pytest.param(marshal.dumps(3), id="a number"),
        ],
    )
    def test_damage(self, ready: Small, content: bytes) -> None:
        pyc(ready).write_bytes(pyc(ready).read_bytes()[:16] + content)
        assert [fact.detail for fact in told(ready, Level.FULL)] == ["not its source's code"]

    def test_a_source_that_is_no_python(self, ready: Small) -> None:
        (ready.site / "bad.py").write_bytes(b"x = 1\n")
        ready.compile()
        seen = (ready.site / "bad.py").stat()
        (ready.site / "bad.py").write_bytes(b"x = (\n")
        os.utime(ready.site / "bad.py", ns=(seen.st_atime_ns, seen.st_mtime_ns))
        assert [fact.path for fact in told(ready, Level.FULL)] == [f"__pycache__/bad.{TAG}.pyc"]

    def test_a_file_that_kills_the_interpreter_is_found(
        self, ready: Small, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []

        def ask(python: Path, batch: list[compiled.Pair], environ: object) -> list[str]:
            asked.append(len(batch))
            return [] if any(pair.path == CLI for pair in batch) else ["same"] * len(batch)

        monkeypatch.setattr(compiled, "_ask", ask)
        assert [fact.path for fact in told(ready, Level.FULL)] == [CLI]
        assert asked[0] > 1

    def test_an_interpreter_that_does_not_start(self, ready: Small) -> None:
        ready.python.unlink()
        found = ready.facts(Level.FULL)
        unreadable = [fact for fact in found if fact.kind is FileKind.UNREADABLE]
        assert unreadable
        assert all("gave no answer" in (fact.detail or "") for fact in unreadable)


class TestHashed:
    """Bytecode that names its source's hash; unchecked, Python runs it whatever the source says."""

    def put(self, small: Small, *, checked: bool) -> None:
        mode = py_compile.PycInvalidationMode
        py_compile.compile(
            str(small.site / "toy/cli.py"),
            str(pyc(small)),
            invalidation_mode=mode.CHECKED_HASH if checked else mode.UNCHECKED_HASH,
        )

    @pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
    @pytest.mark.parametrize("level", [Level.FAST, Level.FULL])
    def test_fits(self, ready: Small, checked: bool, level: Level) -> None:
        self.put(ready, checked=checked)
        assert ready.kinds(level) == set()

    @pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
    @pytest.mark.parametrize("level", [Level.FAST, Level.FULL])
    def test_of_another_source(self, ready: Small, checked: bool, level: Level) -> None:
        self.put(ready, checked=checked)
        content = bytearray(pyc(ready).read_bytes())
        content[8] ^= 1
        pyc(ready).write_bytes(bytes(content))
        for _ in range(2):
            assert [fact.detail for fact in told(ready, level)] == ["not its source's code"]

    def test_source_changed_later(self, ready: Small) -> None:
        self.put(ready, checked=False)
        assert ready.kinds() == set()
        (ready.site / "toy/cli.py").write_bytes(b"def main():\n    return 1\n")
        assert ready.kinds() == {("modified", "toy/cli.py"), ("bytecode", CLI)}

    def test_code_is_compared_too(self, ready: Small) -> None:
        self.put(ready, checked=False)
        code = compile("evil = 1\n", "x", "exec")
        pyc(ready).write_bytes(pyc(ready).read_bytes()[:16] + marshal.dumps(code))
        assert told(ready) == []
        assert len(told(ready, Level.FULL)) == 1
        assert told(ready) == []


def _pythons() -> list[Path]:
    """Other Pythons of this machine: beside this one, as pyenv and uv lay them out, and on the path."""
    beside = sorted(Path(sys.base_prefix).parent.glob("*3.*/bin/python3"))
    named = [Path(found) for minor in range(9, 15) if (found := shutil.which(f"python3.{minor}"))]
    return list({_version(python): python for python in (Path(sys.executable), *named, *beside)}.values())


def _version(python: Path) -> str:
    ended = subprocess.run(
        [python, "-c", "import sys; print(sys.version_info >= (3, 9) and sys.version)"],
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout if ended.returncode == 0 and ended.stdout != "False\n" else ""


PYTHONS = [python for python in _pythons() if _version(python)]


@pytest.mark.parametrize(
    "python",
    [pytest.param(python, id=_version(python).partition(" ")[0]) for python in PYTHONS],
)
def test_the_probe_runs_in_every_python(python: Path, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(
        "def f(a, *, b=(1, 2.0, -0.0, frozenset('ab'))):\n    return {a in {1, 2}, b'x', ...}\n"
    )
    subprocess.run([python, "-m", "compileall", "-q", tmp_path], check=True)
    file = next((tmp_path / "__pycache__").iterdir())
    pair = compiled.Pair("", tmp_path, f"__pycache__/{file.name}", "x.py", ())
    assert list(compiled.by_content(python, [pair], os.environ, lambda _: None, code=True)) == []
    (tmp_path / "x.py").write_text("x = 1\n")
    found = list(compiled.by_content(python, [pair], os.environ, lambda _: None, code=True))
    assert [fact.kind for fact in found] == [FileKind.BYTECODE]


def test_many_are_asked_in_batches(ready: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_BATCH", 2)
    assert ready.kinds(Level.FULL) == set()


def test_importing_runs_what_full_found(ready: Small) -> None:
    """Why this is looked at: the source says one thing and Python runs another."""
    TestCode().swap(ready, "def main():\n    return 'evil'\n")
    command: list[str | Path] = [ready.python, "-c", "from toy.cli import main; print(main())"]
    assert subprocess.run(command, capture_output=True, check=True).stdout.strip() == b"evil"
    assert pyc(ready).read_bytes()[:4] == importlib.util.MAGIC_NUMBER
