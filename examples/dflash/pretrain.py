"""Trains the target for a moment, uncompiled, so that there is something to draft."""

from __future__ import annotations

import sys

import torch
from attention import uncompiled
from config import Sizes
from data import Text
from model import Target
from torch import Tensor
from torch.nn.functional import cross_entropy


def pretrained(sizes: Sizes, text: Text, device: str) -> dict[str, Tensor]:
    """The weights of a target, on the host."""
    torch.manual_seed(0)
    target, attention = Target(sizes).to(device), uncompiled()
    optimizer = torch.optim.AdamW(target.parameters(), lr=2e-3, weight_decay=0.01)
    kind = torch.device(device).type
    for number in range(sizes.pretraining):
        batch = text.batch(-1 - number, sizes.batch)
        tokens, documents = batch.tokens.to(device), batch.documents.to(device)
        with torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
            states, _ = target(tokens, documents, attention)
            logits = target.head(states[:, :-1]).float()
        error = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(error)
        optimizer.step()
        if number % 50 == 0 or number == sizes.pretraining - 1:
            sys.stdout.write(f"target: step {number}, loss {float(error.detach()):.3f}\n")
            sys.stdout.flush()
    return {name: weight.cpu() for name, weight in target.state_dict().items()}
