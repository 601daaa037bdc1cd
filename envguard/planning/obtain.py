"""Where a recorded distribution's wheel can be had: its sha256 decides, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Wheel
from envguard.model.offer import Offer
from envguard.planning import wheel_match, wheel_names
from envguard.planning.wheel_match import Wanted

ANYWHERE = Wanted()
_MOST_CANDIDATES = 8


class ProblemKind(Enum):
    """What kind of thing stands in the way."""

    OTHER_BYTES = "other-bytes"
    """A source has the file's name and other bytes under it."""
    NO_SOURCE = "no-source"
    PYTHON = "python"
    MACHINE = "machine"
    ROOM = "room"
    REQUEST = "request"
    """What was asked for makes no sense with this lock."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that stands in the way of a restore."""

    kind: ProblemKind
    subject: str
    reason: str
    hint: str | None = None

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Step:
    """One wheel to get and install. ``size`` in bytes, None when nobody says it."""

    name: str
    version: str
    filename: str
    sha256: Digest
    size: int | None
    source: str
    """``archive``, ``find-links``, or an index's name."""
    offers: tuple[Offer, ...] = ()
    """Where to get it, best first; none when the store holds it."""
    notes: tuple[str, ...] = ()
    by_record: bool = False
    """The lock doesn't know the wheel; this one's RECORD is the recorded one."""
    rebuilt: bool = False
    """It is one that was rebuilt from installed files: the same record fingerprint, bytes of its own."""


def is_held(entry: Distribution, held: AbstractSet[Digest]) -> bool:
    """Whether the store can supply a distribution: with its wheel, or with one rebuilt from its files."""
    return bool({entry.wheel.sha256, entry.wheel.rebuilt} & held)


def obtain(
    entry: Distribution,
    held: AbstractSet[Digest],
    offers: Sequence[Offer],
    unasked: str | None = None,
    records: Sequence[Offer] = (),
) -> Step | Problem:
    """One distribution's step, or why there is none.

    ``unasked``: why its offers could not be had. ``records``: offers of other bytes with its record fingerprint.
    """
    wheel = entry.wheel
    if wheel.sha256 is None:
        same = _same_record(entry, offers, records)
        return same or _source_kept(entry, held) or _problem(entry, _why_unknown(entry))
    if wheel.sha256 in held:
        return _from_archive(entry, wheel, wheel.sha256)
    if wheel.rebuilt is not None and wheel.rebuilt in held:
        return _from_archive(entry, wheel, wheel.rebuilt)
    candidates = _candidates(wheel, wheel.sha256, offers)
    if candidates:
        return _from_offers(entry, wheel, wheel.sha256, candidates, offers)
    others = _other_bytes(wheel, wheel.sha256, offers) if wheel.original is not None else ()
    same = _same_record(entry, offers, records)
    if same is not None:
        return same
    if others:
        reason = "; ".join(_served_otherwise(offer, wheel.sha256) for offer in others)
        hint = "take the recorded bytes from another source: --find-links FOLDER, or a store that holds them"
        return Problem(ProblemKind.OTHER_BYTES, entry.name, reason, hint)
    return _problem(entry, unasked or _why_gone(entry, wheel))


def _from_archive(entry: Distribution, wheel: Wheel, sha256: Digest) -> Step | Problem:
    if wheel.filename is None:
        return _problem(entry, "the store holds its bytes, but the lock doesn't say the wheel's filename")
    if not wheel_names.fits(wheel.filename, entry.name, entry.version):
        return _misnamed(entry, wheel.filename)
    if sha256 != wheel.rebuilt:
        return Step(entry.name, entry.version, wheel.filename, sha256, wheel.size, "archive")
    known = " (the recorded wheel is not in the store)" if wheel.sha256 != sha256 else ""
    note = f"{entry.name}: rebuilt from its installed files when the lock was made{known}"
    return Step(
        entry.name, entry.version, wheel.filename, sha256, wheel.size, "archive", notes=(note,), rebuilt=True
    )


def _from_offers(
    entry: Distribution, wheel: Wheel, sha256: Digest, candidates: Sequence[Offer], offers: Sequence[Offer]
) -> Step | Problem:
    first = candidates[0]
    filename = wheel.filename or first.filename
    if not wheel_names.fits(filename, entry.name, entry.version):
        return _misnamed(entry, filename)
    notes = [f"{_served_otherwise(offer, sha256)}; not taken" for offer in _other_bytes(wheel, sha256, offers)]
    if first.yanked is not None:
        notes.append(f"{filename} is yanked{f': {first.yanked}' if first.yanked else ''}")
    size = wheel.size if wheel.size is not None else first.size
    return Step(entry.name, entry.version, filename, sha256, size, first.source, tuple(candidates), tuple(notes))


def same_record_candidates(
    entry: Distribution, offers: Sequence[Offer], want: Wanted = ANYWHERE
) -> tuple[Offer, ...]:
    """Offers that may hold the recorded files in other bytes; only those whose sha256 is stated.

    ``want``: the recorded Python and platform.
    """
    if entry.record is None:
        return ()
    fitting = [
        offer
        for offer in offers
        if offer.sha256 is not None
        and offer.sha256 != entry.wheel.sha256
        and wheel_names.fits(offer.filename, entry.name, entry.version)
    ]
    if entry.wheel.filename is not None:
        # RECORD holds the hash of WHEEL, which names the tags: of other tags there can be no same one
        fitting = [offer for offer in fitting if _named(entry.wheel, offer)]
    else:
        fitting = wheel_match.fitting(fitting, want)
    return tuple(fitting[:_MOST_CANDIDATES])


