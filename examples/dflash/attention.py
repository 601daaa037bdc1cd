"""Attention by a compiled flex_attention; where torch has no backward for it (CPU), by a compiled dense one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mask as masks
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.functional import scaled_dot_product_attention

Mask = Any
"""A BlockMask, or a tensor [batch, 1, queries, keys]."""


class Attention:
    """Called with queries, keys and values [batch, head, n, size], and a mask that ``made`` made."""

    def __init__(self, *, flex: bool, compiled: bool = True) -> None:
        function: Callable[..., Any] = _flex if flex else _dense
        self.flex = flex
        self.function = torch.compile(function, dynamic=False) if compiled else function

    def made(self, seen: masks.Seen, documents: Tensor, queries: int, keys: int) -> Mask:
        """A mask."""
        return (masks.blocks if self.flex else masks.dense)(seen, documents, queries, keys)

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, mask: Mask) -> Tensor:
        """[batch, head, queries, size]."""
        attended: Tensor = self.function(query.to(value.dtype), key.to(value.dtype), value, mask)
        return attended


def for_device(device: str, *, training: bool) -> Attention:
    """The best that torch has there."""
    return Attention(flex=device != "cpu" or not training)


def uncompiled() -> Attention:
    """For a few calls in shapes of their own."""
    return Attention(flex=False, compiled=False)


def _flex(query: Tensor, key: Tensor, value: Tensor, mask: Mask) -> Any:
    return flex_attention(query, key, value, block_mask=mask)


def _dense(query: Tensor, key: Tensor, value: Tensor, mask: Mask) -> Any:
    return scaled_dot_product_attention(query, key, value, attn_mask=mask)
