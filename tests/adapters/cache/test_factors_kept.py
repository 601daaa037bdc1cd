"""Factors kept behind torch's files and the variables that were asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from envguard.adapters.cache import factors as making
from envguard.adapters.cache.factors_kept import factors_kept
from envguard.model.cache import CacheFactors
from envguard.model.observed import Absent, Observed, Value
from envguard.model.target import Layout
from tests.fakes.prober import layout

MADE = CacheFactors(torch_key="a" * 64, triton_key=None, threads=2, settings=(("TORCHINDUCTOR_X", "1"),))


class Counted:
    """Stands in for making factors, and counts how often it is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, made: Observed[CacheFactors]) -> None:
        self.times = 0
        self._made = made
        monkeypatch.setattr(making, "factors", self._make)

    def _make(self, layout: Layout, soabi: str, environ: Mapping[str, str]) -> Observed[CacheFactors]:
        self.times += 1
        environ.get("TORCHINDUCTOR_X")
        return self._made


def ask(folder: Path, environ: Mapping[str, str], mark: str | None = "files 1", soabi: str = "cp311") -> object:
    return factors_kept(layout(), soabi, environ, mark, folder)


def test_made_once_while_nothing_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted = Counted(monkeypatch, Value(MADE))
    for environ in ({}, {"UNRELATED": "1"}, {}):
        assert ask(tmp_path, environ) == Value(MADE)
    assert counted.times == 1


@pytest.mark.parametrize(
    "change",
    [{"environ": {"TORCHINDUCTOR_X": "1"}}, {"mark": "files 2"}, {"soabi": "cp312"}],
    ids=["a variable that was asked for", "files", "another interpreter"],
)
def test_made_again_when(change: dict[str, object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted = Counted(monkeypatch, Value(MADE))
    ask(tmp_path, {})
    ask(tmp_path, **{"environ": {}, **change})  # type: ignore[arg-type]
    assert counted.times == 2


def test_another_number_of_cores_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted = Counted(monkeypatch, Value(MADE))
    ask(tmp_path, {})
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(97)), raising=False)
    ask(tmp_path, {})
    assert counted.times == 2


@pytest.mark.parametrize(
    "made",
    [
        Absent(),
        Value(replace(MADE, unseen=(("torch-key", "no permission"),))),
        Value(replace(MADE, ptxas="b" * 64)),
    ],
    ids=["no torch", "something could not be had", "a file that the mark doesn't cover"],
)
def test_not_kept(made: Observed[CacheFactors], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted = Counted(monkeypatch, made)
    assert ask(tmp_path, {}) == made
    assert ask(tmp_path, {}) == made
    assert counted.times == 2


def test_without_a_mark_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted = Counted(monkeypatch, Value(MADE))
    ask(tmp_path, {}, None)
    ask(tmp_path, {}, None)
    assert counted.times == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"[]", b"{}", b'{"seal": 1, "document": 2}', b"\xff", b"[" * 10_000])
def test_a_damaged_entry_is_made_again(damage: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted = Counted(monkeypatch, Value(MADE))
    ask(tmp_path, {})
    (entry,) = tmp_path.iterdir()
    entry.write_bytes(damage)
    assert ask(tmp_path, {}) == Value(MADE)
    assert counted.times == 2


def test_an_edited_entry_is_not_believed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counted = Counted(monkeypatch, Value(MADE))
    ask(tmp_path, {})
    (entry,) = tmp_path.iterdir()
    document = json.loads(entry.read_text())
    document["document"]["factors"]["torch-key"] = "c" * 64
    entry.write_text(json.dumps(document))
    assert ask(tmp_path, {}) == Value(MADE)
    assert counted.times == 2
