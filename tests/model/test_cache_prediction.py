"""Would a start compile? A table of what differs, and whose keys hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from envguard.model.cache import (
    CacheFactors,
    CacheKeys,
    Component,
    DeviceKeys,
    Graph,
    KeySource,
    keys_by_device,
    torch_component,
)
from envguard.model.cache_prediction import keyed_elsewhere, predict
from envguard.model.distribution import Row
from envguard.model.facts import Cpu, Driver, Facts, FileFact, FileKind, Gpu, Interpreter
from envguard.model.observed import Absent, Unobserved, Value
from tests.builders import digest, distribution, facts


def key(letter: str, kind: str = "fxgraph/f") -> str:
    """A key's name."""
    return f"{kind}{letter * 51}"


FACTORS = CacheFactors(
    torch_key=digest("torch").hex,
    triton_key=digest("triton").hex,
    threads=8,
    settings=(("TORCHINDUCTOR_MAX_AUTOTUNE", "1"),),
)
KEYS = CacheKeys(
    KeySource.WARMUP,
    (
        DeviceKeys("cpu", (key("a"),)),
        DeviceKeys("cuda:0", (key("b", "aotautograd/a"), key("b"), key("c"))),
        DeviceKeys("cuda:1", (key("d"),)),
    ),
)
GPUS = (Gpu(0, "NVIDIA H200", "9.0", 1), Gpu(1, "NVIDIA H200", "9.0", 1))


def good(**sections: Any) -> Facts:
    """A machine with two GPUs, and a warm cache."""
    whole = {"factors": Value(FACTORS), "keys": Value(KEYS), "gpus": Value(GPUS), "driver": Value(Driver("580"))}
    return facts(**(whole | sections))


def hits(observed: Facts, recorded: Facts | None = None, devices: tuple[str, ...] = ()) -> Mapping[str, int]:
    """Device → keys that would hit."""
    return {device.device: device.hits for device in predict(recorded or good(), observed, devices).devices}


ALL = {"cpu": 1, "cuda:0": 3, "cuda:1": 1}
NONE = dict.fromkeys(ALL, 0)
PYTHON = Interpreter("cpython", "3.13.0", "main", "cpython-313-x86_64-linux-gnu", "linux_x86_64", "glibc 2.39")


def changed(**fields: Any) -> Facts:
    """Other factors."""
    return good(factors=Value(replace(FACTORS, **fields)))


ROWS: dict[str, tuple[Facts, Mapping[str, int], str | None]] = {
    "nothing": (good(), ALL, None),
    "torch key": (changed(torch_key=digest("x").hex), NONE, "torch key"),
    "triton key": (changed(triton_key=digest("x").hex), {**NONE, "cpu": 1}, "triton key"),
    "no triton": (changed(triton_key=None), {**NONE, "cpu": 1}, "triton key"),
    "threads": (changed(threads=4), {**ALL, "cpu": 0}, "CPU threads"),
    "threads in no key": (changed(threads=None), ALL, None),
    "a setting gone": (changed(settings=()), NONE, "TORCHINDUCTOR_MAX_AUTOTUNE"),
    "another setting": (
        changed(settings=(*FACTORS.settings, ("TORCHINDUCTOR_FREEZING", "1"))),
        NONE,
        "TORCHINDUCTOR_FREEZING",
    ),
    "a setting of Triton": (
        changed(settings=(*FACTORS.settings, ("TRITON_OVERRIDE_ARCH", "sm80"))),
        {**NONE, "cpu": 1},
        "TRITON_OVERRIDE_ARCH",
    ),
    "caches off": (
        changed(settings=(*FACTORS.settings, ("TORCHINDUCTOR_FX_GRAPH_CACHE", "0"))),
        NONE,
        "TORCHINDUCTOR_FX_GRAPH_CACHE",
    ),
    "autograd cache off": (
        changed(settings=(*FACTORS.settings, ("TORCHINDUCTOR_AUTOGRAD_CACHE", "0"))),
        {**ALL, "cuda:0": 2},
        None,
    ),
    "another GPU at 1": (
        good(gpus=Value((GPUS[0], Gpu(1, "NVIDIA H100", "9.0", 1)))),
        {**ALL, "cuda:1": 0},
        "GPU",
    ),
    "one GPU less": (good(gpus=Value(GPUS[:1])), {**ALL, "cuda:1": 0}, "GPU"),
    "GPUs not seen": (good(gpus=Unobserved("no driver")), ALL, None),
    "another Python": (good(interpreter=Value(PYTHON)), {**NONE, "cpu": 1}, "Python"),
    "no cache": (good(keys=Absent()), NONE, None),
    "half a cache": (
        good(keys=Value(replace(KEYS, devices=KEYS.devices[:1]))),
        {"cpu": 1, "cuda:0": 0, "cuda:1": 0},
        None,
    ),
    "a damaged key": (good(keys=Value(replace(KEYS, damaged=(key("c"),)))), {**ALL, "cuda:0": 2}, None),
    "names without devices": (
        good(keys=Value(CacheKeys(KeySource.FOUND, (DeviceKeys("unknown", KEYS.names),)))),
        ALL,
        None,
    ),
}


