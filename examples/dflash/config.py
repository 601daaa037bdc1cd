"""Sizes of the models, and who computes where."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Everything that a shape or a run's length depends on."""

    vocabulary: int
    width: int
    heads: int
    target_layers: int
    taps: tuple[int, ...]
    """Layers of the target whose output the drafters see."""
    drafter_layers: int
    length: int
    """Tokens of a row of text."""
    batch: int
    anchors: int
    """Blocks that are drafted in a row at once."""
    block: int
    """Tokens of a block: the anchor, then MASKs."""
    decay: float
    """A token k places after the first drafted one weighs exp(-k / decay) in the loss."""
    pretraining: int
    """Steps for which the target itself is trained, so that there is something to draft."""
    steps: int
    """Steps of each drafter."""

    @property
    def noise(self) -> int:
        """Tokens that a drafter computes at once in a row."""
        return self.anchors * self.block


SIZES = {
    "tiny": Sizes(
        vocabulary=1024, width=128, heads=4, target_layers=3, taps=(0, 1, 2), drafter_layers=2,
        length=256, batch=4, anchors=16, block=8, decay=4.0, pretraining=90, steps=40,
    ),
    "small": Sizes(
        vocabulary=4096, width=512, heads=8, target_layers=8, taps=(1, 4, 6), drafter_layers=3,
        length=1024, batch=8, anchors=64, block=16, decay=7.0, pretraining=400, steps=200,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Role:
    """One worker: a target or a drafter, and its device."""

    kind: str
    number: int
    device: str

    @property
    def name(self) -> str:
        """``drafter-2``."""
        return f"{self.kind}-{self.number}"


def roles(configuration: str, devices: list[str]) -> list[Role]:
    """``5t3d`` on the devices: one a role while they last, then from the first again. ValueError."""
    found = re.fullmatch(r"([1-9]\d?)t([1-9]\d?)d", configuration)
    if found is None:
        raise ValueError(f"not a configuration: {configuration!r}; 5t3d means 5 targets and 3 drafters")
    kinds = [("target", number) for number in range(int(found[1]))]
    kinds += [("drafter", number) for number in range(int(found[2]))]
    return [Role(kind, number, devices[place % len(devices)]) for place, (kind, number) in enumerate(kinds)]
