"""Counts by device and thread, taken from torch's own counters."""

from __future__ import annotations

import collections
import copy
import pickle
import threading
from collections.abc import Iterator

import pytest

from envguard.runtime import tally

Counters = collections.defaultdict[str, collections.Counter[str]]


@pytest.fixture
def counters() -> Iterator[Counters]:
    """Torch's, followed."""
    made: Counters = collections.defaultdict(collections.Counter)
    made["inductor"]["fxgraph_cache_hit"] = 7  # before the guard
    assert tally.follow(made)
    yield made
    tally.forked()


def test_an_increase_is_counted_for_the_thread_that_made_it(counters: Counters) -> None:
    def work() -> None:
        tally.HERE.device = "cuda:3"
        counters["aot_autograd"]["autograd_cache_miss"] += 2
        counters["aot_autograd"]["something_else"] += 5

    thread = threading.Thread(target=work, name="drafter-1")
    thread.start()
    thread.join()
    counters["inductor"]["fxgraph_cache_hit"] += 1

    assert tally.counts() == {
        ("cuda:3", "drafter-1"): {"autograd_misses": 2},
        ("cpu", threading.current_thread().name): {"graph_hits": 1},
    }
    assert counters["inductor"]["fxgraph_cache_hit"] == 8
    assert tally.total("autograd_misses") == 2


def test_counters_that_a_program_cleared_are_followed_again(counters: Counters) -> None:
    counters.clear()
    counters["inductor"]["fxgraph_cache_bypass"] += 1
    counters["inductor"].clear()
    counters["inductor"]["fxgraph_cache_bypass"] += 1

    assert tally.total("graph_bypasses") == 2


def test_what_is_kept_of_them_elsewhere_is_plain(counters: Counters) -> None:
    group = counters["inductor"]
    for kept in (
        group.copy(),
        copy.copy(group),
        copy.deepcopy(group),
        pickle.loads(pickle.dumps(group)),
        group - collections.Counter(),
    ):
        assert type(kept) is collections.Counter and kept == {"fxgraph_cache_hit": 7}
    assert tally.counts() == {}


def test_deltas_that_a_hit_brings_back_count_as_torch_counts_them(counters: Counters) -> None:
    counters["inductor"] += collections.Counter({"fxgraph_cache_miss": 1, "pattern_matcher_count": 4})

    assert tally.total("graph_misses") == 1 and counters["inductor"]["pattern_matcher_count"] == 4


def test_counters_of_another_kind_are_let_be() -> None:
    assert not tally.follow({"inductor": {}})


def test_a_repeated_hazard_is_counted() -> None:
    tally.forked()
    for _ in range(3):
        tally.hazard("dense-attention", "seen")

    assert tally.hazards() == [("dense-attention", "seen", "cpu", threading.current_thread().name, 3)]
    tally.forked()
    assert tally.hazards() == []
