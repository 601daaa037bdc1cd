"""Text of the Python standard library's own sources, as rows of tokens. Nothing is downloaded."""

from __future__ import annotations

import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

MASK = 256
END = 257
"""Stands between two documents."""
_FIRST_PIECE = 258
_PIECES = re.compile(r"\n *| ?\w+| ?[^\w\s]+|\s")
_MOST = 1_500_000
"""Characters of text."""


@dataclass(frozen=True)
class Text:
    """``tokens`` and ``documents`` [rows, length]: what stands there, and which document it is of."""

    tokens: Tensor
    documents: Tensor

    def batch(self, number: int, size: int) -> Text:
        """Rows of a batch; the same number gives the same rows."""
        chosen = torch.randint(len(self.tokens), (size,), generator=torch.Generator().manual_seed(number))
        return Text(self.tokens[chosen], self.documents[chosen])


def read(vocabulary: int, length: int) -> tuple[Text, Text]:
    """Text to train on, and text held out: no document is in both."""
    documents = [_PIECES.findall(text) for text in _documents()]
    counted = Counter(piece for document in documents for piece in document)
    pieces = [piece for piece, _ in counted.most_common(vocabulary - _FIRST_PIECE)]
    number = {piece: _FIRST_PIECE + place for place, piece in enumerate(pieces)}
    encoded = [list(encode(document, number)) for document in documents]
    held = max(1, len(encoded) // 10)
    return pack(encoded[held:], length), pack(encoded[:held], length)


def encode(pieces: list[str], number: dict[str, int]) -> Iterator[int]:
    """Frequent pieces have a token of their own, the rest are spelled in bytes."""
    for piece in pieces:
        known = number.get(piece)
        if known is None:
            yield from piece.encode()
        else:
            yield known


def pack(documents: list[list[int]], length: int) -> Text:
    """Documents one after another, cut into rows."""
    tokens = torch.tensor([token for document in documents for token in (*document, END)])
    tokens = tokens[: len(tokens) // length * length].view(-1, length)
    ended = (tokens == END).int().cumsum(1)
    return Text(tokens, ended - (tokens == END).int())


def _documents() -> Iterator[str]:
    left = _MOST
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if left <= 0:
            return
        left -= len(text)
        yield text
