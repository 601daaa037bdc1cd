"""Which hazards apply: each rule on both its sides."""

from __future__ import annotations

import re
from typing import Any

import pytest

from envguard.model.facts import Driver, Gpu
from envguard.model.hazards import HAZARDS, CacheFolder, Diagnosis, Seen, Signs, Topology, Verdict
from envguard.model.observed import Absent, Unobserved, Value
from envguard.planning.hazards import RULES, diagnose
from tests import builders

ALONE = Topology(threads=("cuda:0",))
BROKEN = Signs("process", False, False, True, 8, False)
MASKED = Signs("process", True, True, True, 8, True)
FIXED = Signs("thread", True, True, True, 8, False)
DRIVER = Value(Driver("580.65.06"))


def found(
    signs: Signs | None = FIXED,
    *,
    torch: str = "2.11.0",
    topology: Topology = ALONE,
    cache: CacheFolder | None = None,
    seen: dict[str, Any] | None = None,
    **sections: Any,
) -> Diagnosis:
    """What is found of a machine where one thing is changed."""
    facts = builders.facts(
        **{
            "torch": Value(builders.torch_build(version=torch, build=f"{torch}+cu130")),
            "driver": DRIVER,
            **sections,
        }
    )
    looked = Seen(
        signs=Value(signs) if signs else Unobserved("unreadable"),
        cache=Value(cache or CacheFolder("~/cache", "ext4")),
        **(seen or {}),
    )
    return diagnose(facts, looked, topology)


def verdicts(diagnosis: Diagnosis) -> dict[str, str]:
    """Slug → verdict."""
    return {entry.hazard.slug: entry.verdict.value for entry in diagnosis.found}


def test_a_good_machine_has_none() -> None:
    assert found() == Diagnosis() and found().exit_code == 0


def test_every_hazard_has_a_rule_evidence_and_one_thing_to_do() -> None:
    assert list(RULES) == [hazard.slug for hazard in HAZARDS] and len(set(RULES)) == len(HAZARDS)
    for hazard in HAZARDS:
        assert re.fullmatch(r"[a-z-]{4,16}", hazard.slug)
        assert hazard.what and hazard.shows and hazard.do and "\n" not in hazard.do
        assert hazard.evidence and all(address.startswith("https://github.com/") for address in hazard.evidence)


@pytest.mark.parametrize(
    ("signs", "torch", "threads", "expected"),
    [
        (BROKEN, "2.11.0", ("cuda:0", "cuda:1"), {"tracing-flag": "certain"}),
        (BROKEN, "2.11.0", ("cuda:0",), {}),
        (BROKEN, "2.11.0", None, {"tracing-flag": "certain", "shared-device": "unknown"}),
        (MASKED, "2.13.0", ("cuda:0", "cuda:1"), {"masked-flag": "unknown", "block-mask": "unknown", "thread-settings": "unknown"}),
        (MASKED, "2.13.0", ("cuda:0",), {}),
        (FIXED, "2.14.0", ("cuda:0", "cuda:1"), {"thread-settings": "unknown"}),
        (None, "2.14.0", ("cuda:0", "cuda:1"), {"block-mask": "unknown", "thread-settings": "unknown"}),
        (None, "2.11.0", ("cuda:0", "cuda:1"), {"tracing-flag": "unknown"}),
        (None, "2.16.0.dev1", ("cuda:0",), {}),
        (Signs(flag="process"), "2.11.0", ("cuda:0", "cuda:1"), {"tracing-flag": "unknown"}),
        (Signs(), "2.11.0", ("cuda:0", "cuda:1"), {"tracing-flag": "unknown"}),
        (BROKEN, "odd", ("cuda:0", "cuda:1"), {"tracing-flag": "certain"}),
    ],
    ids=["2.11", "one thread", "not told", "2.13", "2.13 one thread", "2.14", "2.14 unread", "unread",
         "unread new", "mask unread", "flag unread", "odd version"],
)  # fmt: skip
def test_the_tracing_flag(
    signs: Signs | None, torch: str, threads: tuple[str, ...] | None, expected: dict[str, str]
) -> None:
    assert verdicts(found(signs, torch=torch, topology=Topology(threads))) == expected


def test_the_source_outweighs_the_version_and_that_is_said() -> None:
    (entry,) = found(BROKEN, torch="2.15.0", topology=Topology(("cuda:0", "cuda:1"))).found
    assert entry.verdict is Verdict.CERTAIN and "not known of this version" in entry.detail
    assert verdicts(found(FIXED, torch="2.10.0", topology=ALONE)) == {"torn-entries": "unknown"}


@pytest.mark.parametrize(("torch", "cacheable", "expected"), [("2.9.1", False, "unknown"), ("2.10.0", True, None)])
def test_the_backward_of_flex_attention(torch: str, cacheable: bool, expected: str | None) -> None:
    signs = Signs("thread", True, False, cacheable, 8)
    assert verdicts(found(signs, torch=torch)).get("flex-backward") == expected


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        (("cuda:0", "cuda:0", "cuda:1"), "certain"),
        (("cuda:0", "cuda:1"), None),
        (("cpu", "cpu"), None),
        (None, "unknown"),
    ],
)
def test_threads_that_share_a_device(threads: tuple[str, ...] | None, expected: str | None) -> None:
    diagnosis = found(topology=Topology(threads))
    assert verdicts(diagnosis).get("shared-device") == expected
    if expected == "certain":
        assert diagnosis.found[0].detail == "2 threads on cuda:0"


