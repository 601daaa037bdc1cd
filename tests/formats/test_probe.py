from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envguard.errors import ProbeFailedError, TargetInvalidError
from envguard.formats import probe
from envguard.model.facts import Gpu, Interpreter, Live
from envguard.model.observed import Absent, Unobserved, Value

STATIC: dict[str, Any] = {
    "schema": 1,
    "sections": {
        "interpreter": {
            "ok": {
                "implementation": "cpython",
                "version": "3.12.3",
                "build": "main, GCC 13.3.0",
                "soabi": "cpython-312-x86_64-linux-gnu",
                "platform_tag": "linux_x86_64",
                "libc": "glibc 2.39",
            }
        },
        "paths": {
            "ok": {
                "executable": "/env/bin/python",
                "prefix": "/env",
                "base_prefix": "/usr",
                "purelib": "/env/lib/python3.12/site-packages",
                "platlib": "/env/lib64/python3.12/site-packages",
                "scripts": "/env/bin",
                "headers": "/env/include/site/python3.12",
                "data": "/env",
                "standard_library": ["/usr/lib/python312.zip", "/usr/lib/python3.12"],
            }
        },
        "sites": {
            "ok": {
                "is_venv": True,
                "system_site": True,
                "first": ["/env/lib/python3.12/site-packages"],
                "last": ["/usr/lib/python3/dist-packages"],
            }
        },
        "user_site": {"ok": {"folder": "/home/me/.local/lib/python3.12/site-packages", "enabled": True}},
    },
}

LIVE: dict[str, Any] = {
    "schema": 1,
    "sections": {
        "build": {
            "ok": {
                "version": "2.11.0+cu130",
                "git_commit": "70d99e998b",
                "cuda": "13.0",
                "default_dtype": "float32",
            }
        },
        "cudnn": {"ok": "9.10.2"},
        "nccl": {"ok": None},
        "architectures": {"ok": ["sm_90"]},
        "devices": {"ok": ["NVIDIA H200"]},
        "outside": {"ok": ["libcuda.so.1"]},
    },
}

GPUS: dict[str, Any] = {
    "schema": 1,
    "devices": [{"index": 0, "name": "NVIDIA H200", "capability": "9.0", "memory": 150109880320}],
}


def changed(whole: dict[str, Any], path: str, value: object) -> str:
    """The answer with one value replaced, or taken out where ``value`` is ``...``."""
    copied = copy.deepcopy(whole)
    *above, last = path.split(".")
    place = copied
    for key in above:
        place = place[key]
    assert last in place
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(copied)


def test_static_is_read_whole() -> None:
    seen = probe.static(json.dumps(STATIC))
    assert seen.interpreter == Interpreter(
        "cpython", "3.12.3", "main, GCC 13.3.0", "cpython-312-x86_64-linux-gnu", "linux_x86_64", "glibc 2.39"
    )
    assert seen.layout.python == Path("/env/bin/python")
    assert seen.layout.prefix == Path("/env")
    assert seen.layout.base_prefix == Path("/usr")
    assert seen.layout.libraries == (
        Path("/env/lib/python3.12/site-packages"),
        Path("/env/lib64/python3.12/site-packages"),
    )
    assert seen.layout.scripts == Path("/env/bin")
    assert seen.layout.headers == Path("/env/include/site/python3.12")
    assert (seen.layout.is_venv, seen.layout.system_site) == (True, True)
    assert seen.standard_library == (Path("/usr/lib/python312.zip"), Path("/usr/lib/python3.12"))
    assert seen.first_sites == (Path("/env/lib/python3.12/site-packages"),)
    assert seen.user_site == Path("/home/me/.local/lib/python3.12/site-packages")
    assert seen.last_sites == (Path("/usr/lib/python3/dist-packages"),)


def test_a_disabled_user_site_is_none() -> None:
    assert probe.static(changed(STATIC, "sections.user_site.ok.enabled", False)).user_site is None


def test_one_folder_for_both_kinds_of_library_counts_once() -> None:
    folder = STATIC["sections"]["paths"]["ok"]["purelib"]
    assert probe.static(changed(STATIC, "sections.paths.ok.platlib", folder)).layout.libraries == (Path(folder),)


@pytest.mark.parametrize(
    ("path", "value", "where", "words"),
    [
        pytest.param("schema", 2, "schema", "schema 2", id="other-schema"),
        pytest.param("schema", ..., "schema", "schema None", id="no-schema"),
        pytest.param("sections", ..., "sections", "missing", id="no-sections"),
        pytest.param("sections.interpreter", ..., "sections.interpreter", "missing", id="no-section"),
        pytest.param(
            "sections.interpreter.ok.soabi", ..., "sections.interpreter.ok.soabi", "missing", id="no-key"
        ),
        pytest.param(
            "sections.interpreter.ok.version", 3, "sections.interpreter.ok.version", "an integer", id="other-kind"
        ),
        pytest.param(
            "sections.paths", {"error": "OSError: no"}, "sections.paths.error", "OSError: no", id="section-failed"
        ),
        pytest.param(
            "sections.paths.ok.prefix", "env", "sections.paths.ok.prefix", "absolute", id="relative-path"
        ),
        pytest.param(
            "sections.sites.ok.first", ["/a", 1], "sections.sites.ok.first[1]", "a string", id="wrong-item"
        ),
        pytest.param("sections.sites.ok.is_venv", "yes", "sections.sites.ok.is_venv", "true or false", id="flag"),
    ],
)
def test_what_is_wrong_is_named_by_its_key_path(path: str, value: object, where: str, words: str) -> None:
    with pytest.raises(ProbeFailedError) as caught:
        probe.static(changed(STATIC, path, value))
    assert caught.value.where == where
    assert words in caught.value.message


