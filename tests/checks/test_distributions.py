"""What is installed."""

from __future__ import annotations

from typing import Any

import pytest

from envguard.checks.distributions import CHECK
from envguard.model.distribution import Distribution, Origin, Row
from envguard.model.drift import Outcome
from envguard.model.facts import Facts
from envguard.model.observed import Value
from tests.builders import digest, distribution, facts
from tests.checks.lines import lines

A, B = digest("a"), digest("b")


def having(*entries: Distribution) -> Facts:
    return facts(distributions=Value(entries))


def listing(**paths: str) -> dict[tuple[str, str], Row]:
    """Rows by path; ``__`` stands for ``/`` and a leading ``data__`` for the data root."""
    rows: dict[tuple[str, str], Row] = {}
    for name, content in paths.items():
        root = "data" if name.startswith("data__") else "library"
        path = name.removeprefix("data__").replace("__", "/").replace("_dot_", ".").replace("_dash_", "-")
        rows[root, path] = Row(root, path, f"sha256:{digest(content).hex}", "1")
    return rows


def pair(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return lines(
        CHECK,
        having(distribution("numpy", "2.4.6", **was)),
        having(distribution("numpy", **{"version": "2.4.6", **now})),
    )


def test_the_same() -> None:
    assert CHECK.run(facts(), facts()).outcome is Outcome.MATCH


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        pytest.param([distribution()], [], "drift requests 2.32.3 → missing", id="missing"),
        pytest.param([], [distribution()], "drift requests none → 2.32.3: not recorded", id="extra"),
        pytest.param(
            [distribution()],
            [distribution(version="2.33.0")],
            "drift requests 2.32.3 → 2.33.0: another version",
            id="another version",
        ),
        pytest.param(
            [distribution("torchvision", "0.26.0+cu128")],
            [distribution("torchvision", "0.26.0")],
            "drift torchvision 0.26.0+cu128 → 0.26.0: "
            "only the local label differs: a wheel from another index, or for another CUDA",
            id="another local label",
        ),
        pytest.param([distribution("pip", "25.0")], [], "note pip 25.0 → missing", id="missing bootstrap"),
        pytest.param(
            [], [distribution("uv", "0.11.28")], "note uv none → 0.11.28: not recorded", id="extra bootstrap"
        ),
        pytest.param(
            [distribution("setuptools", "80.0")],
            [distribution("setuptools", "81.0")],
            "drift setuptools 80.0 → 81.0: another version",
            id="a recorded bootstrap one of another version",
        ),
    ],
)
def test_by_name_and_version(was: list[Distribution], now: list[Distribution], line: str) -> None:
    assert lines(CHECK, having(*was), having(*now)) == [line]


def test_two_folders_of_one_name() -> None:
    now = having(
        distribution(version="2.33.0", folder="requests-2.33.0.dist-info"),
        distribution(folder="requests-2.32.3.dist-info"),
    )
    assert lines(CHECK, having(distribution()), now) == [
        "drift requests is there 2 times: requests-2.32.3.dist-info and requests-2.33.0.dist-info; "
        "nothing says which is meant"
    ]


def test_two_folders_of_a_name_that_was_not_recorded() -> None:
    now = having(distribution(), distribution(version="2.33.0"))
    assert lines(CHECK, having(), now) == [
        "drift requests is there 2 times: requests-2.32.3.dist-info and requests-2.33.0.dist-info; "
        "nothing says which is meant"
    ]


