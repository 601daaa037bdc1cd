"""Why a graph missed: the nearest of before, and what differs."""

from __future__ import annotations

import pytest

from envguard.model.cache import CacheKeys, Component, DeviceKeys, Graph, KeySource
from envguard.model.facts import Facts
from envguard.model.observed import Absent, Observed, Value
from envguard.planning.cache_explanation import differences, explain, meaning
from envguard.planning.cache_keys import keys_to_record
from tests.builders import facts
from tests.model.test_cache_prediction import FACTORS, KEYS

TENSOR = (
    "TensorMetadata(dtype=torch.float32, shape=torch.Size([{}, 8]), stride=(8, 1), device=device(type='cpu'), x=1)"
)


def graph(key: str, **components: str) -> Graph:
    """A graph whose components' hashes are their texts."""
    return Graph(key, {name: Component(text, text) for name, text in components.items()})


FORWARD = graph("f1", gm="forward", torch_version="t", cpp_runtime_thread_count="2", cache_key_tag="")
BACKWARD = graph("f2", gm="backward", torch_version="t", cpp_runtime_thread_count="2", cache_key_tag="")


def test_the_nearest_has_the_same_code() -> None:
    missed = graph("f3", gm="backward", torch_version="u", cpp_runtime_thread_count="1", cache_key_tag="x")
    (told,) = explain([missed], [FORWARD, BACKWARD])
    assert told.nearest == "f2"
    assert [entry.component for entry in told.differences] == [
        "torch_version",
        "cpp_runtime_thread_count",
        "cache_key_tag",
    ]
    assert str(told.differences[1]) == "cpp_runtime_thread_count 2 → 1 (the number of CPU threads)"
    assert not any(entry.of_workload for entry in told.differences)


def test_other_code_is_the_workloads() -> None:
    (told,) = explain(
        [graph("f3", gm="other", torch_version="t", cpp_runtime_thread_count="2", cache_key_tag="")], [FORWARD]
    )
    assert [(entry.component, entry.of_workload) for entry in told.differences] == [("gm", True)]


def test_nothing_is_known_of_before() -> None:
    (told,) = explain([FORWARD], [])
    assert (told.nearest, told.differences) == (None, ())


@pytest.mark.parametrize("recorded", [(), ("f1",)], ids=["by its components", "by its key"])
def test_a_recorded_key_that_missed(recorded: tuple[str, ...]) -> None:
    (told,) = explain([FORWARD], [] if recorded else [FORWARD], recorded)
    assert told.recorded
    assert told.differences == ()


def test_components_that_came_and_went() -> None:
    told = differences({"old": Component("1", "a")}, {"new": Component("2", "b")})
    assert [(entry.component, entry.was, entry.now) for entry in told] == [
        ("new", "none", "b"),
        ("old", "a", "none"),
    ]


def test_hashes_stand_for_what_has_no_text() -> None:
    (told,) = differences({"gm": Component("abcdefghijkl")}, {"gm": Component("mnopqrstuvwx", "\x00\x01")})
    assert (told.was, told.now) == ("abcdefgh…", "mnopqrst…")


def test_equal_texts_of_other_hashes_show_their_hashes() -> None:
    (told,) = differences({"x": Component("abcdefghijkl", "same")}, {"x": Component("mnopqrstuvwx", "same")})
    assert (told.was, told.now) == ("abcdefgh…", "mnopqrst…")


def test_of_a_long_text_only_what_differs() -> None:
    was, now = ({"example_inputs[0]": Component(str(n), TENSOR.format(n))} for n in (16, 24))
    (told,) = differences(was, now)
    assert (told.was, told.now) == ("shape=torch.Size([16, 8])", "shape=torch.Size([24, 8])")


def test_meanings() -> None:
    assert meaning("example_inputs[3]") == "shape, dtype, stride or device of an input"
    assert meaning("something_new") == "another part of the key"


FOUND = CacheKeys(KeySource.FOUND, (DeviceKeys("cpu", ("fxgraph/f" + "z" * 51,)),))


@pytest.mark.parametrize(
    ("before", "seen", "kept"),
    [
        (facts(), facts(keys=Value(FOUND)), FOUND),
        (facts(keys=Value(FOUND)), facts(keys=Absent()), None),
        (facts(keys=Value(KEYS), factors=Value(FACTORS)), facts(keys=Value(FOUND), factors=Value(FACTORS)), KEYS),
        (facts(keys=Value(KEYS), factors=Value(FACTORS)), facts(keys=Absent(), factors=Value(FACTORS)), KEYS),
        (facts(keys=Value(KEYS), factors=Value(FACTORS)), facts(keys=Value(FOUND), factors=Absent()), FOUND),
    ],
    ids=["none before", "only found", "proven stay", "proven stay without a cache", "other factors"],
)
def test_which_keys_are_recorded(before: Facts, seen: Facts, kept: CacheKeys | None) -> None:
    expected: Observed[CacheKeys] = Absent() if kept is None else Value(kept)
    assert keys_to_record(before, seen) == expected
