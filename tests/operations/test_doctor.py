"""doctor: an environment's hazards, with what a lock knows of the run's machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from envguard.errors import TargetBrokenError
from envguard.formats import doctor_report
from envguard.model.facts import Driver, Facts, Gpu
from envguard.model.hazards import CacheFolder, Diagnosis, Seen, Signs, Topology
from envguard.model.lock import Lock
from envguard.model.observed import Absent, Value
from envguard.model.target import Layout, Level, Target
from envguard.operations.doctor import doctor
from envguard.ports import Baseline, Progress
from tests import builders
from tests.fakes.folder_prober import FolderProber

HERE = Path("/env/bin/python")
TARGET = Target(HERE, "--python")


class Prober(FolderProber):
    """Says that it saw some facts."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.told = facts

    def facts(self, target: Target, level: Level, *, baseline: Baseline, progress: Progress) -> Facts:
        self.looked_at.append((target.python, level))
        if target.python in self.broken:
            raise TargetBrokenError("it doesn't start", where=str(target.python))
        return self.told

    def layout(self, target: Target) -> Layout:
        return Layout(HERE, HERE, HERE, (), HERE, HERE, (), is_venv=True, system_site=False)


@dataclass
class Around:
    """Says what it saw."""

    told: Seen

    def seen(self, layout: Layout) -> Seen:
        return self.told


class Silent:
    """No progress."""

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        """Nothing."""


SEEN = Seen(Value(Signs("process", False, False, True, 8)), Value(CacheFolder("~/c", "ext4")))
FACTS = builders.facts(driver=Value(Driver("580.1")))


def diagnosed(prober: Prober, lock: Lock | None = None, topology: Topology = Topology()) -> Diagnosis:  # noqa: B008
    return doctor(lock, TARGET, topology=topology, prober=prober, surroundings=Around(SEEN), progress=Silent())


def test_the_environment_is_looked_at_without_hashing() -> None:
    prober = Prober(FACTS)

    diagnosis = diagnosed(prober)

    assert prober.looked_at == [(HERE, Level.METADATA)]
    assert [entry.hazard.slug for entry in diagnosis.found] == ["tracing-flag", "shared-device"]
    assert diagnosis.exit_code == 1


def test_the_lock_knows_the_gpus_where_none_can_be_seen() -> None:
    gpus = Value((Gpu(0, "a GPU", "9.0", 24_000),))
    lock = Lock("good", builders.facts(gpus=gpus))
    topology = Topology(("cuda:0",), 24_000)

    assert diagnosed(Prober(FACTS), lock, topology).exit_code == 1
    assert diagnosed(Prober(FACTS), None, topology).exit_code == 4
    here = Value((Gpu(0, "a GPU", "9.0", 80_000),))
    assert diagnosed(Prober(builders.facts(driver=FACTS.driver, gpus=here)), lock, topology).exit_code == 0


def test_a_target_that_does_not_start_is_an_error() -> None:
    prober = Prober(FACTS)
    prober.broken.add(HERE)

    with pytest.raises(TargetBrokenError):
        diagnosed(prober)


def test_what_is_printed() -> None:
    diagnosis = diagnosed(Prober(FACTS), topology=Topology(("cuda:0", "cuda:0")))

    lines = list(doctor_report.lines(diagnosis, "/env/bin/python", quiet=False))
    assert lines[0] == (
        "certain tracing-flag      the FX tracing flag is one for the whole process (torch 2.11.0+cu130)"
    )
    assert lines[2] == "        do:    envguard run LOCK -- COMMAND"
    assert lines[-1] == "2 apply, 0 may apply   /env/bin/python"
    assert len(lines) == 9

    document = doctor_report.document(diagnosis, "/env/bin/python", "good")
    assert (document["schema"], document["exit_code"], document["lock"]) == ("envguard-doctor-1", 1, "good")
    assert document["counts"] == {"certain": 2, "unknown": 0}
    assert [entry["hazard"] for entry in document["hazards"]] == ["tracing-flag", "shared-device"]
    assert [entry["guarded"] for entry in document["hazards"]] == [True, False]


def test_quiet_says_nothing_when_all_is_well() -> None:
    nothing = Diagnosis()

    assert list(doctor_report.lines(nothing, "x", quiet=True)) == []
    assert list(doctor_report.lines(nothing, "x", quiet=False)) == ["0 apply, 0 may apply   x"]


def test_an_environment_without_torch_has_none() -> None:
    prober = Prober(builders.facts(torch=Absent(), driver=Absent()))

    diagnosis = doctor(
        None,
        TARGET,
        topology=Topology(),
        prober=prober,
        surroundings=Around(Seen(Absent(), Absent())),
        progress=Silent(),
    )

    assert diagnosis.exit_code == 0
