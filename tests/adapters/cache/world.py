"""Small caches with entries as torch writes them: pickles with generated code and components in them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


def graph_key(number: int) -> str:
    """A graph's key."""
    return "f" + LETTERS[number % 32] + LETTERS[number // 32 % 32] + "q" * 49


def autograd_key(number: int) -> str:
    """An autograd entry's key."""
    return "a" + LETTERS[number % 32] + "r" * 50


def triton_key(number: int) -> str:
    """A Triton key."""
    return LETTERS[number % 26].upper() + "A" * 51


def hashed(seed: str) -> str:
    """A component's hash."""
    return (seed * 51)[:51]


def graph_entry(cache: Path, number: int, content: object, *, name: str = "entry") -> Path:
    """An entry under fxgraph/."""
    key = graph_key(number)
    return put(cache / "fxgraph" / key[1:3] / key / name, content)


def autograd_entry(cache: Path, number: int, content: object) -> Path:
    """An entry under aotautograd/."""
    return put(cache / "aotautograd" / autograd_key(number) / "entry", content)


def put(file: Path, content: object) -> Path:
    """Write bytes as they are, and anything else as a pickle."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content, 4))
    return file


def code(device: str) -> dict[str, Any]:
    """What a graph's entry holds: its generated code."""
    index = device.partition(":")[2]
    if not index:
        return {
            "source_code": "from torch import device\nx = empty_strided((2,), (1,), device='cpu')",
            "where": "cpu",
        }
    return {
        "source_code": f"with torch.cuda._DeviceGuard({index}):\n    stream0 = get_raw_stream({index})\n",
        "note": "cudagraphs",
    }


def autograd(graphs: Sequence[int], components: Sequence[str] = ()) -> dict[str, Any]:
    """What an autograd entry holds: keys of its graphs, with their components."""
    return {"graphs": [(graph_key(number), list(components)) for number in graphs]}
