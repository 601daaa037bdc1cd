"""A look before a start: what is free, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Space:
    """Free room where a run writes. ``inodes`` None: the file system doesn't count them."""

    what: str
    free: int
    inodes: int | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A GPU's memory now, by the device's name in the run; MiB."""

    device: str
    free: int
    total: int


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that a preflight says. ``check``: what ``--force`` takes."""

    check: str
    text: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a run may start: not when anything is refused."""

    refused: tuple[Remark, ...] = ()
    forced: tuple[Remark, ...] = ()
    warned: tuple[Remark, ...] = ()

    @property
    def starts(self) -> bool:
        """Whether the command is started."""
        return not self.refused
