"""Names of wheel files: taken apart, held against a distribution, and rebuilt from what an installation keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_LONGEST = 1024
_MOST_TAGS = 512


@dataclass(frozen=True, slots=True)
class WheelName:
    """A wheel's filename, taken apart; two spellings of one name (case, ``-``, order of tags) are equal."""

    name: str
    """Canonical."""
    version: str
    """Normalised, with its local label."""
    build: str
    tags: frozenset[str]
    """``cp312-cp312-manylinux_2_28_x86_64``, every combination."""


def parse(filename: str) -> WheelName | None:
    """Take a filename apart; None when it isn't a wheel's."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    if len(filename) > _LONGEST or _combinations(filename) > _MOST_TAGS:
        return None
    try:
        name, version, build, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return None
    return WheelName(name, str(version), "".join(map(str, build)), frozenset(map(str, tags)))


def _combinations(filename: str) -> int:
    count = 1
    for part in filename.rsplit("-", 3)[1:]:
        count *= part.count(".") + 1
    return count


def fits(filename: str, name: str, version: str) -> bool:
    """Whether a file of that name is a wheel of this distribution (canonical name) and version.

    A local label is part of the version: ``2.11.0+cu130`` is not ``2.11.0``.
    """
    from packaging.utils import canonicalize_version

    parsed = parse(filename)
    return (
        parsed is not None
        and parsed.name == name
        and canonicalize_version(parsed.version) == canonicalize_version(version)
    )


def fits_sdist(filename: str, name: str, version: str) -> bool:
    """Whether a file of that name is an sdist of this distribution (canonical name) and version."""
    from packaging.utils import InvalidSdistFilename, canonicalize_version, parse_sdist_filename

    try:
        found, its_version = parse_sdist_filename(filename)
    except InvalidSdistFilename:
        return False
    return found == name and canonicalize_version(its_version) == canonicalize_version(version)


def same(one: str, other: str) -> bool:
    """Whether two filenames say the same: installers and build tools spell the order of tags differently."""
    parsed = parse(one)
    return parsed is not None and parsed == parse(other)


def rebuilt(folder: str, wheel: str) -> str | None:
    """The filename that a wheel had, from its dist-info folder's name and the text of its ``WHEEL`` file.

    The order of platform tags is lost, and a few wheels are named otherwise than their ``WHEEL`` says: the name
    can be installed, and ``same`` compares it. None without tags, or where no one name has exactly these tags.
    """
    stem = folder.removesuffix(".dist-info")
    if stem.count("-") != 1:
        return None
    build, tags = _header(wheel)
    parts = [tag.split("-") for tag in tags]
    if not parts or any(len(part) != 3 for part in parts):
        return None
    python, abi, platform = (
        ".".join(_in_order(piece for part in parts for piece in part[place].split("."))) for place in range(3)
    )
    name = "-".join([stem, *([build] if build else []), python, abi, platform]) + ".whl"
    parsed = parse(name)
    return name if parsed is not None and parsed.tags == _expanded(parts) else None


def _header(wheel: str) -> tuple[str, list[str]]:
    build, tags = "", []
    for line in wheel.splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() == "tag":
            tags.append(value.strip())
        elif key.strip().lower() == "build":
            build = value.strip()
    return build, tags[:_MOST_TAGS]


def _in_order(pieces: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(pieces))


def _expanded(parts: Iterable[list[str]]) -> frozenset[str]:
    return frozenset(
        f"{python}-{abi}-{platform}".lower()
        for pythons, abis, platforms in parts
        for python in set(pythons.split("."))
        for abi in set(abis.split("."))
        for platform in set(platforms.split("."))
    )
