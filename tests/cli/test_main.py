"""The command line's own behaviour: errors, exit codes, what is imported."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pytest

from envguard import __version__
from envguard.cli import main as cli
from envguard.cli.commands import MODULES, all_commands
from envguard.errors import EnvguardError, LockInvalidError

ROOT = Path(__file__).parents[2]


def run(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "envguard", *arguments], capture_output=True, text=True, cwd=folder, check=False
    )


def test_version() -> None:
    assert run("--version").stdout == f"envguard {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["verify", "--nothing"], ["diff", "a"]])
def test_wrong_usage_is_2(arguments: list[str]) -> None:
    ended = run(*arguments)
    assert ended.returncode == 2
    assert "usage:" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_help_lists_every_command() -> None:
    shown = run("--help").stdout
    for command in all_commands():
        assert re.search(rf"^    {command.name}\s", shown, re.M), command.name
        assert run(command.name, "--help").returncode == 0


def test_commands_are_found_by_their_name() -> None:
    assert [command.name for command in all_commands()] == list(MODULES)


def test_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text()
    for name in MODULES:
        assert re.search(rf"`{name}[` ]", text), name


def test_an_error_says_what_where_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "envguard.cli.parser.parse", _raising(LockInvalidError("bad", where="x:3", hint="mend it"))
    )
    assert cli.main(["verify"]) == 2
    assert capsys.readouterr().err == "error[lock-invalid]: bad\n  at: x:3\n  hint: mend it\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [(EnvguardError("x"), 3), (KeyboardInterrupt(), 130), (ZeroDivisionError(), 70)],
    ids=["fault", "interrupt", "bug"],
)
def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    monkeypatch.setattr("envguard.cli.parser.parse", _raising(error))
    assert cli.main(["verify"]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert ("Traceback" in printed.err) == (code == 70)


def _raising(error: BaseException) -> object:
    def parse(arguments: object) -> argparse.Namespace:
        raise error

    return parse


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = f"{sys.executable} -m envguard explain torch-build | true"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ended.stderr == ""


HEAVY = (
    "torch",
    "requests",
    "rich",
    "tomlkit",
    "pypi_simple",
    "tenacity",
    "elftools",
    "msgpack",
    "asyncio",
    "email",
)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["explain", "files"]])
def test_light(arguments: list[str]) -> None:
    """What must be fast imports nothing heavy (verify is in test_end_to_end)."""
    code = (
        "import sys; from envguard.cli.main import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stderr == "[]\n"


class TestNoLock:
    """The commonest mistakes."""

    def test_no_lock_at_all(self, tmp_path: Path) -> None:
        ended = run("verify", folder=tmp_path)
        assert ended.returncode == 2
        assert ended.stderr == (
            f"error[usage]: no lock named, and none in lockfiles/\n  at: {tmp_path}\n"
            "  hint: record one: envguard snapshot --name NAME\n"
        )

    def test_no_such_lock(self, tmp_path: Path) -> None:
        ended = run("verify", "x.toml", folder=tmp_path)
        assert ended.returncode == 2
        assert ended.stderr.startswith("error[lock-invalid]: no such lock file\n  at: x.toml\n")

    def test_unknown_check(self, tmp_path: Path) -> None:
        ended = run("explain", "nothing", folder=tmp_path)
        assert ended.returncode == 2
        assert "the checks are" in ended.stderr
