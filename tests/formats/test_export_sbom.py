"""SBOMs: validated by the libraries' own schemas, and what they say."""

from __future__ import annotations

import builtins
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from envguard.errors import MissingExtraError
from envguard.formats import export_cyclonedx, export_spdx
from envguard.formats.lockfile import lock_id
from envguard.model.cache import CacheKeys, DeviceKeys, KeySource
from envguard.model.distribution import Evidence, Origin, Wheel
from envguard.model.facts import FileFact, FileKind
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value
from tests.builders import COMMIT, digest, distribution, facts

WHEEL = Wheel("torch-2.11.0-cp312-cp312-linux_x86_64.whl", digest("torch"), None, 10, "default", Evidence.UV_CACHE)
KEYS = CacheKeys(KeySource.GUARD, (DeviceKeys("cuda:5", ("aotautograd/a1", "fxgraph/f1")),))


def a_lock(**changes: Any) -> Lock:
    entries = (
        distribution("torch", "2.11.0+cu130", wheel=WHEEL),
        distribution("mypkg", "0.1", origin=Origin("vcs", url="https://example.invalid/x", commit="a" * 40)),
        distribution("old", "1.0", record=None, wheel=Wheel(claimed_sha256=digest("claim"))),
        distribution("data-only", "2!1.0.post1.dev3", wheel=Wheel(sdist="data-only-1.tar.gz")),
    )
    whole = Lock(
        "good-5t3d",
        facts(distributions=Value(entries), keys=Value(KEYS)),
        datetime(2026, 11, 29, 17, tzinfo=UTC),
        note='a note\nof two lines, with "quotes" → ü',
    )
    return replace(whole, **changes)


EDGES = {
    "whole": a_lock(),
    "nothing recorded": Lock("empty", facts(distributions=Value(()), keys=Unobserved("no"))),
    "without a time": a_lock(created=None),
    "an odd name": a_lock(name='../späße <&> "x"'),
    "claims only": Lock("first", replace(facts(), interpreter=Unobserved("x"), torch=Unobserved("x"))),
}
each_lock = pytest.mark.parametrize("lock", EDGES.values(), ids=EDGES.keys())


@each_lock
def test_cyclonedx_is_valid_by_its_own_schema(lock: Lock) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(export_cyclonedx.dump(lock).decode()) is None


@each_lock
def test_spdx_reads_back_and_is_valid(lock: Lock) -> None:
    from spdx_tools.spdx.parser.jsonlikedict.json_like_dict_parser import JsonLikeDictParser
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

    document = JsonLikeDictParser().parse(json.loads(export_spdx.dump(lock)))  # type: ignore[no-untyped-call]
    assert validate_full_spdx_document(document) == []


@pytest.mark.parametrize("dump", [export_cyclonedx.dump, export_spdx.dump], ids=["cyclonedx", "spdx"])
def test_equal_locks_give_equal_bytes_and_others_another_number(dump: Any) -> None:
    assert dump(a_lock()) == dump(a_lock())
    assert dump(a_lock()) != dump(a_lock(name="other"))


def component(name: str, lock: Lock | None = None) -> dict[str, Any]:
    document = json.loads(export_cyclonedx.dump(lock or a_lock()))
    return next(entry for entry in document["components"] if entry["name"] == name)


def properties(entry: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item["value"] for item in entry["properties"]}


def test_torch_says_its_commit_and_variant() -> None:
    torch = component("torch")
    assert torch["purl"] == "pkg:pypi/torch@2.11.0%2Bcu130"
    assert torch["hashes"] == [{"alg": "SHA-256", "content": digest("torch").hex}]
    said = properties(torch)
    assert said["envguard:torch-git-commit"] == COMMIT
    assert said["envguard:torch-variant"] == "cu130"
    assert said["envguard:record"].startswith("sha256:")
    assert said["envguard:evidence"] == "uv-cache"


def test_a_claim_is_no_hash() -> None:
    old = component("old")
    assert "hashes" not in old
    assert properties(old) == {"envguard:claimed-sha256": str(digest("claim"))}


def test_a_repository_is_told_with_its_commit() -> None:
    mine = component("mypkg")
    assert mine["externalReferences"] == [{"type": "vcs", "url": "https://example.invalid/x"}]
    assert properties(mine)["envguard:origin-commit"] == "a" * 40


def test_the_whole_says_lock_cache_and_changed_files() -> None:
    changed = (FileFact("torch/x.py", FileKind.MODIFIED), FileFact("y.py", FileKind.UNOWNED))
    lock = a_lock(facts=replace(a_lock().facts, files=Value(changed)))
    whole = json.loads(export_cyclonedx.dump(lock))["metadata"]
    said = properties(whole["component"])
    assert said["envguard:lock-id"] == lock_id(lock)
    assert said["envguard:compile-cache"] == str(KEYS.fingerprint)
    assert said["envguard:changed-files"] == "1"
    assert whole["timestamp"] == "2026-11-29T17:00:00+00:00"


def test_spdx_says_the_same() -> None:
    document = json.loads(export_spdx.dump(a_lock()))
    torch = next(entry for entry in document["packages"] if entry["name"] == "torch")
    assert f"envguard:torch-git-commit={COMMIT}" in torch["comment"].splitlines()
    assert torch["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest("torch").hex}]
    assert torch["downloadLocation"] == "NOASSERTION"


@pytest.mark.parametrize(
    ("dump", "library"),
    [(export_cyclonedx.dump, "cyclonedx"), (export_spdx.dump, "spdx_tools")],
    ids=["cyclonedx", "spdx"],
)
def test_without_the_extra_it_says_how_to_get_it(dump: Any, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == library:
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError) as caught:
        dump(a_lock())
    assert caught.value.exit_code == 3
    assert "envguard[sbom]" in (caught.value.hint or "")
