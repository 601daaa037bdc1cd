"""environment.yml: valid, pinned, and honest of what it can't say."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from envguard.errors import EnvguardError
from envguard.formats import export_conda
from envguard.model.distribution import Origin, Wheel
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value
from tests.builders import digest, distribution, facts


def dump(*entries: Any, **changes: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    lock = Lock("good-5t3d", facts(distributions=Value(entries)), **changes)
    made = export_conda.dump(lock)
    parsed: dict[str, Any] = yaml.safe_load(made.content)
    for line in made.unsaid:
        assert f"#   {line}" in made.content.decode().splitlines()
    return parsed, made.unsaid


def pip_lines(parsed: dict[str, Any]) -> list[str]:
    found: list[str] = next((entry["pip"] for entry in parsed["dependencies"] if isinstance(entry, dict)), [])
    return found


def test_python_channels_and_pins() -> None:
    parsed, unsaid = dump(distribution(), distribution("torch", "2.11.0"), distribution("pip", "25"))
    assert parsed == {
        "name": "good-5t3d",
        "channels": ["conda-forge"],
        "dependencies": ["python=3.12.3", "pip", {"pip": ["requests==2.32.3", "torch==2.11.0"]}],
    }
    assert any("record fingerprint" in line for line in unsaid)
    assert any("2.11.0+cu130" in line and "70d99e998b" in line for line in unsaid)


def test_nothing_by_pip_needs_no_section_for_it() -> None:
    assert dump()[0]["dependencies"] == ["python=3.12.3", "pip"]


def test_what_conda_installed_is_condas() -> None:
    parsed, unsaid = dump(distribution("numpy", "2.1", installer="conda"), distribution())
    assert parsed["dependencies"][1] == "numpy=2.1"
    assert pip_lines(parsed) == ["requests==2.32.3"]
    assert any("builds and channels" in line for line in unsaid)


def test_indexes_of_the_lock_are_named_for_pip() -> None:
    entry = distribution("torch", "2.11.0+cu130", wheel=Wheel(index="pytorch-cu130"))
    parsed, unsaid = dump(entry, indexes={"pytorch-cu130": "https://wheels.invalid/whl/cu130"})
    assert pip_lines(parsed) == ["--extra-index-url https://wheels.invalid/whl/cu130", "torch==2.11.0+cu130"]
    assert not any("--extra-index-url" in line for line in unsaid)


def test_a_local_version_without_its_index_is_told() -> None:
    assert any("the index that has torch" in line for line in dump(distribution("torch", "2.11.0+cu130"))[1])


ORIGINS = {
    "a commit": (
        Origin("vcs", url="https://e.invalid/x", commit="c" * 40),
        f"p @ git+https://e.invalid/x@{'c' * 40}",
    ),
    "a folder of a repository": (
        Origin("vcs", url="https://e.invalid/x", commit="c" * 40, subdirectory="sub"),
        f"p @ git+https://e.invalid/x@{'c' * 40}#subdirectory=sub",
    ),
    "changed after the commit": (Origin("vcs", url="https://e.invalid/x", commit="c", changes=digest("x")), None),
    "editable": (Origin("folder", editable=True), None),
    "a folder": (Origin("folder"), None),
    "an archive": (Origin("archive", url="https://e.invalid/p.whl"), None),
}


@pytest.mark.parametrize(("origin", "line"), ORIGINS.values(), ids=ORIGINS.keys())
def test_origins(origin: Origin, line: str | None) -> None:
    parsed, unsaid = dump(distribution("p", "1", origin=origin))
    assert pip_lines(parsed) == ([line] if line else [])
    assert any(entry.startswith("p 1: installed from a folder") for entry in unsaid) == (line is None)


def test_an_archive_of_known_bytes_is_held_to_them() -> None:
    entry = distribution(
        "p", "1", origin=Origin("archive", url="https://e.invalid/p.whl"), wheel=Wheel(sha256=digest("w"))
    )
    assert pip_lines(dump(entry)[0]) == [f"p @ https://e.invalid/p.whl#sha256={digest('w').hex}"]


def test_other_installers_are_left_out_and_told() -> None:
    parsed, unsaid = dump(distribution("apt-thing", "1", installer="debian"))
    assert pip_lines(parsed) == []
    assert "apt-thing 1: installed by debian; left out" in unsaid


@pytest.mark.parametrize(
    "name", ["3.10", "true", "a: b", "- x", "#y", "ü\nz: 1", '"', "null", "1e3", "2026-11-29"]
)
def test_odd_names_stay_text(name: str) -> None:
    lock = Lock(name, facts(distributions=Value((distribution(version='1"\n- x'),))))
    parsed = yaml.safe_load(export_conda.dump(lock).content)
    assert parsed["name"] == name
    assert pip_lines(parsed) == ['requests==1"\n- x']


def test_a_lock_without_a_python_makes_none() -> None:
    with pytest.raises(EnvguardError, match="which Python"):
        export_conda.dump(Lock("x", facts(interpreter=Unobserved("no"))))
