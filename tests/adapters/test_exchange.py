from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

from envguard.adapters import exchange as module
from envguard.adapters.exchange import ExchangeUnsupportedError, exchange

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux's")


def test_a_folder_and_a_link_change_places(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    (folder / "file").write_text("content")
    link.symlink_to("elsewhere")
    exchange(link, folder)
    assert folder.is_symlink()
    assert (link / "file").read_text() == "content"


@pytest.mark.parametrize("missing", ["one", "other"])
def test_both_names_must_be_there(tmp_path: Path, missing: str) -> None:
    for name in {"one", "other"} - {missing}:
        (tmp_path / name).write_text(name)
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "other")


def test_without_a_function_for_it_the_system_call_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ctypes.CDLL(None, use_errno=True)
    asked: list[int] = []

    class Old:
        def syscall(self, number: int, *rest: object) -> int:
            asked.append(number)
            return int(whole.syscall(number, *rest))

    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: Old())
    (tmp_path / "one").write_text("1")
    (tmp_path / "other").write_text("2")
    exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "one").read_text() == "2"
    assert len(asked) == 1


def test_on_a_machine_of_another_kind_it_is_unsupported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    monkeypatch.setattr("platform.machine", lambda: "vax")
    with pytest.raises(ExchangeUnsupportedError):
        exchange(tmp_path, tmp_path)


@pytest.mark.parametrize("number", sorted(module._CANNOT))
def test_a_file_system_that_can_not_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(one: bytes, other: bytes) -> int:
        ctypes.set_errno(number)
        return -1

    monkeypatch.setattr(module, "_call", refuse)
    with pytest.raises(ExchangeUnsupportedError):
        exchange(tmp_path / "one", tmp_path / "other")


def test_on_another_system_it_is_unsupported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(ExchangeUnsupportedError):
        exchange(tmp_path, tmp_path)
