"""An environment becomes a lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from envguard.cli.output import NoProgress
from envguard.errors import SnapshotRefusedError
from envguard.formats.cache_trace import load_graphs
from envguard.formats.lockfile import write_lock
from envguard.formats.record import load_rows
from envguard.model.cache import CacheKeys, Component, DeviceKeys, Graph, KeySource
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Origin, Row, Wheel
from envguard.model.drift import Outcome
from envguard.model.facts import Facts, FileFact, FileKind
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value
from envguard.model.policy import Ignore, Policy
from envguard.model.target import Layout, Level, Target
from envguard.operations import snapshot as operation
from envguard.operations.archive import Archiving
from envguard.operations.snapshot import Snapshot, snapshot
from envguard.planning.archive import Extent
from tests.builders import digest, distribution, facts, torch_build
from tests.fakes.archivist import MadeUpArchivist
from tests.fakes.index import FakeIndex
from tests.fakes.memory_store import MemoryStore
from tests.fakes.prober import SaidProber

TARGET = Target(Path("/env/bin/python"), "--python")
NOW = datetime(2026, 11, 29, 17, tzinfo=UTC)
PROVEN = Wheel("requests-2.32.3-py3-none-any.whl", digest("wheel"), None, 10, "default", Evidence.UV_CACHE)


@dataclass
class SaidProvenance:
    """Implements ``ports.Provenance``."""

    said: Mapping[str, Wheel] = field(default_factory=dict)

    def wheels(self, layout: Layout, distributions: Sequence[Distribution]) -> Mapping[str, Wheel]:
        return self.said


def take(said: Facts, **changes: object) -> Snapshot:
    arguments: dict[str, object] = {
        "name": "good",
        "note": None,
        "previous": None,
        "indexes": {},
        "now": NOW,
        "prober": SaidProber(said),
        "provenance": SaidProvenance({"requests": PROVEN}),
        "store": MemoryStore(),
        "progress": NoProgress(),
        **changes,
    }
    return snapshot(TARGET, **arguments)  # type: ignore[arg-type]


def entry(lock: Lock, name: str) -> Distribution:
    assert isinstance(lock.facts.distributions, Value)
    return next(entry for entry in lock.facts.distributions.value if entry.name == name)


def test_a_wheel_and_the_rows_are_recorded() -> None:
    store = MemoryStore()
    row = Row("library", "requests/api.py", f"sha256:{digest('api').hex}", "3")
    listed = distribution(listing={("library", "requests/api.py"): row})
    taken = take(facts(distributions=Value((listed,))), store=store)
    assert taken.lock.created == NOW
    assert entry(taken.lock, "requests").wheel == PROVEN
    rows = entry(taken.lock, "requests").rows
    assert rows is not None
    assert load_rows(store.read(rows)) == {("library", "requests/api.py"): row}


def test_an_unchanged_environment_keeps_the_lock_byte_by_byte() -> None:
    first = take(facts()).lock
    again = take(facts(), previous=first, now=NOW.replace(year=2027))
    assert again.unchanged
    assert write_lock(again.lock) == write_lock(first)


def test_a_changed_fact_moves_the_date_and_is_told() -> None:
    first = take(facts()).lock
    later = NOW.replace(year=2027)
    changed = take(
        facts(torch=Value(torch_build(variant="cu128", build="2.11.0+cu128"))), previous=first, now=later
    )
    assert not changed.unchanged
    assert changed.lock.created == later
    drifted = [result.check for result in changed.differences if result.outcome is Outcome.DRIFT]
    assert drifted == ["torch-build"]


def test_evidence_once_proven_is_kept_while_the_bytes_are_the_same() -> None:
    first = take(facts()).lock
    pruned = take(facts(), previous=first, provenance=SaidProvenance({}))
    assert entry(pruned.lock, "requests").wheel == PROVEN
    assert pruned.unchanged
    other = facts(distributions=Value((distribution(record=digest("another build")),)))
    rebuilt = take(other, previous=first, provenance=SaidProvenance({}))
    assert entry(rebuilt.lock, "requests").wheel == Wheel()


def test_what_a_human_wrote_is_kept() -> None:
    ignore = Ignore("files", "x", "ann", "why")
    first = take(facts(), note="ran at 12.8K").lock
    noted = replace(
        first,
        policy=Policy(ignore=(ignore,)),
        facts=replace(first.facts, distributions=Value((distribution(note="patched"),))),
    )
    again = take(facts(), previous=noted).lock
    assert again.note == "ran at 12.8K"
    assert again.policy.ignore == (ignore,)
    assert entry(again, "requests").note == "patched"
    assert take(facts(), previous=first, note="new").lock.note == "new"
    assert not take(facts(), previous=first, note="new").unchanged


def test_only_indexes_that_are_used_are_named() -> None:
    indexes = {"default": "x", "other": "y"}
    assert take(facts(), indexes=indexes).lock.indexes == {"default": "x"}


class TestRefused:
    """An environment that can't stand for a good run."""

    def test_two_dist_infos_of_one_name(self) -> None:
        twice = (distribution(folder="requests-1.dist-info"), distribution(folder="requests-2.dist-info"))
        with pytest.raises(
            SnapshotRefusedError, match=r"requests is installed 2 times: requests-1\.dist-info, req"
        ):
            take(facts(distributions=Value(twice)))

    def test_distributions_that_could_not_be_read(self) -> None:
        with pytest.raises(SnapshotRefusedError, match="Permission denied"):
            take(facts(distributions=Unobserved("Permission denied")))


