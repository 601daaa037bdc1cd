"""Single files."""

from __future__ import annotations

from typing import Any

import pytest

from envguard.checks.files import CHECK
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Row
from envguard.model.drift import Outcome
from envguard.model.facts import Facts, FileFact, FileKind
from envguard.model.observed import Unobserved, Value
from tests.builders import digest, distribution, facts
from tests.checks.lines import lines

OLD, NEW = Digest("9f2c" + "0" * 60), Digest("41aa" + "0" * 60)
API = "requests/api.py"


def fact(kind: FileKind, path: str = API, **changes: Any) -> FileFact:
    whole: dict[str, Any] = {"path": path, "kind": kind, "owners": ("requests",), **changes}
    return FileFact(**whole)


def having(*files: FileFact | None, distributions: tuple[Distribution, ...] | None = None) -> Facts:
    known = (distribution(),) if distributions is None else distributions
    return facts(files=Value(tuple(file for file in files if file)), distributions=Value(known))


MODIFIED = fact(FileKind.MODIFIED, sha256=NEW, expected=OLD)
MISSING = fact(FileKind.MISSING, expected=OLD)
UNREADABLE = fact(FileKind.UNREADABLE, detail="Permission denied")
UNOWNED = fact(FileKind.UNOWNED, "extra.py", owners=(), sha256=NEW)
SCRIPT = fact(FileKind.SCRIPT, "normalizer", root="scripts", sha256=OLD, mode="0755")
LOOSE = fact(FileKind.UNOWNED, "mytool", root="scripts", owners=(), sha256=OLD, mode="0755")
HEADER = fact(FileKind.HEADER, "greenlet/greenlet.h", root="headers", sha256=OLD, owners=("requests",))
ERRATA = fact(FileKind.ERRATA, sha256=OLD)


def changed(file: FileFact, **changes: Any) -> FileFact:
    from dataclasses import replace

    return replace(file, **changes)


@pytest.mark.parametrize(
    ("now", "line"),
    [
        pytest.param(
            MODIFIED, "drift requests/api.py changed after install (sha256 9f2c… → 41aa…)", id="modified"
        ),
        pytest.param(
            changed(MODIFIED, expected=None),
            "drift requests/api.py changed after install (sha256 unknown → 41aa…)",
            id="modified, RECORD has another algorithm",
        ),
        pytest.param(MISSING, "drift requests/api.py missing", id="missing"),
        pytest.param(UNREADABLE, "unknown requests/api.py can't be read: Permission denied", id="unreadable"),
        pytest.param(
            changed(UNREADABLE, detail=None), "unknown requests/api.py can't be read", id="unreadable, no reason"
        ),
        pytest.param(UNOWNED, "drift extra.py added, owned by no distribution", id="unowned"),
        pytest.param(LOOSE, "note bin/mytool added, owned by no distribution", id="unowned script"),
        pytest.param(SCRIPT, "drift bin/normalizer added, of requests", id="script"),
        pytest.param(
            changed(SCRIPT, owners=()),
            "note bin/normalizer added, owned by no distribution",
            id="script of nobody",
        ),
        pytest.param(
            changed(SCRIPT, detail="starts another interpreter: /usr/bin/python3"),
            "drift bin/normalizer added, starts another interpreter: /usr/bin/python3, of requests",
            id="script of another interpreter",
        ),
        pytest.param(
            changed(MODIFIED, detail="same size, other bytes"),
            "drift requests/api.py changed after install (sha256 9f2c… → 41aa…), same size, other bytes",
            id="modified, with what else was seen",
        ),
        pytest.param(
            changed(MODIFIED, sha256=None, detail="a folder is in its place"),
            "drift requests/api.py changed after install (sha256 9f2c… → unknown), a folder is in its place",
            id="a folder in its place",
        ),
        pytest.param(HEADER, "drift include/greenlet/greenlet.h added, of requests", id="header"),
        pytest.param(ERRATA, "drift requests/api.py added, without a hash in RECORD", id="errata"),
        pytest.param(
            changed(MODIFIED, owners=("pip",)),
            "note requests/api.py changed after install (sha256 9f2c… → 41aa…)",
            id="of a bootstrap distribution",
        ),
        pytest.param(
            changed(MODIFIED, owners=("pip", "requests")),
            "drift requests/api.py changed after install (sha256 9f2c… → 41aa…)",
            id="of a bootstrap distribution and another",
        ),
    ],
)
def test_seen_now_only(now: FileFact, line: str) -> None:
    assert lines(CHECK, having(), having(now)) == [line]


