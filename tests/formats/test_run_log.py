"""Run logs, read: the guard's own form, and what isn't."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from envguard.formats.decode import WrongValueError
from envguard.formats.run_log import CAP, read_run_log
from envguard.model.run import Ending, LoggedCounts, LoggedMemory, LoggedSteps
from tests.runlogs import GIB, document

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/run-1.json").read_text())


def read(**changes: Any) -> Any:
    return read_run_log(json.dumps(document(**changes)).encode())


def test_the_tests_logs_are_what_the_guard_writes() -> None:
    jsonschema.validate(document(), SCHEMA)


def test_every_part_is_read() -> None:
    log = read()
    assert (log.role, log.rank, log.build, log.commit) == ("run", None, "2.11.0+cu130", "7" * 40)
    assert (log.ending, log.detail, log.warm, log.flag, log.stuck) == (Ending.EXIT, None, True, "guard", False)
    assert ("target-0", "cuda:0") in log.threads
    assert log.counts == (
        LoggedCounts("drafter-0", "cuda:0", hits=6, compiles=2),
        LoggedCounts("native-140", "cuda:0", hits=1, compiles=1),
    )
    assert log.steps == (LoggedSteps("drafter-0", "cuda:0", 9, 4000.4),)
    context = 600 * (1 << 20) + 1
    assert log.memory == (LoggedMemory("cuda:0", "NVIDIA H200", 2 * GIB, 3 * GIB, 3 * GIB + context, context),)


@pytest.mark.parametrize("how", [ending.value for ending in Ending])
def test_every_ending_of_the_schema_is_known(how: str) -> None:
    assert read(end__how=how).ending.value == how
    assert how in SCHEMA["properties"]["end"]["properties"]["how"]["enum"]


def test_what_the_guard_did_not_see_is_none() -> None:
    log = read(torch__build=None, guard__after_warm=None, process__rank=3, memory=[])
    assert (log.build, log.warm, log.rank, log.memory) == (None, False, 3, ())


@pytest.mark.parametrize(
    ("content", "path", "problem"),
    [
        (b"", "", "not JSON"),
        (b"{", "", "not JSON"),
        (b"[]", "schema", "not a run log"),
        (b'{"schema": "envguard-report-1"}', "schema", "not a run log"),
        (b'"' + b"a" * CAP + b'"', "", "more than 16 MiB"),
        (b"[" * 100_000, "", "nested too deeply"),
    ],
    ids=["empty", "half", "list", "another document", "huge", "deep"],
)
def test_what_is_no_log_is_refused(content: bytes, path: str, problem: str) -> None:
    with pytest.raises(WrongValueError, match=problem) as caught:
        read_run_log(content)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"end__how": "bored"}, "end.how"),
        ({"process": []}, "process"),
        ({"process__rank": "0"}, "process.rank"),
        ({"threads": [{"thread": "a"}]}, "threads[0].device"),
        ({"counts": [{"thread": "a", "device": "cpu", "graph_hits": -1}]}, "counts[0].graph_hits"),
        ({"throughput": [{"thread": "a", "device": "b", "steps": 1, "tokens_per_second": "9"}]}, "throughput[0]."),
        (
            {"throughput": [{"thread": "a", "device": "b", "steps": 1, "tokens_per_second": True}]},
            "throughput[0].",
        ),
        ({"memory": [{**document()["memory"][0], "context": 1.5}]}, "memory[0].context"),
        ({"hazards": [{"hazard": "a", "detail": "b"}]}, "hazards[0].times"),
    ],
    ids=["ending", "process", "rank", "device", "negative", "rate", "rate as a flag", "context", "times"],
)
def test_wrong_values_name_their_place(change: dict[str, Any], path: str) -> None:
    with pytest.raises(WrongValueError) as caught:
        read(**change)
    assert caught.value.path.startswith(path)


def test_infinity_is_no_rate() -> None:
    text = json.dumps(document()).replace("4000.4", "1e999")
    with pytest.raises(WrongValueError, match="tokens a second"):
        read_run_log(text.encode())
