"""Lock text → Lock."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from envguard.errors import LockInvalidError
from envguard.formats import toml_text
from envguard.formats.cache_lock import read_factors, read_found, read_keys
from envguard.formats.decode import Table, WrongValueError
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Origin, Wheel
from envguard.model.facts import (
    Code,
    Cpu,
    Driver,
    Facts,
    FileFact,
    FileKind,
    Gpu,
    Interpreter,
    Live,
    Shadow,
    SharedPath,
    TorchBuild,
    Variable,
    VariableKind,
    Variables,
)
from envguard.model.lock import SCHEMA, Lock
from envguard.model.observed import NOT_RECORDED, Absent, Observed, Unobserved, Value
from envguard.model.policy import Ignore, Policy

if TYPE_CHECKING:
    from envguard.model.run import Run
    from envguard.model.warmup import Warmup

T = TypeVar("T")

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_FILENAME = re.compile(r"[^/\\\x00-\x1f]+\.whl")
_ROOTS = ("library", "scripts", "headers", "data", "path")


def read_lock(content: bytes, where: str) -> Lock:
    """Read a lock file's bytes; LockInvalidError names ``where`` with the line or key path."""
    try:
        document = toml_text.parse(content)
    except toml_text.TomlError as problem:
        place = f"{where}:{problem.line}" if problem.line else where
        raise LockInvalidError(str(problem), where=place, hint="is this a file that envguard wrote?") from None
    try:
        return lock_from(document)
    except WrongValueError as problem:
        line = toml_text.line_of(content.decode("utf-8-sig"), problem.path)
        place = f"{where}:{line}" if line else where
        raise LockInvalidError(problem.problem, where=f"{place} {problem.path}".rstrip()) from None


def lock_from(document: Mapping[str, Any]) -> Lock:
    """A parsed lock document → Lock. WrongValueError names the key path."""
    top = Table(document)
    schema = top.integer("schema")
    if schema != SCHEMA:
        problem = f"schema {schema} is not known to this envguard, which reads schema {SCHEMA}"
        raise WrongValueError("schema", problem)
    archive, cache = top.table_or_none("archive"), top.table_or_none("cache")
    return Lock(
        name=top.text("name"),
        created=top.time_or_none("created"),
        note=top.text_or_none("note"),
        facts=_facts(top),
        indexes=top.mapping("indexes"),
        archive=_digests(archive, "objects") if archive else (),
        policy=policy_from(top.table("policy")) if top.has("policy") else Policy(),
        warmup=_warmup(top.table("warmup")) if top.has("warmup") else None,
        cache_manifest=cache.digest_or_none("manifest") if cache is not None else None,
    )


def _warmup(table: Table) -> Warmup:
    from envguard.formats.warmup_lock import read_warmup  # only where a lock has one

    return read_warmup(table)


def policy_from(table: Table) -> Policy:
    """A ``[policy]`` table (of a lock, or of the project's settings)."""
    return Policy(
        strict=table.flag("strict"),
        allow_unknown=frozenset(table.texts("allow-unknown")),
        ignore=tuple(
            Ignore(
                check=entry.text("check"),
                subject=entry.text("subject"),
                by=entry.text("by"),
                reason=entry.text("reason"),
                until=entry.day_or_none("until"),
            )
            for entry in table.tables("ignore")
        ),
    )


def _facts(top: Table) -> Facts:
    absent = set(top.texts("absent"))
    unobserved = top.mapping("unobserved")

    def scalar(section: str, source: Table | None, read: Callable[[Table], T]) -> Observed[T]:
        if section in absent:
            return Absent()
        if section in unobserved:
            return Unobserved(f"not recorded: {unobserved[section]}")
        return Value(read(source)) if source is not None else NOT_RECORDED

    def listed(section: str, key: str, read: Callable[[Table], T]) -> Observed[tuple[T, ...]]:
        if section in unobserved:
            return Unobserved(f"not recorded: {unobserved[section]}")
        return Value(tuple(read(entry) for entry in top.tables(key)))

    machine = top.table_or_none("machine")

    def of_machine(key: str) -> Table | None:
        return machine if machine is not None and machine.has(key) else None

    cache = top.table_or_none("cache")

    def of_cache(key: str) -> Table | None:
        return cache if cache is not None and cache.has(key) else None

    return Facts(
        interpreter=scalar("interpreter", top.table_or_none("interpreter"), _interpreter),
        torch=scalar("torch", top.table_or_none("torch"), _torch),
        driver=scalar("driver", of_machine("driver"), lambda table: Driver(table.text("driver"))),
        gpus=scalar("gpus", of_machine("gpus"), lambda table: tuple(map(_gpu, table.tables("gpus")))),
        cpu=scalar("cpu", of_machine("cpu"), lambda table: _cpu(table.table("cpu"))),
        variables=scalar("variables", top.table_or_none("variables"), _variables),
        code=scalar("code", top.table_or_none("code"), _code),
        distributions=_unique(listed("distributions", "distribution", _distribution)),
        files=listed("files", "file", _file),
        shared=listed("shared", "shared", _shared),
        shadows=listed("shadows", "shadow", _shadow),
        live=scalar("live", top.table_or_none("live"), _live),
        cache=scalar("cache", of_cache("folder"), read_found),
        factors=scalar("factors", of_cache("factors"), read_factors),
        keys=scalar("keys", of_cache("keys"), read_keys),
        run=scalar("run", top.table_or_none("run"), _run),
    )


def _run(table: Table) -> Run:
    from envguard.formats.run_lock import read_run  # few locks record a run

    return read_run(table)


