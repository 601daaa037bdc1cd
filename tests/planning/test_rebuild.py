from __future__ import annotations

import pytest

from envguard.model.digest import Digest
from envguard.model.distribution import Row
from envguard.model.record import InstalledRow, Listing
from envguard.planning.rebuild import (
    Wheelside,
    files_of,
    in_order,
    is_hashed,
    name_in_wheel,
    rows_without_file,
)

WHEEL = Wheelside("Demo-1.0.dist-info", "demo", frozenset({"tool"}))
HASH = f"sha256:{'0' * 64}"


def listing(*placed: InstalledRow, rows: tuple[Row, ...] = ()) -> Listing:
    kept = {(row.root, row.path): row for row in rows}
    return Listing(kept, placed, (), Digest.of(b""), None)


def row(root: str, path: str, digest: str = HASH, site: str = "") -> InstalledRow:
    return InstalledRow(root, path, digest, "1", site)


@pytest.mark.parametrize(
    ("placed", "options", "expected"),
    [
        pytest.param(row("library", "a/b.py"), {}, "a/b.py", id="library"),
        pytest.param(
            row("library", "a.so", site="/env/lib64"), {}, "Demo-1.0.data/platlib/a.so", id="the other library"
        ),
        pytest.param(row("data", "share/x"), {}, "Demo-1.0.data/data/share/x", id="data"),
        pytest.param(row("scripts", "x"), {"scripted": True}, "Demo-1.0.data/scripts/x", id="script"),
        pytest.param(row("scripts", "x"), {}, "Demo-1.0.data/data/bin/x", id="verbatim"),
        pytest.param(row("headers", "site/python3.11/DEMO/a/x.h"), {}, "Demo-1.0.data/headers/a/x.h", id="header"),
        pytest.param(
            row("headers", "site/python3.13t/demo/x.h"), {}, "Demo-1.0.data/headers/x.h", id="free-threaded"
        ),
        pytest.param(row("headers", "demo/x.h"), {}, "Demo-1.0.data/data/include/demo/x.h", id="plain header"),
        pytest.param(
            row("headers", "site/python3.11/else/x.h"),
            {},
            "Demo-1.0.data/data/include/site/python3.11/else/x.h",
            id="a header of another name",
        ),
        pytest.param(
            row("headers", "demo/x.h"), {"inside": False}, "Demo-1.0.data/headers/x.h", id="the base's header"
        ),
    ],
)
def test_the_place_in_the_wheel(placed: InstalledRow, options: dict[str, bool], expected: str) -> None:
    assert name_in_wheel(placed, WHEEL, **options) == expected


def test_a_foreign_header_outside_is_refused() -> None:
    with pytest.raises(ValueError, match="outside the environment"):
        name_in_wheel(row("headers", "else/x.h"), WHEEL, inside=False)


def test_a_platlib_wheels_other_library_is_purelib() -> None:
    wheel = Wheelside("Demo-1.0.dist-info", "demo", purelib=False)
    assert name_in_wheel(row("library", "a.py", site="/x"), wheel) == "Demo-1.0.data/purelib/a.py"


def test_what_installers_make_is_no_file_of_the_wheel() -> None:
    seen = listing(
        row("library", "Demo-1.0.dist-info/RECORD", ""),
        row("library", "Demo-1.0.dist-info/INSTALLER", ""),
        row("library", "Demo-1.0.dist-info/METADATA"),
        row("library", "vendored/x-1.dist-info/RECORD"),
        row("scripts", "tool"),
        row("scripts", "Tool"),
        row("scripts", "pip3.11"),
    )
    assert [one.path for one in files_of(seen, WHEEL)] == [
        "Demo-1.0.dist-info/METADATA",
        "vendored/x-1.dist-info/RECORD",
        "Tool",
        "pip3.11",
    ]


@pytest.mark.parametrize("name", ["pip", "pip3", "pip3.11"])
def test_pips_launchers(name: str) -> None:
    assert files_of(listing(row("scripts", name)), Wheelside("pip-26.dist-info", "pip")) == ()


def test_of_two_rows_the_one_with_a_hash_counts() -> None:
    seen = listing(row("library", "a.py", ""), row("library", "a.py"), row("library", "a.py", "md5:00"))
    assert [one.digest for one in files_of(seen, WHEEL)] == [HASH]


def test_rows_that_no_installer_puts_a_file_for() -> None:
    phantom = Row("library", "x.py", HASH, "3")
    seen = listing(row("library", "a.py"), rows=(phantom, Row("library", "a.py", HASH, "1")))
    assert list(rows_without_file(seen)) == [InstalledRow("library", "x.py", HASH, "3")]


def test_only_what_the_fingerprint_holds_gets_its_hash_back() -> None:
    seen = listing(rows=(Row("library", "a.py", HASH, "1"),))
    assert is_hashed(row("library", "a.py"), seen)
    assert not is_hashed(row("library", "a.py", ""), seen)
    assert not is_hashed(row("library", "absolute.py"), seen)


def test_dist_info_comes_last_and_record_at_the_very_end() -> None:
    names = ["x.dist-info/RECORD", "z.py", "x.dist-info/METADATA", "a.py", "x.dist-info/sboms/a.json"]
    assert in_order(names, "x.dist-info") == ["a.py", "z.py", *names[2:3], names[4], names[0]]
