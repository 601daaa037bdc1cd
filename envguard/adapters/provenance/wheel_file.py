"""Wheel files on this machine that may be the ones that distributions were installed from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from envguard.adapters.provenance import listings
from envguard.adapters.provenance.installed import Installed
from envguard.model.digest import Digest
from envguard.model.distribution import Evidence, Wheel
from envguard.planning import wheel_names


def by_name(paths: Iterable[Path]) -> dict[str, list[Path]]:
    """The wheel files among some paths, by canonical distribution name."""
    found: dict[str, list[Path]] = {}
    for path in paths:
        if path.suffix == ".whl" and (parsed := wheel_names.parse(path.name)):
            found.setdefault(parsed.name, []).append(path)
    return found


def proven(path: Path, installed: Installed, evidence: Evidence, *, linked: bool = False) -> Wheel | None:
    """The file as the distribution's wheel, hashed, when its name fits and its RECORD is the installed one.

    ``linked``: the installation shares files with it, which is enough where it has no RECORD to compare.
    """
    distribution = installed.distribution
    by_record = distribution.record is not None
    if not (by_record or linked) or not wheel_names.fits(path.name, distribution.name, distribution.version):
        return None
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            if by_record and not installed.agrees(listings.of_wheel(stream) or ()):
                return None
            stream.seek(0)
            digest = Digest.of_stream(stream)
            return Wheel(filename=path.name, sha256=digest, size=stream.tell(), evidence=evidence)
    except (OSError, ValueError):
        return None
