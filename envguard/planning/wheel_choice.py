"""Which of several wheel files of one version an installer takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envguard.planning import wheel_names


def choose(filenames: Iterable[str], name: str, version: str, tags: Sequence[str]) -> str | None:
    """The file of this distribution (canonical name) and version with the best tag; of equals the higher build.

    ``tags``: those that the Python can install, best first. None when none of them fits.
    """
    ranks = {tag: rank for rank, tag in enumerate(tags)}
    ranked = []
    for filename in filenames:
        parsed = wheel_names.parse(filename)
        if parsed is None or not wheel_names.fits(filename, name, version):
            continue
        found = [ranks[tag] for tag in parsed.tags if tag in ranks]
        if found:
            ranked.append((-min(found), _build(parsed.build), filename))
    return max(ranked)[2] if ranked else None


def _build(tag: str) -> tuple[int, str]:
    digits = tag[: len(tag) - len(tag.lstrip("0123456789"))]
    return (int(digits), tag[len(digits) :]) if digits else (-1, tag)