@pytest.mark.parametrize(("observed", "expected", "why"), ROWS.values(), ids=ROWS.keys())
def test_hits_by_device(observed: Facts, expected: Mapping[str, int], why: str | None) -> None:
    assert hits(observed) == expected
    changes = predict(good(), observed).changes
    assert [change.factor for change in changes] == ([why] if why else [])


def test_the_first_factor_is_the_one_that_explains_the_most() -> None:
    observed = good(factors=Value(replace(FACTORS, torch_key=digest("x").hex, threads=1, settings=())))
    (cpu, *_) = predict(good(), observed).devices
    assert cpu.why is not None
    assert cpu.why.factor == "torch key"


def test_a_cache_of_index_0_misses_on_index_1() -> None:
    recorded = good(keys=Value(replace(KEYS, devices=KEYS.devices[1:2])))
    prediction = predict(recorded, recorded)
    assert prediction.unwarmed == ("cuda:1",)
    assert hits(recorded, recorded, ("cuda:1",)) == {"cuda:1": 0}
    assert hits(recorded, recorded, ("cuda:0",)) == {"cuda:0": 3}


def test_only_factors_that_some_recorded_key_holds_are_changes() -> None:
    gpu_only = good(keys=Value(replace(KEYS, devices=KEYS.devices[1:2])))
    observed = replace(changed(threads=1), gpus=Value(GPUS[:1]))
    assert predict(gpu_only, observed).changes == ()
    without_keys = predict(good(keys=Absent()), observed)
    assert [change.factor for change in without_keys.changes] == ["GPU", "CPU threads"]


def test_a_cpu_run_is_no_matter_of_gpus() -> None:
    recorded = good(keys=Value(replace(KEYS, devices=KEYS.devices[:1])))
    assert predict(recorded, recorded).unwarmed == ()


def test_what_breaks_runs_and_is_in_no_key() -> None:
    observed = good(
        driver=Value(Driver("590")),
        cpu=Value(Cpu("x86_64", "another", ("avx2",))),
        factors=Value(replace(FACTORS, ptxas=digest("p").hex)),
    )
    prediction = predict(good(), observed)
    assert [change.factor for change in prediction.breaks] == ["driver", "CPU", "ptxas"]
    assert prediction.hits == prediction.recorded
    assert "avx512f" in str(prediction.breaks[1])


