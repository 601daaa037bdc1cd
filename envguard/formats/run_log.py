"""The guard's run log (``envguard-run-1``, docs/schema/run-1.json), read."""

from __future__ import annotations

import json

from envguard.formats.decode import Table, WrongValueError
from envguard.model.run import Ending, LoggedCounts, LoggedHazard, LoggedMemory, LoggedSteps, RunLog

SCHEMA = "envguard-run-1"
CAP = 16 << 20
"""Bytes of a log."""


def read_run_log(content: bytes) -> RunLog:
    """One process's log. WrongValueError names the key path; its path is empty for what is no log at all."""
    if len(content) > CAP:
        raise WrongValueError("", f"more than {CAP >> 20} MiB")
    try:
        document = json.loads(content)
    except RecursionError:
        raise WrongValueError("", "nested too deeply") from None
    except ValueError as problem:
        raise WrongValueError("", f"not JSON: {problem}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise WrongValueError("schema", f"not a run log of schema {SCHEMA}")
    return _log(Table(document))


def _log(top: Table) -> RunLog:
    process, torch, guard, end = (top.table(key) for key in ("process", "torch", "guard", "end"))
    return RunLog(
        role=process.text("role"),
        rank=_integer(process, "rank"),
        build=_text(torch, "build"),
        commit=_text(torch, "git_commit"),
        ending=end.choice("how", Ending),
        detail=_text(end, "detail"),
        warm=_text(guard, "after_warm") is not None,
        flag=guard.text("flag"),
        stuck=end.flag("flag_stuck"),
        threads=tuple((row.text("thread"), row.text("device")) for row in top.tables("threads")),
        counts=tuple(map(_counts, top.tables("counts"))),
        steps=tuple(map(_steps, top.tables("throughput"))),
        memory=tuple(map(_memory, top.tables("memory"))),
        hazards=tuple(
            LoggedHazard(row.text("hazard"), row.text("detail"), row.integer("times"))
            for row in top.tables("hazards")
        ),
    )


def _counts(row: Table) -> LoggedCounts:
    def total(*names: str) -> int:
        return sum(row.integer_or_none(name) or 0 for name in names)

    return LoggedCounts(
        thread=row.text("thread"),
        device=row.text("device"),
        hits=total("autograd_hits", "graph_hits"),
        misses=total("autograd_misses", "graph_misses"),
        bypasses=total("autograd_bypasses", "graph_bypasses"),
        compiles=total("compiles", "backward_compiles"),
        traces=total("fx_traces"),
        dense=total("dense_calls"),
        late=total("compiles_after_warm"),
    )


def _steps(row: Table) -> LoggedSteps:
    rate = row.content.get("tokens_per_second")
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate < 1e15):
        raise WrongValueError(row.where("tokens_per_second"), "expected a number of tokens a second")
    return LoggedSteps(row.text("thread"), row.text("device"), row.integer("steps"), rate)


def _memory(row: Table) -> LoggedMemory:
    context = row.content.get("context")
    if context is not None and (isinstance(context, bool) or not isinstance(context, int)):
        raise WrongValueError(row.where("context"), "expected a number of bytes")
    return LoggedMemory(
        device=row.text("device"),
        name=row.text("name"),
        allocated=row.integer("peak_allocated"),
        reserved=row.integer("peak_reserved"),
        process=_integer(row, "process"),
        context=context,
    )


def _text(table: Table, key: str) -> str | None:
    return None if table.content.get(key) is None else table.text(key)


def _integer(table: Table, key: str) -> int | None:
    return None if table.content.get(key) is None else table.integer(key)
