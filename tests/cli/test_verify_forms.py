"""What verify and diff print for CI services, pages, comments; and baselines."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from envguard.cli import wiring
from envguard.cli.main import main
from envguard.formats.lockfile import write_lock
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.target import Target
from tests.builders import distribution, facts, torch_build
from tests.planning.lint.subjects import good

DAY = "1790000000"  # 2026-09-21
MOVED = facts(torch=Value(torch_build(git_commit="f" * 40)), distributions=Value((distribution("numpy", "1"),)))


class Seen:
    """A prober that sees what it is told."""

    def __init__(self, seen: Facts) -> None:
        self.seen = seen

    def facts(self, *_: object, **__: object) -> Facts:
        return self.seen


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock, and an environment that moved away from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", DAY)
    (tmp_path / "lockfiles").mkdir()
    (tmp_path / "lockfiles" / "good.toml").write_bytes(write_lock(Lock("good", facts())))
    monkeypatch.setattr(wiring, "target", lambda *_: Target(tmp_path / "bin" / "python", "test"))
    monkeypatch.setattr(wiring, "prober", lambda *_, **__: Seen(MOVED))
    return tmp_path


def test_github(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project / "summary.md"))
    assert main(["verify", "--format", "github"]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("::error file=lockfiles/good.toml,line=")
    assert "title=envguard%3A torch-build::" in first
    assert (project / "summary.md").read_text().startswith("### 🔴 envguard verify: good against ")


@pytest.mark.parametrize("form", ["sarif", "gitlab", "json", "junit"])
@pytest.mark.parametrize("command", ["verify", "diff"])
def test_forms(project: Path, capsys: pytest.CaptureFixture[str], form: str, command: str) -> None:
    (project / "new.toml").write_bytes(write_lock(Lock("new", MOVED)))
    arguments = {"verify": ["verify"], "diff": ["diff", "lockfiles/good.toml", "new.toml"]}[command]
    assert main([*arguments, "--format", form]) == 1
    out = capsys.readouterr().out
    if form == "junit":
        assert ET.fromstring(out.encode()).attrib["failures"] != "0"
        return
    document = json.loads(out)
    if form == "sarif":
        (run,) = document["runs"]
        uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
        assert uris == {"lockfiles/good.toml" if command == "verify" else "new.toml"}


@pytest.mark.parametrize("form", ["text", "github", "markdown"])
def test_a_page(project: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    (project / "new.toml").write_bytes(write_lock(Lock("new", MOVED)))
    assert main(["diff", "lockfiles/good.toml", "new.toml", "--html", "out/page.html", "--format", form]) == 1
    assert "It drifted" in (project / "out" / "page.html").read_text()
    assert capsys.readouterr().out
    if form != "markdown":
        assert main(["verify", "--html", "verify.html", "--format", form]) == 1
        assert "envguard restore lockfiles/good.toml" in (project / "verify.html").read_text()


def test_a_comment(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = "\n[run]\nprocesses = 8\ntokens-per-second = {}\n"
    old, new = project / "lockfiles" / "good.toml", project / "new.toml"
    new.write_bytes(write_lock(Lock("good", MOVED)) + run.format(11200).encode())
    old.write_bytes(old.read_bytes() + run.format(12800).encode())
    assert main(["diff", str(old), str(new), "--format", "markdown"]) == 1
    first = capsys.readouterr().out
    assert first.startswith("<!-- envguard-diff: good -->\n### 🔴 envguard: `good` changes: torch commit\n")
    assert "| ⚪ | tokens-per-second | `12,800` | `11,200` |" in first
    assert main(["diff", str(old), str(new), "--format", "markdown"]) == 1
    assert capsys.readouterr().out == first


class TestBaseline:
    write = (
        "verify",
        "--write-baseline",
        "known.toml",
        "--by",
        "ann",
        "--reason",
        "ticket 7",
        "--until",
        "2026-10-01",
    )

    def test_written_then_used_then_over(
        self, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert main(["verify"]) == 1
        assert main([*self.write]) == 0
        entries = tomllib.loads((project / "known.toml").read_text())["policy"]["ignore"]
        assert {entry["check"] for entry in entries} >= {"torch-build", "distributions"}
        assert "(ignored by ann: ticket 7, until 2026-10-01)" in capsys.readouterr().out
        assert main(["verify", "--baseline", "known.toml"]) == 0
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795000000")
        capsys.readouterr()
        assert main(["verify", "--baseline", "known.toml"]) == 1
        printed = capsys.readouterr()
        assert "known.toml: torch-build of torch was accepted until 2026-10-01; it counts again" in printed.err
        assert "was ignored by ann until 2026-10-01: ticket 7" in printed.out

    def test_a_new_drift_is_not_covered(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert main([*self.write]) == 0
        more = facts(distributions=Value((distribution("other", "1"),)), torch=MOVED.torch)
        monkeypatch.setattr(wiring, "prober", lambda *_, **__: Seen(more))
        assert main(["verify", "--baseline", "known.toml"]) == 1

    @pytest.mark.parametrize("missing", ["--by", "--reason", "--until"])
    def test_who_why_and_until_when(self, project: Path, missing: str, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = list(self.write)
        place = arguments.index(missing)
        del arguments[place : place + 2]
        assert main(arguments) == 2
        assert f"--write-baseline needs {missing}" in capsys.readouterr().err
        assert not (project / "known.toml").exists()

    def test_without_a_file_to_write(self, project: Path) -> None:
        assert main(["verify", "--by", "ann"]) == 2

    def test_no_day(self, project: Path) -> None:
        with pytest.raises(SystemExit) as ended:
            main(["verify", "--write-baseline", "x", "--until", "soon"])
        assert ended.value.code == 2

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("= 1", "not TOML"),
            ("[policy]\nstrict = true\n", "holds [[policy.ignore]] entries only"),
            (None, "could not"),
        ],
    )
    def test_what_is_no_baseline(
        self, project: Path, content: str | None, words: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        if content is not None:
            (project / "known.toml").write_text(content)
        assert main(["verify", "--baseline", "known.toml"]) == 2
        assert words in capsys.readouterr().err


def test_a_hook_never_verifies_its_own_environment(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["verify", "--hook"]) == 1
    monkeypatch.setattr(wiring, "target", lambda *_: Target(Path(sys.prefix) / "bin" / "python", "--python"))
    assert main(["verify", "--hook"]) == 2
    assert "the target is the environment that the hook itself runs in" in capsys.readouterr().err


def test_equal_locks_and_what_cant_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "good.toml"
    file.write_bytes(write_lock(Lock("good", facts())))
    assert main(["diff", str(file), str(file), "--format", "markdown"]) == 0
    assert "records the same environment" in capsys.readouterr().out
    file.write_bytes(write_lock(good()))  # keys, and no factors to compare them by
    assert main(["diff", str(file), str(file), "--format", "markdown"]) == 4
    assert "nothing moved, but compile-cache could not be compared" in capsys.readouterr().out