def _same_record(entry: Distribution, offers: Sequence[Offer], records: Sequence[Offer]) -> Step | None:
    """Another file with the same files inside: a wheel that was zipped anew, say."""
    for offer in records:
        if offer.sha256 is None or not wheel_names.fits(offer.filename, entry.name, entry.version):
            continue
        known = entry.wheel.sha256 is not None
        loud = (
            f"{entry.name}: OTHER BYTES: no source has the recorded wheel ({entry.wheel.sha256}); "
            f"taken: {offer.filename} of {offer.source} ({offer.sha256}), whose RECORD names the same files"
        )
        return Step(
            entry.name,
            entry.version,
            offer.filename,
            offer.sha256,
            offer.size,
            offer.source,
            tuple(one for one in offers if one == offer) or (offer,),
            (loud,) if known else (),
            by_record=not known,
        )
    return None


def _candidates(wheel: Wheel, sha256: Digest, offers: Sequence[Offer]) -> list[Offer]:
    """Offers that state the sha256, then those of that filename that state none; the recorded index first."""
    stated = [offer for offer in offers if offer.sha256 == sha256]
    unstated = [offer for offer in offers if offer.sha256 is None and _named(wheel, offer)]
    return [
        offer
        for group in (stated, unstated)
        for offer in sorted(group, key=lambda offer: (offer.source != "find-links", offer.source != wheel.index))
    ]


def _other_bytes(wheel: Wheel, sha256: Digest, offers: Sequence[Offer]) -> list[Offer]:
    return [offer for offer in offers if offer.sha256 not in (None, sha256) and _named(wheel, offer)]


def _named(wheel: Wheel, offer: Offer) -> bool:
    return wheel.filename is not None and (
        offer.filename == wheel.filename or wheel_names.same(offer.filename, wheel.filename)
    )


def _served_otherwise(offer: Offer, sha256: Digest) -> str:
    source = offer.source if offer.source == "find-links" else f"index {offer.source}"
    return f"{source} now serves other bytes for {offer.filename} ({sha256} → {offer.sha256})"


def _misnamed(entry: Distribution, filename: str) -> Problem:
    return _problem(entry, f"{filename} is not the name of a wheel of {entry.name} {entry.version}")


def _problem(entry: Distribution, reason: str) -> Problem:
    hint = f"leave it out with --without {entry.name}, or give a folder that holds its wheel: --find-links FOLDER"
    if entry.wheel.sha256 is None:
        hint = f"leave it out with --without {entry.name}"
    return Problem(ProblemKind.NO_SOURCE, entry.name, reason, hint)


def _source_kept(entry: Distribution, held: AbstractSet[Digest]) -> Problem | None:
    """An editable install whose folder is in the store: it is named, and nothing is built from it."""
    origin = entry.origin
    if origin is None or origin.archive is None or origin.archive not in held:
        return None
    commit = f" at commit {origin.commit[:10]}" if origin.commit else ""
    reason = (
        f"it was an editable install{commit}; its files are in the store as {origin.archive}, "
        "and a restore builds nothing"
    )
    hint = (
        f"restore with --without {entry.name}, put the files back with "
        f"`envguard store get {origin.archive} FOLDER`, and install them: uv pip install --no-deps -e FOLDER"
    )
    return Problem(ProblemKind.NO_SOURCE, entry.name, reason, hint)


def _why_unknown(entry: Distribution) -> str:
    """No sha256: no wheel can be taken for the recorded one."""
    return _why_not_a_wheel(entry) or (
        "its wheel's sha256 is only claimed by a lock file, which proves nothing of what was installed"
        if entry.wheel.claimed_sha256 is not None
        else "its wheel was not identified (no sha256): only an archive could supply it"
    )


def _why_gone(entry: Distribution, wheel: Wheel) -> str:
    if wheel.original is None:
        return (
            "its wheel was never identified, and neither the store nor a source has the one that was rebuilt "
            f"from its installed files ({wheel.sha256})"
        )
    return _why_not_a_wheel(entry) or (
        f"no source has {wheel.filename or 'a wheel'} of these bytes ({wheel.sha256}), nor does the store"
    )


def _why_not_a_wheel(entry: Distribution) -> str | None:
    origin = entry.origin
    if origin is not None and origin.editable:
        return "it was an editable install: its files are a working folder's, which only an archive could supply"
    if origin is not None and origin.kind == "vcs":
        commit = f" at {origin.commit[:10]}" if origin.commit else ""
        return f"it was built from {origin.url or 'a repository'}{commit}: only an archive could supply it"
    if origin is not None and origin.kind == "folder":
        return "it was built from a folder: only an archive could supply it"
    if entry.wheel.evidence is Evidence.BUILT_FROM_SDIST:
        return f"it was built from {entry.wheel.sdist or 'an sdist'}: only an archive could supply it"
    if entry.installer not in (None, "pip", "uv"):
        return f"it was installed by {entry.installer}, not from a wheel"
    return None
