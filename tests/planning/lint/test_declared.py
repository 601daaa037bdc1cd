"""What a project declares, held against the lock: each disagreement at the declaration's file and line."""

from __future__ import annotations

from typing import Any

import pytest

from envguard.model.declared import Declared, Unreadable, variant_in
from envguard.model.distribution import Evidence, Origin, Wheel
from envguard.model.lint import LintSeverity
from envguard.model.observed import Absent
from envguard.planning.lint import (
    declared_missing,
    declared_unreadable,
    declared_variant,
    declared_version,
    declared_wheel,
)
from envguard.planning.lint.rule import Rule
from tests.builders import digest
from tests.planning.lint.subjects import TORCH_WHEEL, changed, good, subject


def declared(
    name: str = "torch", specifier: str = "", file: str = "pyproject.toml", line: int = 3, **more: Any
) -> Declared:
    return Declared(name, file, line, specifier, **more)


def run(rule: Rule, *entries: Declared, **lock: Any) -> list[str]:
    found = rule.run(subject(lock.get("lock", good()), declared=entries))
    return [f"{finding.file}:{finding.line}: {finding.message}" for finding in found]


class TestVersion:
    @pytest.mark.parametrize(
        ("name", "specifier", "recorded"),
        [
            ("torch", "==2.12.0", "2.11.0+cu130"),
            ("torch", "==2.11.0+cu128", "2.11.0+cu130"),
            ("torch", ">=2.12", "2.11.0+cu130"),
            ("requests", "<2", "2.32.3"),
            ("python", ">=3.13", "3.12.3"),
        ],
    )
    def test_another_one(self, name: str, specifier: str, recorded: str) -> None:
        lines = run(declared_version.RULE, declared(name, specifier))
        assert lines == [
            f"pyproject.toml:3: asks for {name}{specifier}, and lockfiles/good.toml records {recorded}"
        ]

    @pytest.mark.parametrize(
        ("name", "specifier"),
        [
            ("torch", "==2.11.0"),
            ("torch", "==2.11.0+cu130"),
            ("torch", ">=2.10,<3"),
            ("torch", ""),
            ("torch", "==what"),
            ("python", ">=3.11"),
            ("absent", "==1"),
        ],
    )
    def test_no_disagreement(self, name: str, specifier: str) -> None:
        assert run(declared_version.RULE, declared(name, specifier)) == []

    def test_markers_are_of_the_locks_interpreter(self) -> None:
        for marker, said in (
            ("sys_platform == 'linux'", 1),
            ("sys_platform == 'win32'", 0),
            ("python_version >= '3.13'", 0),
            ("this is none", 0),
        ):
            assert len(run(declared_version.RULE, declared(specifier="==2.12", marker=marker))) == said, marker

    def test_of_extras_it_is_enough_that_one_agrees(self) -> None:
        old, new = (
            declared(specifier="==2.8", group="extra old"),
            declared(specifier="==2.11.0", group="extra new"),
        )
        assert run(declared_version.RULE, old, new) == []
        assert len(run(declared_version.RULE, old)) == 1
        assert "(extra old)" in run(declared_version.RULE, old)[0]

    def test_of_forks_it_is_enough_that_one_agrees(self) -> None:
        forks = [declared(specifier=f"=={version}", file="uv.lock") for version in ("2.8.0", "2.11.0")]
        assert run(declared_version.RULE, *forks) == []
        assert len(run(declared_version.RULE, forks[0])) == 1

    @pytest.mark.parametrize(
        ("name", "severity"), [("torch", LintSeverity.ERROR), ("requests", LintSeverity.WARNING)]
    )
    def test_side_files_only_warn_but_of_torch(self, name: str, severity: LintSeverity) -> None:
        entry = declared(name, "==0.1", "requirements-docs.txt", side=True)
        (finding,) = declared_version.RULE.run(subject(good(), declared=[entry]))
        assert finding.severity is severity


