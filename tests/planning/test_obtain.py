from __future__ import annotations

from dataclasses import replace

import pytest

from envguard.model.distribution import Distribution, Evidence, Origin, Wheel
from envguard.model.offer import Offer
from envguard.planning.obtain import (
    Problem,
    ProblemKind,
    Step,
    is_held,
    obtain,
    same_record_candidates,
)
from envguard.planning.wheel_match import Wanted
from tests.builders import digest, distribution

FILE = "demo-1.0-py3-none-any.whl"
BUILD_3 = "demo-1.0-3-py3-none-any.whl"
LOCKED = digest("locked")
OTHER = digest("other")


def entry(**changes: object) -> Distribution:
    wheel = Wheel(FILE, LOCKED, size=100, index="default", evidence=Evidence.UV_CACHE)
    return replace(distribution("demo", "1.0"), wheel=replace(wheel, **changes))  # type: ignore[arg-type]


def offer(filename: str = FILE, source: str = "default", **rest: object) -> Offer:
    return Offer(filename, f"{source}/{filename}", source, **rest)  # type: ignore[arg-type]


def step(found: Step | Problem) -> Step:
    assert isinstance(found, Step), found
    return found


def problem(found: Step | Problem) -> Problem:
    assert isinstance(found, Problem), found
    return found


def test_what_the_store_holds_is_taken_from_it() -> None:
    found = step(obtain(entry(), {LOCKED}, [offer(sha256=OTHER)]))
    assert (found.source, found.offers, found.filename, found.size) == ("archive", (), FILE, 100)


def test_an_offer_that_states_the_sha256_comes_before_one_that_states_none() -> None:
    silent, stated = offer(source="silent"), offer(source="honest", sha256=LOCKED)
    assert step(obtain(entry(), set(), [silent, stated])).offers == (stated, silent)


def test_find_links_and_the_recorded_index_come_first() -> None:
    offers = [offer(source=source, sha256=LOCKED) for source in ("mirror", "default", "find-links")]
    assert [found.source for found in step(obtain(entry(), set(), offers)).offers] == [
        "find-links",
        "default",
        "mirror",
    ]


def test_the_same_bytes_under_another_filename_are_fine_and_get_the_recorded_name() -> None:
    renamed = offer("demo-1.0-py2.py3-none-any.whl", sha256=LOCKED)
    found = step(obtain(entry(), set(), [renamed]))
    assert (found.filename, found.offers) == (FILE, (renamed,))


def test_without_a_recorded_filename_the_offers_is_taken() -> None:
    found = step(obtain(entry(filename=None), set(), [offer(sha256=LOCKED)]))
    assert found.filename == FILE


def test_tags_spelled_in_another_order_are_the_same_filename() -> None:
    one, other = (
        "demo-1.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        offer("demo-1.0-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"),
    )
    assert step(obtain(entry(filename=one), set(), [other])).offers == (other,)


@pytest.mark.parametrize("locked", [FILE, BUILD_3], ids=["none", "build-3"])
def test_of_two_wheels_of_one_version_on_an_index_without_hashes_the_filename_decides(locked: str) -> None:
    found = step(obtain(entry(filename=locked), set(), [offer(FILE), offer(BUILD_3)]))
    assert [taken.filename for taken in found.offers] == [locked]


def test_other_bytes_under_the_recorded_filename_are_a_problem_of_their_own() -> None:
    found = problem(obtain(entry(), set(), [offer(source="pytorch", sha256=OTHER)]))
    assert found.kind is ProblemKind.OTHER_BYTES
    assert found.reason == f"index pytorch now serves other bytes for {FILE} ({LOCKED} → {OTHER})"
    assert found.hint is not None
    assert "--find-links" in found.hint


def test_other_bytes_elsewhere_are_only_told_when_one_source_has_the_right_ones() -> None:
    found = step(obtain(entry(), set(), [offer(source="mirror", sha256=OTHER), offer(sha256=LOCKED)]))
    assert found.notes == (f"index mirror now serves other bytes for {FILE} ({LOCKED} → {OTHER}); not taken",)


def test_a_find_links_folder_with_other_bytes_is_not_called_an_index() -> None:
    found = problem(obtain(entry(), set(), [offer(source="find-links", sha256=OTHER)]))
    assert found.reason.startswith("find-links now serves other bytes")