@pytest.mark.parametrize(
    ("was", "line"),
    [
        pytest.param(
            MODIFIED,
            "drift requests/api.py is the wheel's own again, it had been edited when it was recorded",
            id="modified",
        ),
        pytest.param(
            MISSING, "drift requests/api.py is there again, it was missing when it was recorded", id="missing"
        ),
        pytest.param(
            UNREADABLE,
            "note requests/api.py can be read now, it could not when it was recorded",
            id="unreadable",
        ),
        pytest.param(UNOWNED, "drift extra.py gone, it was owned by no distribution", id="unowned"),
        pytest.param(LOOSE, "note bin/mytool gone, it was owned by no distribution", id="unowned script"),
        pytest.param(SCRIPT, "drift bin/normalizer missing, of requests", id="script"),
        pytest.param(
            changed(SCRIPT, owners=()),
            "note bin/normalizer gone, it was owned by no distribution",
            id="script of nobody",
        ),
        pytest.param(HEADER, "drift include/greenlet/greenlet.h missing, of requests", id="header"),
        pytest.param(ERRATA, "drift requests/api.py missing", id="errata"),
    ],
)
def test_recorded_only(was: FileFact, line: str) -> None:
    assert lines(CHECK, having(was), having()) == [line]


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        pytest.param(
            MODIFIED,
            changed(MODIFIED, sha256=OLD),
            "drift requests/api.py changed (sha256 41aa… → 9f2c…)",
            id="edited again",
        ),
        pytest.param(
            SCRIPT,
            changed(SCRIPT, sha256=NEW),
            "drift bin/normalizer changed (sha256 9f2c… → 41aa…), of requests",
            id="script changed",
        ),
        pytest.param(
            SCRIPT,
            changed(SCRIPT, sha256=NEW, detail="changed after install"),
            "drift bin/normalizer changed (sha256 9f2c… → 41aa…), of requests",
            id="script changed, and not the wheel's",
        ),
        pytest.param(
            SCRIPT,
            changed(SCRIPT, mode="0644"),
            "drift bin/normalizer lost its exec bit (0755 → 0644), of requests",
            id="exec bit lost",
        ),
        pytest.param(
            changed(SCRIPT, mode="0644"),
            SCRIPT,
            "drift bin/normalizer gained an exec bit (0644 → 0755), of requests",
            id="exec bit gained",
        ),
        pytest.param(
            changed(SCRIPT, mode="0700"),
            SCRIPT,
            "drift bin/normalizer has another mode (0700 → 0755), of requests",
            id="another mode",
        ),
        pytest.param(MODIFIED, MISSING, "drift requests/api.py missing", id="modified, missing"),
        pytest.param(
            SCRIPT,
            changed(SCRIPT, kind=FileKind.MISSING, sha256=None, mode=None),
            "drift bin/normalizer missing, of requests",
            id="script, missing",
        ),
        pytest.param(
            MODIFIED, UNREADABLE, "unknown requests/api.py can't be read: Permission denied", id="unreadable now"
        ),
        pytest.param(
            UNREADABLE,
            UNREADABLE,
            "note requests/api.py can't be read, as when it was recorded: Permission denied",
            id="unreadable then too",
        ),
        pytest.param(
            MISSING,
            MODIFIED,
            "drift requests/api.py changed after install (sha256 9f2c… → 41aa…) "
            "(it could not be compared when it was recorded)",
            id="missing, modified",
        ),
        pytest.param(
            SCRIPT,
            changed(SCRIPT, sha256=None),
            "unknown bin/normalizer could not be hashed, of requests",
            id="no hash now",
        ),
        pytest.param(
            LOOSE, changed(LOOSE, sha256=NEW), "note bin/mytool changed (sha256 9f2c… → 41aa…)", id="loose script"
        ),
    ],
)
def test_on_both_sides(was: FileFact, now: FileFact, line: str) -> None:
    assert lines(CHECK, having(was), having(now)) == [line]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        *((file, file) for file in (MODIFIED, MISSING, UNOWNED, LOOSE, SCRIPT, HEADER, ERRATA)),
        (SCRIPT, changed(SCRIPT, mode=None)),
        (changed(SCRIPT, sha256=None), SCRIPT),
        (UNOWNED, changed(UNOWNED, kind=FileKind.ERRATA, owners=("requests",))),
    ],
)
def test_equal(was: FileFact, now: FileFact) -> None:
    assert lines(CHECK, having(was), having(now)) == []


def test_unreadable_makes_the_check_unknown() -> None:
    assert CHECK.run(having(), having(UNREADABLE)).outcome is Outcome.UNKNOWN
    assert CHECK.run(having(), having(UNREADABLE, UNOWNED)).outcome is Outcome.DRIFT


def test_the_gravest_of_one_path_is_told() -> None:
    for files in ((ERRATA, MISSING), (MISSING, ERRATA)):
        assert lines(CHECK, having(), having(*files)) == ["drift requests/api.py missing"]


