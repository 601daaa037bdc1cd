"""Why lookups of a run missed: each graph's components held against those of the graphs that were there before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from envguard.model.cache import Component, Graph

_MEANINGS = (
    ("torch_version", "another torch"),
    ("system_info", "another GPU, CUDA or Triton"),
    ("gm", "the graph's own code"),
    ("example_inputs", "shape, dtype, stride or device of an input"),
    ("inductor_config", "a setting of inductor"),
    ("cpp_runtime_thread_count", "the number of CPU threads"),
    ("cache_key_tag", "TORCH_COMPILE_CACHE_KEY_TAG"),
    ("deterministic_algorithms_settings", "determinism, set in code"),
    ("cuda_matmul_settings", "matmul precision, set in code"),
    ("default_dtype", "the default dtype, set in code"),
    ("fx_kwargs", "how the graph is compiled (gradients, CUDA graphs)"),
    ("user_defined_triton_source", "a Triton kernel's own source"),
)
"""In the order in which they explain: what is above makes most of what is below differ."""

_LONGEST = 80
_FIELDS = re.compile(r", (?=[a-z_]+=)")
"""Between the fields of what torch writes of a tensor."""

WORKLOAD = frozenset(
    {
        "gm",
        "example_inputs",
        "deterministic_algorithms_settings",
        "cuda_matmul_settings",
        "default_dtype",
        "fx_kwargs",
        "user_defined_triton_source",
    }
)
"""What only the workload decides."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One component that differs; hashes where no text is at hand."""

    component: str
    was: str
    now: str
    meaning: str

    @property
    def of_workload(self) -> bool:
        """Whether it is the workload's, and could not be seen from outside."""
        return _family(self.component) in WORKLOAD

    def __str__(self) -> str:
        return f"{self.component} {self.was} → {self.now} ({self.meaning})"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one graph missed. ``nearest``: the graph before that differs least, None where none is known."""

    key: str
    nearest: str | None
    differences: tuple[Difference, ...]
    recorded: bool = False
    """Its key was among those before: nothing differs, its entry was gone or not whole."""


def explain(
    missed: Iterable[Graph], before: Sequence[Graph], recorded: Iterable[str] = ()
) -> tuple[Explanation, ...]:
    """One explanation a missed graph. ``recorded``: keys known before, also those whose components aren't."""
    known = {graph.key for graph in before} | set(recorded)
    return tuple(_explain(graph, before, graph.key in known) for graph in missed)


def _explain(graph: Graph, before: Sequence[Graph], recorded: bool) -> Explanation:
    if recorded:
        return Explanation(graph.key, graph.key, (), recorded=True)
    nearest = min(before, key=lambda one: _distance(one.components, graph.components), default=None)
    if nearest is None:
        return Explanation(graph.key, None, ())
    return Explanation(graph.key, nearest.key, tuple(differences(nearest.components, graph.components)))


def differences(was: Mapping[str, Component], now: Mapping[str, Component]) -> list[Difference]:
    """All components that differ, those first that explain the most."""
    names = [name for name in was.keys() | now.keys() if _hash(was, name) != _hash(now, name)]
    return [
        Difference(name, _shown(was.get(name), now.get(name)), _shown(now.get(name), was.get(name)), meaning(name))
        for name in sorted(names, key=lambda name: (_rank(name), name))
    ]


def meaning(name: str) -> str:
    """What a component stands for, in a few words."""
    return dict(_MEANINGS).get(_family(name), "another part of the key")


def _distance(was: Mapping[str, Component], now: Mapping[str, Component]) -> tuple[bool, int]:
    """The same graph under other settings is nearer than another graph under the same."""
    differ = sum(_hash(was, name) != _hash(now, name) for name in was.keys() | now.keys())
    return _hash(was, "gm") != _hash(now, "gm"), differ


def _hash(components: Mapping[str, Component], name: str) -> str | None:
    component = components.get(name)
    return component.hash if component is not None else None


def _family(name: str) -> str:
    return name.partition("[")[0]


def _rank(name: str) -> int:
    families = [family for family, _ in _MEANINGS]
    return families.index(_family(name)) if _family(name) in families else len(families)


def _shown(one: Component | None, other: Component | None) -> str:
    if one is None:
        return "none"
    # the key's bytes as text are of no use to anybody, and equal texts would hide what differs
    if one.text is None or not one.text.isprintable() or (other is not None and one.text == other.text):
        return f"{one.hash[:8]}…"
    return _cut(one.text, other.text if other is not None and other.text else "")


def _cut(text: str, other: str) -> str:
    """Of a long text, the fields in which it differs from the other."""
    if len(text) <= _LONGEST:
        return text
    theirs = set(_FIELDS.split(other))
    own = ", ".join(part for part in _FIELDS.split(text) if part not in theirs) or text
    return own if len(own) <= _LONGEST else f"{own[: _LONGEST - 1]}…"
