"""export as SBOM, Dockerfile and conda environment."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from envguard.cli import main as cli
from envguard.formats.lockfile import write_lock
from envguard.model.lock import Lock
from tests.builders import facts


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "lockfiles").mkdir()
    lock = Lock("good", facts(), datetime(2026, 11, 29, tzinfo=UTC))
    (tmp_path / "lockfiles" / "good.toml").write_bytes(write_lock(lock))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def export(form: str, *more: str) -> int:
    return cli.main(["export", "--format", form, *more])


def test_sbom_is_cyclonedx(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export("sbom") == 0
    short = capsys.readouterr().out
    assert export("sbom-cyclonedx") == 0
    assert capsys.readouterr().out == short
    assert json.loads(short)["bomFormat"] == "CycloneDX"


def test_spdx(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export("sbom-spdx") == 0
    assert json.loads(capsys.readouterr().out)["spdxVersion"] == "SPDX-2.3"


@pytest.mark.parametrize("form", ["sbom", "sbom-spdx", "conda"])
def test_without_leaves_out(project: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert export(form, "--without", "requests") == 0
    assert "requests" not in capsys.readouterr().out
    assert export(form, "--without", "numpy") == 2


def test_conda_says_what_it_can_not_say(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export("conda") == 0
    said = capsys.readouterr()
    assert yaml.safe_load(said.out)["name"] == "good"
    assert "note: conda can't be told torch's build: 2.11.0+cu130" in said.err
    assert export("conda", "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_a_dockerfile_names_the_lock_from_its_own_folder(project: Path) -> None:
    assert export("dockerfile", "-o", "Dockerfile") == 0
    assert 'ARG LOCK="lockfiles/good.toml"' in (project / "Dockerfile").read_text().splitlines()
    assert export("dockerfile", "lockfiles/good.toml", "-o", "lockfiles/Dockerfile") == 0
    assert 'ARG LOCK="good.toml"' in (project / "lockfiles" / "Dockerfile").read_text().splitlines()


def test_a_lock_outside_the_build_context_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "image").mkdir()
    assert export("dockerfile", "-o", "image/Dockerfile") == 2
    assert f"-o {project.resolve()}/Dockerfile" in capsys.readouterr().err
    assert not (project / "image" / "Dockerfile").exists()


def test_an_image_is_of_the_whole_lock(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export("dockerfile", "--without", "torch") == 2
    assert "--without" in capsys.readouterr().err
