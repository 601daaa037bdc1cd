"""Speculative decoding with a drafter: how many tokens a pass of the target gives, on text held out."""

from __future__ import annotations

import torch
from attention import uncompiled
from config import Sizes
from model import Drafter, Target
from torch import Tensor


def gained(drafted: Tensor, said: Tensor) -> Tensor:
    """Tokens that one pass gives, [rows]: what was drafted as the target would say it, and one of its own.

    ``drafted`` [rows, block - 1]; ``said`` [rows, block] is what the target says after 0, 1, … drafted tokens.
    """
    agree = (drafted == said[:, :-1]).int()
    return agree.cumprod(1).sum(1) + 1


@torch.no_grad()
def measure(target: Target, drafter: Drafter, prompts: Tensor, sizes: Sizes) -> float:
    """Mean acceptance length; greedy. ``prompts`` [rows, n] are continued to ``sizes.length`` tokens."""
    rows, start = prompts.shape
    attention = uncompiled()
    tokens = prompts.new_zeros(rows, sizes.length)
    tokens[:, :start] = prompts
    documents, offsets = torch.zeros_like(tokens), torch.arange(sizes.block, device=tokens.device)
    anchor = torch.full((rows, 1), start - 1, device=tokens.device)
    _, features = target(tokens, documents, attention)
    total = passes = 0
    while int(anchor.max()) + sizes.block < sizes.length:
        states = drafter(features, tokens, documents, anchor, target.embedding, attention)
        drafted = target.head(states[:, 0, 1:]).argmax(-1)
        tokens.scatter_(1, anchor + offsets[1:], drafted)
        states, features = target(tokens, documents, attention)
        places = (anchor + offsets)[..., None].expand(-1, -1, states.shape[-1])
        said = target.head(states.gather(1, places)).argmax(-1)
        gain = gained(drafted, said)[:, None]
        anchor = anchor + gain
        tokens.scatter_(1, anchor, said.gather(1, gain - 1))
        total, passes = total + int(gain.sum()), passes + rows
    return total / passes