def test_a_folder_in_place_of_an_edited_file() -> None:
    now = changed(MODIFIED, sha256=None, detail="a folder is in its place")
    assert lines(CHECK, having(MODIFIED), having(now)) == [
        "drift requests/api.py changed (sha256 41aa… → unknown), a folder is in its place"
    ]


OTHERS = [
    pytest.param((distribution(),), (), id="missing"),
    pytest.param((), (distribution(),), id="extra"),
    pytest.param((distribution(),), (distribution(version="3.0"),), id="another version"),
    pytest.param((distribution(),), (distribution(record=digest("x")),), id="another build"),
    pytest.param((distribution(),), (distribution(), distribution(version="3.0")), id="twice"),
]


@pytest.mark.parametrize(("before", "here"), OTHERS)
@pytest.mark.parametrize(
    ("was", "now"),
    [
        pytest.param(SCRIPT, None, id="script gone"),
        pytest.param(None, SCRIPT, id="script new"),
        pytest.param(SCRIPT, changed(SCRIPT, sha256=NEW), id="script changed"),
        pytest.param(HEADER, None, id="header gone"),
        pytest.param(None, ERRATA, id="errata new"),
        pytest.param(MODIFIED, None, id="edit gone"),
    ],
)
def test_what_follows_from_another_distribution_is_not_told_twice(
    was: FileFact | None,
    now: FileFact | None,
    before: tuple[Distribution, ...],
    here: tuple[Distribution, ...],
) -> None:
    assert lines(CHECK, having(was, distributions=before), having(now, distributions=here)) == []


@pytest.mark.parametrize(("before", "here"), OTHERS)
@pytest.mark.parametrize(
    "now", [MODIFIED, MISSING, UNREADABLE, changed(SCRIPT, owners=("requests", "torch")), UNOWNED]
)
def test_what_does_not_follow_is_told(
    now: FileFact, before: tuple[Distribution, ...], here: tuple[Distribution, ...]
) -> None:
    assert len(lines(CHECK, having(distributions=before), having(now, distributions=here))) == 1


def test_without_a_look_at_distributions_all_is_told() -> None:
    blind = facts(files=Value(()), distributions=Unobserved("no look"))
    assert lines(CHECK, having(SCRIPT), blind) == ["drift bin/normalizer missing, of requests"]


@pytest.mark.parametrize("record", [(None, digest("a")), (digest("a"), None), (None, None)])
def test_a_fingerprint_on_one_side_says_nothing_moved(record: tuple[Digest | None, Digest | None]) -> None:
    before, here = (distribution(record=one) for one in record)
    assert lines(CHECK, having(SCRIPT, distributions=(before,)), having(distributions=(here,))) != []


def test_a_file_that_belongs_to_a_distribution_now() -> None:
    row = Row("library", "extra.py", f"sha256:{NEW.hex}", "1")
    owner = distribution("extra", "1", listing={("library", "extra.py"): row})
    assert lines(CHECK, having(UNOWNED), having(distributions=(distribution(), owner))) == [
        "drift extra.py belongs to extra now, it was owned by no distribution"
    ]


@pytest.mark.parametrize("kind", [FileKind.STARTUP, FileKind.BYTECODE])
def test_startup_code_and_bytecode_are_told_elsewhere(kind: FileKind) -> None:
    file = fact(kind, "x.pth", owners=(), sha256=NEW)
    assert lines(CHECK, having(), having(file)) == []
    assert lines(CHECK, having(file), having()) == []


def test_startup_code_that_is_missing_is_told_elsewhere_too() -> None:
    startup = fact(FileKind.STARTUP, "x.pth", sha256=NEW)
    assert lines(CHECK, having(startup), having(changed(startup, kind=FileKind.MISSING))) == []


def test_bytecode_that_can_not_be_read_now_is_unknown() -> None:
    pyc = fact(FileKind.BYTECODE, "__pycache__/a.pyc", sha256=NEW)
    now = changed(pyc, kind=FileKind.UNREADABLE, sha256=None, detail="Permission denied")
    assert lines(CHECK, having(pyc), having(now)) == ["unknown __pycache__/a.pyc can't be read: Permission denied"]


def test_by_place_and_with_keys() -> None:
    found = CHECK.run(having(LOOSE), having(UNOWNED, MODIFIED, changed(LOOSE, sha256=NEW))).findings
    assert [(finding.subject, finding.key) for finding in found] == [
        ("extra.py", "file[extra.py]"),
        ("requests/api.py", "distribution[requests]"),
        ("bin/mytool", "file[bin/mytool]"),
    ]
    assert [finding.hint for finding in found] == [
        "if it is meant to be so: envguard snapshot --update",
        "envguard restore builds the recorded environment beside this one",
        "envguard restore builds the recorded environment beside this one",
    ]


def test_not_recorded() -> None:
    assert CHECK.run(facts(files=Unobserved("not recorded")), having()).outcome is Outcome.NOT_RECORDED
