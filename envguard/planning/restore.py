"""What a restore would do: which bytes come from where, and what stands in the way. Pure decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from envguard.model.digest import Digest
from envguard.model.distribution import Distribution
from envguard.model.environment import Room
from envguard.model.facts import Facts, FileFact
from envguard.model.lock import Lock
from envguard.model.observed import Absent, Value
from envguard.model.offer import Offer
from envguard.planning.loose_files import FileStep, file_steps, modes
from envguard.planning.machine import machine_problems
from envguard.planning.obtain import Problem, ProblemKind, Step, is_held, obtain
from envguard.planning.pythons import Python, choose

_UNPACKED = 3
"""Bytes of installed files for one of a wheel, where its rows are not at hand (CUDA wheels: 1.3 to 3.2)."""
_PER_FILE = 16 << 10
"""Bytes of a wheel for one installed file, where its rows are not at hand."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What a wheel's installed files come to, from its RECORD rows; ``sources``: those of them that are Python."""

    size: int
    files: int
    source_size: int = 0
    source_files: int = 0


@dataclass(frozen=True, slots=True)
class AtHand:
    """What there is to restore from, and where to: everything that a plan rests on besides the lock."""

    held: AbstractSet[Digest] = frozenset()
    """Objects of the store."""
    offers: Mapping[str, Sequence[Offer]] = field(default_factory=dict)
    """By canonical name; only for distributions that the store can't supply (``unsupplied``)."""
    records: Mapping[str, Sequence[Offer]] = field(default_factory=dict)
    """Canonical name → offers of other bytes whose RECORD was read, and has the recorded fingerprint."""
    unasked: Mapping[str, str] = field(default_factory=dict)
    """Canonical name → why its offers could not be had."""
    pythons: Sequence[Python] = ()
    looked: str = ""
    """Where interpreters were looked for, in words."""
    machine: Facts = field(default_factory=Facts)
    """Driver and GPUs of this machine."""
    room: Room | None = None
    unpacked: Mapping[str, Unpacked] = field(default_factory=dict)
    """By canonical name, where the store holds the rows."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All steps decided, none done. It can be carried out when there are no problems."""

    name: str
    """The lock's name."""
    lock: str
    """The lock's id."""
    python: str | None
    """The interpreter to build with."""
    steps: tuple[Step, ...] = ()
    files: tuple[FileStep, ...] = ()
    modes: tuple[FileFact, ...] = ()
    """Files of wheels that shall have their recorded exec bits."""
    left_out: frozenset[str] = frozenset()
    """Distributions, and paths of files, that are not restored because ``without`` names them."""
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    size_needed: int = 0
    """Bytes that the restore takes on disk while it runs: wheels and installed files; an estimate."""
    files_needed: int = 0
    """Files that it makes; an estimate."""

    @property
    def size(self) -> int:
        """Bytes of all wheels; one of unknown size counts as nothing."""
        return sum(step.size or 0 for step in self.steps)

    @property
    def fetch_size(self) -> int:
        """Bytes of the wheels that do not come from the store."""
        return sum(step.size or 0 for step in self.steps if step.offers)


def plan_restore(lock: Lock, lock_id: str, at_hand: AtHand, without: AbstractSet[str] = frozenset()) -> Plan:
    """Decide every step. ``without``: canonical names, or paths of recorded files as shown, to leave out."""
    distributions, facts = recorded_distributions(lock), _recorded_files(lock)
    outcomes = [
        obtain(
            entry,
            at_hand.held,
            at_hand.offers.get(entry.name, ()),
            at_hand.unasked.get(entry.name),
            at_hand.records.get(entry.name, ()),
        )
        for entry in distributions
        if entry.name not in without
    ]
    steps = tuple(outcome for outcome in outcomes if isinstance(outcome, Step))
    files, file_problems, file_notes = file_steps(facts, at_hand.held, without)
    python = choose(lock.facts.interpreter, at_hand.pythons, at_hand.looked)
    machine, machine_notes = machine_problems(lock.facts, at_hand.machine)
    size, count = _needed(steps, at_hand.unpacked)
    return Plan(
        name=lock.name,
        lock=lock_id,
        python=python.path,
        steps=steps,
        files=files,
        modes=modes(facts, without),
        left_out=frozenset(without),
        problems=(
            *_unrestorable(lock),
            *_unknown(distributions, facts, without),
            *(outcome for outcome in outcomes if isinstance(outcome, Problem)),
            *file_problems,
            *python.problems,
            *machine,
            *_room(at_hand.room, size, count),
        ),
        notes=(
            *(note for step in steps for note in step.notes),
            *_by_record(steps),
            *file_notes,
            *python.notes,
            *machine_notes,
        ),
        size_needed=size,
        files_needed=count,
    )