def _unique(seen: Observed[tuple[Distribution, ...]]) -> Observed[tuple[Distribution, ...]]:
    if isinstance(seen, Value):
        first: dict[str, int] = {}
        for number, distribution in enumerate(seen.value):
            if distribution.name in first:
                problem = f"{distribution.name} is also distribution[{first[distribution.name]}]"
                raise WrongValueError(f"distribution[{number}].name", problem)
            first[distribution.name] = number
    return seen


def _interpreter(table: Table) -> Interpreter:
    return Interpreter(
        implementation=table.text("implementation"),
        version=table.text("version"),
        build=table.text("build"),
        soabi=table.text("soabi"),
        platform_tag=table.text("platform-tag"),
        libc=table.text("libc"),
    )


def _torch(table: Table) -> TorchBuild:
    return TorchBuild(
        version=table.text("version"),
        build=table.text("build"),
        git_commit=table.text("git-commit"),
        variant=table.text("variant"),
        cuda=table.text_or_none("cuda"),
        hip=table.text_or_none("hip"),
        requires=table.texts("requires"),
        needs=table.texts("needs"),
    )


def _gpu(table: Table) -> Gpu:
    return Gpu(table.integer("index"), table.text("name"), table.text("capability"), table.integer("memory-mib"))


def _cpu(table: Table) -> Cpu:
    return Cpu(table.text("architecture"), table.text("model"), table.texts("flags"))


def _variables(table: Table) -> Variables:
    values = [
        Variable(name, kind, value) for kind in VariableKind for name, value in table.mapping(kind.value).items()
    ]
    return Variables(table.text("source"), tuple(sorted(values, key=lambda variable: variable.name)))


def _code(table: Table) -> Code:
    return Code(table.text("commit"), table.digest_or_none("changes"))


def _distribution(table: Table) -> Distribution:
    name = table.text("name")
    if not _NAME.fullmatch(name):
        raise WrongValueError(table.where("name"), f"not a canonical distribution name: {name[:80]!r}")
    origin = table.table_or_none("origin")
    return Distribution(
        name=name,
        version=table.text("version"),
        record=table.digest_or_none("record"),
        record_data=table.digest_or_none("record-data"),
        rows=table.digest_or_none("rows"),
        wheel=_wheel(table),
        installer=table.text_or_none("installer"),
        origin=_origin(origin) if origin else None,
        note=table.text_or_none("note"),
    )


def _wheel(table: Table) -> Wheel:
    filename = table.text_or_none("wheel")
    if filename is not None and not _FILENAME.fullmatch(filename):
        raise WrongValueError(table.where("wheel"), f"not a wheel's filename: {filename[:80]!r}")
    return Wheel(
        filename=filename,
        sha256=table.digest_or_none("sha256"),
        claimed_sha256=table.digest_or_none("claimed-sha256"),
        size=table.integer_or_none("size"),
        index=table.text_or_none("index"),
        evidence=table.choice("evidence", Evidence) if table.has("evidence") else Evidence.NONE,
        sdist=table.text_or_none("sdist"),
        rebuilt=table.digest_or_none("rebuilt"),
    )


def _origin(table: Table) -> Origin:
    return Origin(
        kind=table.text("kind"),
        editable=table.flag("editable"),
        url=table.text_or_none("url"),
        commit=table.text_or_none("commit"),
        changes=table.digest_or_none("changes"),
        subdirectory=table.text_or_none("subdirectory"),
        archive=table.digest_or_none("archive"),
    )


def _file(table: Table) -> FileFact:
    root = table.text_or_none("root") or "library"
    if root not in _ROOTS:
        raise WrongValueError(table.where("root"), f"expected one of {', '.join(_ROOTS)}; found {root[:80]!r}")
    return FileFact(
        path=_relative(table, "path"),
        kind=table.choice("kind", FileKind),
        root=root,
        sha256=table.digest_or_none("sha256"),
        mode=_mode(table),
        owners=table.texts("owners"),
        expected=table.digest_or_none("expected"),
    )


def _mode(table: Table) -> str | None:
    mode = table.text_or_none("mode")
    if mode not in (None, "0644", "0755"):
        raise WrongValueError(table.where("mode"), f"expected 0644 or 0755, found {mode[:20]!r}")
    return mode


def _relative(table: Table, key: str) -> str:
    text = table.text(key)
    path = PurePosixPath(text)
    if (
        not text
        or path.is_absolute()
        or ".." in path.parts
        or "\\" in text
        or "\0" in text
        or ":" in path.parts[0][1:2]
    ):
        raise WrongValueError(table.where(key), f"not a relative path inside the environment: {text[:80]!r}")
    return text


def _shared(table: Table) -> SharedPath:
    return SharedPath(_relative(table, "path"), table.texts("owners"), table.flag("agree"))


def _shadow(table: Table) -> Shadow:
    return Shadow(table.text("module"), table.text("distribution"), table.text("place"))


def _live(table: Table) -> Live:
    return Live(
        build=table.text("build"),
        git_commit=table.text("git-commit"),
        cuda=table.text_or_none("cuda"),
        cudnn=table.text_or_none("cudnn"),
        nccl=table.text_or_none("nccl"),
        architectures=table.texts("architectures"),
        default_dtype=table.text("default-dtype"),
        outside=table.texts("outside"),
    )


def _digests(table: Table, key: str) -> tuple[Digest, ...]:
    digests = []
    for number, text in enumerate(table.texts(key)):
        try:
            digests.append(Digest.parse(text))
        except ValueError as problem:
            raise WrongValueError(f"{table.where(key)}[{number}]", str(problem)) from None
    return tuple(digests)
