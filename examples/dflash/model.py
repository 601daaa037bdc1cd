"""A small target, and the drafter: its layers see the target's features beside their own blocks."""

from __future__ import annotations

import mask as masks
import torch
from attention import Attention, Mask
from config import Sizes
from data import MASK
from torch import Tensor, nn


def rotated(states: Tensor, positions: Tensor) -> Tensor:
    """Rotary positions: ``states`` [batch, head, n, size], ``positions`` [batch, n]."""
    half = states.shape[-1] // 2
    frequencies = 10_000.0 ** (-torch.arange(half, device=states.device) / half)
    angles = positions[:, None, :, None] * frequencies
    first, second = states.float().chunk(2, -1)
    turned = (first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos())
    return torch.cat(turned, -1).to(states.dtype)


class Layer(nn.Module):
    """Attention of ``states`` over ``[text | states]``, or over themselves alone, then a small network."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width, size = sizes.width, sizes.width // sizes.heads
        self.heads, self.size = sizes.heads, size
        self.before, self.between = nn.RMSNorm(width), nn.RMSNorm(width)
        self.query, self.key_value = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.query_norm, self.key_norm = nn.RMSNorm(size), nn.RMSNorm(size)
        self.out = nn.Linear(width, width, bias=False)
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(
        self, states: Tensor, places: Tensor, attention: Attention, mask: Mask, text: Tensor | None = None
    ) -> Tensor:
        """``places`` are the positions of [text | states], or of the states."""
        own = self.before(states)
        seen = own if text is None else torch.cat((text.to(own.dtype), own), 1)
        key, value = self._split(self.key_value(seen).chunk(2, -1))
        (query,) = self._split((self.query(own),))
        query = rotated(self.query_norm(query.float()), places[:, -query.shape[2] :])
        attended = attention(query, rotated(self.key_norm(key.float()), places), value, mask)
        states = states + self.out(attended.transpose(1, 2).flatten(2))
        after: Tensor = states + self.network(self.between(states))
        return after

    def _split(self, tensors: tuple[Tensor, ...]) -> list[Tensor]:
        """[batch, n, width] → [batch, head, n, size]."""
        return [one.view(*one.shape[:2], self.heads, self.size).transpose(1, 2) for one in tensors]


class Target(nn.Module):
    """A causal language model."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.taps = sizes.taps
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.width)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.target_layers))
        self.norm = nn.RMSNorm(sizes.width)

    def forward(self, tokens: Tensor, documents: Tensor, attention: Attention) -> tuple[Tensor, Tensor]:
        """[batch, length] → states [batch, length, width], and features [batch, length, taps * width]."""
        length = tokens.shape[1]
        mask = attention.made(masks.reading(documents), documents, length, length)
        places = torch.arange(length, device=tokens.device).expand_as(tokens)
        states, tapped = self.embedding(tokens), []
        for number, layer in enumerate(self.layers):
            states = layer(states, places, attention, mask)
            if number in self.taps:
                tapped.append(states)
        return self.norm(states), torch.cat(tapped, -1)

    def head(self, states: Tensor) -> Tensor:
        """Logits."""
        return states @ self.embedding.weight.T.to(states.dtype)


class Drafter(nn.Module):
    """Drafts whole blocks at once. Embedding and head are the target's, and frozen."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.block = sizes.block
        self.fuse = nn.Linear(len(sizes.taps) * sizes.width, sizes.width, bias=False)
        self.fuse_norm = nn.RMSNorm(sizes.width)
        self.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.drafter_layers))
        self.norm = nn.RMSNorm(sizes.width)

    def forward(
        self,
        features: Tensor,
        tokens: Tensor,
        documents: Tensor,
        anchors: Tensor,
        embedding: nn.Embedding,
        attention: Attention,
    ) -> Tensor:
        """States [batch, blocks, block, width] of blocks that begin at ``anchors`` [batch, blocks]."""
        batch, length = tokens.shape
        noise = torch.full((*anchors.shape, self.block), MASK, device=tokens.device)
        noise[..., 0] = tokens.gather(1, anchors)
        text = self.fuse_norm(self.fuse(features).float())
        offsets = torch.arange(self.block, device=tokens.device)
        before = torch.arange(length, device=tokens.device).expand_as(tokens)
        places = torch.cat((before, (anchors[..., None] + offsets).flatten(1)), 1)
        states = embedding(noise.flatten(1))
        seen = masks.drafting(documents, anchors, self.block)
        mask = attention.made(seen, documents, states.shape[1], length + states.shape[1])
        for layer in self.layers:
            states = layer(states, places, attention, mask, text)
        drafted: Tensor = self.norm(states).view(batch, -1, self.block, states.shape[-1])
        return drafted
