"""``envguard cache``: what is printed, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envguard.cli import wiring
from envguard.cli.main import main
from envguard.formats.lockfile import write_lock
from envguard.model.cache import CacheKeys, Component, DeviceKeys, Graph, KeySource, torch_component
from envguard.model.facts import CacheFound, Facts
from envguard.model.lock import Lock
from envguard.model.observed import Absent, Unobserved, Value
from envguard.model.target import Target
from tests.builders import digest
from tests.formats.test_cache_trace import lines
from tests.model.test_cache_prediction import FACTORS, changed, good

KEY = "fxgraph/f" + "a" * 51
KEYS = CacheKeys(
    KeySource.WARMUP,
    (DeviceKeys("cuda:0", (KEY,)),),
    graphs=(Graph("f" + "a" * 51, {"torch_version": Component(torch_component(digest("torch").hex))}),),
)
FOUND = CacheFound("/tmp/torchinductor_<user>", "default", (("fxgraph", 1),), 2_500_000, 0.0, ("1 links in it",))


class Seen:
    """A prober that sees what it is told."""

    def __init__(self, facts: Facts) -> None:
        self.seen = facts

    def facts(self, *_: object, **__: object) -> Facts:
        return self.seen


@pytest.fixture
def see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Make the command see these facts; the lock holds a warm cache of cuda:0."""
    monkeypatch.chdir(tmp_path)
    lock = Lock("good", good(keys=Value(KEYS)))
    (tmp_path / "good.toml").write_bytes(write_lock(lock))
    monkeypatch.setattr(wiring, "target", lambda *_: Target(tmp_path, "test"))

    def facts(seen: Facts) -> None:
        monkeypatch.setattr(wiring, "prober", lambda *_, **__: Seen(seen))

    return facts


def warm(**sections: object) -> Facts:
    """A warm cache."""
    return good(**{"keys": Value(KEYS), "cache": Value(FOUND), **sections})


