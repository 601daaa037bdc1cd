"""Locks: read, written, updated, refused."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields, replace
from datetime import UTC, date, datetime
from pathlib import Path

import jsonschema
import pytest

from envguard.errors import LockInvalidError
from envguard.formats import lock_write
from envguard.formats.lockfile import document_of, lock_id, read_lock, write_lock
from envguard.model.cache import CacheFactors, CacheKeys, DeviceKeys, KeySource
from envguard.model.distribution import Evidence, Origin, Wheel
from envguard.model.facts import (
    CacheFound,
    Driver,
    Facts,
    FileFact,
    FileKind,
    Gpu,
    Live,
    Shadow,
    SharedPath,
    Variable,
    VariableKind,
    Variables,
)
from envguard.model.lock import Lock
from envguard.model.observed import Absent, Unobserved, Value
from envguard.model.policy import Ignore, Policy
from envguard.model.run import Run, RunDevice, RunThread
from envguard.model.warmup import Bypass, FlexAttention, Launch, Mask, Recipe, Warmup
from tests.builders import COMMIT, digest, distribution, facts

FLEX = FlexAttention(
    (1024, 4096), 2, 8, 4, 128, "float16", (Mask.CAUSAL, Mask.SLIDING), 512, False, "model.attention:score"
)
SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "lock-1.json"


def whole() -> Lock:
    """A lock with something in every place."""
    return Lock(
        cache_manifest=digest("manifest"),
        warmup=Warmup(
            Recipe(Launch.THREADS, (), FLEX, ("cuda:0", "cuda:1"), 3, 600),
            (Bypass("rank 0", "aotautograd", "DDP", 3),),
            (("cuda:0", 4), ("cuda:1", 4)),
            True,
        ),
        name="good",
        created=datetime(2026, 11, 29, 17, tzinfo=UTC),
        note='ran at "12.8K" tok/s',
        indexes={"pytorch-cu128": "https://download.pytorch.org/whl/cu128"},
        archive=(digest("a"),),
        policy=Policy(
            strict=True,
            allow_unknown=frozenset({"driver"}),
            ignore=(Ignore("files", "a/*.py", "me", "debugging", date(2027, 1, 1)),),
        ),
        facts=facts(
            driver=Value(Driver("580.159.04")),
            gpus=Value((Gpu(0, "NVIDIA H200", "9.0", 143771), Gpu(1, "NVIDIA H200", "9.0", 143771))),
            variables=Value(
                Variables(
                    "process",
                    (
                        Variable("LD_LIBRARY_PATH", VariableKind.PRESENCE, str(digest("path"))),
                        Variable("OMP_NUM_THREADS", VariableKind.KEY, ""),
                    ),
                )
            ),
            distributions=Value(
                (
                    distribution("built", wheel=Wheel(evidence=Evidence.BUILT_FROM_SDIST, sdist="built-1.tar.gz")),
                    distribution(
                        "mine",
                        origin=Origin(
                            "vcs", True, "https://code.example/mine", COMMIT, digest("c"), "sub", digest("t")
                        ),
                        installer="conda",
                        note="patched",
                    ),
                    distribution(
                        "requests",
                        record_data=digest("d"),
                        rows=digest("r"),
                        wheel=Wheel(
                            "requests-2.32.3-py3-none-any.whl",
                            digest("w"),
                            None,
                            64928,
                            "default",
                            Evidence.UV_CACHE,
                            rebuilt=digest("rebuilt"),
                        ),
                    ),
                    distribution("torch", wheel=Wheel(claimed_sha256=digest("claimed"))),
                )
            ),
            files=Value(
                (
                    FileFact("a.pth", FileKind.STARTUP, sha256=digest("e")),
                    FileFact("x,\"y'.py", FileKind.MODIFIED, expected=digest("1"), sha256=digest("2")),
                    FileFact("uv", FileKind.SCRIPT, "scripts", digest("u"), "0755", ("uv",)),
                )
            ),
            shared=Value((SharedPath("nvidia/__init__.py", ("a", "b"), True),)),
            shadows=Value((Shadow("torch", "torch", "PYTHONPATH"),)),
            live=Value(
                Live("2.11.0+cu130", COMMIT, "13.0", "9.15", "2.28", ("sm_90",), "float32", ("libcuda.so.1",))
            ),
            cache=Value(CacheFound("/tmp/torchinductor_<user>", "default", (("aotautograd", 2), ("fxgraph", 4)))),
            factors=Value(
                CacheFactors(
                    torch_key=digest("torch").hex,
                    triton_key=digest("triton").hex,
                    threads=8,
                    settings=(("TORCHINDUCTOR_MAX_AUTOTUNE", "1"),),
                    ptxas=digest("ptxas").hex,
                    unseen=(("cpu", "no"),),
                )
            ),
            keys=Value(
                CacheKeys(
                    KeySource.WARMUP,
                    (
                        DeviceKeys("cpu", ("fxgraph/f" + "b" * 51,)),
                        DeviceKeys("cuda:2", ("aotautograd/a" + "b" * 51, "fxgraph/f" + "a" * 51)),
                        DeviceKeys("cuda:10", ("fxgraph/f" + "c" * 51,)),
                    ),
                    ("triton/" + "A" * 52,),
                    "trace",
                    digest("components"),
                )
            ),
            run=Value(
                Run(
                    build="2.11.0+cu130",
                    commit=COMMIT,
                    threads=(RunThread("drafter", "cuda:5", 0, 4300), RunThread("target", "cuda:0", 1)),
                    devices=(RunDevice("cuda:0"), RunDevice("cuda:5", 24, 0, 1, 90_000, 91_000, 630)),
                    processes=2,
                    warm=True,
                    late_compiles=1,
                    dense_calls=2,
                    tokens_per_second=12_800,
                    slower=20,
                    more_memory=0,
                )
            ),
        ),
    )


def seen_again(lock: Lock) -> Lock:
    """As a reader has it: without what is never written, lists in the order of writing."""

    distributions = lock.facts.distributions
    assert isinstance(distributions, Value)
    entries = tuple(
        replace(entry, installer=None if entry.installer in ("uv", "pip") else entry.installer)
        for entry in sorted(distributions.value, key=lambda entry: entry.name)
    )
    files = lock.facts.files
    assert isinstance(files, Value)
    ordered = tuple(sorted(files.value, key=lambda fact: (fact.root, fact.path)))
    return replace(lock, facts=replace(lock.facts, distributions=Value(entries), files=Value(ordered)))


def test_reading_gives_back_what_was_written() -> None:
    assert read_lock(write_lock(whole()), "x") == seen_again(whole())


def test_every_section_is_exercised() -> None:
    """A section that is added to the model must be added here."""
    for field in fields(Facts):
        if field.name != "files_seen":
            assert isinstance(getattr(whole().facts, field.name), Value), field.name


def test_writing_what_was_read_gives_the_same_bytes() -> None:
    text = write_lock(whole())
    assert write_lock(read_lock(text, "x"), text) == text
    assert write_lock(read_lock(text, "x")) == text


def test_absent_unobserved_and_not_recorded_are_told_apart() -> None:
    lock = Lock("x", facts(torch=Absent(), gpus=Unobserved("libcuda: error 999"), files=Unobserved("no")))
    again = read_lock(write_lock(lock), "x").facts
    assert again.torch == Absent()
    assert again.gpus == Unobserved("not recorded: libcuda: error 999")
    assert again.files == Unobserved("not recorded: no")
    assert again.live == Unobserved("not recorded")
    assert write_lock(read_lock(write_lock(lock), "x")) == write_lock(lock)


def test_a_document_of_the_lock_fits_the_published_schema() -> None:
    schema = json.loads(SCHEMA.read_text())
    for lock in (whole(), Lock("x", facts()), Lock("x", Facts())):
        document = tomllib.loads(write_lock(lock).decode())
        jsonschema.validate(json.loads(json.dumps(document, default=str)), schema)


def test_the_published_schema_and_the_writer_know_the_same_keys() -> None:
    schema = json.loads(SCHEMA.read_text())
    assert set(schema["properties"]) == lock_write._OURS
    for section, keys in lock_write._KEYS.items():
        place = schema["properties"][section]
        assert set(place.get("properties") or place["items"]["properties"]) == keys, section


class TestUpdate:
    """What a human wrote survives."""

    def test_header_unknown_keys_and_unknown_tables(self) -> None:
        text = write_lock(whole())
        text = b"# ours, do not touch\n#\n# since May\n\n" + text
        text = text.replace(b'name = "requests"\n', b'name = "requests"\nowner = "ann"\n')
        text = text.replace(b'build = "2.11.0+cu130"\ngit', b'build = "2.11.0+cu130"\nsays = [1, 2]\ngit')
        text += b'\n[team]\npager = "5"\n'
        changed = replace(whole(), note="new")
        updated = write_lock(changed, text)
        assert updated.startswith(b"# ours, do not touch\n#\n# since May\n\nschema = 1\n")
        document = tomllib.loads(updated.decode())
        assert document["team"] == {"pager": "5"}
        assert document["torch"]["says"] == [1, 2]
        assert [e.get("owner") for e in document["distribution"]] == [None, None, "ann", None]
        assert read_lock(updated, "x").note == "new"

    def test_what_is_ours_and_gone_does_not_survive(self) -> None:
        before = write_lock(whole())
        after = write_lock(Lock("good", facts(torch=Absent())), before)
        assert after == write_lock(Lock("good", facts(torch=Absent())))

    def test_an_unreadable_file_before_is_no_hindrance(self) -> None:
        assert tomllib.loads(write_lock(whole(), b"= = =").decode())["name"] == "good"


class TestLockId:
    """The digest of what was recorded, not of when or how."""

    @pytest.mark.parametrize(
        "change",
        [
            {"created": None},
            {"note": None},
            {"policy": Policy()},
            {"archive": ()},
        ],
        ids=["created", "note", "policy", "archive"],
    )
    def test_does_not_depend_on(self, change: dict[str, object]) -> None:
        assert lock_id(replace(whole(), **change)) == lock_id(whole())  # type: ignore[arg-type]

    @pytest.mark.parametrize("section", ["cache", "factors", "keys"])
    @pytest.mark.parametrize("seen", [Absent(), Unobserved("no")], ids=["absent", "unobserved"])
    def test_does_not_depend_on_the_cache(self, section: str, seen: object) -> None:
        """A warmup fills what was absent, and the cache's own folder goes by the id."""
        other = replace(whole(), facts=replace(whole().facts, **{section: seen}))  # type: ignore[arg-type]
        assert lock_id(other) == lock_id(whole())
        assert lock_id(replace(whole(), warmup=None, cache_manifest=None)) == lock_id(whole())

    def test_depends_on_facts(self) -> None:
        other = replace(whole(), facts=replace(whole().facts, torch=Absent()))
        assert lock_id(other) != lock_id(whole())

    def test_is_that_of_the_file(self) -> None:
        assert lock_id(read_lock(write_lock(whole()), "x")) == lock_id(whole())