class TestFiles:
    """What no wheel answers for."""

    def test_its_bytes_are_kept(self) -> None:
        store = MemoryStore()
        content = {"a.py": b"edited", "b.py": b"loose", "c.pth": b"import c", "d.py": b"a wheel's own"}
        seen = (
            FileFact("a.py", FileKind.MODIFIED, sha256=Digest.of(b"edited"), owners=("requests",)),
            FileFact("b.py", FileKind.UNOWNED, sha256=Digest.of(b"loose")),
            FileFact("c.pth", FileKind.STARTUP, sha256=Digest.of(b"import c")),
            FileFact("d.pth", FileKind.STARTUP, sha256=Digest.of(b"a wheel's own"), owners=("d",)),
        )
        said = facts(files=Value(seen))
        taken = take(said, store=store, prober=SaidProber(said, content))
        assert {store.read(digest) for digest in taken.lock.archive} == {b"edited", b"loose", b"import c"}
        assert any(
            "1 file already differs from its wheel" in remark and "a.py" in remark for remark in taken.remarks
        )

    def test_what_can_not_be_kept_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(operation, "KEPT_SIZE", 4)
        seen = (
            FileFact("gone.py", FileKind.UNOWNED, sha256=digest("x")),
            FileFact("large.py", FileKind.UNOWNED, sha256=Digest.of(b"12345")),
            FileFact("racy.py", FileKind.UNOWNED, sha256=digest("before")),
        )
        said = facts(files=Value(seen))
        taken = take(said, prober=SaidProber(said, {"large.py": b"12345", "racy.py": b"now"}))
        assert taken.lock.archive == ()
        told = "\n".join(taken.remarks)
        assert "gone.py: could not be kept (Permission denied)" in told
        assert "large.py: larger than" in told
        assert "racy.py: changed while it was read" in told


def test_unidentified_wheels_are_told() -> None:
    assert any("2 wheels could not be identified" in remark for remark in take(facts()).remarks)


def test_a_snapshot_looks_at_files() -> None:
    prober = SaidProber(facts())
    take(facts(), prober=prober)
    assert prober.asked == [Level.FAST]


def test_what_the_graphs_of_a_cache_are_made_of_is_kept_as_hashes() -> None:
    store = MemoryStore()
    graph = Graph("f" + "a" * 51, {"cache_key_tag": Component("b" * 51, "a text")})
    keys = CacheKeys(KeySource.FOUND, (DeviceKeys("cpu", (f"fxgraph/{graph.key}",)),), graphs=(graph,))
    recorded = take(facts(keys=Value(keys)), store=store).lock.facts.keys
    assert isinstance(recorded, Value)
    assert recorded.value.components is not None
    content = store.read(recorded.value.components)
    assert load_graphs(content) == (graph,)
    assert b"a text" not in content


