from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from envguard.errors import (
    EnvguardError,
    IndexAnswerError,
    IndexUnreachableError,
    InstallFailedError,
    ObjectCorruptError,
    ObjectMissingError,
    OtherBytesError,
)
from envguard.model.digest import Digest
from envguard.operations.fetch import fetch
from envguard.planning.obtain import Step
from tests import builders
from tests.fakes.index import FakeIndex, Silence
from tests.fakes.memory_store import MemoryStore


@pytest.fixture
def index() -> FakeIndex:
    return FakeIndex()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "wheels"
    made.mkdir()
    return made


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return builders.wheel(tmp_path, "demo", "1.0", {"demo.py": "X = 1\n"})


def step(wheel: Path, *offers: Any, filename: str | None = None) -> Step:
    sha256 = Digest.of(wheel.read_bytes())
    return Step("demo", "1.0", filename or wheel.name, sha256, wheel.stat().st_size, "default", offers)


def bring(steps: list[Step], folder: Path, store: MemoryStore, index: FakeIndex) -> tuple[Path, ...]:
    return fetch(steps, folder, store=store, index=index, progress=Silence())


def test_wheels_come_from_their_sources_in_the_order_of_steps(
    tmp_path: Path, folder: Path, store: MemoryStore, index: FakeIndex
) -> None:
    wheels = [builders.wheel(tmp_path, f"demo{number}", "1.0", {"x.py": str(number)}) for number in range(9)]
    store.put(wheels[4].read_bytes())
    steps = [step(path) if number == 4 else step(path, index.add(path)) for number, path in enumerate(wheels)]
    paths = bring(steps, folder, store, index)
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in wheels]
    assert [path.name for path in paths] == [path.name for path in wheels]
    assert len(index.fetched) == 8
    assert sorted(os.listdir(folder)) == sorted(path.name for path in wheels)


def test_what_an_earlier_run_left_whole_is_taken(
    wheel: Path, folder: Path, store: MemoryStore, index: FakeIndex
) -> None:
    (folder / wheel.name).write_bytes(wheel.read_bytes())
    bring([step(wheel, index.add(wheel))], folder, store, index)
    assert index.fetched == []


@pytest.mark.parametrize("content", [b"", b"half of"], ids=["empty", "half"])
def test_what_an_earlier_run_left_otherwise_is_fetched_again(
    wheel: Path, folder: Path, store: MemoryStore, index: FakeIndex, content: bytes
) -> None:
    (folder / wheel.name).write_bytes(content)
    (path,) = bring([step(wheel, index.add(wheel))], folder, store, index)
    assert path.read_bytes() == wheel.read_bytes()


def test_the_recorded_filename_is_given_to_a_file_of_another_name(
    wheel: Path, folder: Path, store: MemoryStore, index: FakeIndex
) -> None:
    name = "demo-1.0-py2.py3-none-any.whl"
    (path,) = bring([step(wheel, index.add(wheel), filename=name)], folder, store, index)
    assert os.listdir(folder) == [name]
    assert path.read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize(
    "fault",
    [None, IndexUnreachableError("no connection"), IndexAnswerError("404")],
    ids=["lies", "unreachable", "gone"],
)
def test_when_one_source_fails_the_next_is_asked(
    tmp_path: Path, wheel: Path, folder: Path, store: MemoryStore, index: FakeIndex, fault: EnvguardError | None
) -> None:
    first, second = index.add(wheel, source="first"), index.add(wheel, source="second")
    if fault is None:
        index.lie(wheel.name, b"other bytes", source="first")
    else:
        index.fail(wheel.name, fault, times=1)
    (path,) = bring([step(wheel, first, second)], folder, store, index)
    assert path.read_bytes() == wheel.read_bytes()
    assert index.fired == 1


def test_when_all_fail_the_first_ones_fault_is_told(
    wheel: Path, folder: Path, store: MemoryStore, index: FakeIndex
) -> None:
    first, second = index.add(wheel, source="first"), index.add(wheel, source="second")
    index.lie(wheel.name, b"other bytes", source="first")
    index.lie(wheel.name, b"other bytes", source="second")
    with pytest.raises(OtherBytesError, match="index first now serves other bytes"):
        bring([step(wheel, first, second)], folder, store, index)
    assert index.fired == 2
    assert os.listdir(folder) == []


def test_bytes_that_the_store_lost_or_damaged(
    wheel: Path, folder: Path, store: MemoryStore, index: FakeIndex
) -> None:
    with pytest.raises(ObjectMissingError):
        bring([step(wheel)], folder, store, index)

    class Careless(MemoryStore):
        def open(self, digest: Digest) -> BinaryIO:
            return io.BytesIO(b"damaged")

    with pytest.raises(ObjectCorruptError, match="damaged"):
        bring([step(wheel)], folder, Careless(), index)
    assert os.listdir(folder) == []


def test_a_full_disk_is_told(
    wheel: Path, folder: Path, store: MemoryStore, index: FakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(wheel.read_bytes())
    wanted = step(wheel)

    def full(*_: object, **__: object) -> BinaryIO:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(InstallFailedError, match="No space left on device"):
        bring([wanted], folder, store, index)