def test_an_offer_of_another_file_is_no_offer() -> None:
    found = problem(obtain(entry(), set(), [offer(BUILD_3), offer(BUILD_3, sha256=OTHER)]))
    assert (found.kind, found.subject) == (ProblemKind.NO_SOURCE, "demo")
    assert found.reason == f"no source has {FILE} of these bytes ({LOCKED}), nor does the store"


def test_why_an_index_gave_no_answer_is_told() -> None:
    assert problem(obtain(entry(), set(), [], "index default: not a simple page")).reason == (
        "index default: not a simple page"
    )


@pytest.mark.parametrize(
    ("reason", "words"),
    [("broken kernels", "is yanked: broken kernels"), ("", "is yanked")],
    ids=["why", "silent"],
)
def test_a_yanked_file_is_taken_and_told(reason: str, words: str) -> None:
    assert step(obtain(entry(), set(), [offer(sha256=LOCKED, yanked=reason)])).notes == (f"{FILE} {words}",)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (entry(sha256=None), "was not identified"),
        (entry(sha256=None, claimed_sha256=LOCKED), "only claimed by a lock file"),
        (
            entry(sha256=None, evidence=Evidence.BUILT_FROM_SDIST, sdist="demo-1.0.tar.gz"),
            "built from demo-1.0.tar.gz",
        ),
        (entry(evidence=Evidence.BUILT_FROM_SDIST), "built from an sdist"),
        (replace(entry(sha256=None), origin=Origin("folder", editable=True)), "editable"),
        (replace(entry(sha256=None), origin=Origin("folder")), "built from a folder"),
        (
            replace(entry(sha256=None), origin=Origin("vcs", url="https://example.org/demo", commit="0" * 40)),
            "built from https://example.org/demo at 0000000000",
        ),
        (replace(entry(sha256=None), origin=Origin("vcs")), "built from a repository"),
        (replace(entry(sha256=None), installer="conda"), "installed by conda"),
    ],
    ids=["unidentified", "claimed", "sdist", "sdist-hashed", "editable", "folder", "vcs", "vcs-bare", "conda"],
)
def test_what_only_an_archive_could_supply_is_named_with_the_reason(changed: Distribution, words: str) -> None:
    found = problem(obtain(changed, set(), []))
    assert found.kind is ProblemKind.NO_SOURCE
    assert words in found.reason
    assert found.hint is not None
    assert "--without demo" in found.hint


def test_a_local_build_that_the_store_holds_is_taken() -> None:
    built = entry(evidence=Evidence.BUILT_FROM_SDIST)
    assert step(obtain(built, {LOCKED}, [])).source == "archive"


def test_bytes_in_the_store_without_a_filename_can_not_be_installed() -> None:
    assert "doesn't say the wheel's filename" in problem(obtain(entry(filename=None), {LOCKED}, [])).reason


@pytest.mark.parametrize(
    "filename", ["other-1.0-py3-none-any.whl", "demo-2.0-py3-none-any.whl", "../demo.whl", "demo"]
)
@pytest.mark.parametrize("held", [True, False], ids=["held", "offered"])
def test_a_filename_that_is_not_the_distributions_is_refused(filename: str, held: bool) -> None:
    found = obtain(entry(filename=filename), {LOCKED} if held else set(), [offer(filename, sha256=LOCKED)])
    assert "is not the name of a wheel of demo 1.0" in problem(found).reason


def test_a_problem_reads_as_one_line() -> None:
    assert str(Problem(ProblemKind.ROOM, "disk", "it is full")) == "disk: it is full"


REBUILT = digest("rebuilt")


