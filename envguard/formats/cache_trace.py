"""What torch's structured trace (``TORCH_TRACE=DIR``) says of its caches; components as an object of the store.

The trace is text: a line that begins with ``V`` holds JSON of what follows, and a payload in lines that begin with
a tab. Only the artifacts ``fx_graph_cache_*`` and ``aotautograd_cache_*`` are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from envguard.model.cache import Component, Graph

_NAME = re.compile(rb'"name": ?"((?:fx_graph|aotautograd)_cache_(?:hit|miss|bypass))"')
_COMPONENT = re.compile(r"\[([a-z2-7]{51})\] ([^:\n]{1,200}): (.*)", re.DOTALL)
_KEY = re.compile(r"[af][a-z2-7]{51}")
_LARGEST_PAYLOAD = 16 << 20
_LONGEST_TEXT = 800
_SCHEMA = "envguard-components-1"


@dataclass(frozen=True, slots=True)
class CacheEvent:
    """One lookup. ``cache``: ``fxgraph`` or ``aotautograd``; ``state``: ``hit``, ``miss`` or ``bypass``."""

    cache: str
    state: str
    key: str | None
    components: Mapping[str, Component] = field(default_factory=dict, repr=False)
    reason: str | None = None
    """Of a bypass."""

    @property
    def name(self) -> str | None:
        """The key as a cache's list has it."""
        return f"{self.cache}/{self.key}" if self.key else None


def read_trace(lines: Iterable[bytes]) -> Iterator[CacheEvent]:
    """The lookups of one process, in order. What can't be read is left out: a killed run cuts its trace off."""
    name, payload, size = None, [], 0
    for line in lines:
        if line.startswith(b"\t"):
            size += len(line)
            if name is not None and size <= _LARGEST_PAYLOAD:
                payload.append(line[1:])
            continue
        if name is not None:
            yield from _event(name, b"".join(payload))
        found = _NAME.search(line) if line.startswith(b"V") and b'"artifact"' in line else None
        name, payload, size = found[1].decode() if found else None, [], 0
    if name is not None:
        yield from _event(name, b"".join(payload))


def _event(name: str, payload: bytes) -> Iterator[CacheEvent]:
    try:
        content: Any = json.loads(payload)
    except (ValueError, RecursionError):
        return
    if not isinstance(content, dict):
        return
    kind, _, state = name.partition("_cache_")
    key, lines = content.get("key"), content.get("components")
    reason = content.get("cache_bypass_reason")
    yield CacheEvent(
        cache="fxgraph" if kind == "fx_graph" else "aotautograd",
        state=state,
        key=key if isinstance(key, str) and _KEY.fullmatch(key) else None,
        components=read_components(lines if isinstance(lines, list) else ()),
        reason=reason[:500] if isinstance(reason, str) else None,
    )


def read_components(lines: Iterable[object]) -> dict[str, Component]:
    """Torch's own lines ``[hash] name: text``, by name. Long texts, and the graph's code, are left out."""
    found: dict[str, Component] = {}
    for line in lines:
        if isinstance(line, str) and (parts := _COMPONENT.fullmatch(line)):
            hashed, name, text = parts.groups()
            shown = text if len(text) <= _LONGEST_TEXT and name != "gm" else None
            found.setdefault(name, Component(hashed, shown))
    return found


def graphs_of(events: Iterable[CacheEvent]) -> tuple[Graph, ...]:
    """The graphs that a trace names, with what their keys were made of."""
    found = {
        event.key: Graph(event.key, event.components)
        for event in events
        if event.cache == "fxgraph" and event.key is not None and event.components
    }
    return tuple(found[key] for key in sorted(found))


def dump_graphs(graphs: Iterable[Graph]) -> bytes:
    """Components as hashes only: their texts hold paths and code."""
    document = {
        "schema": _SCHEMA,
        "graphs": {
            graph.key: {name: graph.components[name].hash for name in sorted(graph.components)}
            for graph in sorted(graphs, key=lambda graph: graph.key)
        },
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def load_graphs(content: bytes) -> tuple[Graph, ...]:
    """Read ``dump_graphs``' bytes; ValueError when they aren't that."""
    try:
        document: Any = json.loads(content)
    except RecursionError:
        raise ValueError("components nested too deep") from None
    if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
        raise ValueError("not a list of components")
    graphs = document.get("graphs")
    if not isinstance(graphs, dict):
        raise ValueError("a list of components without graphs")  # noqa: TRY004 - it is the file that is wrong
    return tuple(Graph(key, _hashes(graphs[key])) for key in sorted(graphs))


def _hashes(components: object) -> dict[str, Component]:
    if not isinstance(components, dict):
        raise ValueError("a graph's components are no table")  # noqa: TRY004
    return {name: Component(hashed) for name, hashed in components.items() if isinstance(hashed, str)}
