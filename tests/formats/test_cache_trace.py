"""Torch's structured trace, and components as an object."""

from __future__ import annotations

import json

import pytest

from envguard.formats.cache_trace import CacheEvent, dump_graphs, graphs_of, load_graphs, read_trace
from envguard.model.cache import Component, Graph

KEY = "f" + "a" * 51
HASH = "b" * 51


def lines(name: str, payload: object, *, cut: int | None = None) -> list[bytes]:
    """An artifact as torch 2.13 writes it."""
    head = (
        "V1129 19:08:57.296000 17313 torch/_inductor/compile_fx.py:1149] "
        + json.dumps({"artifact": {"name": name, "encoding": "json"}, "frame_id": 0, "has_payload": "9bdaa4"})
        + "\n"
    )
    body = json.dumps(payload, indent=1)[:cut]
    return [head.encode(), *(f"\t{line}\n".encode() for line in body.splitlines())]


def miss(**more: object) -> dict[str, object]:
    """A miss of a graph."""
    components = [f"[{HASH}] gm: GraphModule()\n\n\tdef", f"[{HASH}] cache_key_tag: x", "nothing", 7]
    return {"key": KEY, "cache_state": "miss", "components": components, **more}


def test_a_miss() -> None:
    (event,) = read_trace(lines("fx_graph_cache_miss", miss()))
    assert (event.cache, event.state, event.key, event.name) == ("fxgraph", "miss", KEY, f"fxgraph/{KEY}")
    assert {name: (part.hash, part.text) for name, part in event.components.items()} == {
        "gm": (HASH, None),
        "cache_key_tag": (HASH, "x"),
    }


def test_other_artifacts_between() -> None:
    text = [
        b'V1129 x] {"artifact": {"name": "before_pre_grad_graph", "encoding": "string"}}\n',
        b"\tfx_graph_cache_miss\n",
        *lines("aotautograd_cache_hit", {"key": "a" + "a" * 51, "components": []}),
        b'V1129 x] {"chromium_event": {}, "has_payload": "1"}\n',
        b'\t{"name": "fx_graph_cache_hit"}\n',
        *lines("fx_graph_cache_hit", miss()),
    ]
    assert [(event.cache, event.state) for event in read_trace(text)] == [
        ("aotautograd", "hit"),
        ("fxgraph", "hit"),
    ]


def test_a_bypass_has_a_reason() -> None:
    (event,) = read_trace(
        lines("fx_graph_cache_bypass", {"cache_bypass_reason": "Can't cache HigherOrderOperator"})
    )
    assert (event.state, event.reason, event.name) == ("bypass", "Can't cache HigherOrderOperator", None)


@pytest.mark.parametrize(
    "payload", [[], "x", {"key": "../../x"}, {"key": 5, "components": "x", "cache_bypass_reason": 7}], ids=repr
)
def test_odd_payloads(payload: object) -> None:
    for event in read_trace(lines("fx_graph_cache_miss", payload)):
        assert event.key is None
        assert event.components == {}


def test_a_trace_that_is_cut_off() -> None:
    text = [*lines("fx_graph_cache_hit", miss()), *lines("fx_graph_cache_miss", miss(), cut=40)]
    assert [event.state for event in read_trace(text)] == ["hit"]


def test_a_payload_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envguard.formats.cache_trace._LARGEST_PAYLOAD", 30)
    assert list(read_trace(lines("fx_graph_cache_miss", miss()))) == []


def test_nesting_is_no_traceback() -> None:
    head = lines("fx_graph_cache_miss", {})[0]
    assert list(read_trace([head, b"\t" + b"[" * 100_000 + b"\n"])) == []


def test_graphs_of_events() -> None:
    events = [
        CacheEvent("fxgraph", "miss", KEY, {"gm": Component(HASH)}),
        CacheEvent("fxgraph", "miss", KEY, {"gm": Component(HASH)}),
        CacheEvent("fxgraph", "bypass", None),
        CacheEvent("aotautograd", "miss", "a" + "a" * 51, {}),
    ]
    assert [graph.key for graph in graphs_of(events)] == [KEY]


def test_components_as_an_object() -> None:
    graphs = (Graph("fb", {"b": Component("2", "a path"), "a": Component("1")}), Graph("fa", {}))
    content = dump_graphs(graphs)
    assert b"a path" not in content
    assert load_graphs(content) == tuple(sorted(graphs, key=lambda graph: graph.key))
    assert dump_graphs(load_graphs(content)) == content == dump_graphs(reversed(graphs))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"schema":"envguard-components-1"}',
        b'{"schema":"envguard-components-1","graphs":{"f":[]}}',
        b"[" * 100_000,
    ],
    ids=["empty", "list", "no schema", "no graphs", "odd graph", "nested"],
)
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        load_graphs(content)
