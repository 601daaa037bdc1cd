"""``envguard lint`` as a person and a hook call it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from envguard.cli.main import main
from envguard.formats.lockfile import write_lock
from tests.cli.test_main import HEAVY
from tests.planning.lint.subjects import good

GOOD = write_lock(good())
PYPROJECT = '[project]\nname = "demo"\ndependencies = [\n  "torch=={}",\n]\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose lock agrees, and it is the working folder."""
    (tmp_path / "lockfiles").mkdir()
    (tmp_path / "lockfiles" / "good.toml").write_bytes(GOOD)
    (tmp_path / "pyproject.toml").write_text(PYPROJECT.format("2.11.0"))
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_is_well(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint"]) == 0
    assert capsys.readouterr().out.startswith("0 errors   1 lock, ")
    assert main(["lint", "-q"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("named", [[], ["pyproject.toml"], ["lockfiles/good.toml"], ["--all-files"]], ids=str)
def test_a_pin_that_moved(project: Path, capsys: pytest.CaptureFixture[str], named: list[str]) -> None:
    (project / "pyproject.toml").write_text(PYPROJECT.format("2.12.0"))
    assert main(["lint", *named]) == 1
    told = "asks for torch==2.12.0, and lockfiles/good.toml records 2.11.0+cu130 → "
    assert capsys.readouterr().out.startswith(f"pyproject.toml:4: declared-version: {told}")


def test_one_lock_named_twice_is_told_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "pyproject.toml", "lockfiles/good.toml", "./lockfiles/good.toml", "--all-files"]) == 0
    assert "1 lock, " in capsys.readouterr().out


def test_fix(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = project / "lockfiles" / "good.toml"
    lock.write_bytes(GOOD.replace(b"schema = 1", b"schema=1"))
    assert main(["lint"]) == 1
    assert main(["lint", "--fix"]) == 0
    assert lock.read_bytes() == GOOD
    assert "rewritten: lockfiles/good.toml" in capsys.readouterr().err
    before = lock.stat()
    assert main(["lint", "--fix"]) == 0
    assert lock.stat() == before


def test_what_is_named_and_no_lock(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "notes.toml").write_text("[nothing]\n")
    assert main(["lint", "notes.toml"]) == 2
    assert "notes.toml: well-formed: not a lock: schema: missing" in capsys.readouterr().out
    assert main(["lint", "--hook", "notes.toml"]) == 0
    assert main(["lint", "absent.toml"]) == 2
    assert "no such lock file" in capsys.readouterr().err


def test_a_broken_lock_is_not_passed_over_by_a_hook(project: Path) -> None:
    (project / "lockfiles" / "good.toml").write_text("<<<<<<< HEAD\n")
    assert main(["lint", "--hook", "lockfiles/good.toml"]) == 2
    (project / "other.toml").write_bytes(GOOD + b"= =\n")
    assert main(["lint", "--hook", "other.toml"]) == 2


def test_no_lock_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("torch\n")
    assert main(["lint"]) == 2
    assert main(["lint", "requirements.txt"]) == 2
    assert "no lock belongs to requirements.txt" in capsys.readouterr().err
    assert main(["lint", "--hook", "requirements.txt"]) == 0


def test_a_baseline(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "pyproject.toml").write_text(PYPROJECT.format("2.12.0"))
    entry = '[[policy.ignore]]\ncheck = "declared-version"\nsubject = "torch"\n'
    entry += 'by = "ann"\nreason = "r"\nuntil = 2027-01-01\n'
    (project / "known.toml").write_text(entry)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    assert main(["lint", "--baseline", "known.toml"]) == 0
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    assert main(["lint", "--baseline", "known.toml"]) == 1
    printed = capsys.readouterr()
    assert "known.toml: declared-version of torch was accepted until 2027-01-01; it counts again" in printed.err
    assert main(["lint", "--baseline", "absent.toml"]) == 2


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "github", "gitlab"])
def test_forms(project: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    (project / "pyproject.toml").write_text(PYPROJECT.format("2.12.0"))
    assert main(["lint", "--format", form]) == 1
    out = capsys.readouterr().out
    assert "asks for torch==2.12.0" in out
    if form in ("json", "sarif", "gitlab"):
        json.loads(out)


def test_the_summary_of_a_job(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["lint", "--format", "github"]) == 0
    assert summary.read_text().startswith("before\n### 🟢 envguard lint: lockfiles/good.toml\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert main(["lint", "--format", "github"]) == 0


def test_light(project: Path) -> None:
    """A lock that is canonical is looked at without anything heavy."""
    code = (
        "import sys; from envguard.cli.main import main\n"
        "main(['lint', '-q'])\n"
        f"print([name for name in {(*HEAVY, 'yaml', 'packaging')!r} if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=project)
    assert ended.stdout == "[]\n"
