"""snapshot --from: a first lock, and what an environment says to it later."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import uv

from envguard.cli import main as cli
from tests.builders import wheel


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    (root / "wheels").mkdir(parents=True)
    wheel(root / "wheels", "one", "1.0", {"one.py": "VALUE = 1\n"})
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.chdir(root)
    return root


def lock_by_uv(project: Path) -> None:
    text = '[project]\nname = "demo"\nversion = "0.1"\nrequires-python = ">=3.11"\ndependencies = ["one"]\n'
    (project / "pyproject.toml").write_text(text + '[tool.uv]\nfind-links = ["wheels"]\nno-index = true\n')
    call("lock", "--quiet", "--offline")


def call(*arguments: str) -> None:
    subprocess.run([uv.find_uv_bin(), *arguments], check=True)


def written(project: Path, name: str = "project") -> dict[str, object]:
    return tomllib.loads((project / "lockfiles" / f"{name}.toml").read_text())


def test_uv_lock(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock_by_uv(project)
    assert cli.main(["snapshot", "--from", "uv.lock"]) == 0
    said = capsys.readouterr()
    assert "torch not looked at, 1 distributions (0 with their wheel's sha256)" in said.out
    assert "which runs envguard (no environment here" in said.err
    entries = written(project)["distribution"]
    assert isinstance(entries, list)
    assert [entry["wheel"] for entry in entries] == ["one-1.0-py3-none-any.whl"]
    assert "sha256" not in entries[0]
    assert str(project) not in (project / "lockfiles" / "project.toml").read_text()


def test_lint_takes_no_marker_for_held_that_it_can_not_judge(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first lock names no interpreter, and what is for Windows only isn't in it."""
    wheel(project / "wheels", "two", "1.0", {"two.py": ""})
    lock_by_uv(project)
    file = project / "pyproject.toml"
    file.write_text(file.read_text().replace('["one"]', """["one", "two; sys_platform == 'win32'"]"""))
    call("lock", "--quiet", "--offline")
    assert cli.main(["snapshot", "--from", "uv.lock"]) == 0
    capsys.readouterr()
    code = cli.main(["lint"])
    assert code == 0, capsys.readouterr().out


def test_an_environment_made_from_it_verifies_by_version(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "requirements.txt").write_text("one==1.0\n")
    assert cli.main(["snapshot", "--from", "requirements.txt"]) == 0
    call("venv", "--quiet", "--offline", "--python", sys.executable)
    call("pip", "install", "--quiet", "--offline", "--no-index", "--find-links", "wheels", "one")
    capsys.readouterr()
    assert cli.main(["verify"]) == 0
    assert "one recorded without a fingerprint, compared by version only" in capsys.readouterr().out
    assert cli.main(["snapshot", "--offline"]) == 1
    assert "--update" in capsys.readouterr().err
    assert cli.main(["snapshot", "--offline", "--update"]) == 0
    assert "unobserved" not in written(project) or "files" not in str(written(project)["unobserved"])


def test_a_second_time_nothing_is_written_and_other_claims_are_refused(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project / "requirements.txt"
    file.write_text("one==1.0\n")
    assert cli.main(["snapshot", "--from", "requirements.txt"]) == 0
    before = (project / "lockfiles" / "project.toml").read_bytes()
    assert cli.main(["snapshot", "--from", "requirements.txt"]) == 0
    assert "unchanged" in capsys.readouterr().out
    file.write_text("one==2.0\n")
    assert cli.main(["snapshot", "--from", "requirements.txt"]) == 1
    assert "1.0 → 2.0" in capsys.readouterr().out
    assert (project / "lockfiles" / "project.toml").read_bytes() == before
    assert cli.main(["snapshot", "--from", "requirements.txt", "--update"]) == 0


SDIST = "12f65c9b470abda6dc35cf8e63cc574b1c52b11df2c86030af0ac09b01b13ea9"
WHEEL = "946d195a0d259cbba61165e88e65941f16e9b36ea6ddb97f00452bae8b1287d3"


@pytest.mark.online
def test_the_index_says_which_file_a_hash_is_of(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    (project / "requirements.txt").write_text(f"idna==3.10 --hash=sha256:{SDIST} --hash=sha256:{WHEEL}\n")
    assert cli.main(["snapshot", "--from", "requirements.txt"]) == 0
    if "can't be asked" in capsys.readouterr().err:
        pytest.skip("the default index can't be reached")
    entries = written(project)["distribution"]
    assert isinstance(entries, list)
    assert (entries[0]["wheel"], entries[0]["claimed-sha256"]) == ("idna-3.10-py3-none-any.whl", f"sha256:{WHEEL}")
    assert entries[0]["size"] == 70442


def test_offline_several_hashes_are_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "requirements.txt").write_text(f"idna==3.10 --hash=sha256:{SDIST} --hash=sha256:{WHEEL}\n")
    assert cli.main(["snapshot", "--from", "requirements.txt", "--offline"]) == 0
    assert "of which file each sha256 is, is not said, so none is recorded: idna" in capsys.readouterr().err


BAD = {
    "another tool's": ("poetry.lock", "", "is no lock file that can be read"),
    "gone": ("uv.lock", None, "can't be read"),
    "no pylock": ("pylock.toml", "x = 1\n", "not a pylock"),
    "no pins": ("requirements.txt", "one\n", "not pinned"),
    "too large": ("requirements.txt", "#" * (8 * 1024 * 1024 + 1), "more than the 8 MiB"),
    "names what is gone": ("requirements.txt", "-r gone.txt\n", "can't be read"),
}


@pytest.mark.parametrize(("name", "text", "words"), BAD.values(), ids=BAD.keys())
def test_bad_files(
    project: Path, capsys: pytest.CaptureFixture[str], name: str, text: str | None, words: str
) -> None:
    if text is not None:
        (project / name).write_text(text)
    assert cli.main(["snapshot", "--from", name]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said
    assert not (project / "lockfiles").exists()


def test_a_python_that_is_named_must_be_there(project: Path) -> None:
    (project / "requirements.txt").write_text("one==1.0\n")
    assert cli.main(["snapshot", "--from", "requirements.txt", "--python", "/no/such"]) == 2