def _broken(change: str, by: str) -> bytes:
    text = write_lock(whole()).decode()
    assert change in text
    return text.replace(change, by, 1).encode()


BAD = {
    "schema missing": (b'name = "x"', "schema", "missing"),
    "schema of the future": (b'schema = 2\nname = "x"', "schema", "schema 2 is not known"),
    "schema as text": (b'schema = "1"\nname = "x"', "schema", "expected an integer, found a string"),
    "schema as a flag": (b'schema = true\nname = "x"', "schema", "expected an integer, found true or false"),
    "name missing": (b"schema = 1", "name", "missing"),
    "digest too short": (_broken(str(digest("w")), "sha256:abc"), "distribution[2].sha256", "not a digest"),
    "digest in capitals": (
        _broken(str(digest("w")), f"sha256:{digest('w').hex.upper()}"),
        "distribution[2].sha256",
        "not a digest",
    ),
    "distribution twice": (_broken('name = "torch"', 'name = "requests"'), "distribution[3].name", "is also"),
    "name not canonical": (_broken('name = "torch"', 'name = "Torch"'), "distribution[3].name", "not a canonical"),
    "unknown evidence": (_broken('"uv-cache"', '"hearsay"'), "distribution[2].evidence", "expected one of"),
    "wheel with a path": (
        _broken("requests-2.32.3-py3-none-any.whl", "../requests.whl"),
        "distribution[2].wheel",
        "not a wheel's filename",
    ),
    "a cache key that leads elsewhere": (
        _broken("fxgraph/f" + "b" * 51, "fxgraph/../../f"),
        "cache.keys.cpu[0]",
        "not a cache key",
    ),
    "a torch key of another form": (
        _broken(f'torch-key = "{digest("torch").hex}"', 'torch-key = "d34d"'),
        "cache.factors.torch-key",
        "expected 64",
    ),
    "a fingerprint of other keys": (
        _broken("fxgraph/f" + "b" * 51, "fxgraph/f" + "d" * 51),
        "cache.fingerprint",
        "is not the digest",
    ),
    "a device that is none": (_broken("\ncpu = [", '\n"c/pu" = ['), "cache.keys.c/pu", "not a device"),
    "negative size": (_broken("size = 64928", "size = -1"), "distribution[2].size", "at least 0"),
    "path going up": (_broken('"a.pth"', '"../a.pth"'), "file[0].path", "not a relative path"),
    "absolute path": (_broken('"a.pth"', '"/etc/passwd"'), "file[0].path", "not a relative path"),
    "drive path": (_broken('"a.pth"', '"c:/x"'), "file[0].path", "not a relative path"),
    "unknown kind": (_broken('kind = "startup"', 'kind = "odd"'), "file[0].kind", "expected one of"),
    "set-uid mode": (_broken('"0755"', '"4755"'), "file[2].mode", "expected 0644 or 0755"),
    "day as time": (
        _broken("until = 2027-01-01", "until = 2027-01-01T00:00:00Z"),
        "policy.ignore[0].until",
        "expected a day",
    ),
    "time without a zone": (
        _broken("2026-11-29T17:00:00Z", "2026-11-29T17:00:00"),
        "created",
        "expected a date-time with a zone",
    ),
    "gpus as text": (
        _broken("[machine]\n", "[machine]\ngpus = 'two'\nx = [\n]\n").replace(b"\ngpus = [", b"\ngpux = ["),
        "machine.gpus",
        "expected a list of tables",
    ),
}