@pytest.mark.parametrize(("devices", "expected"), [(4, None), (5, "unknown"), (8, "unknown"), (9, "certain")])
def test_the_recompile_limit(devices: int, expected: str | None) -> None:
    threads = tuple(f"cuda:{index}" for index in range(devices))
    assert verdicts(found(topology=Topology(threads))).get("recompile-limit") == expected


@pytest.mark.parametrize(
    ("folder", "slug"),
    [
        (CacheFolder("/tmp/x", "ext4", temporary=True), "cache-temporary"),
        (CacheFolder("/n", "nfs4"), "cache-network"),
        (CacheFolder("/n", "fuse.sshfs"), "cache-network"),
        (CacheFolder("/x", "ext4", noexec=True), "cache-noexec"),
        (CacheFolder("/x", "ext4", foreign="everybody may write there"), "cache-foreign"),
    ],
    ids=["temporary", "nfs", "fuse", "noexec", "foreign"],
)
def test_the_cache_folder(folder: CacheFolder, slug: str) -> None:
    diagnosis = found(cache=folder)
    assert verdicts(diagnosis) == {slug: "certain"} and folder.shown in diagnosis.found[0].detail


def test_a_cache_folder_that_was_not_looked_at_is_unknown_once_each() -> None:
    facts = builders.facts(driver=DRIVER)
    diagnosis = diagnose(facts, Seen(signs=Value(FIXED), cache=Unobserved("denied")), ALONE)
    assert set(verdicts(diagnosis).values()) == {"unknown"} and diagnosis.exit_code == 4


@pytest.mark.parametrize(
    ("field", "slug"),
    [("remote", "remote-cache"), ("disabling", "compiling-off"), ("settings", "hidden-failures")],
)
def test_what_was_seen_around_the_run(field: str, slug: str) -> None:
    diagnosis = found(seen={field: ("one", "two", "three", "four")})
    assert verdicts(diagnosis) == {slug: "certain"} and "one" in diagnosis.found[0].detail


def test_many_places_are_counted() -> None:
    assert found(seen={"settings": tuple("abcde")}).found[0].detail == "a, b, c and 2 more places"


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        (Value(Driver("535.104")), "certain"),
        (Value(Driver("580.65")), None),
        (Absent(), "unknown"),
        (Unobserved("denied"), "unknown"),
        (Value(Driver("odd")), "unknown"),
    ],
    ids=["older", "new enough", "none", "unobserved", "odd"],
)
def test_the_driver(driver: Any, expected: str | None) -> None:
    assert verdicts(found(driver=driver)).get("driver-floor") == expected


def test_a_cpu_build_needs_no_driver() -> None:
    torch = builders.torch_build(variant="cpu", build="2.11.0+cpu", cuda=None)
    facts = builders.facts(torch=Value(torch), driver=Absent())
    assert diagnose(facts, Seen(Value(FIXED), Value(CacheFolder("~/c", "ext4"))), ALONE) == Diagnosis()


def test_two_cuda_majors() -> None:
    distributions = (
        builders.distribution("nvidia-cudnn-cu12", "9.1"),
        builders.distribution("nvidia-cublas-cu12", "12.4"),
        builders.distribution("requests"),
    )
    diagnosis = found(distributions=Value(distributions))
    assert verdicts(diagnosis) == {"cuda-mix": "certain"}
    assert (
        diagnosis.found[0].detail == "CUDA 12: nvidia-cudnn-cu12, nvidia-cublas-cu12; CUDA 13: torch 2.11.0+cu130"
    )


@pytest.mark.parametrize(
    ("budget", "threads", "expected"),
    [
        (None, ("cuda:0",), None),
        (23_000, ("cuda:0",), None),
        (24_000, ("cuda:0",), "certain"),
        (24_000, ("cuda:1",), None),
    ],
    ids=["not told", "fits", "too much", "on the larger one"],
)
def test_the_context_s_memory(budget: int | None, threads: tuple[str, ...], expected: str | None) -> None:
    gpus = (Gpu(0, "small", "9.0", 24_100), Gpu(1, "large", "9.0", 81_000))
    diagnosis = found(topology=Topology(threads, budget), gpus=Value(gpus))
    assert verdicts(diagnosis).get("context-memory") == expected


def test_the_context_s_memory_without_a_gpu_to_look_at() -> None:
    assert verdicts(found(topology=Topology(("cuda:0",), 1000))) == {"context-memory": "unknown"}


def test_without_torch_none_of_its_hazards_apply() -> None:
    folder = CacheFolder("/tmp/x", "tmpfs", temporary=True)
    facts = builders.facts(torch=Absent(), driver=Absent())
    assert diagnose(facts, Seen(Absent(), Value(folder)), Topology()) == Diagnosis()


def test_certain_ones_come_first_and_the_gravest_of_them() -> None:
    diagnosis = found(
        BROKEN,
        torch="2.9.0",
        topology=Topology(("cuda:0", "cuda:0")),
        cache=CacheFolder("/tmp/x", "ext4", temporary=True),
        seen={"disabling": ("TORCH_COMPILE_DISABLE=1",)},
    )
    assert list(verdicts(diagnosis)) == [
        "compiling-off",
        "tracing-flag",
        "shared-device",
        "cache-temporary",
        "torn-entries",
    ]
    assert diagnosis.exit_code == 1
