"""A first lock from another tool's lock file: what it claims, and nothing that only an environment could tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime

from envguard.checks import compare
from envguard.errors import EnvguardError
from envguard.formats.address import Address
from envguard.formats.imports.claims import Claim, Claims
from envguard.formats.index_names import DEFAULT, derived
from envguard.formats.lockfile import lock_id
from envguard.model.distribution import Distribution, Evidence, Wheel
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value
from envguard.model.offer import Offer
from envguard.model.policy import Policy
from envguard.operations.parallel import each
from envguard.operations.snapshot import Snapshot
from envguard.planning.wheel_choice import choose
from envguard.ports import Index, Progress

_SHOWN = 5


def import_lock(
    claims: Claims,
    source: str,
    *,
    name: str,
    note: str | None,
    previous: Lock | None,
    default_index: str,
    public: Mapping[str, str],
    tags: Sequence[str],
    now: datetime,
    index: Index | None,
    progress: Progress,
) -> Snapshot:
    """The lock that a file's claims make; ``source``: its name.

    ``index``: asked for the filename where only hashes are claimed; ``tags``: those that the Python can install,
    best first. ``default_index``, ``public``: the default index's address, and index name → address of those that
    may stand in a lock.
    """
    entries, unnamed = _with_filenames(claims.entries, tags, index, progress)
    names = _index_names(entries, default_index, public)
    distributions = tuple(_distribution(claim, names) for claim in entries)
    used = {entry.wheel.index for entry in distributions}
    lock = Lock(
        name=name,
        created=previous.created if previous else None,
        note=note if note is not None else (previous.note if previous else None),
        facts=replace(_nothing_seen(source), distributions=Value(distributions)),
        indexes={index: address for index, address in public.items() if index in used},
        policy=previous.policy if previous else Policy(),
    )
    same = previous is not None and lock_id(previous) == lock_id(lock)
    if not same:
        lock = replace(lock, created=now)
    return Snapshot(
        lock=lock,
        unchanged=same and previous is not None and previous.note == lock.note,
        differences=compare(previous.facts, lock.facts, Policy(), now.date()) if previous else (),
        remarks=(*claims.remarks, *_remarks(entries, unnamed), _FIRST),
    )


_FIRST = (
    "nothing of this was seen: the lock holds claims of versions and sha256; once the environment is made and the "
    "run is good, record it: envguard snapshot --update"
)


def _nothing_seen(source: str) -> Facts:
    """Every section, and why it holds nothing."""
    reason = Unobserved(f"not recorded: no environment was looked at, made from {source}")
    sections = [field.name for field in fields(Facts) if field.name not in ("files_seen", "distributions", "live")]
    return Facts(**dict.fromkeys(sections, reason))  # type: ignore[arg-type]


def _with_filenames(
    claims: Sequence[Claim], tags: Sequence[str], index: Index | None, progress: Progress
) -> tuple[list[Claim], list[str]]:
    """Claims with the file that the Python would take, where an index can tell; and why others have none."""
    asked = [claim for claim in claims if index is not None and claim.filename is None and claim.hashes]
    troubles: list[str] = []

    def ask(claim: Claim) -> Claim:
        try:
            offers = index.offers(claim.name) if index is not None else ()
        except EnvguardError as problem:
            troubles.append(f"{claim.name}: {problem.message}")
            return claim
        return _named(claim, offers, tags)

    answered = {claim.name: claim for claim in each(ask, asked, progress, "ask for wheels", "distributions")}
    return [answered.get(claim.name, claim) for claim in claims], sorted(troubles)


def _named(claim: Claim, offers: Sequence[Offer], tags: Sequence[str]) -> Claim:
    fitting = {offer.filename: offer for offer in offers if offer.sha256 in claim.hashes}
    best = choose(fitting, claim.name, claim.version, tags)
    if best is None:
        return claim
    offer = fitting[best]
    hashes = (offer.sha256,) if offer.sha256 else ()
    return replace(claim, filename=best, hashes=hashes, size=offer.size)


def _index_names(claims: Sequence[Claim], default: str, public: Mapping[str, str]) -> dict[str, str]:
    """Address as claimed → the index's name."""
    known = {_same(address): name for name, address in public.items()} | {_same(default): DEFAULT}
    names: dict[str, str] = {}
    for text in sorted({claim.index for claim in claims if claim.index is not None}):
        try:
            address = Address.parse(text)
        except ValueError:
            continue
        names[text] = known.get(_same(str(address))) or derived(address, {*known.values(), *names.values()})
    return names


def _same(address: str) -> str:
    return address.rstrip("/").lower()


def _distribution(claim: Claim, indexes: Mapping[str, str]) -> Distribution:
    wheel = Wheel(
        filename=claim.filename,
        claimed_sha256=claim.hashes[0] if len(claim.hashes) == 1 else None,
        size=claim.size,
        index=indexes.get(claim.index) if claim.index is not None else None,
        evidence=Evidence.NONE,
        sdist=claim.sdist,
    )
    return Distribution(name=claim.name, version=claim.version, wheel=wheel, origin=claim.origin)


def _remarks(claims: Sequence[Claim], troubles: Sequence[str]) -> list[str]:
    unclear = [claim.name for claim in claims if len(claim.hashes) > 1]
    bare = [claim.name for claim in claims if not claim.hashes and claim.origin is None and claim.sdist is None]
    source = [claim.name for claim in claims if claim.sdist is not None]
    said = [
        (unclear, "of which file each sha256 is, is not said, so none is recorded"),
        (bare, "no sha256 is claimed"),
        (source, "only an sdist fits this Python"),
    ]
    return [*troubles, *(f"{words}: {_few(names)}" for names, words in said if names)]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
