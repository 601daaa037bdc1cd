"""Code that runs at every start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from envguard.checks.startup_code import CHECK
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Origin
from envguard.model.drift import Outcome
from envguard.model.facts import Facts, FileFact, FileKind
from envguard.model.observed import Value
from tests.builders import digest, distribution, facts
from tests.checks.lines import lines

OLD, NEW = Digest("9f2c" + "0" * 60), Digest("41aa" + "0" * 60)


def startup(path: str = "x.pth", **changes: Any) -> FileFact:
    whole: dict[str, Any] = {"path": path, "kind": FileKind.STARTUP, "sha256": OLD, **changes}
    return FileFact(**whole)


def having(*files: FileFact, distributions: tuple[Distribution, ...] = (distribution(),)) -> Facts:
    return facts(files=Value(files), distributions=Value(distributions))


OWNED = startup(owners=("requests",))
BOOTSTRAP = startup("distutils-precedence.pth", owners=("setuptools",))


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        pytest.param(
            [], [startup()], "drift x.pth new startup code, owned by no distribution", id="new, owned by none"
        ),
        pytest.param([], [OWNED], "drift x.pth new startup code, brought by requests", id="new, owned"),
        pytest.param(
            [startup()],
            [],
            "drift x.pth gone, it ran at every start when it was recorded",
            id="gone",
        ),
        pytest.param(
            [OWNED],
            [replace(OWNED, kind=FileKind.MISSING, sha256=None)],
            "drift x.pth gone, it ran at every start when it was recorded",
            id="missing",
        ),
        pytest.param(
            [OWNED],
            [replace(OWNED, sha256=NEW)],
            "drift x.pth changed (sha256 9f2c… → 41aa…), it runs at every start",
            id="changed",
        ),
        pytest.param(
            [OWNED],
            [replace(OWNED, kind=FileKind.UNREADABLE, sha256=None, detail="Permission denied")],
            "unknown x.pth can't be read: Permission denied",
            id="unreadable",
        ),
        pytest.param(
            [],
            [BOOTSTRAP],
            "note distutils-precedence.pth new startup code, brought by setuptools",
            id="bootstrap",
        ),
        pytest.param(
            [],
            [replace(BOOTSTRAP, owners=("setuptools", "requests"))],
            "drift distutils-precedence.pth new startup code, brought by setuptools and requests",
            id="bootstrap and another",
        ),
    ],
)
def test_one_file(was: list[FileFact], now: list[FileFact], line: str) -> None:
    assert lines(CHECK, having(*was), having(*now)) == [line]


def test_the_same_and_other_kinds() -> None:
    unowned = startup("a.py", kind=FileKind.UNOWNED)
    assert CHECK.run(having(OWNED), having(OWNED, unowned)).outcome is Outcome.MATCH


OTHERS = [
    pytest.param((distribution(),), (), id="missing"),
    pytest.param((distribution(),), (distribution(record=digest("x")),), id="another build"),
]


@pytest.mark.parametrize(("before", "here"), OTHERS)
def test_what_follows_from_another_distribution_is_not_told_twice(
    before: tuple[Distribution, ...], here: tuple[Distribution, ...]
) -> None:
    changed = replace(OWNED, sha256=NEW)
    assert lines(CHECK, having(OWNED, distributions=before), having(distributions=here)) == []
    assert lines(CHECK, having(OWNED, distributions=before), having(changed, distributions=here)) == []


def test_what_another_distribution_brings_is_still_told() -> None:
    now = having(OWNED)
    assert lines(CHECK, having(distributions=()), now) == ["note x.pth new startup code, brought by requests"]


def test_what_a_distribution_left_behind_is_told_when_it_changed() -> None:
    was = having(OWNED)
    now = having(startup(sha256=NEW), distributions=())
    assert lines(CHECK, was, now) == ["drift x.pth changed (sha256 9f2c… → 41aa…), it runs at every start"]


def test_an_unowned_file_beside_another_build_is_told() -> None:
    now = having(startup(), distributions=())
    assert lines(CHECK, having(), now) == ["drift x.pth new startup code, owned by no distribution"]


def test_an_editable_install_in_another_folder_is_a_note() -> None:
    editable = (distribution(origin=Origin("folder", editable=True)),)
    now = having(replace(OWNED, sha256=NEW), distributions=editable)
    assert lines(CHECK, having(OWNED, distributions=editable), now) == [
        "note x.pth changed (sha256 9f2c… → 41aa…), it runs at every start"
    ]


def test_key_and_hint() -> None:
    (finding,) = CHECK.run(having(), having(startup())).findings
    assert finding.key == "file[x.pth]"
    assert finding.hint == "it runs at every start of this Python: read it before you start it again"


def test_startup_code_of_a_recorded_installer_counts() -> None:
    """setuptools in the lock is a distribution like others: its .pth edited in place is drift."""
    setuptools = (distribution("setuptools", "65.5.0"),)
    was = having(BOOTSTRAP, distributions=setuptools)
    now = having(replace(BOOTSTRAP, sha256=NEW), distributions=setuptools)
    assert CHECK.run(was, now).outcome is Outcome.DRIFT