def test_show(see: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "7300")
    see(warm())  # type: ignore[operator]
    assert main(["cache", "show"]) == 0
    assert capsys.readouterr().out == (
        "cache         /tmp/torchinductor_<user> (default)\n"
        "size          2.5 MB: 1 fxgraph\n"
        "newest        2 hours ago\n"
        "cuda:0        1 graphs, 0 autograd\n"
        f"fingerprint   {KEYS.fingerprint}\n"
        "keyed to      this torch: 1 of 1 graphs that tell it\n"
        "note          1 links in it\n"
        f"torch key     {FACTORS.torch_key} (2.11.0+cu130)\n"
        f"triton key    {FACTORS.triton_key}\n"
        "CUDA          13.0\n"
        "Python        3.12\n"
        "cuda:0        NVIDIA H200\n"
        "cuda:1        NVIDIA H200\n"
        "CPU threads   8\n"
        "setting       TORCHINDUCTOR_MAX_AUTOTUNE=1\n"
    )


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (warm(cache=Absent(), keys=Absent()), "there is no such folder"),
        (warm(cache=Unobserved("/c: Permission denied")), "/c: Permission denied"),
        (warm(keys=Unobserved("more than 8 names")), "keys          more than 8 names"),
        (warm(keys=Absent()), "keys          none"),
        (warm(factors=Absent()), "factors       no torch"),
        (changed(unseen=(("triton-key", "unknown version"),)), "unknown       triton-key: unknown version"),
    ],
    ids=["missing", "unreadable", "too many", "empty", "no torch", "unknown factor"],
)
def test_show_what_cant_be_shown(see: object, capsys: pytest.CaptureFixture[str], seen: Facts, words: str) -> None:
    see(seen)  # type: ignore[operator]
    assert main(["cache", "show"]) == 0
    assert words in capsys.readouterr().out
    assert main(["cache", "show", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "envguard-cache-1"


def test_explain_hits(see: object, capsys: pytest.CaptureFixture[str]) -> None:
    see(warm())  # type: ignore[operator]
    assert main(["cache", "explain", "good.toml"]) == 0
    out = capsys.readouterr().out
    assert "cuda:0       1 of 1 keys would hit\n" in out
    assert (
        "note         cuda:1: no recorded key is for it, and keys contain the index: a start there compiles" in out
    )
    assert "not visible from outside: shapes, dtypes" in out
    assert main(["cache", "explain", "good.toml", "-q"]) == 0
    assert capsys.readouterr().out == ""


def test_the_incident_in_one_line(see: object, capsys: pytest.CaptureFixture[str]) -> None:
    """Lock from build A, environment with build B of the same version, the cache of A still there."""
    other = changed(torch_key=digest("B").hex)
    see(warm(factors=other.factors))  # type: ignore[operator]
    assert main(["cache", "explain", "good.toml"]) == 1
    assert capsys.readouterr().out.startswith(
        "the cache is whole (1 of 1 keys) but keyed to another torch: its files differ\n"
    )


def test_explain_another_device(see: object, capsys: pytest.CaptureFixture[str]) -> None:
    see(warm())  # type: ignore[operator]
    assert main(["cache", "explain", "good.toml", "--devices", "1,cuda:0"]) == 1
    assert "cuda:1       no recorded key is for it" in capsys.readouterr().out
    assert main(["cache", "explain", "good.toml", "--devices", "gpu"]) == 2
    assert "not a device" in capsys.readouterr().err


def test_explain_unknown(see: object, capsys: pytest.CaptureFixture[str]) -> None:
    see(warm(factors=Unobserved("not looked at")))  # type: ignore[operator]
    assert main(["cache", "explain", "good.toml"]) == 4
    assert "unknown      factors: not looked at" in capsys.readouterr().out


def test_explain_missing_keys(see: object, capsys: pytest.CaptureFixture[str]) -> None:
    see(warm(keys=Absent()))  # type: ignore[operator]
    assert main(["cache", "explain", "good.toml"]) == 1
    assert "0 of 1 keys would hit; 1 are not in the folder" in capsys.readouterr().out


def _trace(folder: Path, tag: str) -> Path:
    folder.mkdir()
    payload = {"key": "f" + tag * 51, "components": [f"[{tag * 51}] cache_key_tag: {tag}"]}
    (folder / "dedicated_log_torch_trace_x.log").write_bytes(b"".join(lines("fx_graph_cache_miss", payload)))
    return folder


def test_explain_a_run(see: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    see(warm())  # type: ignore[operator]
    now, before = _trace(tmp_path / "now", "c"), _trace(tmp_path / "before", "b")
    assert main(["cache", "explain", "--trace", str(now), "--against", str(before)]) == 1
    out = capsys.readouterr().out
    assert "the run: 1 fxgraph miss\n" in out
    assert "             cache_key_tag b → c (TORCH_COMPILE_CACHE_KEY_TAG)\n" in out
    assert main(["cache", "explain", "good.toml", "--trace", str(now), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["prediction"]["hits"] == 1
    assert document["run"]["missed"][0]["nearest"] == "f" + "a" * 51


def test_a_recorded_key_that_missed(see: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    see(warm())  # type: ignore[operator]
    assert main(["cache", "explain", "good.toml", "--trace", str(_trace(tmp_path / "now", "a"))]) == 1
    assert "its key is a recorded one, so its entry was gone or not whole" in capsys.readouterr().out


@pytest.mark.parametrize("make", [False, True], ids=["no folder", "no trace in it"])
def test_a_trace_that_tells_nothing(
    see: object, tmp_path: Path, capsys: pytest.CaptureFixture[str], make: bool
) -> None:
    see(warm())  # type: ignore[operator]
    if make:
        (tmp_path / "now").mkdir()
    assert main(["cache", "explain", "--trace", str(tmp_path / "now")]) == 2
    assert "error[usage]: " in capsys.readouterr().err


def test_an_action_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["cache"])
    assert ended.value.code == 2
