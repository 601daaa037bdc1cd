"""Rules over the lock alone: each contradiction is told at its key."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from envguard.model.cache import CacheKeys, DeviceKeys, KeySource
from envguard.model.distribution import Evidence, Origin, Wheel
from envguard.model.facts import CacheFound, Driver, FileFact, FileKind, Gpu, SharedPath
from envguard.model.lock import Lock
from envguard.model.observed import Absent, Value
from envguard.model.policy import Ignore, Policy
from envguard.planning.lint import (
    archive_objects,
    cache_keys,
    canonical,
    cuda_majors,
    driver_floor,
    duplicates,
    expired_ignores,
    torch_build,
    torch_requires,
    warmup_devices,
    wheel_names,
)
from envguard.planning.lint.rule import Subject
from tests.builders import digest, distribution
from tests.builders import torch_build as build
from tests.planning.lint.subjects import GPUS, changed, good, keys, said, subject


def test_canonical_names_the_first_line() -> None:
    (finding,) = canonical.RULE.run(subject(good(), uncanonical=7))
    assert finding.line == 7
    assert finding.hint == "rewrite it: envguard lint --fix lockfiles/good.toml"


class TestTorchBuild:
    @pytest.mark.parametrize(
        ("changes", "key", "words"),
        [
            (
                {"build": "2.11.0+cu128"},
                "torch.variant",
                "the build 2.11.0+cu128 is of cu128, the variant says cu130",
            ),
            ({"build": "2.12.0+cu130"}, "torch.build", "version 2.11.0 and build 2.12.0+cu130 are two versions"),
            ({"cuda": "12.8"}, "torch.cuda", "variant cu130 is CUDA 13.0, cuda says 12.8"),
            (
                {"variant": "cpu", "build": "2.11.0+cpu"},
                "torch.cuda",
                "variant cpu, and yet built with CUDA or HIP 13.0",
            ),
        ],
        ids=["label", "version", "cuda", "cpu with cuda"],
    )
    def test_the_table(self, changes: dict[str, str], key: str, words: str) -> None:
        lock = good(torch=Value(build(**changes)))
        assert said(torch_build.RULE, subject(lock)) == [f"error {key}: {words}"]

    @pytest.mark.parametrize(
        "changes",
        [{"build": "2.11.0"}, {"build": "2.11.0+git1a2b3c", "variant": "cu130"}, {"cuda": None}],
        ids=["no label", "a local build", "no cuda"],
    )
    def test_what_is_no_contradiction(self, changes: dict[str, str]) -> None:
        assert said(torch_build.RULE, subject(good(torch=Value(build(**changes))))) == []

    def test_the_distribution(self) -> None:
        lines = said(torch_build.RULE, subject(changed("torch", version="2.10.0")))
        assert lines == ["error distribution[torch].version: the distribution is 2.10.0, [torch] says 2.11.0"]

    @pytest.mark.parametrize("plus", ["+", "%2B"])
    def test_the_wheel_of_another_variant(self, plus: str) -> None:
        wheel = Wheel(f"torch-2.11.0{plus}cu128-cp312-cp312-linux_x86_64.whl")
        (line,) = said(torch_build.RULE, subject(changed("torch", wheel=wheel)))
        assert line.startswith("error distribution[torch].wheel: the wheel torch-2.11.0")
        assert line.endswith("is of cu128, [torch] says cu130")

    def test_no_torch(self) -> None:
        assert said(torch_build.RULE, subject(good(torch=Absent()))) == []


class TestWheelNames:
    @pytest.mark.parametrize(
        ("filename", "words"),
        [
            ("requests-2.32.4-py3-none-any.whl", "is no wheel of requests 2.32.3"),
            ("urllib3-2.32.3-py3-none-any.whl", "is no wheel of requests 2.32.3"),
            ("requests.whl", "is no wheel of requests 2.32.3"),
            ("requests-2.32.3-cp311-cp311-linux_x86_64.whl", "is for Python 3.11, [interpreter] is 3.12"),
            ("requests-2.32.3-cp313-cp313t-linux_x86_64.whl", "is for Python 3.13, [interpreter] is 3.12"),
        ],
        ids=["version", "name", "no wheel at all", "python", "free-threaded"],
    )
    def test_it_does_not_fit(self, filename: str, words: str) -> None:
        lines = said(wheel_names.RULE, subject(changed("requests", wheel=Wheel(filename))))
        assert lines == [f"error distribution[requests].wheel: {filename} {words}"]

    @pytest.mark.parametrize(
        "filename",
        [
            "Requests-2.32.3-py3-none-any.whl",
            "requests-2.32.3-1-py2.py3-none-any.whl",
            "requests-2.32.3-cp310-abi3-linux_x86_64.whl",
            "requests-2.32.3-cp311.cp312-cp311.cp312-linux_x86_64.whl",
        ],
    )
    def test_it_fits(self, filename: str) -> None:
        assert said(wheel_names.RULE, subject(changed("requests", wheel=Wheel(filename)))) == []


class TestTorchRequires:
    def test_another_triton(self) -> None:
        lines = said(torch_requires.RULE, subject(changed("triton", version="3.5.1")))
        words = "triton 3.5.1, and torch 2.11.0+cu130 asks for triton==3.6.0"
        assert lines == [f"error distribution[triton].version: {words}"]

    def test_none_at_all(self) -> None:
        lock = good(torch=Value(build(requires=("nvidia-nccl-cu13==2.28.9", "triton==3.6.0"))))
        (line,) = said(torch_requires.RULE, subject(lock))
        assert line == (
            "error torch.requires: torch 2.11.0+cu130 asks for nvidia-nccl-cu13==2.28.9, and the lock has none"
        )

    @pytest.mark.parametrize("text", ["triton>=3.5,<4", "triton[all]==3.6.0", "triton is odd"])
    def test_met_or_not_to_be_understood(self, text: str) -> None:
        assert said(torch_requires.RULE, subject(good(torch=Value(build(requires=(text,)))))) == []


class TestCudaMajors:
    def test_a_library_of_another_major(self) -> None:
        lock = changed("nvidia-cublas", name="nvidia-cublas-cu12", version="12.8.4.1")
        words = "nvidia-cublas-cu12 12.8.4.1 belongs to CUDA 12, torch 2.11.0+cu130 to CUDA 13"
        assert said(cuda_majors.RULE, subject(lock)) == [f"error distribution[nvidia-cublas-cu12]: {words}"]

    def test_a_variant_that_torchs_files_do_not_agree_with(self) -> None:
        lock = good(torch=Value(build(needs=("libcudart.so.12",))))
        first = said(cuda_majors.RULE, subject(lock))[0]
        assert first == "error torch.needs: variant cu130 is CUDA 13, and torch's files need libcudart.so.12"

    def test_cpu(self) -> None:
        lock = good(torch=Value(build(variant="cpu", needs=(), cuda=None)))
        assert said(cuda_majors.RULE, subject(lock)) == []


class TestDriverFloor:
    def test_older_than_torch_needs(self) -> None:
        lines = said(driver_floor.RULE, subject(good(driver=Value(Driver("570.86")))))
        assert lines == ["error machine.driver: driver 570.86 is older than 580, which cu130 needs"]

    def test_a_floor_of_another_variant(self) -> None:
        whole = subject(good())
        machine = {**whole.document["machine"], "driver-floor": "525.60.13"}
        lines = said(driver_floor.RULE, replace_document(whole, machine=machine))
        assert lines == [
            "error machine.driver-floor: driver-floor 525.60.13 is not that of cu130: its floor is 580"
        ]


def replace_document(whole: Subject, **tables: object) -> Subject:
    """With other tables in the parsed text."""
    return replace(whole, document={**whole.document, **tables})


class TestCacheKeys:
    def test_more_than_were_found(self) -> None:
        found = CacheFound("/c", "default", (("aotautograd", 0), ("fxgraph", 1)))
        lines = said(cache_keys.RULE, subject(good(cache=Value(found))))
        assert lines == ["error cache.found: 1 aotautograd keys are listed, and 0 were found"]

    def test_a_device_that_is_not_there(self) -> None:
        lines = said(cache_keys.RULE, subject(good(keys=Value(keys("cuda:5", "cuda:9")))))
        assert lines == ["error cache.keys.cuda:9: keys for cuda:9, and [machine] has 2 GPUs: cuda:5, cuda:6"]

    def test_cpu_and_unknown_machines(self) -> None:
        assert said(cache_keys.RULE, subject(good(keys=Value(keys("cpu"))))) == []
        assert said(cache_keys.RULE, subject(good(gpus=Absent(), keys=Value(keys("cuda:9"))))) == []

    def test_no_fingerprint(self) -> None:
        whole = subject(good())
        cache = {key: value for key, value in whole.document["cache"].items() if key != "fingerprint"}
        (line,) = said(cache_keys.RULE, replace_document(whole, cache=cache))
        assert line == "error cache.keys: keys are listed without their fingerprint"

    def test_none(self) -> None:
        lock = good(keys=Value(CacheKeys(KeySource.FOUND, (DeviceKeys("cpu", ()),))))
        assert said(cache_keys.RULE, subject(lock)) == []


class TestWarmupDevices:
    """[warmup] and [run] of the parsed text, in whatever form they name devices."""

    @pytest.mark.parametrize("devices", [["cuda:5", "cuda:7"], [5, 7], [{"device": "cuda:7", "hits": 1}]])
    def test_devices_that_the_machine_has_not(self, devices: list[object]) -> None:
        whole = replace_document(subject(good()), warmup={"devices": devices})
        (line,) = said(warmup_devices.RULE, whole)
        assert line == "error warmup.devices: [warmup] names cuda:7, and [machine] has cuda:5, cuda:6"

    def test_a_device_of_the_run_that_is_not_warmed_up(self) -> None:
        run = {
            "processes": 2,
            "threads": [{"role": "trainer", "device": "cuda:5"}],
            "devices": [{"device": "cuda:6"}],
        }
        whole = replace_document(subject(good()), warmup={"devices": ["cuda:5"]}, run=run)
        (line,) = said(warmup_devices.RULE, whole)
        assert line == "error warmup.devices: [warmup] leaves out cuda:6, which [run] uses"

    def test_nothing_to_compare(self) -> None:
        odd = {"command": ["python", "warm.py"], "devices": True}
        whole = replace_document(subject(good()), warmup=odd, run={"x": [{"device": "cpu"}]})
        assert said(warmup_devices.RULE, whole) == []
        unknown = replace_document(subject(good(gpus=Absent(), keys=Absent())), warmup={"devices": [0]})
        assert said(warmup_devices.RULE, unknown) == []


class TestArchiveObjects:
    def test_objects_that_no_list_names(self) -> None:
        lock = changed("requests", wheel=Wheel(sha256=digest("w"), rebuilt=digest("r"), evidence=Evidence.ARCHIVE))
        keyed = [line.partition(":")[0] for line in said(archive_objects.RULE, subject(lock))]
        assert keyed == ["error distribution[requests].rebuilt", "error distribution[requests].sha256"]
        named = replace(lock, archive=(digest("w"), digest("r")))
        assert said(archive_objects.RULE, subject(named)) == []

    def test_a_source_folder(self) -> None:
        lock = changed("requests", origin=Origin("folder", archive=digest("tar")))
        (line,) = said(archive_objects.RULE, subject(lock))
        assert "the origin archive of requests" in line


class TestDuplicates:
    def test_files_paths_objects_and_gpus(self) -> None:
        file = FileFact("a.py", FileKind.UNOWNED, sha256=digest("1"))
        lock = good(
            files=Value((file, replace(file, sha256=digest("2")))),
            shared=Value((SharedPath("x.py", ("a", "b"), True), SharedPath("x.py", ("a", "c"), True))),
            gpus=Value((*GPUS.value, Gpu(5, "NVIDIA H200", "9.0", 1))),
        )
        lock = replace(lock, archive=(digest("o"), digest("o")))
        assert said(duplicates.RULE, subject(lock)) == [
            "error file[1]: a.py is listed twice as unowned",
            "error machine.gpus: cuda:5 is listed twice",
            "error shared[1]: x.py is listed twice",
            f"error archive.objects: object {digest('o').short} is listed twice",
        ]

    @pytest.mark.parametrize("key", ["sha256", "record"])
    def test_two_distributions_of_the_same_bytes(self, key: str) -> None:
        same: Any = {"record": digest("x")} if key == "record" else {"wheel": Wheel(sha256=digest("x"))}
        entries = (distribution("a", "1", **same), distribution("b", "1", **same))
        lines = said(duplicates.RULE, subject(Lock("x", good(distributions=Value(entries)).facts)))
        assert lines == [f"error distribution[b].{key}: b and a have one and the same {key} {digest('x').short}"]


def test_an_ignore_whose_day_has_passed_warns() -> None:
    ignores = (
        Ignore("files", "a", "ann", "soon", date(2026, 11, 28)),
        Ignore("files", "b", "ann", "today is its last", date(2026, 11, 29)),
        Ignore("files", "c", "ann", "for ever"),
    )
    lines = said(expired_ignores.RULE, subject(replace(good(), policy=Policy(ignore=ignores))))
    assert lines == ["warning policy.ignore[0]: files of a was accepted by ann until 2026-11-28: soon"]
