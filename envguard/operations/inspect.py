"""inspect: what a wheel is, and what sets the files of one version apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from envguard.errors import EnvguardError, NotObtainableError, UsageError
from envguard.model.offer import Offer
from envguard.model.wheel_facts import WheelFacts
from envguard.operations.parallel import each
from envguard.planning import reupload, wheel_match
from envguard.planning.wheel_match import Wanted
from envguard.ports import Index, Progress, WheelReader

_SPEC = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*===?\s*([^\s=,;<>!~\[\]]+)\s*")


@dataclass(frozen=True, slots=True)
class Spec:
    """``name==version[+label]``, the name canonical."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Compared:
    """Two files of one version."""

    first: str
    second: str
    text: str
    comparison: reupload.Comparison | None


@dataclass(frozen=True, slots=True)
class Inspection:
    """Facts of every file that was meant, what sets them apart, and files that could not be read."""

    wheels: tuple[WheelFacts, ...]
    compared: tuple[Compared, ...] = ()
    failures: tuple[EnvguardError, ...] = ()
    others: int = 0
    """Files of that version that are for other Pythons or platforms."""


def read_spec(text: str) -> Spec | None:
    """Read ``name==version``; None when it isn't one. UsageError when its version is none."""
    match = _SPEC.fullmatch(text)
    if match is None:
        return None
    from packaging.version import InvalidVersion, Version

    try:
        Version(match[2])
    except InvalidVersion:
        raise UsageError(
            f"not a version: {match[2][:60]!r}", hint="write name==1.2.3 or name==1.2.3+cu130"
        ) from None
    return Spec(re.sub(r"[-_.]+", "-", match[1]).lower(), match[2])


def inspect_version(
    spec: Spec, want: Wanted, *, index: Index, reader: WheelReader, progress: Progress
) -> Inspection:
    """Every file of a version that fits.

    NotObtainableError when there is none, and says what there is instead; what can't be read is in ``failures``,
    the only one's fault is raised.
    """
    offers = wheel_match.once(index.offers(spec.name))
    listed = wheel_match.of_version(offers, spec.name, spec.version)
    meant = wheel_match.fitting(listed, want)
    if not meant:
        raise _none(spec, want, offers, listed)
    read = read_each(meant, reader, progress)
    wheels = tuple(facts for facts in read if isinstance(facts, WheelFacts))
    failures = tuple(fault for fault in read if isinstance(fault, EnvguardError))
    if not wheels:
        raise failures[0]
    return Inspection(wheels, compared(wheels), failures, len(listed) - len(meant))


def read_each(
    offers: Sequence[Offer], reader: WheelReader, progress: Progress
) -> list[WheelFacts | EnvguardError]:
    """Facts of each, or what went wrong."""

    def one(offer: Offer) -> WheelFacts | EnvguardError:
        try:
            return reader.read(offer)
        except EnvguardError as fault:
            return fault

    return each(one, offers, progress, "read", "wheels")


def compared(wheels: Sequence[WheelFacts]) -> tuple[Compared, ...]:
    """The first file of every version held against the others of the same tags."""
    found = []
    for at, one in enumerate(wheels):
        for other in wheels[at + 1 :]:
            if one.version.partition("+")[0] == other.version.partition("+")[0] and _tags(one) == _tags(other):
                rows = one.content.rows and other.content.rows
                comparison = reupload.compare(one.content.rows, other.content.rows) if rows else None
                found.append(Compared(one.filename, other.filename, reupload.agreement(one, other), comparison))
    return tuple(found)


def _tags(facts: WheelFacts) -> str:
    return "-".join(facts.filename.rsplit("-", 3)[1:])


def _none(spec: Spec, want: Wanted, offers: Sequence[Offer], listed: Sequence[Offer]) -> NotObtainableError:
    shown = f"{spec.name}=={spec.version}"
    if listed:
        names = ", ".join(sorted(offer.filename for offer in listed)[:4])
        more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
        return NotObtainableError(
            f"no wheel of {shown} is for {want.python or 'any Python'} on {want.platform or 'any platform'}; "
            f"there are {names}{more}",
            hint="--python any --platform any shows them all",
        )
    versions = sorted({offer.filename.split("-")[1] for offer in offers})
    if not versions:
        return NotObtainableError(f"no index or folder has a wheel of {spec.name}")
    from packaging.version import InvalidVersion, Version

    def key(text: str) -> Version:
        try:
            return Version(text)
        except InvalidVersion:
            return Version("0")

    newest = ", ".join(sorted(versions, key=key, reverse=True)[:8])
    return NotObtainableError(f"no index or folder has a wheel of {shown}; the newest there are: {newest}")
