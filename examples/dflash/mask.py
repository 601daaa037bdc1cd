"""Who sees whom. Each mask is a function of (batch, head, query, key), as flex_attention takes them."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, create_mask

Seen = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def reading(documents: Tensor) -> Seen:
    """A target reads: each token sees those before it, of its own document. ``documents`` [batch, length]."""

    def seen(batch: Tensor, _: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query >= key) & (documents[batch, query] == documents[batch, key])

    return seen


def drafting(documents: Tensor, anchors: Tensor, block: int) -> Seen:
    """A drafter drafts: keys are [text | blocks], queries are blocks. ``anchors`` [batch, blocks].

    A block sees the text before its anchor, of the anchor's document, and all of itself; no other block.
    """
    length = documents.shape[1]

    def seen(batch: Tensor, _: Tensor, query: Tensor, key: Tensor) -> Tensor:
        own = query // block
        anchor = anchors[batch, own]
        place = key.clamp(max=length - 1)
        before = (key < anchor) & (documents[batch, place] == documents[batch, anchor])
        return (key < length) & before | (key >= length) & ((key - length) // block == own)

    return seen


def blocks(seen: Seen, documents: Tensor, queries: int, keys: int) -> BlockMask:
    """For flex_attention: it leaves out what is empty."""
    return create_block_mask(seen, len(documents), None, queries, keys, device=documents.device)


def dense(seen: Seen, documents: Tensor, queries: int, keys: int) -> Tensor:
    """[batch, 1, queries, keys], True where the key is seen."""
    return create_mask(seen, len(documents), None, queries, keys, device=str(documents.device))