class TestVariant:
    @pytest.mark.parametrize(
        "more",
        [
            {"source": "https://download.example/whl/cu128"},
            {"source": "https://download.example/whl/cu128/"},
            {"source": "pytorch-cu128"},
            {"specifier": "==2.11.0+cu128"},
        ],
        ids=["address", "with a slash", "name", "label"],
    )
    def test_another_one(self, more: dict[str, Any]) -> None:
        lines = run(declared_variant.RULE, declared(**more))
        assert lines == ["pyproject.toml:3: takes torch of cu128, and lockfiles/good.toml records cu130"]

    @pytest.mark.parametrize(
        "source", ["pytorch-cu130", "https://pypi.example/simple", "https://cpu.example/simple"]
    )
    def test_the_same_or_none(self, source: str) -> None:
        assert run(declared_variant.RULE, declared(source=source)) == []

    def test_only_torchs_family(self) -> None:
        assert run(declared_variant.RULE, declared("requests", source="pytorch-cu128")) == []

    def test_no_torch(self) -> None:
        assert run(declared_variant.RULE, declared(source="pytorch-cu128"), lock=good(torch=Absent())) == []

    @pytest.mark.parametrize(
        ("text", "variant"),
        [
            ("cu128", "cu128"),
            ("rocm6.4", "rocm6.4"),
            ("pytorch-cpu", "cpu"),
            ("cu128-or-cpu", None),
            ("focus", None),
        ],
    )
    def test_in_a_name(self, text: str, variant: str | None) -> None:
        assert variant_in(text) == variant


class TestWheel:
    def test_other_bytes_of_the_same_file(self) -> None:
        entry = declared(specifier="==2.11.0", file="uv.lock", wheels={TORCH_WHEEL: "0" * 64})
        (line,) = run(declared_wheel.RULE, entry)
        recorded = digest(TORCH_WHEEL).short
        assert line == f"uv.lock:3: {TORCH_WHEEL} has sha256 000000000000… there, recorded is {recorded}…"

    def test_another_file(self) -> None:
        entry = declared(specifier="==2.11.0", file="uv.lock", wheels={"torch-2.11.0-cp313-x.whl": "0" * 64})
        (line,) = run(declared_wheel.RULE, entry)
        assert line == f"uv.lock:3: has no {TORCH_WHEEL} among its 1 wheels of torch 2.11.0"
        renamed = declared(file="uv.lock", wheels={"another-name.whl": digest(TORCH_WHEEL).hex})
        assert run(declared_wheel.RULE, renamed) == []

    def test_none_of_the_hashes(self) -> None:
        entry = declared(specifier="==2.11.0", file="requirements.txt", hashes=frozenset({"0" * 64, "1" * 64}))
        (line,) = run(declared_wheel.RULE, entry)
        assert line.startswith("requirements.txt:3: none of the 2 hashes of torch is the recorded ")

    def test_agreement_and_what_cant_be_compared(self) -> None:
        same = digest(TORCH_WHEEL).hex
        assert run(declared_wheel.RULE, declared(wheels={TORCH_WHEEL: same}, hashes=frozenset({same}))) == []
        assert run(declared_wheel.RULE, declared(specifier="==9", hashes=frozenset({"0" * 64}))) == []
        assert run(declared_wheel.RULE, declared("absent", hashes=frozenset({"0" * 64}))) == []
        built = changed("torch", wheel=Wheel(sha256=digest("x"), evidence=Evidence.BUILT_FROM_SDIST))
        assert run(declared_wheel.RULE, declared(hashes=frozenset({"0" * 64})), lock=built) == []

    def test_another_commit(self) -> None:
        lock = changed("requests", origin=Origin("vcs", commit="a" * 40))
        (line,) = run(declared_wheel.RULE, declared("requests", commit="b" * 40), lock=lock)
        assert line == "pyproject.toml:3: pins requests to commit bbbbbbbbbbbb, recorded is aaaaaaaaaaaa"
        assert run(declared_wheel.RULE, declared("requests", commit="a" * 40), lock=lock) == []


class TestMissing:
    def test_a_dependency_that_the_lock_has_not(self) -> None:
        lines = run(declared_missing.RULE, declared("numpy", ">=2", wanted=True))
        assert lines == ["pyproject.toml:3: asks for numpy>=2, and lockfiles/good.toml has none"]

    def test_what_need_not_be_there(self) -> None:
        entries = (
            declared("numpy"),
            declared("pip", wanted=True),
            declared("colorama", wanted=True, marker="sys_platform == 'win32'"),
        )
        assert run(declared_missing.RULE, *entries) == []

    def test_a_lock_without_distributions(self) -> None:
        lock = good(distributions=Absent())
        assert run(declared_missing.RULE, declared("numpy", wanted=True), lock=lock) == []


def test_what_was_not_understood_warns() -> None:
    looked = subject(good(), unreadable=[Unreadable("requirements.txt", 4, "not a requirement: '!'")])
    (finding,) = declared_unreadable.RULE.run(looked)
    assert (finding.file, finding.line, finding.severity) == ("requirements.txt", 4, LintSeverity.WARNING)
