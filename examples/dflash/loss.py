"""Where blocks begin, what they should say, and how much each token counts."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy


def anchors(documents: Tensor, count: int, block: int, generator: torch.Generator) -> Tensor:
    """Positions [batch, count], each with a token before it and a whole block's room after it, in order."""
    batch, length = documents.shape
    room = length - block
    chosen = torch.stack([torch.randperm(room - 1, generator=generator)[:count] + 1 for _ in range(batch)])
    return chosen.sort(1).values.to(documents.device)


def labels(tokens: Tensor, documents: Tensor, anchors: Tensor, block: int) -> tuple[Tensor, Tensor]:
    """The block - 1 tokens after each anchor, and whether they are of its document. [batch, blocks, block - 1]."""
    places = anchors[..., None] + torch.arange(1, block, device=tokens.device)
    flat = places.flatten(1)
    same = documents.gather(1, flat).view_as(places) == documents.gather(1, anchors)[..., None]
    return tokens.gather(1, flat).view_as(places), same


def weights(valid: Tensor, decay: float) -> Tensor:
    """An error early in a block costs all that follows, so early tokens count more."""
    later = torch.arange(valid.shape[-1], device=valid.device)
    return valid * torch.exp(-later / decay)


def blockwise(logits: Tensor, wanted: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean of the cross entropy. ``logits`` [..., vocabulary], ``wanted`` and ``weight`` [...]."""
    each = cross_entropy(logits.flatten(0, -2).float(), wanted.flatten(), reduction="none")
    return (each * weight.flatten()).sum() / weight.sum().clamp(min=1e-6)