WHEEL = "numpy_dash_2_dot_4_dot_6_dot_dist_dash_info__WHEEL"


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        pytest.param(
            None,
            {"a": "1"},
            "its RECORD differs; the lock's rows are not in this store",
            id="no recorded rows",
        ),
        pytest.param(
            {"a": "1"}, None, "its RECORD differs; the lock's rows are not in this store", id="no rows now"
        ),
        pytest.param(
            {"numpy__core_dot_py": "1", WHEEL: "1"},
            {"numpy__core_dot_py": "2", WHEEL: "2"},
            "another build of this version: numpy/core.py and numpy-2.4.6.dist-info/WHEEL differ",
            id="two differ",
        ),
        pytest.param(
            {"a": "1", "b": "1", "c": "1", "d": "1", "e": "1", "f": "1"},
            {"a": "2", "b": "2", "c": "2", "d": "2", "e": "2", "g": "1"},
            "another build of this version: a, b, c and 2 more differ, f gone, g added; "
            "WHEEL and METADATA are equal",
            id="many differ",
        ),
        pytest.param(
            {"a": "1", WHEEL: "1"},
            {"a": "1", WHEEL: "2"},
            "same code, other WHEEL: numpy-2.4.6.dist-info/WHEEL differs",
            id="other WHEEL only",
        ),
        pytest.param(
            {"numpy__core_dot_py": "1", WHEEL: "1"},
            {"numpy__core_dot_py": "2", WHEEL: "1"},
            "another build of this version: numpy/core.py differs; WHEEL and METADATA are equal",
            id="one differs, as in an edited RECORD",
        ),
        pytest.param(
            {"a": "1"}, {"a": "1"}, "its RECORD differs, in no row that is left", id="rows that say nothing"
        ),
    ],
)
def test_another_build_of_one_version(was: dict[str, str] | None, now: dict[str, str] | None, words: str) -> None:
    rows = [None if side is None else listing(**side) for side in (was, now)]
    assert pair({"record": A, "listing": rows[0]}, {"record": B, "listing": rows[1]}) == [
        f"drift numpy 2.4.6 ({A.short}) → 2.4.6 ({B.short}): {words}"
    ]


def test_other_data_files() -> None:
    was = {"record": A, "record_data": A, "listing": listing(a="1", data__share__x_dot_json="1")}
    now = {"record": A, "record_data": B, "listing": listing(a="1", data__share__x_dot_json="2")}
    assert pair(was, now) == ["drift numpy its data files differ: share/x.json differs"]


def test_data_files_gone() -> None:
    was = {"record": A, "record_data": A, "listing": listing(data__share__x_dot_json="1")}
    assert pair(was, {"record": A, "listing": {}}) == ["drift numpy its data files differ: share/x.json gone"]


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        ("RECORD is missing", "drift numpy RECORD is missing"),
        ("RECORD is damaged: line 3", "drift numpy RECORD is damaged: line 3"),
        ("no permission to read RECORD", "unknown numpy no permission to read RECORD"),
        ("RECORD: Permission denied", "unknown numpy RECORD: Permission denied"),
        ("RECORD: Input/output error", "unknown numpy RECORD: Input/output error"),
        (None, "drift numpy has no RECORD that can be read"),
    ],
)
def test_record_that_is_not_there(problem: str | None, line: str) -> None:
    assert pair({}, {"record": None, "problem": problem}) == [line]


def test_unreadable_record_alone_is_unknown() -> None:
    now = having(distribution(record=None, problem="no permission to read RECORD"))
    assert CHECK.run(having(distribution()), now).outcome is Outcome.UNKNOWN


def test_recorded_without_a_fingerprint() -> None:
    assert pair({"record": None}, {"record": A}) == [
        "note numpy recorded without a fingerprint, compared by version only"
    ]
    assert pair({"record": None}, {"version": "2.5.0"}) == [
        "drift numpy 2.4.6 → 2.5.0: another version",
        "note numpy recorded without a fingerprint, compared by version only",
    ]


def test_many_recorded_without_a_fingerprint_are_one_note() -> None:
    entries = [distribution(name, record=None) for name in ("d", "a", "e", "c", "b")]
    assert lines(CHECK, having(*entries), having(*entries)) == [
        "note 5 distributions recorded without a fingerprint, compared by version only (a, b, c and 2 more)"
    ]


GIT = Origin("vcs", commit="1234567890" + "a" * 30, url="https://example.org/x.git")
EDITABLE = Origin("folder", editable=True, commit="1234567890" + "a" * 30)
MOVED = "0987654321" + "b" * 30


