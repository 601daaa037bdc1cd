"""Snapshot, restore, verify with the real prober and real installers: nothing may differ."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from uv import find_uv_bin

from envguard.adapters.index import SimpleIndexes
from envguard.adapters.index_settings import read as read_sources
from envguard.adapters.interpreter import Interpreters
from envguard.adapters.prober import EnvironmentProber
from envguard.adapters.provenance.local import LocalProvenance
from envguard.errors import OtherBytesError
from envguard.formats.lockfile import lock_id
from envguard.model.distribution import Distribution, Evidence
from envguard.model.drift import Outcome, Report, Severity
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.policy import Policy
from envguard.model.target import Level, Target
from envguard.operations.restore import RestoreResult
from envguard.operations.snapshot import snapshot
from envguard.operations.verify import verify
from tests import builders
from tests.fakes.restoring import ThisPython, World

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
SITE = f"lib/{PYTHON}/site-packages"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    world = World(tmp_path)
    world.prober = EnvironmentProber(Interpreters(), environ=dict(os.environ), working_folder=None)
    return world


def odd_wheels(world: World) -> list[Path]:
    """Everything that an installer treats in its own way."""
    tool = builders.wheel(
        world.made,
        "demo_tool",
        "1.0",
        {
            "demo_tool/__init__.py": "def main():\n    print('hello')\n",
            "demo_tool/data.bin": bytes(range(256)),
            "demo_tool/__pycache__/gone.cpython-39.pyc": b"shipped",
            "demo_tool.pth": "import sys\n",
            "demo_tool-1.0.data/scripts/demo-script": "#!python\nprint('script')\n",
            "demo_tool-1.0.data/scripts/demo-shell": "#!/bin/sh\necho shell\n",
            "demo_tool-1.0.data/data/share/demo/text": "text\n",
            "demo_tool-1.0.data/headers/demo.h": "/* demo */\n",
        },
        entry_points="[console_scripts]\ndemo = demo_tool:main\n",
        modes={f"demo_tool-1.0.data/scripts/demo-{name}": 0o755 for name in ("script", "shell")},
    )
    shared = [
        builders.wheel(world.made, name, "1.0", {"space/__init__.py": "", f"space/{name}.py": "X = 1\n"})
        for name in ("one", "two")
    ]
    bad_source = builders.wheel(world.made, "old", "2.0+cu130", {"old/two.py": "print 'Python 2'\n"})
    return [tool, *shared, bad_source]


def made(world: World, wheels: Sequence[Path], installer: str) -> Path:
    """An environment as a user makes it."""
    folder = world.root / "made-by-hand"
    if installer == "uv":
        environ = {**os.environ, "UV_CACHE_DIR": str(world.root / "uv-cache")}
        subprocess.run([find_uv_bin(), "venv", "-q", "-p", sys.executable, folder], env=environ, check=True)
        command = [find_uv_bin(), "pip", "install", "-q", "-p", str(folder / "bin" / "python")]
        subprocess.run([*command, "--no-index", *wheels], env=environ, check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        command = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*command, "--no-index", *wheels], check=True)
    return folder


def recorded(world: World, folder: Path) -> Lock:
    """A snapshot, with evidence from the folder of wheels."""
    taken = snapshot(
        Target(folder / "bin" / "python", "test"),
        name="good",
        note=None,
        previous=None,
        indexes={},
        now=datetime(2026, 11, 29, tzinfo=UTC),
        prober=world.prober,
        provenance=LocalProvenance(find_links=[world.made]),
        store=world.store,
        progress=world.progress,
    )
    return taken.lock


def links(world: World) -> SimpleIndexes:
    """The real index over the folder of wheels alone."""
    sources = read_sources(find_links=[world.made], own=None, project=None)
    return SimpleIndexes(replace(sources, indexes=(), find_links=(world.made,)))


def drifts(report: Report | None) -> list[str]:
    assert report is not None
    return [
        f"{result.check}: {finding.subject} {finding.detail}"
        for result in report.results
        for finding in result.findings
        if finding.severity is not Severity.NOTE
    ]


def check(world: World, lock: Lock, folder: Path) -> Report:
    return verify(
        lock,
        Target(folder / "bin" / "python", "test"),
        level=Level.FULL,
        policy=Policy(),
        today=date(2026, 11, 29),
        prober=world.prober,
        store=world.store,
        progress=world.progress,
    )


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_what_was_recorded_comes_back_whole(world: World, installer: str) -> None:
    folder = made(world, odd_wheels(world), installer)
    lock = recorded(world, folder)
    without = {"pip", "setuptools"} & {entry.name for entry in distributions(lock)}
    result = world.restore(lock, world.root / ".venv", index=links(world), without=without)
    assert drifts(result.report) == []
    assert result.report is not None
    assert result.report.outcome is Outcome.MATCH, result.report
    assert result.environment is not None
    for place in (result.environment, world.root / ".venv"):
        report = check(world, lock, place)
        assert drifts(report) == []
        assert report.exit_code in (0, 4), report
    for program, said in (("demo", "hello"), ("demo-script", "script"), ("demo-shell", "shell")):
        ended = subprocess.run(
            [world.root / ".venv" / "bin" / program], capture_output=True, text=True, check=True
        )
        assert ended.stdout == f"{said}\n"
    assert not (result.environment / SITE / "demo_tool" / "__pycache__" / "gone.cpython-39.pyc").exists()


def test_a_script_that_pip_left_without_its_exec_bit_is_no_drift(world: World) -> None:
    """uv gives one to every script, pip only where the wheel has it."""
    wheel = builders.wheel(world.made, "demo", "1.0", {"demo-1.0.data/scripts/run": "#!/bin/sh\n"})
    lock = recorded(world, made(world, [wheel], "pip"))
    result = world.restore(lock, index=links(world), without={"pip", "setuptools"})
    assert drifts(result.report) == []
    assert result.environment is not None


def distributions(lock: Lock) -> tuple[Distribution, ...]:
    assert isinstance(lock.facts.distributions, Value)
    return lock.facts.distributions.value


def test_a_snapshot_of_what_was_restored_has_the_same_identity_and_proves_itself(world: World) -> None:
    folder = made(world, odd_wheels(world), "uv")
    lock = recorded(world, folder)
    environment = world.restore(lock, index=links(world)).environment
    assert environment is not None
    again = snapshot(
        Target(environment / "bin" / "python", "test"),
        name="good",
        note=None,
        previous=None,
        indexes={},
        now=datetime(2026, 11, 29, tzinfo=UTC),
        prober=world.prober,
        provenance=LocalProvenance(),
        store=world.store,
        progress=world.progress,
    ).lock
    assert {entry.wheel.evidence for entry in distributions(again)} == {Evidence.RESTORED}
    assert [entry.wheel.sha256 for entry in distributions(again)] == [
        entry.wheel.sha256 for entry in distributions(lock)
    ]
    assert lock_id(again) == lock_id(lock)


def test_files_that_no_wheel_answers_for_come_back(world: World) -> None:
    folder = made(world, odd_wheels(world), "uv")
    (folder / SITE / "demo_tool" / "__init__.py").unlink()
    (folder / SITE / "demo_tool" / "__init__.py").write_text("def main():\n    print('edited')\n")
    (folder / SITE / "space" / "two.py").unlink()
    (folder / SITE / "stray.py").write_text("VALUE = 'stray'\n")
    (folder / SITE / "hook.pth").write_text("import os\n")
    (folder / SITE / "own").mkdir()
    (folder / SITE / "own" / "ä file.txt").write_bytes(b"\xff")
    (folder / "bin" / "own-script").write_text("#!/bin/sh\necho own\n")
    (folder / "bin" / "own-script").chmod(0o755)
    lock = recorded(world, folder)
    result = world.restore(lock, index=links(world))
    assert drifts(result.report) == []
    assert result.environment is not None
    assert drifts(check(world, lock, result.environment)) == []
    for program, said in (("demo", "edited"), ("own-script", "own")):
        ended = subprocess.run([result.environment / "bin" / program], capture_output=True, text=True, check=True)
        assert ended.stdout == f"{said}\n"
    assert (result.environment / SITE / "own" / "ä file.txt").read_bytes() == b"\xff"
    assert not (result.environment / SITE / "space" / "two.py").exists()


class Tampering(ThisPython):
    """A uv whose result somebody changes, in a way that no installer looks for."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def clear_bytecode(self, environment: Path) -> None:
        super().clear_bytecode(environment)
        site = environment / SITE
        if self.how == "bytecode":
            subprocess.run([sys.executable, "-m", "compileall", "-q", site / "demo_tool"], check=True)
            (cached,) = (site / "demo_tool" / "__pycache__").glob("__init__.*.pyc")
            (site / "other.py").write_text("def main():\n    print('other')\n")
            subprocess.run([sys.executable, "-m", "compileall", "-q", site / "other.py"], check=True)
            (code,) = (site / "__pycache__").glob("other.*.pyc")
            cached.write_bytes(cached.read_bytes()[:16] + code.read_bytes()[16:])
            (site / "other.py").unlink()
            code.unlink()
        elif self.how == "pth":
            (site / "evil.pth").write_text("import os\n")
        elif self.how == "launcher":
            (environment / "bin" / "demo").write_text("#!/bin/sh\necho evil\n")
        elif self.how == "data":
            (environment / "share" / "demo" / "text").write_text("evil\n")


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ("bytecode", "bytecode: demo_tool/__pycache__/__init__"),
        ("pth", "startup-code: evil.pth"),
        ("launcher", "files: bin/demo"),
        ("data", "files: share/demo/text"),
    ],
)
def test_what_is_not_as_recorded_is_not_kept(world: World, how: str, named: str) -> None:
    folder = made(world, odd_wheels(world), "uv")
    lock = recorded(world, folder)
    result: RestoreResult = world.restore(lock, index=links(world), installer=Tampering(how))
    assert any(line.startswith(named) for line in drifts(result.report)), drifts(result.report)
    assert result.environment is None
    assert [name for name in world.left() if name != ".wheels"] == []


def test_variables_of_this_shell_do_not_count(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(world, odd_wheels(world), "uv")
    lock = recorded(world, folder)
    (tmp_path / "elsewhere" / "space").mkdir(parents=True)
    (tmp_path / "elsewhere" / "space" / "__init__.py").touch()
    (tmp_path / "elsewhere" / "sitecustomize.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    prober = EnvironmentProber(Interpreters(), environ=dict(os.environ), working_folder=None)
    result = world.restore(lock, index=links(world), prober=prober)
    assert result.environment is not None
    assert drifts(result.report) == []
    assert result.report is not None
    told = {found.check for found in result.report.results if found.findings}
    assert {"shadowing", "startup-code"} <= told


def test_a_wheel_is_recognised_by_its_bytes_alone(world: World) -> None:
    wheels = odd_wheels(world)
    folder = made(world, wheels, "uv")
    lock = recorded(world, folder)
    wheels[0].write_bytes(wheels[0].read_bytes() + b"\0")
    with pytest.raises(OtherBytesError, match=wheels[0].name):
        world.restore(lock, index=links(world))
    assert world.left() == []