def _by_record(steps: Sequence[Step]) -> Iterator[str]:
    found = sum(step.by_record for step in steps)
    if found:
        yield (
            f"{found} of {len(steps)} wheels were found by their RECORD, since the lock doesn't know them; "
            "to write them into it: envguard identify --lock LOCK --update"
        )


def recorded_distributions(lock: Lock) -> tuple[Distribution, ...]:
    """The lock's distributions; none where none were recorded."""
    return lock.facts.distributions.value if isinstance(lock.facts.distributions, Value) else ()


def unsupplied(lock: Lock, held: AbstractSet[Digest], without: AbstractSet[str]) -> tuple[str, ...]:
    """Distributions whose sha256 is known and whose bytes the store doesn't hold: those to ask sources for."""
    return tuple(
        entry.name
        for entry in recorded_distributions(lock)
        if entry.name not in without and entry.wheel.sha256 is not None and not is_held(entry, held)
    )


def searched_by_record(lock: Lock, held: AbstractSet[Digest], without: AbstractSet[str]) -> tuple[str, ...]:
    """Distributions of unknown wheels that nothing can supply but a wheel with the same RECORD."""
    return tuple(
        entry.name
        for entry in recorded_distributions(lock)
        if entry.name not in without
        and entry.wheel.sha256 is None
        and entry.record is not None
        and (entry.origin is None or entry.origin.kind == "archive")
        and not is_held(entry, held)
    )


def _recorded_files(lock: Lock) -> tuple[FileFact, ...]:
    return lock.facts.files.value if isinstance(lock.facts.files, Value) else ()


def _unrestorable(lock: Lock) -> tuple[Problem, ...]:
    seen = lock.facts.distributions
    if isinstance(seen, Value | Absent):
        return ()
    reason = f"the lock holds none ({seen.reason}): there is nothing to restore"
    return (Problem(ProblemKind.REQUEST, "distributions", reason, "take a snapshot of the good environment"),)


def _unknown(
    distributions: Sequence[Distribution], facts: Sequence[FileFact], without: AbstractSet[str]
) -> tuple[Problem, ...]:
    known = (
        {entry.name for entry in distributions} | {fact.shown for fact in facts} | {fact.path for fact in facts}
    )
    return tuple(
        Problem(ProblemKind.REQUEST, name, "the lock holds no distribution or file of this name to leave out")
        for name in sorted(without - known)
    )


def _needed(steps: Sequence[Step], unpacked: Mapping[str, Unpacked]) -> tuple[int, int]:
    """Bytes and files: the wheels, their files, and bytecode of about the sources' size."""
    size = count = 0
    for step in steps:
        wheel = step.size or 0
        known = unpacked.get(step.name)
        if known is None:
            size += wheel * (1 + _UNPACKED)
            count += 1 + wheel // _PER_FILE
        else:
            size += wheel + known.size + known.source_size
            count += 1 + known.files + known.source_files
    return size, count


def _room(room: Room | None, size: int, count: int) -> tuple[Problem, ...]:
    if room is None:
        return ()
    problems = []
    hint = "free some, or name a folder on another disk: ENVGUARD_DATA_DIR=FOLDER"
    if size > room.size:
        reason = f"the restore needs about {size} bytes of disk, and {room.size} are free"
        problems.append(Problem(ProblemKind.ROOM, "disk", reason, hint))
    if room.files is not None and count > room.files:
        reason = f"the restore makes about {count} files, and the disk has room for {room.files} (inodes)"
        problems.append(Problem(ProblemKind.ROOM, "disk", reason, hint))
    return tuple(problems)