class TestArchived:
    """What an archive adds to a lock."""

    REBUILT = Wheel(
        "requests-2.32.3-py3-none-any.whl", digest("r"), evidence=Evidence.ARCHIVE, rebuilt=digest("r")
    )

    def before(self, wheel: Wheel) -> Lock:
        first = take(facts(), provenance=SaidProvenance({})).lock
        assert isinstance(first.facts.distributions, Value)
        entries = tuple(
            replace(one, wheel=wheel) if one.name == "requests" else one for one in first.facts.distributions.value
        )
        return replace(
            first,
            facts=replace(first.facts, distributions=Value(entries)),
            archive=(digest("r"), digest("somebody else's")),
        )

    @pytest.mark.parametrize(
        ("earlier", "now", "kept"),
        [
            pytest.param(REBUILT, None, REBUILT, id="nothing new"),
            pytest.param(
                REBUILT,
                Wheel("requests-2.32.3-py3-none-any.whl", digest("r"), evidence=Evidence.RESTORED),
                REBUILT,
                id="restored from it",
            ),
            pytest.param(REBUILT, PROVEN, replace(PROVEN, rebuilt=digest("r")), id="known at last"),
            pytest.param(
                replace(PROVEN, rebuilt=digest("r")),
                PROVEN,
                replace(PROVEN, rebuilt=digest("r")),
                id="known before",
            ),
        ],
    )
    def test_what_was_archived_stays_the_locks(self, earlier: Wheel, now: Wheel | None, kept: Wheel) -> None:
        said = SaidProvenance({"requests": now} if now else {})
        again = take(facts(), previous=self.before(earlier), provenance=said)
        assert entry(again.lock, "requests").wheel == kept
        assert set(again.lock.archive) == {digest("r"), digest("somebody else's")}
        assert again.only_adds

    def test_knowing_a_wheel_only_adds(self) -> None:
        first = take(facts(), provenance=SaidProvenance({})).lock
        again = take(facts(), previous=first)
        assert not again.unchanged
        assert again.only_adds
        assert not take(
            facts(),
            previous=again.lock,
            provenance=SaidProvenance({"requests": replace(PROVEN, sha256=digest("o"))}),
        ).only_adds
        assert not take(facts(torch=Value(torch_build(variant="cu128"))), previous=first).only_adds

    @pytest.mark.parametrize("over_changes", [True, False])
    def test_over_another_environment_only_when_asked(self, tmp_path: Path, over_changes: bool) -> None:
        first = take(facts(), provenance=SaidProvenance({})).lock
        archivist = MadeUpArchivist(tmp_path)
        archiving = Archiving(Extent.ALL, FakeIndex(), archivist, over_changes=over_changes)
        other = facts(torch=Value(torch_build(variant="cu128")))
        take(other, previous=first, archiving=archiving)
        assert bool(archivist.rebuilt) is over_changes

    def test_every_object_is_named_in_the_lock(self, tmp_path: Path) -> None:
        store = MemoryStore()
        archiving = Archiving(Extent.ALL, FakeIndex(), MadeUpArchivist(tmp_path))
        lock = take(facts(), store=store, archiving=archiving, provenance=SaidProvenance({})).lock
        assert set(lock.archive) == set(store.digests())
        assert len(lock.archive) == 3
        assert entry(lock, "torch").wheel.evidence is Evidence.ARCHIVE

    def test_where_a_source_is_kept_is_remembered_while_it_is_the_same(self) -> None:
        origin = Origin("folder", editable=True, commit="1" * 40)
        mine = distribution("mine", origin=origin)
        first = take(facts(distributions=Value((mine,)))).lock
        kept = replace(mine, origin=replace(origin, archive=digest("tree")))
        before = replace(
            first, facts=replace(first.facts, distributions=Value((kept,))), archive=(digest("tree"),)
        )
        again = take(facts(distributions=Value((mine,))), previous=before).lock
        assert again.archive == (digest("tree"),)
        moved = replace(mine, origin=replace(origin, commit="2" * 40))
        assert take(facts(distributions=Value((moved,))), previous=before).lock.archive == ()