@pytest.mark.parametrize("read", [probe.static, probe.live, probe.gpus], ids=["static", "live", "gpus"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param('{"schema": 1', id="cut"),
        pytest.param("[1]", id="a-list"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param('{"schema": 1}', id="nothing-in-it"),
        pytest.param('{"schema": 1, "failure": "x"}', id="failure-is-text"),
        pytest.param('{"schema": 1, "failure": {"kind": 1}}', id="failure-without-words"),
    ],
)
def test_rubbish_is_a_failed_probe(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(ProbeFailedError):
        read(text)


def test_an_old_python_is_an_invalid_target() -> None:
    with pytest.raises(TargetInvalidError, match=r"Python 3\.8\.18") as caught:
        probe.static('{"schema": 1, "failure": {"kind": "too-old", "detail": "3.8.18"}}')
    assert "--python" in (caught.value.hint or "")


def test_another_failure_is_a_failed_probe() -> None:
    with pytest.raises(ProbeFailedError, match="later"):
        probe.static('{"schema": 1, "failure": {"kind": "later", "detail": "x"}}')


def test_live_is_read_whole() -> None:
    assert probe.live(json.dumps(LIVE)) == Value(
        Live(
            build="2.11.0+cu130",
            git_commit="70d99e998b",
            cuda="13.0",
            cudnn="9.10.2",
            nccl=None,
            architectures=("sm_90",),
            default_dtype="float32",
            outside=("libcuda.so.1",),
            devices=("NVIDIA H200",),
        )
    )


def test_a_library_that_can_t_say_its_version_is_told_with_its_error() -> None:
    seen = probe.live(changed(LIVE, "sections.cudnn", {"error": "RuntimeError: cuDNN version incompatibility"}))
    assert isinstance(seen, Value)
    assert seen.value.cudnn == "error: RuntimeError: cuDNN version incompatibility"


def test_devices_that_can_t_be_told_are_none() -> None:
    seen = probe.live(changed(LIVE, "sections.devices", {"error": "RuntimeError: no CUDA"}))
    assert isinstance(seen, Value)
    assert seen.value.devices == ()


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        pytest.param("sections.build", {"error": "x"}, "sections.build.error", id="build-failed"),
        pytest.param("sections.outside", {"error": "x"}, "sections.outside.error", id="outside-failed"),
        pytest.param("sections.outside.ok", "libcuda.so.1", "sections.outside.ok", id="outside-is-text"),
        pytest.param("sections.cudnn.ok", 9, "sections.cudnn.ok", id="version-is-a-number"),
        pytest.param("sections.devices", ..., "sections.devices", id="no-devices"),
    ],
)
def test_what_is_wrong_with_live_is_named(path: str, value: object, where: str) -> None:
    with pytest.raises(ProbeFailedError) as caught:
        probe.live(changed(LIVE, path, value))
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        pytest.param("no-torch", Absent(), id="no-torch"),
        pytest.param("import", Unobserved("torch can't be imported: why"), id="import"),
        pytest.param(
            "too-old",
            Unobserved("the target is Python why; 3.9 is the oldest that can be looked at"),
            id="too-old",
        ),
    ],
)
def test_no_live_facts(kind: str, wanted: object) -> None:
    answer = json.dumps({"schema": 1, "failure": {"kind": kind, "detail": "why"}})
    assert probe.live(answer) == wanted


def test_gpus_are_read() -> None:
    assert probe.gpus(json.dumps(GPUS)) == Value((Gpu(0, "NVIDIA H200", "9.0", 143155),))


@pytest.mark.parametrize(
    ("failure", "wanted"),
    [
        pytest.param({"kind": "no-device", "detail": "x"}, Absent(), id="none-visible"),
        pytest.param({"kind": "cuda", "detail": "cuInit answered"}, Unobserved("cuInit answered"), id="error"),
    ],
)
def test_no_gpus(failure: dict[str, str], wanted: object) -> None:
    assert probe.gpus(json.dumps({"schema": 1, "failure": failure})) == wanted


def test_a_gpu_without_its_memory_is_named() -> None:
    answer = json.dumps({"schema": 1, "devices": [{"index": 0, "name": "x", "capability": "9.0"}]})
    with pytest.raises(ProbeFailedError) as caught:
        probe.gpus(answer)
    assert caught.value.where == "devices[0].memory"
