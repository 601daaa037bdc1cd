"""The lock's ``[run]`` table."""

from __future__ import annotations

from typing import Any

from envguard.formats.decode import Table, WrongValueError
from envguard.model.run import MORE_MEMORY, SLOWER, Run, RunDevice, RunThread

Document = dict[str, Any]


def run_document(run: Run) -> Document:
    """A run as plain values."""
    return _kept(
        {
            "build": run.build,
            "git-commit": run.commit,
            "processes": run.processes,
            "warm": run.warm,
            "late-compiles": run.late_compiles,
            "dense-calls": run.dense_calls,
            "tokens-per-second": run.tokens_per_second,
            "tolerance": {"slower": run.slower, "more-memory": run.more_memory},
            "threads": [
                _kept(
                    {
                        "role": thread.role,
                        "device": thread.device,
                        "process": thread.process,
                        "tokens-per-second": thread.tokens_per_second,
                    }
                )
                for thread in run.threads
            ],
            "devices": [
                _kept(
                    {
                        "device": device.device,
                        "hits": device.hits,
                        "misses": device.misses,
                        "bypasses": device.bypasses,
                        "peak-mib": device.peak_mib,
                        "reserved-mib": device.reserved_mib,
                        "context-mib": device.context_mib,
                    }
                )
                for device in run.devices
            ],
        }
    )


def read_run(table: Table) -> Run:
    """``[run]``."""
    tolerance = table.table_or_none("tolerance") or Table({}, table.where("tolerance"))
    return Run(
        build=table.text_or_none("build"),
        commit=table.text_or_none("git-commit"),
        threads=tuple(map(_thread, table.tables("threads"))),
        devices=tuple(map(_device, table.tables("devices"))),
        processes=table.integer("processes"),
        warm=table.flag("warm"),
        late_compiles=table.integer_or_none("late-compiles") or 0,
        dense_calls=table.integer_or_none("dense-calls") or 0,
        tokens_per_second=table.integer_or_none("tokens-per-second"),
        slower=_percent(tolerance, "slower", SLOWER, 100),
        more_memory=_percent(tolerance, "more-memory", MORE_MEMORY, 1000),
    )


def _thread(table: Table) -> RunThread:
    return RunThread(
        role=table.text("role"),
        device=table.text("device"),
        process=table.integer("process"),
        tokens_per_second=table.integer_or_none("tokens-per-second"),
    )


def _device(table: Table) -> RunDevice:
    return RunDevice(
        device=table.text("device"),
        hits=table.integer("hits"),
        misses=table.integer("misses"),
        bypasses=table.integer("bypasses"),
        peak_mib=table.integer_or_none("peak-mib"),
        reserved_mib=table.integer_or_none("reserved-mib"),
        context_mib=table.integer_or_none("context-mib"),
    )


def _percent(table: Table, key: str, default: int, most: int) -> int:
    value = table.integer_or_none(key)
    if value is not None and value > most:
        raise WrongValueError(table.where(key), f"expected at most {most} percent, found {value}")
    return default if value is None else value


def _kept(document: Document) -> Document:
    return {key: value for key, value in document.items() if value is not None and value != []}