@pytest.mark.parametrize(
    ("recorded", "observed", "factor"),
    [
        (good(), good(factors=Unobserved("no")), "factors"),
        (good(factors=Unobserved("no")), good(), "factors"),
        (good(), changed(torch_key=None, unseen=(("torch-key", "unknown version"),)), "torch-key"),
        (good(), changed(triton_key=None, unseen=(("triton-key", "unknown version"),)), "triton-key"),
    ],
    ids=["not seen", "not recorded", "torch key", "triton key"],
)
def test_what_cant_be_compared_is_told(recorded: Facts, observed: Facts, factor: str) -> None:
    prediction = predict(recorded, observed)
    assert [name for name, _ in prediction.unseen] == [factor]
    assert prediction.changes == ()


class TestWhichFileOfTorch:
    """The incident: another build of one version, or an edited file."""

    @staticmethod
    def rows(commit: str) -> dict[tuple[str, str], Row]:
        return {
            ("library", path): Row("library", path, f"sha256:{content}", "1")
            for path, content in (
                ("torch/version.py", commit),
                ("torch/nn.py", "same"),
                ("torch-2.dist-info/WHEEL", commit),
            )
        }

    def with_torch(self, commit: str, **sections: Any) -> Facts:
        entry = distribution("torch", record=digest(commit), listing=self.rows(commit))
        return good(distributions=Value((entry,)), **sections)

    def test_another_build(self) -> None:
        observed = self.with_torch("b", factors=Value(replace(FACTORS, torch_key=digest("b").hex)))
        prediction = predict(self.with_torch("a"), observed)
        assert prediction.changes[0].detail == "torch/version.py differs"
        assert prediction.whole
        assert prediction.hits == 0

    def test_an_edited_file(self) -> None:
        edited = Value((FileFact("torch/nn.py", FileKind.MODIFIED), FileFact("other.py", FileKind.MODIFIED)))
        observed = self.with_torch("a", files=edited, factors=Value(replace(FACTORS, torch_key=digest("b").hex)))
        assert predict(self.with_torch("a"), observed).changes[0].detail == "torch/nn.py differs"

    def test_many_files(self) -> None:
        edited = Value(
            tuple(FileFact(f"torch/{name}", FileKind.MODIFIED) for name in ("a.so", "z.py", "version.py"))
        )
        observed = good(files=edited, factors=Value(replace(FACTORS, torch_key=digest("b").hex)))
        assert (
            predict(good(), observed).changes[0].detail == "torch/version.py, torch/z.py and 1 more files differ"
        )

    def test_no_rows(self) -> None:
        observed = good(factors=Value(replace(FACTORS, torch_key=digest("b").hex)))
        assert predict(good(), observed).changes[0].detail is None


def test_extra_keys_are_counted() -> None:
    more = replace(KEYS, devices=(*KEYS.devices, DeviceKeys("cuda:2", (key("e"), key("g")))))
    assert predict(good(), good(keys=Value(more))).extra == 2


def test_entries_tell_which_torch_they_were_keyed_to() -> None:
    graphs = tuple(
        Graph(f"f{number}", {"torch_version": Component(torch_component(torch.hex))})
        for number, torch in enumerate((digest("torch"), digest("torch"), digest("other")))
    )
    keys = replace(KEYS, graphs=(*graphs, Graph("f9", {})))
    assert keyed_elsewhere(keys, FACTORS) == (1, 3)
    assert keyed_elsewhere(keys, None) == (0, 0)


def test_devices_are_kept_in_the_order_of_their_index() -> None:
    devices = keys_by_device({"cuda:10": (), "cuda:2": (), "cpu": (), "unknown": ()})
    assert [entry.device for entry in devices] == ["cpu", "cuda:2", "cuda:10", "unknown"]


def test_the_fingerprint_does_not_depend_on_devices_or_order() -> None:
    one = CacheKeys(KeySource.FOUND, (DeviceKeys("cpu", (key("b"), key("a"))),))
    two = CacheKeys(
        KeySource.WARMUP, (DeviceKeys("cuda:0", (key("a"), key("b"))), DeviceKeys("cuda:1", (key("a"),)))
    )
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != replace(one, triton=("triton/" + "A" * 52,)).fingerprint