@pytest.mark.parametrize(("content", "path", "problem"), BAD.values(), ids=BAD.keys())
def test_bad_locks_name_the_key_path(content: bytes, path: str, problem: str) -> None:
    with pytest.raises(LockInvalidError) as caught:
        read_lock(content, "good.toml")
    assert caught.value.exit_code == 2
    assert problem in caught.value.message
    assert caught.value.where is not None
    assert caught.value.where.startswith("good.toml")
    assert caught.value.where.endswith(path)


def test_text_that_is_not_toml_names_the_line() -> None:
    with pytest.raises(LockInvalidError) as caught:
        read_lock(b"schema = 1\nname = \n", "good.toml")
    assert caught.value.where == "good.toml:2"


def test_an_error_names_the_line_of_its_key() -> None:
    with pytest.raises(LockInvalidError) as caught:
        read_lock(b'schema = 1\nname = "x"\n\n[torch]\nversion = 3\n', "good.toml")
    assert caught.value.where == "good.toml:5 torch.version"


def test_nothing_empty_is_written() -> None:
    document = document_of(Lock("x", facts()))
    assert "note" not in document
    assert "shadow" not in document


def test_where_bytes_are_kept_is_no_part_of_the_id() -> None:
    lock = whole()
    assert isinstance(lock.facts.distributions, Value)
    bare = tuple(
        replace(
            entry,
            wheel=replace(entry.wheel, rebuilt=None),
            origin=replace(entry.origin, archive=None) if entry.origin else None,
        )
        for entry in lock.facts.distributions.value
    )
    assert lock_id(replace(lock, facts=replace(lock.facts, distributions=Value(bare)))) == lock_id(lock)
    read = read_lock(write_lock(lock), "x").facts.distributions
    assert isinstance(read, Value)
    assert [entry.origin.archive for entry in read.value if entry.origin] == [digest("t")]
