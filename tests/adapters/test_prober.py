"""All sections together: each on its own, none takes the others along."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from envguard.adapters import machine
from envguard.adapters.interpreter import Interpreters
from envguard.adapters.prober import EnvironmentProber
from envguard.errors import ProbeFailedError
from envguard.model.digest import Digest
from envguard.model.facts import Facts, FileKind, Interpreter, Live
from envguard.model.observed import NOT_ASKED, Absent, Observed, Unobserved, Value
from envguard.model.target import Layout, Level, Target
from tests.adapters.small import SOABI, Silent, Small

INTERPRETER = Interpreter("cpython", "3.11.7", "main, GCC", SOABI, "linux_x86_64", "glibc 2.36")


@dataclass
class ScriptedInterpreters:
    """Interpreters that say what a test wants."""

    small: Small
    answer: Observed[Live] = field(default_factory=lambda: Unobserved("no torch"))

    def look(self, python: Path) -> tuple[Layout, Interpreter]:
        if python != self.small.python:
            raise ProbeFailedError("no answer")
        return self.small.layout(), INTERPRETER

    def live(self, python: Path, timeout: float) -> Observed[Live]:
        return self.answer


def prober(
    small: Small, tmp_path: Path, environ: Mapping[str, str] | None = None, **options: object
) -> EnvironmentProber:
    return EnvironmentProber(
        interpreters=ScriptedInterpreters(small),
        environ={"HOME": str(tmp_path), "PATH": os.environ["PATH"], **(environ or {})},
        working_folder=tmp_path / "work",
        **options,  # type: ignore[arg-type]
    )


def facts(small: Small, tmp_path: Path, level: Level = Level.FAST, **options: object) -> Facts:
    target = Target(small.python, "test")
    return prober(small, tmp_path, **options).facts(  # type: ignore[arg-type]
        target, level, baseline=lambda name: None, progress=Silent()
    )


def test_every_section_is_looked_at(small: Small, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    seen = facts(small, tmp_path, environ={"OMP_NUM_THREADS": "3"})
    assert seen.interpreter == Value(INTERPRETER)
    assert seen.torch == Absent()
    assert isinstance(seen.distributions, Value)
    assert [one.name for one in seen.distributions.value] == ["my-head-er", "left", "right", "starter", "toy"]
    assert isinstance(seen.files, Value)
    assert len(seen.files.value) == 6
    assert isinstance(seen.shared, Value)
    assert isinstance(seen.variables, Value)
    assert [variable.name for variable in seen.variables.value.values] == ["OMP_NUM_THREADS"]
    assert seen.shadows == Value(())
    assert seen.code == Absent()
    assert seen.live == NOT_ASKED
    assert seen.files_seen == 23


def test_every_distribution_has_its_rows(small: Small, tmp_path: Path) -> None:
    seen = facts(small, tmp_path)
    assert isinstance(seen.distributions, Value)
    toy = next(one for one in seen.distributions.value if one.name == "toy")
    assert toy.listing is not None
    assert ("library", "toy/cli.py") in toy.listing
    assert ("data", "share/toy/notes.txt") in toy.listing
    assert toy.listing["library", "toy/cli.py"].size == "25"
    assert len(toy.listing) == len(list(toy.listing))
    assert (toy.installer, toy.folder, toy.problem) == ("uv", "toy-1.0.dist-info", None)


def test_rows_of_a_record_that_changed_meanwhile_are_none(small: Small, tmp_path: Path) -> None:
    seen = facts(small, tmp_path)
    assert isinstance(seen.distributions, Value)
    for damage in ("changed,,\n", "\0"):
        toy = next(one for one in facts(small, tmp_path).distributions.value if one.name == "left")  # type: ignore[union-attr]
        (small.site / "left-1.0.dist-info/RECORD").write_text(damage)
        assert toy.listing is None or len(toy.listing) == 0


def test_metadata_level(small: Small, tmp_path: Path) -> None:
    seen = facts(small, tmp_path, Level.METADATA)
    assert seen.files == NOT_ASKED
    assert isinstance(seen.distributions, Value)
    assert isinstance(seen.shadows, Value)


def test_live(small: Small, tmp_path: Path) -> None:
    assert facts(small, tmp_path, live=True).live == Unobserved("no torch")


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), ProbeFailedError("Input/output error")])
@pytest.mark.parametrize("section", ["driver", "gpus", "cpu"])
def test_a_section_that_fails_leaves_the_rest(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, section: str, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(machine, section, fail)
    seen = facts(small, tmp_path)
    assert getattr(seen, section) == Unobserved("Input/output error")
    assert isinstance(seen.files, Value)


def test_files_that_fail_leave_the_rest(small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("envguard.adapters.prober.look", fail)
    seen = facts(small, tmp_path)
    reason = Unobserved("the environment can't be read: Too many open files")
    assert [seen.torch, seen.distributions, seen.files, seen.shared, seen.shadows] == [reason] * 5
    assert isinstance(seen.interpreter, Value)


def test_startup_code_outside_is_told(small: Small, tmp_path: Path) -> None:
    layout = small.layout()
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / "sitecustomize.py").write_bytes(b"evil")
    shutil.copy(evil / "sitecustomize.py", small.site)
    seen = Interpreters(tmp_path / "cache", environ={"PYTHONPATH": str(evil)})
    real = EnvironmentProber(interpreters=seen, environ=os.environ, working_folder=None)
    found = real.facts(
        Target(small.python, "test"), Level.FAST, baseline=lambda name: None, progress=Silent()
    ).files
    assert isinstance(found, Value)
    assert {fact.path for fact in found.value if fact.kind is FileKind.STARTUP} >= {
        "PYTHONPATH/sitecustomize.py",
        "sitecustomize.py",
    }
    outside = next(fact for fact in found.value if fact.root == "path")
    with pytest.raises(OSError, match="outside"):
        real.content(layout, outside)


class TestOrigin:
    def put(self, small: Small, content: object) -> None:
        (small.site / "toy-1.0.dist-info/direct_url.json").write_text(json.dumps(content))

    def origin(self, small: Small, tmp_path: Path) -> object:
        found = facts(small, tmp_path).distributions
        assert isinstance(found, Value)
        return next(one.origin for one in found.value if one.name == "toy")

    def test_vcs(self, small: Small, tmp_path: Path) -> None:
        vcs = {"vcs": "git", "commit_id": "0" * 40}
        self.put(small, {"url": "https://user:secret@example.org/toy.git", "vcs_info": vcs})
        origin = self.origin(small, tmp_path)
        assert "secret" not in repr(origin)
        assert getattr(origin, "commit", None) == "0" * 40

    def test_editable(self, small: Small, tmp_path: Path) -> None:
        self.put(small, {"url": f"file://{tmp_path}", "dir_info": {"editable": True}})
        assert getattr(self.origin(small, tmp_path), "editable", None) is True

    def test_a_wheel_file_has_none(self, small: Small, tmp_path: Path) -> None:
        self.put(small, {"url": f"file://{tmp_path}/toy-1.0-py3-none-any.whl", "archive_info": {}})
        assert self.origin(small, tmp_path) is None

    @pytest.mark.parametrize("text", ["", "[]", "{", '{"url": 3}'])
    def test_damage(self, small: Small, tmp_path: Path, text: str) -> None:
        (small.site / "toy-1.0.dist-info/direct_url.json").write_text(text)
        assert self.origin(small, tmp_path) is None

    def test_none(self, small: Small, tmp_path: Path) -> None:
        assert self.origin(small, tmp_path) is None


class TestContent:
    def test_of_every_fact(self, small: Small, tmp_path: Path) -> None:
        """What a fact tells of can be read, and is what its digest says where nothing was undone."""
        (small.site / "stray.py").write_bytes(b"stray")
        looks = prober(small, tmp_path)
        seen = facts(small, tmp_path).files
        assert isinstance(seen, Value)
        for fact in seen.value:
            with looks.content(small.layout(), fact) as stream:
                content = stream.read()
            if fact.path not in ("toy-cli", "toy-script"):
                assert Digest.of(content) == fact.sha256, fact

    def test_spelled_as_the_installer_did(self, small: Small, tmp_path: Path) -> None:
        header = next(small.prefix.glob("include/site/*/my-head-er"))
        header.rename(header.with_name("My.Head_Er"))
        record = small.site / "My.Head_Er-2.0.dist-info/RECORD"
        record.write_text(record.read_text().replace("my-head-er/", "My.Head_Er/"))
        seen = facts(small, tmp_path).files
        assert isinstance(seen, Value)
        fact = next(fact for fact in seen.value if fact.kind is FileKind.HEADER)
        assert "/my-head-er/" in fact.path
        with prober(small, tmp_path).content(small.layout(), fact) as stream:
            assert stream.read() == b"// a\n"

    def test_no_link_is_followed(self, small: Small, tmp_path: Path) -> None:
        (small.site / "stray.py").symlink_to("/etc/hostname")
        seen = facts(small, tmp_path).files
        assert isinstance(seen, Value)
        fact = next(fact for fact in seen.value if fact.path == "stray.py")
        with pytest.raises(OSError, match="it is a symbolic link"):
            prober(small, tmp_path).content(small.layout(), fact)


def test_layout(small: Small, tmp_path: Path) -> None:
    assert prober(small, tmp_path).layout(Target(small.python, "test")) == small.layout()
    with pytest.raises(ProbeFailedError):
        prober(small, tmp_path).layout(Target(tmp_path / "python", "test"))