def origin(kind: Origin, **changes: Any) -> dict[str, Any]:
    from dataclasses import replace

    return {"origin": replace(kind, **changes)}


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        pytest.param(
            {**origin(EDITABLE), "record": A}, {**origin(EDITABLE), "record": B}, [], id="another folder"
        ),
        pytest.param(
            origin(EDITABLE),
            origin(EDITABLE, commit=MOVED),
            ["drift numpy commit 1234567890 → 0987654321: editable install"],
            id="editable at another commit",
        ),
        pytest.param(
            origin(EDITABLE),
            origin(EDITABLE, commit=None),
            ["drift numpy commit 1234567890 → none: editable install"],
            id="editable, out of git now",
        ),
        pytest.param(
            origin(EDITABLE),
            origin(EDITABLE, changes=A),
            ["drift numpy has uncommitted changes (editable install)"],
            id="editable, changed",
        ),
        pytest.param(
            origin(EDITABLE, changes=A),
            origin(EDITABLE, changes=B),
            ["drift numpy has other uncommitted changes (editable install)"],
            id="editable, changed otherwise",
        ),
        pytest.param(
            origin(EDITABLE, changes=A),
            origin(EDITABLE),
            ["drift numpy has no uncommitted changes any more (editable install)"],
            id="editable, clean now",
        ),
        pytest.param(
            origin(EDITABLE, commit=None),
            origin(EDITABLE, commit=None),
            ["note numpy editable install of a folder outside git: its code is not compared"],
            id="editable outside git",
        ),
        pytest.param(
            {},
            origin(EDITABLE),
            ["drift numpy a wheel → an editable install"],
            id="editable now",
        ),
        pytest.param(
            origin(EDITABLE),
            {},
            ["drift numpy an editable install → a wheel"],
            id="editable no longer",
        ),
        pytest.param(
            origin(EDITABLE),
            origin(Origin("folder")),
            ["drift numpy an editable install → an install from a folder"],
            id="folder, editable no longer",
        ),
        pytest.param(
            origin(GIT),
            {},
            [],
            id="git and wheel of one fingerprint",
        ),
        pytest.param(
            origin(GIT),
            origin(GIT, commit=MOVED),
            [],
            id="another commit, the same files",
        ),
        pytest.param(
            {**origin(GIT), "record": A, "version": "2.4.6"},
            {**origin(GIT, commit=MOVED), "record": B},
            [
                f"drift numpy 2.4.6 ({A.short}) → 2.4.6 ({B.short}): "
                "its RECORD differs; the lock's rows are not in this store",
                "drift numpy commit 1234567890 → 0987654321: installed from git",
            ],
            id="another commit, other files",
        ),
        pytest.param(
            {**origin(GIT), "record": A},
            {"record": B},
            [
                f"drift numpy 2.4.6 ({A.short}) → 2.4.6 ({B.short}): "
                "its RECORD differs; the lock's rows are not in this store",
                "drift numpy an install from git → a wheel",
            ],
            id="from git, a wheel now",
        ),
        pytest.param(
            {**origin(GIT), "record": A},
            {**origin(GIT, url=None), "record": B},
            [
                f"drift numpy 2.4.6 ({A.short}) → 2.4.6 ({B.short}): "
                "its RECORD differs; the lock's rows are not in this store",
                "note numpy https://example.org/x.git → a folder: another address",
            ],
            id="another address",
        ),
        pytest.param(
            origin(Origin("archive", url="https://example.org/a.whl")), {}, [], id="a wheel by its address"
        ),
    ],
)
def test_origin(was: dict[str, Any], now: dict[str, Any], expected: list[str]) -> None:
    was.pop("version", None)
    assert pair(was, now) == expected


def test_keys_and_hints() -> None:
    was = having(distribution("gone"), distribution("moved"))
    now = having(distribution("moved", "3"), distribution("new"))
    found = CHECK.run(was, now).findings
    assert [finding.key for finding in found] == [
        "distribution[gone]",
        "distribution[moved]",
        "distribution[new]",
    ]
    assert [finding.hint for finding in found] == [
        "envguard restore builds the recorded environment beside this one",
        "envguard restore builds the recorded environment beside this one",
        "if it is meant to be so: envguard snapshot --update",
    ]
