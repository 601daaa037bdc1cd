"""What one declaring file holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from envguard.formats.declared.requirement import Parts
from envguard.model.declared import Declared, Unreadable

TORCH_FAMILY = frozenset({"torch", "torchaudio", "torchvision"})
"""Distributions that come from PyTorch's own index, one a variant."""


@dataclass(frozen=True, slots=True)
class Include:
    """Another file that a file names: ``-r``, or ``-c`` (a constraint asks for nothing by itself)."""

    line: int
    path: str
    """As written, relative to the naming file's folder."""
    constraint: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """Declarations, what could not be understood, and further files to read."""

    declared: tuple[Declared, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    includes: tuple[Include, ...] = ()


def declare(parts: Parts, file: str, line: int, *, source: str | None = None, **more: object) -> Declared:
    """A requirement as a declaration. ``source`` counts for torch's family alone: other indexes say no variant."""
    index = source if parts.name in TORCH_FAMILY else None
    return Declared(
        parts.name,
        file,
        line,
        parts.specifier,
        parts.marker,
        source=parts.url or index,
        commit=parts.commit,
        **more,  # type: ignore[arg-type]
    )


def one_variant(addresses: Iterable[str]) -> str | None:
    """The one address that names a torch variant; None when none does, or several do."""
    from envguard.model.declared import variant_in

    named = [address for address in dict.fromkeys(addresses) if variant_in(address)]
    return named[0] if len(named) == 1 else None
