"""A first lock from claims."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from envguard.cli.output import NoProgress
from envguard.errors import IndexUnreachableError
from envguard.formats.imports.claims import Claim, Claims
from envguard.formats.lockfile import read_lock, write_lock
from envguard.model.distribution import Distribution, Evidence, Origin, Wheel
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value
from envguard.operations.import_lock import import_lock
from envguard.operations.snapshot import Snapshot
from tests.builders import digest, facts, wheel
from tests.fakes.index import FakeIndex

NOW = datetime(2026, 11, 29, 17, tzinfo=UTC)
LATER = datetime(2026, 11, 30, 17, tzinfo=UTC)
DEFAULT = "https://default.invalid/simple/"
WHEEL = "a-1-py3-none-any.whl"


def take(*claims: Claim, **changes: Any) -> Snapshot:
    arguments: dict[str, Any] = {
        "name": "first",
        "note": None,
        "previous": None,
        "default_index": DEFAULT,
        "public": {"pytorch-cu130": "https://wheels.invalid/whl/cu130"},
        "tags": ["py3-none-any"],
        "now": NOW,
        "index": None,
        "progress": NoProgress(),
        **changes,
    }
    return import_lock(Claims(claims, ("a remark",)), "uv.lock", **arguments)


def entries(taken: Snapshot) -> tuple[Distribution, ...]:
    assert isinstance(taken.lock.facts.distributions, Value)
    return taken.lock.facts.distributions.value


def test_a_hash_is_a_claim_and_never_proof() -> None:
    taken = take(Claim("a", "1", WHEEL, (digest("a"),), 7, "https://default.invalid/simple"))
    assert entries(taken) == (
        Distribution("a", "1", wheel=Wheel(WHEEL, None, digest("a"), 7, "default", Evidence.NONE)),
    )


def test_what_needs_an_environment_is_unobserved_and_says_why() -> None:
    taken = take(Claim("a", "1"))
    reason = Unobserved("not recorded: no environment was looked at, made from uv.lock")
    for section in ("interpreter", "torch", "driver", "gpus", "files", "shared", "shadows", "keys", "code"):
        assert getattr(taken.lock.facts, section) == reason, section
    read = read_lock(write_lock(taken.lock), "first.toml")
    assert read == taken.lock


def test_the_remarks_say_that_nothing_was_seen() -> None:
    assert take(Claim("a", "1", WHEEL, (digest("a"),))).remarks[0] == "a remark"
    assert "nothing of this was seen" in take().remarks[-1]


INDEXES = {
    "none": (None, None),
    "the default one": (DEFAULT, "default"),
    "the default one in other words": ("https://Default.invalid/simple", "default"),
    "with a password": ("https://user:pw@default.invalid/simple", "default"),
    "a public one": ("https://wheels.invalid/whl/cu130/", "pytorch-cu130"),
    "another": ("https://user:pw@mirror.corp.invalid/team/simple", "mirror-corp-team"),
    "no address": ("::", None),
}


@pytest.mark.parametrize(("address", "name"), INDEXES.values(), ids=INDEXES.keys())
def test_indexes_are_names(address: str | None, name: str | None) -> None:
    taken = take(Claim("a", "1", WHEEL, (digest("a"),), index=address))
    assert entries(taken)[0].wheel.index == name
    assert b"pw" not in write_lock(taken.lock)
    expected = {"pytorch-cu130": "https://wheels.invalid/whl/cu130"} if name == "pytorch-cu130" else {}
    assert taken.lock.indexes == expected


def test_origins_are_kept() -> None:
    origin = Origin("vcs", url="https://e.invalid/x", commit="c" * 40)
    assert entries(take(Claim("a", "1", origin=origin)))[0].origin == origin


def test_of_several_hashes_an_index_says_which_file_is_meant(tmp_path: Path) -> None:
    index = FakeIndex()
    offer = index.add(wheel(tmp_path, "a", "1", {"a.py": "x"}))
    index.add(wheel(tmp_path, "a", "1", {"a.py": "x"}, tag="cp39-cp39-win32"))
    assert offer.sha256 is not None
    taken = take(Claim("a", "1", hashes=(digest("other"), offer.sha256)), index=index)
    assert entries(taken)[0].wheel == Wheel(WHEEL, None, offer.sha256, offer.size, None, Evidence.NONE)
    assert not any("of which file" in remark for remark in taken.remarks)


def test_what_an_index_has_under_other_hashes_is_not_taken(tmp_path: Path) -> None:
    index = FakeIndex()
    index.add(wheel(tmp_path, "a", "1", {"a.py": "x"}))
    taken = take(Claim("a", "1", hashes=(digest("x"), digest("y"))), index=index)
    assert entries(taken)[0].wheel == Wheel()
    assert "of which file each sha256 is, is not said, so none is recorded: a" in taken.remarks


def test_only_what_is_unclear_is_asked_for(tmp_path: Path) -> None:
    index = FakeIndex()
    take(
        Claim("a", "1", WHEEL, (digest("a"),)),
        Claim("b", "1"),
        Claim("c", "1", hashes=(digest("c"),)),
        index=index,
    )
    assert index.asked == ["c"]


def test_an_index_that_fails_costs_only_the_filename() -> None:
    index = FakeIndex()
    index.fail("a", IndexUnreachableError("no connection"))
    taken = take(Claim("a", "1", hashes=(digest("a"),)), index=index)
    assert index.fired == 1
    assert entries(taken)[0].wheel == Wheel(claimed_sha256=digest("a"))
    assert "a: no connection" in taken.remarks


def test_what_has_no_hash_is_told() -> None:
    names = [f"a{number}" for number in range(7)]
    taken = take(*(Claim(name, "1") for name in names), Claim("z", "1", sdist="z-1.tar.gz"))
    assert "no sha256 is claimed: a0, a1, a2, a3, a4 and 2 more" in taken.remarks
    assert "only an sdist fits this Python: z" in taken.remarks


def test_the_same_claims_change_nothing() -> None:
    first = take(Claim("a", "1"), note="mine").lock
    again = take(Claim("a", "1"), previous=first, now=LATER)
    assert again.unchanged
    assert again.lock == first


def test_other_claims_show_their_differences() -> None:
    first = take(Claim("a", "1")).lock
    again = take(Claim("a", "2"), previous=first, now=LATER)
    assert not again.unchanged
    assert not again.only_adds
    assert again.lock.created == LATER
    found = [finding for result in again.differences for finding in result.findings]
    assert ("a", "1", "2") in [(finding.subject, finding.recorded, finding.observed) for finding in found]


def test_over_a_lock_of_an_environment_it_is_another() -> None:
    previous = Lock("first", replace(facts()), NOW)
    assert not take(Claim("requests", "2.32.3"), previous=previous).unchanged
