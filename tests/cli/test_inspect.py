"""inspect, find, identify and challenge as a user calls them, on a loopback index."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from envguard.cli import main as cli
from envguard.formats.lockfile import write_lock
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Wheel
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Value
from tests import builders
from tests.fakes.fault_server import FaultServer, Reply
from tests.fakes.ranges import page, serve

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "inspect-1.json"
VERSION = "__version__ = '2.11.0+cu130'\ngit_version = '70d99e998b4955e0049d13a98d77ae1b14db1f45'\ncuda = '13.0'\n"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """The only index that there is."""
    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "project").mkdir()
    (tmp_path / "pip.conf").touch()
    monkeypatch.chdir(tmp_path / "project")
    with FaultServer() as server:
        monkeypatch.setenv("UV_NO_CONFIG", "1")
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/default/")
        monkeypatch.setenv("HOME", str(tmp_path))
        yield server


def torch(folder: Path, code: str = "", **details: Any) -> Path:
    folder.mkdir(exist_ok=True)
    files = {"torch/version.py": VERSION, "torch/x.py": code}
    return builders.wheel(folder, "torch", "2.11.0", files, tag="cp312-cp312-manylinux_2_28_x86_64", **details)


def test_inspect_a_version(server: FaultServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheels = (torch(tmp_path / "a"), torch(tmp_path / "a", "y = 1", build="3"))
    server.on("/default/torch/", page(*(serve(server, wheel) for wheel in wheels)))
    arguments = ["inspect", "torch==2.11.0", "--python", "cp312", "--platform", "linux_x86_64"]
    assert cli.main(arguments) == 0
    text = capsys.readouterr().out
    assert "git commit         70d99e998b4955e0049d13a98d77ae1b14db1f45" in text
    assert "agree in version 2.11.0, build 2.11.0+cu130, commit 70d99e998b49 and variant cu130" in text
    assert "torch/x.py" in text
    assert cli.main([*arguments, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert [wheel["torch"]["cuda"] for wheel in document["wheels"]] == ["13.0", "13.0"]
    assert all(wheel["cost"]["from-cache"] for wheel in document["wheels"])


def test_inspect_an_address_and_a_file(
    server: FaultServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = torch(tmp_path / "a")
    serve(server, wheel)
    for what in (f"{server.url}/files/{wheel.name}", str(wheel)):
        assert cli.main(["inspect", what, "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        jsonschema.validate(document, json.loads(SCHEMA.read_text()))
        assert document["wheels"][0]["torch"]["git-commit"].startswith("70d99e998b")


@pytest.mark.parametrize(
    ("what", "code"),
    [("torch", 2), ("torch==", 2), ("torch==x", 2), ("x-1-py3-none-any.whl", 2), ("torch==9", 3)],
)
def test_inspect_what_is_not_there(
    server: FaultServer, capsys: pytest.CaptureFixture[str], what: str, code: int
) -> None:
    assert cli.main(["inspect", what, "--python", "cp312"]) == code
    assert capsys.readouterr().err.startswith("error[")


def test_find(server: FaultServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server.on("/default/torch/", page(serve(server, torch(tmp_path / "a"))))
    arguments = ["find", "torch", "--commit", "70d99e998b", "--platform", "linux_x86_64"]
    assert cli.main(arguments) == 0
    assert "torch 2.11.0+cu130  70d99e998b4955e0" in capsys.readouterr().out
    assert cli.main([*arguments, "--format", "json", "--variant", "cu130"]) == 0
    assert json.loads(capsys.readouterr().out)["found"][0]["variant"] == "cu130"
    assert cli.main(["find", "torch", "--commit", "0000000", "--platform", "linux_x86_64"]) == 1


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    return tmp_path / "env"


def install(environment: Path, wheel: Path) -> None:
    from uv import find_uv_bin

    subprocess.run(
        [find_uv_bin(), "pip", "install", "-q", "--no-cache", "--no-deps", "--offline", "-p", environment, wheel],
        check=True,
    )
    for file in environment.glob("lib/*/site-packages/*.dist-info/direct_url.json"):
        file.unlink()  # as if it came from an index


def test_identify_and_snapshot(
    server: FaultServer, tmp_path: Path, environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w").mkdir()
    wheel = builders.wheel(tmp_path / "w", "idna", "3.10", {"idna/__init__.py": "x"})
    other = builders.wheel(tmp_path / "w", "other", "1", {"other.py": "x"})
    server.on("/default/idna/", page(serve(server, wheel)))
    install(environment, wheel)
    assert cli.main(["identify", "--python", str(environment)]) == 0
    assert "index-record    idna-3.10-py3-none-any.whl" in capsys.readouterr().out
    install(environment, other)
    assert cli.main(["identify", "--python", str(environment), "--format", "json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["settled"]) for one in document["distributions"]] == [
        ("idna", True),
        ("other", False),
    ]
    assert document["distributions"][0]["sha256"] == str(Digest.of(wheel.read_bytes()))
    server.on("/default/other/", Reply(503, headers={"Retry-After": "0"}))
    assert cli.main(["snapshot", "--python", str(environment), "--name", "good"]) == 0
    lock = Path("lockfiles/good.toml").read_text()
    assert 'evidence = "index-record"' in lock
    assert "127.0.0.1" not in lock


def test_offline_asks_no_index(server: FaultServer, tmp_path: Path, environment: Path) -> None:
    (tmp_path / "w").mkdir()
    install(environment, builders.wheel(tmp_path / "w", "idna", "3.10", {"idna/__init__.py": "x"}))
    assert cli.main(["identify", "--offline", "--python", str(environment)]) == 4
    assert cli.main(["snapshot", "--offline", "--python", str(environment), "--name", "good"]) == 0
    assert server.asked == []
    assert "index-record" not in Path("lockfiles/good.toml").read_text()


def test_a_lock_made_without_a_network_is_completed_elsewhere(
    server: FaultServer, tmp_path: Path, environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w").mkdir()
    wheels = [builders.wheel(tmp_path / "w", name, "1.0", {f"{name}.py": "x"}) for name in ("idna", "lost")]
    for wheel in wheels:
        install(environment, wheel)
    assert cli.main(["snapshot", "--offline", "--no-archive", "--python", str(environment), "--name", "good"]) == 0
    lock = Path("lockfiles/good.toml")
    lock.write_text(f"# by hand\n{lock.read_text()}")
    before = lock.read_text()
    elsewhere = builders.wheel(tmp_path / "w", "idna", "1.0", {"idna.py": "y"}, tag="cp39-cp39-win_amd64")
    server.on("/default/idna/", page(*[serve(server, wheel) for wheel in [elsewhere] * 9 + [wheels[0]]]))
    server.on("/default/lost/", page())

    assert cli.main(["identify", "--lock", str(lock)]) == 4
    assert lock.read_text() == before
    capsys.readouterr()
    assert cli.main(["restore", str(lock), "--plan", "--without", "lost", "--format", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [step["by-record"] for step in plan["steps"]] == [True]
    assert any("envguard identify --lock" in note for note in plan["notes"])

    assert cli.main(["identify", "--lock", str(lock), "--update"]) == 4
    after = lock.read_text()
    assert after.startswith("# by hand\n") and "127.0.0.1" not in after
    assert f'sha256 = "{Digest.of(wheels[0].read_bytes())}"' in after
    assert (after.count('evidence = "index-record"'), after.count('evidence = "none"')) == (1, 1)
    assert cli.main(["verify", str(lock), "--python", str(environment)]) == 0
    assert cli.main(["identify", "--lock", str(lock), "--update"]) == 4
    assert lock.read_text() == after


def test_a_wheel_that_was_rebuilt_is_still_looked_for(
    server: FaultServer, tmp_path: Path, environment: Path
) -> None:
    (tmp_path / "w").mkdir()
    wheel = builders.wheel(tmp_path / "w", "idna", "1.0", {"idna.py": "x"})
    install(environment, wheel)
    assert cli.main(["snapshot", "--offline", "--python", str(environment), "--name", "good"]) == 0
    lock = Path("lockfiles/good.toml")
    (rebuilt,) = re.findall(r"(?m)^rebuilt = .*$", lock.read_text())
    server.on("/default/idna/", page(serve(server, wheel)))
    assert cli.main(["identify", "--lock", str(lock), "--update"]) == 0
    after = lock.read_text()
    assert f'sha256 = "{Digest.of(wheel.read_bytes())}"' in after and rebuilt in after


def test_what_is_no_lock_to_complete(server: FaultServer, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare.toml").write_bytes(write_lock(Lock("bare", Facts())))
    assert cli.main(["identify", "--lock", "bare.toml"]) == 2
    assert cli.main(["identify", "--lock", "none.toml", "--update"]) == 2
    assert cli.main(["identify", "--lock", "bare.toml", "--python", "env"]) == 2
    assert cli.main(["identify", "--update"]) == 2
    assert "--lock LOCK" in capsys.readouterr().err


def test_challenge(server: FaultServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel = torch(tmp_path / "a")
    entry = Distribution(
        "torch",
        "2.11.0",
        builders.digest("record"),
        wheel=Wheel(wheel.name, Digest.of(wheel.read_bytes()), None, wheel.stat().st_size, "default"),
    )
    Path("good.toml").write_bytes(write_lock(Lock("good", builders.facts(distributions=Value((entry,))))))
    server.on("/default/torch/", page(serve(server, wheel)))
    assert cli.main(["challenge", "good.toml"]) == 0
    assert capsys.readouterr().out == "1 as locked   good\n"
    server.on("/default/torch/", page(serve(server, torch(tmp_path / "b", "y = 2"))))
    assert cli.main(["challenge", "good.toml", "-q"]) == 1
    assert f"differs torch 2.11.0 {wheel.name}" in capsys.readouterr().out
    assert cli.main(["challenge", "good.toml", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["wheels"][0]["verdict"] == "differs"
    server.on("/default/torch/", Reply(404))
    assert cli.main(["challenge", "good.toml"]) == 1
    server.on("/default/torch/", Reply(400))
    assert cli.main(["challenge", "good.toml"]) == 3
