from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from envguard.errors import (
    EnvguardError,
    IndexAnswerError,
    IndexUnreachableError,
    InstallFailedError,
    InUseError,
    NotObtainableError,
    OtherBytesError,
    UsageError,
    UvUnsuitableError,
)
from envguard.formats import marker
from envguard.formats.record import dump_rows
from envguard.model.digest import Digest
from envguard.model.distribution import Evidence, Origin, Row, Wheel
from envguard.model.drift import Outcome, Severity
from envguard.model.facts import Driver, Facts, FileFact, FileKind
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value
from envguard.model.target import Level, Target
from envguard.operations.restore import NOT_BUILT, RestoreResult, _place
from envguard.ports import Baseline, Progress
from tests.builders import digest, torch_build
from tests.fakes.folder_prober import FolderProber, this_python
from tests.fakes.restoring import ThisPython, World


def value(environment: Path, name: str = "demo", attribute: str = "VERSION") -> str:
    """What the environment's own Python says, as a job would ask it."""
    ended = subprocess.run(
        [environment / "bin" / "python", "-c", f"import {name}; print({name}.{attribute})"],
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.strip()


def library(environment: Path) -> Path:
    return next(environment.glob("lib/*/site-packages"))


def changed(lock: Lock, name: str, **changes: Any) -> Lock:
    """A lock of which one distribution is another."""
    assert isinstance(lock.facts.distributions, Value)
    entries = tuple(
        replace(entry, **changes) if entry.name == name else entry for entry in lock.facts.distributions.value
    )
    return replace(lock, facts=replace(lock.facts, distributions=Value(entries)))


def test_a_lock_becomes_an_environment(world: World) -> None:
    wheels = [world.wheel(), world.wheel("other", "2.0+cu130"), world.wheel("pip", "99.0")]
    lock = world.lock(wheels)
    world.serve(wheels)
    result = world.restore(lock, world.root / ".venv")
    assert result.report is not None
    assert result.report.outcome is Outcome.MATCH
    assert (result.report.recorded, result.report.distributions) == ("good", 3)
    assert result.environment is not None
    assert result.environment.parent == world.folder
    assert (world.root / ".venv").readlink() == result.environment
    assert value(world.root / ".venv", "other") == "2.0+cu130"
    assert value(world.root / ".venv", "pip") == "99.0", "what installers bring along is restored as it was"
    assert world.left() == [result.environment.name], "nothing else is left"
    assert set(NOT_BUILT) <= set(result.notes)
    assert Level.FULL in [level for _, level in world.prober.looked_at]  # type: ignore[attr-defined]


def test_without_a_target_a_link_beside_leads_to_it(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    result = world.restore(lock)
    assert result.switched is not None
    assert result.switched.target == world.folder / "current"
    assert value(world.folder / "current") == "1.0"


def test_the_marker_says_which_wheels_it_was_built_from(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    result = world.restore(lock)
    assert result.environment is not None
    assert isinstance(lock.facts.distributions, Value)
    (entry,) = lock.facts.distributions.value
    assert entry.record is not None
    written = marker.load((result.environment / marker.FILENAME).read_bytes())
    sha256 = Digest.of(wheel.read_bytes())
    marked = marker.MarkedWheel(wheel.name, sha256, wheel.stat().st_size, entry.record)
    assert written == marker.Marker(result.plan.lock, {"demo": marked})


def test_bytecode_is_there_and_valid_where_the_environment_stays(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    environment = world.restore(lock).environment
    assert environment is not None
    ended = subprocess.run(
        [environment / "bin" / "python", "-v", "-c", "import demo"], capture_output=True, text=True, check=True
    )
    (compiled,) = (library(environment) / "demo" / "__pycache__").iterdir()
    assert f"# {compiled} matches {library(environment) / 'demo' / '__init__.py'}" in ended.stderr


def test_the_plan_alone_changes_nothing(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    result = world.restore(lock, world.root / ".venv", plan_only=True)
    assert [(step.name, step.source, step.size) for step in result.plan.steps] == [
        ("demo", "default", wheel.stat().st_size)
    ]
    assert (result.report, result.environment, result.switched) == (None, None, None)
    assert set(NOT_BUILT) <= set(result.notes)
    assert world.index.fetched == []
    assert not (world.root / "data").exists()
    assert not (world.root / ".venv").exists()


def test_a_plan_with_problems_is_still_a_plan(world: World) -> None:
    lock = world.lock([world.wheel()])
    result = world.restore(lock, plan_only=True)
    assert [problem.subject for problem in result.plan.problems] == ["demo"]


def test_what_the_store_holds_needs_no_index(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.store.put(wheel.read_bytes())
    assert world.restore(lock).environment is not None
    assert world.index.asked == []


def test_offline_only_folders_count(world: World) -> None:
    wheel, other = world.wheel(), world.wheel("other", "2.0")
    lock = world.lock([wheel, other])
    world.serve([wheel], source="find-links")
    world.serve([other])
    with pytest.raises(NotObtainableError, match="other: no source has"):
        world.restore(lock, offline=True)
    assert world.restore(lock, offline=True, without={"other"}).environment is not None


def test_everything_that_is_not_obtainable_is_named_with_its_reason(world: World) -> None:
    wheels = [world.wheel(), world.wheel("other", "2.0"), world.wheel("third", "3.0")]
    lock = world.lock(wheels)
    lock = changed(lock, "other", wheel=Wheel(evidence=Evidence.NONE))
    lock = changed(lock, "third", wheel=Wheel(), origin=Origin("folder", editable=True))
    world.serve(wheels)
    with pytest.raises(NotObtainableError) as raised:
        world.restore(lock)
    assert raised.value.message.startswith("2 things stand in the way:\n  other: its wheel was not identified")
    assert "\n  third: it was an editable install" in raised.value.message
    assert raised.value.exit_code == 3
    assert world.index.fetched == [], "nothing is fetched before all of it can be had"
    assert world.left() == []
    result = world.restore(lock, without={"other", "third"})
    assert result.report is not None
    assert result.report.outcome is Outcome.MATCH
    assert result.report.distributions == 1


def test_two_wheels_of_one_version_on_an_index_without_hashes(world: World) -> None:
    """An installer that is given hashed requirements takes the wrong one here."""
    plain = world.wheel(files={"demo/__init__.py": "VERSION = 'plain'\n"})
    third = world.wheel(files={"demo/__init__.py": "VERSION = 'third'\n"}, build="3")
    world.serve([plain, third], hashed=False)
    for wheel, expected in ((plain, "plain"), (third, "third")):
        environment = world.restore(world.lock([wheel])).environment
        assert environment is not None
        assert value(environment) == expected


def test_an_index_that_states_other_bytes_is_refused_before_anything_is_fetched(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    before = Digest.of(wheel.read_bytes())
    world.serve([wheel])
    world.index.reupload(wheel.name, b"other bytes")
    with pytest.raises(OtherBytesError) as raised:
        world.restore(lock, world.root / ".venv")
    assert raised.value.message == (
        f"demo: index default now serves other bytes for {wheel.name} ({before} → {Digest.of(b'other bytes')})"
    )
    assert world.index.fetched == []
    assert world.left() == []
    assert not (world.root / ".venv").exists()


@pytest.mark.parametrize("hashed", [True, False], ids=["lies", "silent"])
def test_an_index_that_serves_other_bytes_is_found_out_and_nothing_is_kept(world: World, hashed: bool) -> None:
    wheels = [world.wheel(), world.wheel("other", "2.0")]
    lock = world.lock(wheels)
    world.serve(wheels, hashed=hashed)
    world.index.lie(wheels[0].name, b"other bytes")
    with pytest.raises(OtherBytesError, match=f"index default now serves other bytes for {wheels[0].name}"):
        world.restore(lock, world.root / ".venv")
    assert world.index.fired == 1
    assert world.left() == []


def test_an_archived_copy_is_used_where_the_index_has_other_bytes(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.store.put(wheel.read_bytes())
    world.serve([wheel])
    world.index.reupload(wheel.name, b"other bytes")
    assert world.restore(lock).environment is not None


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("demo", IndexUnreachableError("index default: no connection")),
        ("demo-1.0-py3-none-any.whl", IndexUnreachableError("index default: no connection")),
    ],
    ids=["asking", "fetching"],
)
def test_after_a_fault_of_the_network_the_same_command_goes_on(
    world: World, what: str, error: EnvguardError
) -> None:
    wheels = [world.wheel(), world.wheel("other", "2.0")]
    lock = world.lock(wheels)
    world.serve(wheels)
    world.index.fail(what, error, times=1)
    with pytest.raises(IndexUnreachableError, match="no connection"):
        world.restore(lock)
    assert world.index.fired == 1
    assert world.restore(lock).environment is not None
    assert world.index.fetched.count(wheels[1].name) <= 2
    assert [name for name in world.left() if name.startswith(".")] == []


def test_an_index_that_gives_no_answer_for_one_name_is_a_problem_of_that_name(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    world.index.fail("demo", IndexAnswerError("index default: no page for demo"))
    with pytest.raises(NotObtainableError, match="demo: index default: no page for demo"):
        world.restore(lock)


def test_an_existing_folder_is_exchanged_and_kept(world: World) -> None:
    wheel, target = world.wheel(), world.root / ".venv"
    lock = world.lock([wheel])
    world.serve([wheel])
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", target], check=True)
    (library(target) / "mine.py").write_text("VERSION = 'mine'\n")
    result = world.restore(lock, target)
    assert result.switched is not None
    assert result.switched.previous == world.root / ".venv.before-1"
    assert value(target) == "1.0"
    assert value(result.switched.previous, "mine") == "mine"
    world.environments.rollback(target)
    assert value(target, "mine") == "mine"


def test_a_link_is_switched_and_the_environment_before_stays(world: World) -> None:
    wheel, target = world.wheel(), world.root / ".venv"
    lock = world.lock([wheel])
    world.serve([wheel])
    first = world.restore(lock, target).environment
    result = world.restore(lock, target)
    assert result.environment != first
    assert result.switched is not None
    assert result.switched.previous == first
    assert first is not None
    assert value(first) == "1.0"
    world.environments.rollback(target)
    assert target.readlink() == first


@pytest.mark.parametrize("kind", ["file", "project"])
def test_a_target_that_can_not_be_switched_is_refused_before_anything_else(world: World, kind: str) -> None:
    lock = world.lock([world.wheel()])
    target = world.root / kind
    if kind == "file":
        target.touch()
    else:
        target.mkdir()
        (target / "train.py").touch()
    with pytest.raises(UsageError):
        world.restore(lock, target)
    assert world.index.asked == []


def test_a_job_that_runs_from_the_target_is_told(world: World) -> None:
    wheel, target = world.wheel(), world.root / ".venv"
    lock = world.lock([wheel])
    world.serve([wheel])
    world.restore(lock, target)
    program = "import sys; print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [target / "bin" / "python", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as job:
        assert job.stdout is not None
        job.stdout.readline()
        result = world.restore(lock, target)
        assert job.stdin is not None
        job.stdin.close()
    (note,) = (note for note in result.notes if note.startswith(f"process {job.pid} "))
    assert note.endswith(f"still runs from what {target} led to")


def test_only_one_restore_of_a_name_at_a_time(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    with world.environments.hold("good"), pytest.raises(InUseError, match="another envguard restores good"):
        world.restore(lock)


# What no wheel brings


def test_recorded_files_are_put_back(world: World) -> None:
    wheel = world.wheel()
    edited, stray = b"VERSION = 'edited'\n", b"import demo\n"
    expected = Digest.of(b"NAME = 'demo'\nVERSION = '1.0'\n")
    world.store.put(edited)
    world.store.put(stray)
    files = (
        FileFact(
            "demo/__init__.py",
            FileKind.MODIFIED,
            sha256=Digest.of(edited),
            mode="0644",
            owners=("demo",),
            expected=expected,
        ),
        FileFact("stray.py", FileKind.UNOWNED, sha256=Digest.of(stray), mode="0644"),
        FileFact("hook.pth", FileKind.STARTUP, sha256=Digest.of(stray), mode="0644"),
    )
    lock = world.lock([wheel], files=Value(files))
    world.serve([wheel])
    result = world.restore(lock)
    assert result.report is not None
    assert result.report.outcome is Outcome.MATCH, result.report
    assert result.environment is not None
    assert value(result.environment) == "edited"
    assert (library(result.environment) / "hook.pth").read_bytes() == stray


def test_each_root_has_its_place(world: World) -> None:
    world.lock([world.wheel()])
    (sample,) = world.root.glob("sample-*/environment")
    layout = world.prober.layout(Target(sample / "bin" / "python", "test"))
    places = {
        root: _place(FileFact("x/y", FileKind.UNOWNED, root=root), layout)
        for root in ("library", "scripts", "headers", "data")
    }
    assert places == {
        "library": library(sample) / "x" / "y",
        "scripts": sample / "bin" / "x" / "y",
        "headers": sample / "include" / "x" / "y",
        "data": sample / "x" / "y",
    }


def test_a_file_that_was_missing_is_missing_again(world: World) -> None:
    wheel = world.wheel(files={"demo/__init__.py": "VERSION = '1.0'\n", "demo/extra.py": "X = 1\n"})
    fact = FileFact("demo/extra.py", FileKind.MISSING, owners=("demo",))
    lock = world.lock([wheel], files=Value((fact,)))
    world.serve([wheel])
    environment = world.restore(lock).environment
    assert environment is not None
    assert not (library(environment) / "demo" / "extra.py").exists()


def test_files_whose_bytes_are_lost_are_refused_by_name(world: World) -> None:
    wheel = world.wheel()
    fact = FileFact("stray.py", FileKind.UNOWNED, sha256=digest("lost"), mode="0644")
    lock = world.lock([wheel], files=Value((fact,)))
    world.serve([wheel])
    with pytest.raises(NotObtainableError) as raised:
        world.restore(lock)
    assert raised.value.message == (
        "stray.py: it belongs to no distribution, and the store doesn't hold its recorded bytes"
    )
    assert world.index.fetched == []
    assert world.restore(lock, without={"stray.py"}).environment is not None


# The proof


class Breaking(ThisPython):
    """A uv whose installations come out damaged, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times
        self.broken = 0

    def install(self, environment: Path, wheels: Sequence[tuple[Path, Digest]]) -> None:
        super().install(environment, wheels)
        if self.left:
            self.left -= 1
            self.broken += 1
            (library(environment) / "demo" / "__init__.py").write_text("VERSION = 'broken'\n")


def test_a_damaged_installation_is_made_once_more(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    installer = Breaking(1)
    result = world.restore(lock, installer=installer)
    assert installer.broken == 1
    assert result.environment is not None
    assert value(result.environment) == "1.0"
    assert world.index.fetched == [wheel.name], "the wheel itself was right"


def test_one_that_is_damaged_twice_is_reported_and_not_kept(world: World) -> None:
    wheel, target = world.wheel(), world.root / ".venv"
    lock = world.lock([wheel])
    world.serve([wheel])
    before = world.restore(lock, target).environment
    installer = Breaking(5)
    result = world.restore(lock, target, installer=installer)
    assert installer.broken == 2
    assert result.environment is None
    assert result.report is not None
    assert result.report.exit_code == 1
    (finding,) = (finding for found in result.report.results for finding in found.findings)
    assert finding.subject == "demo/__init__.py"
    assert target.readlink() == before
    assert before is not None
    assert [name for name in world.left() if not name.startswith(".")] == [before.name]
    assert not list(world.folder.glob(".attempt-*"))


def test_an_environment_that_can_not_be_looked_at_is_not_proven(world: World) -> None:
    class Blind(FolderProber):
        def facts(self, target: Target, level: Level, *, baseline: Baseline, progress: Progress) -> Facts:
            seen = super().facts(target, level, baseline=baseline, progress=progress)
            return replace(seen, files=Unobserved("no permission"))

    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    result = world.restore(lock, prober=Blind())
    assert result.report is not None
    assert result.report.outcome is Outcome.UNKNOWN
    assert result.environment is None


def test_another_machine_is_told_and_does_not_count(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel], driver=Value(Driver("580.159")))
    world.serve([wheel])
    result = world.restore(lock, prober=FolderProber(driver=Value(Driver("570.1"))))
    assert result.report is not None
    assert result.report.outcome is Outcome.MATCH
    findings = [finding for found in result.report.results for finding in found.findings]
    assert all(finding.severity is Severity.NOTE for finding in findings)


def test_a_machine_that_can_not_run_it_is_refused(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel], torch=Value(torch_build()))
    with pytest.raises(NotObtainableError, match=r"driver: driver 450\.1 is below what cu130 needs"):
        world.serve([wheel])
        world.restore(lock, prober=FolderProber(driver=Value(Driver("450.1"))))


# Python and uv


def test_a_missing_python_is_named_and_none_is_downloaded(world: World) -> None:
    wheel = world.wheel()
    other = replace(this_python(), version="3.99.1", soabi="cpython-399-x86_64-linux-gnu")
    lock = world.lock([wheel], interpreter=Value(other))
    world.serve([wheel])
    with pytest.raises(NotObtainableError) as raised:
        world.restore(lock)
    assert raised.value.message.startswith(
        "interpreter: no cpython 3.99 (cpython-399-x86_64-linux-gnu) is installed; found only "
    )
    assert raised.value.message.endswith(f"looked in {world.installer.looked()}")


def test_pythons_that_start_nothing_are_passed_over(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    prober, shim = FolderProber(), Path("/shims/python")
    prober.broken.add(shim)

    class Shimmed(ThisPython):
        def pythons(self, minor: str) -> tuple[Path, ...]:
            return (shim, *super().pythons(minor))

    assert world.restore(lock, prober=prober, installer=Shimmed()).environment is not None
    assert (shim, Level.METADATA) in prober.looked_at


def test_the_named_python_is_the_one_or_the_error(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    assert world.restore(lock, python=Path(sys.executable)).plan.python == sys.executable
    prober, broken = FolderProber(), Path("/broken/python")
    prober.broken.add(broken)
    with pytest.raises(EnvguardError, match="it doesn't start"):
        world.restore(lock, python=broken, prober=prober)


def test_a_lock_without_an_interpreter_is_refused(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel], interpreter=Unobserved("not recorded"))
    world.serve([wheel])
    with pytest.raises(NotObtainableError, match="doesn't say which Python"):
        world.restore(lock)


class Unsuitable(ThisPython):
    def version(self) -> str:
        raise UvUnsuitableError("uv is missing")


class Newer(ThisPython):
    def version(self) -> str:
        return "99.0.0"


def test_a_uv_that_will_not_do_is_told_first(world: World) -> None:
    lock = world.lock([world.wheel()])
    with pytest.raises(UvUnsuitableError):
        world.restore(lock, installer=Unsuitable())
    assert world.index.asked == []


def test_a_uv_that_was_never_tried_is_a_note(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    assert any("uv 99.0.0 is newer" in note for note in world.restore(lock, installer=Newer()).notes)


def test_a_failed_installation_leaves_nothing_but_what_was_fetched(world: World) -> None:
    class Failing(ThisPython):
        def install(self, environment: Path, wheels: Sequence[tuple[Path, Digest]]) -> None:
            raise InstallFailedError("uv pip sync failed (exit 1):\nreason")

    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    with pytest.raises(InstallFailedError, match="reason"):
        world.restore(lock, world.root / ".venv", installer=Failing())
    assert world.left() == [".wheels"]
    assert world.restore(lock, world.root / ".venv").environment is not None
    assert world.index.fetched == [wheel.name]


def test_rows_in_the_store_make_the_plan_exact(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    rows = {
        ("library", "demo/__init__.py"): Row("library", "demo/__init__.py", "sha256:" + "0" * 64, "1000"),
        ("library", "demo/data.bin"): Row("library", "demo/data.bin", "sha256:" + "0" * 64, "5000"),
        ("library", "demo/odd"): Row("library", "demo/odd", "sha256:" + "0" * 64, ""),
    }
    kept = world.store.put(dump_rows(rows))
    world.serve([wheel])
    plan = world.restore(changed(lock, "demo", rows=kept), plan_only=True).plan
    assert (plan.size_needed, plan.files_needed) == (wheel.stat().st_size + 6000 + 1000, 1 + 3 + 1)
    damaged = world.store.put(b"rubbish")
    plan = world.restore(changed(lock, "demo", rows=damaged), plan_only=True).plan
    assert plan.size_needed == 4 * wheel.stat().st_size


# Holes of installers, kept shut


def test_an_edit_in_one_hardlinked_environment_does_not_reach_a_restored_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uv's shared cache spreads it, past --require-hashes, also into fresh environments."""
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    cache, uv = world.root / "cache", find_uv_bin()
    environ = {**os.environ, "UV_CACHE_DIR": str(cache), "UV_LINK_MODE": "hardlink", "UV_OFFLINE": "1"}
    monkeypatch.setenv("UV_CACHE_DIR", str(cache))
    for name in ("one", "two"):
        venv = world.root / name
        subprocess.run([uv, "venv", "-q", "-p", sys.executable, venv], env=environ, check=True)
        subprocess.run(
            [uv, "pip", "install", "-q", "-p", venv / "bin" / "python", "--no-index", wheel],
            env=environ,
            check=True,
        )
        source = library(venv) / "demo" / "__init__.py"
        if name == "one":
            assert source.stat().st_nlink > 1, "the fault needs a hardlink"
            with source.open("a") as stream:
                stream.write("VERSION = 'edited'\n")
    assert value(world.root / "two") == "edited", "uv's hole is shut: this test proves nothing any more"
    environment = world.restore(lock).environment
    assert environment is not None
    assert value(environment) == "1.0"
    assert all(path.stat().st_nlink == 1 for path in library(environment).rglob("*.py"))


def test_another_build_of_the_same_version_is_not_kept(world: World) -> None:
    """uv and pip call it installed already."""
    good = world.wheel(files={"demo/__init__.py": "VERSION = 'good build'\n"})
    lock = world.lock([good])
    world.serve([good])
    content = good.read_bytes()
    target = world.root / ".venv"
    bad = world.wheel(files={"demo/__init__.py": "VERSION = 'bad build'\n"})
    assert bad == good
    subprocess.run([find_uv_bin(), "venv", "-q", "-p", sys.executable, target], check=True)
    subprocess.run(
        [find_uv_bin(), "pip", "install", "-q", "-p", target / "bin" / "python", "--no-index", bad], check=True
    )
    assert value(target) == "bad build"
    assert Digest.of(content) != Digest.of(bad.read_bytes())
    world.restore(lock, target)
    assert value(target) == "good build"


def outcome(result: RestoreResult) -> Outcome | None:
    return result.report.outcome if result.report else None


def test_the_day_that_an_ignore_ends_is_passed_in(world: World) -> None:
    wheel = world.wheel()
    lock = world.lock([wheel])
    world.serve([wheel])
    assert outcome(world.restore(lock, today=date(2030, 1, 1))) is Outcome.MATCH
