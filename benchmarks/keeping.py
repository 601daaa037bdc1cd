"""snapshot against copying and hashing the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.pairs import Pair
from benchmarks.place import Place


def pairs(here: Place) -> Iterator[Pair]:
    """The first, one more, and one with an archive of every wheel."""
    again = here.folder / "again.toml"
    copy = here.folder / "copy"
    verify = [here.tool, "verify", "-q", str(here.lock), "--python", str(here.python)]
    snapshot = [here.tool, "snapshot", "-q", "--offline", "-o", str(again), "--python", str(here.python)]
    hashed = f"cp -r '{here.site}' '{copy}' && find '{copy}' -type f -print0 | xargs -0 sha256sum > '{copy}.txt'"
    fresh = here.emptied(again, here.own("CACHE"), here.own("DATA"))
    yield Pair(
        "snapshot, the first",
        snapshot,
        ["sh", "-c", hashed],
        "cp -r && sha256sum",
        1.2,
        before=fresh,
        before_peer=here.emptied(copy),
        most=5,
    )
    fresh()
    here.emptied(copy)()
    here.call(*snapshot)
    here.call(*verify)
    yield Pair("snapshot, nothing new", snapshot, verify, "verify, warm", 2.0)
    archive = [*snapshot, "--archive"]
    zipped = f"cd '{here.site}' && python3 -m zipfile -c '{copy}.zip' . && sha256sum '{copy}.zip'"
    yield Pair(
        "snapshot --archive, the first",
        archive,
        ["sh", "-c", zipped],
        "python -m zipfile && sha256sum",
        None,
        before=fresh,
        most=3,
    )
    fresh()
    here.emptied(copy.with_suffix(".zip"))()
    here.call(here.tool, "snapshot", "-q", "--offline", "-o", here.folder / "new.toml", "--python", here.python)