class TestArchiveOfRebuilt:
    """A wheel that was rebuilt from installed files."""

    def test_it_is_taken_where_the_recorded_one_is_not_held(self) -> None:
        known = entry(rebuilt=REBUILT)
        found = step(obtain(known, {REBUILT}, [offer(sha256=OTHER)]))
        assert (found.sha256, found.source, found.rebuilt) == (REBUILT, "archive", True)
        assert found.notes == (
            "demo: rebuilt from its installed files when the lock was made "
            "(the recorded wheel is not in the store)",
        )
        assert is_held(known, {REBUILT})
        assert not is_held(known, {OTHER})

    def test_the_recorded_one_comes_first(self) -> None:
        found = step(obtain(entry(rebuilt=REBUILT), {LOCKED, REBUILT}, []))
        assert (found.sha256, found.rebuilt, found.notes) == (LOCKED, False, ())

    def test_of_an_unknown_wheel_it_is_all_there_is(self) -> None:
        found = step(obtain(entry(sha256=REBUILT, rebuilt=REBUILT), {REBUILT}, []))
        assert found.notes == ("demo: rebuilt from its installed files when the lock was made",)

    def test_without_the_store_the_index_is_next(self) -> None:
        assert step(obtain(entry(rebuilt=REBUILT), set(), [offer(sha256=LOCKED)])).source == "default"


class TestOtherBytesOfTheSameRecord:
    """The last way, and a loud one."""

    def test_it_is_taken_and_said(self) -> None:
        other = offer(sha256=OTHER)
        found = step(obtain(entry(), set(), [other], records=[other]))
        assert found.sha256 == OTHER
        assert found.offers == (other,)
        assert found.notes == (
            f"demo: OTHER BYTES: no source has the recorded wheel ({LOCKED}); "
            f"taken: {FILE} of default ({OTHER}), whose RECORD names the same files",
        )

    def test_never_before_the_recorded_bytes(self) -> None:
        offers = [offer(sha256=OTHER), offer(source="mirror", sha256=LOCKED)]
        assert step(obtain(entry(), set(), offers, records=offers[:1])).sha256 == LOCKED

    def test_it_serves_for_a_wheel_that_was_never_known(self) -> None:
        other = offer(sha256=OTHER)
        found = step(obtain(entry(sha256=None), set(), [other], records=[other]))
        assert (found.by_record, found.notes) == (True, ())

    def test_which_are_worth_reading(self) -> None:
        same, build, silent = offer(sha256=OTHER), offer(BUILD_3, sha256=digest("3")), offer()
        recorded = replace(entry(), record=digest("record"))
        assert same_record_candidates(recorded, [silent, build, same, offer(sha256=LOCKED)]) == (same,)
        unknown = replace(recorded, wheel=Wheel())
        assert same_record_candidates(unknown, [silent, build, same]) == (build, same)
        assert same_record_candidates(replace(recorded, record=None), [same]) == ()

    def test_an_unknown_one_is_looked_for_among_those_of_the_recorded_python(self) -> None:
        others = [
            offer(f"demo-1.0-cp3{minor}-cp3{minor}-{platform}.whl", sha256=digest(f"{minor}{platform}"))
            for minor in range(9, 15)
            for platform in ("macosx_11_0_arm64", "manylinux_2_28_x86_64", "win_amd64")
        ]
        recorded = replace(entry(), record=digest("record"), wheel=Wheel())
        found = same_record_candidates(recorded, others, Wanted("cp314", "linux_x86_64"))
        assert [one.filename for one in found] == ["demo-1.0-cp314-cp314-manylinux_2_28_x86_64.whl"]


def test_an_editable_install_names_where_its_files_are() -> None:
    kept = Origin("folder", editable=True, commit="1" * 40, archive=digest("tree"))
    changed = replace(entry(sha256=None), origin=kept)
    found = problem(obtain(changed, {digest("tree")}, []))
    assert f"it was an editable install at commit 1111111111; its files are in the store as {digest('tree')}" in (
        found.reason
    )
    assert found.hint is not None
    assert f"envguard store get {digest('tree')} FOLDER" in found.hint
    assert "which only an archive could supply" in problem(obtain(changed, set(), [])).reason


def test_a_rebuilt_wheel_that_is_lost_is_no_reupload() -> None:
    """What an index serves says nothing of bytes that never were on one."""
    lost = entry(sha256=REBUILT, rebuilt=REBUILT)
    found = problem(obtain(lost, set(), [offer(sha256=OTHER)]))
    assert found.kind is ProblemKind.NO_SOURCE
    assert "its wheel was never identified, and neither the store nor a source has the one" in found.reason
    assert step(obtain(lost, set(), [offer(source="find-links")])).source == "find-links"
