"""The probe's answers: JSON of the ``envguard/probe`` scripts into what the model knows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envguard.errors import ProbeFailedError, TargetInvalidError
from envguard.formats.decode import Table, WrongValueError
from envguard.model.facts import Gpu, Interpreter, Live
from envguard.model.observed import Absent, Observed, Unobserved, Value
from envguard.model.target import Layout

SCHEMA = 1
"""The answers' schema number; probe and reader are always of one envguard, so another one is damage."""

OLDEST = "3.9"
"""The oldest Python that can be looked at."""

OTHER_PYTHON = "envguard looks at Python 3.9 and later: name one with --python PATH"


@dataclass(frozen=True, slots=True)
class Static:
    """What an interpreter tells of itself. Site folders are listed whether they are there or not."""

    interpreter: Interpreter
    layout: Layout
    """``path`` is empty and ``libraries`` holds purelib and platlib only: the rest needs the disk."""
    standard_library: tuple[Path, ...]
    first_sites: tuple[Path, ...]
    """A venv's own site folders, which come before the user's."""
    user_site: Path | None
    """None when a job would not have it."""
    last_sites: tuple[Path, ...]


def static(text: str) -> Static:
    """Read the answer of ``static.py``. ProbeFailedError names the key path; TargetInvalidError: too old."""
    answer = _answer(text)
    try:
        _refuse(answer)
        sections = answer.table("sections")
        paths = _section(sections, "paths")
        sites = _section(sections, "sites")
        user = _section(sections, "user_site")
        return Static(
            interpreter=_interpreter(_section(sections, "interpreter")),
            layout=_layout(paths, sites),
            standard_library=_paths(paths, "standard_library"),
            first_sites=_paths(sites, "first"),
            user_site=Path(user.text("folder")) if user.flag("enabled") else None,
            last_sites=_paths(sites, "last"),
        )
    except WrongValueError as wrong:
        raise _unusable(wrong) from None


def live(text: str) -> Observed[Live]:
    """Read the answer of ``live.py``: Absent without torch, Unobserved when torch can't be imported."""
    answer = _answer(text)
    try:
        failure = answer.table_or_none("failure")
        if failure is not None:
            return _not_live(failure.text("kind"), failure.text("detail"))
        sections = answer.table("sections")
        build = _section(sections, "build")
        return Value(
            Live(
                build=build.text("version"),
                git_commit=build.text("git_commit"),
                cuda=_text_or_null(build, "cuda"),
                cudnn=_version(sections, "cudnn"),
                nccl=_version(sections, "nccl"),
                architectures=_texts(sections, "architectures"),
                default_dtype=build.text("default_dtype"),
                outside=_texts(sections, "outside"),
                devices=_texts(sections, "devices") if "ok" in sections.table("devices").content else (),
            )
        )
    except WrongValueError as wrong:
        raise _unusable(wrong) from None


def gpus(text: str) -> Observed[tuple[Gpu, ...]]:
    """Read the answer of ``gpus.py``: Absent when CUDA sees none, Unobserved when it can't say."""
    answer = _answer(text)
    try:
        failure = answer.table_or_none("failure")
        if failure is not None:
            return Absent() if failure.text("kind") == "no-device" else Unobserved(failure.text("detail"))
        return Value(_gpus(answer))
    except WrongValueError as wrong:
        raise _unusable(wrong) from None


def _answer(text: str) -> Table:
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProbeFailedError(f"the probe's answer is no JSON: {str(error)[:200]}") from None
    if not isinstance(content, dict):
        raise ProbeFailedError("the probe's answer is no JSON object")
    if content.get("schema") != SCHEMA:
        raise ProbeFailedError(f"the probe's answer has schema {content.get('schema')!r}", where="schema")
    return Table(content)


def _refuse(answer: Table) -> None:
    failure = answer.table_or_none("failure")
    if failure is None:
        return
    kind, detail = failure.text("kind"), failure.text("detail")
    if kind == "too-old":
        raise TargetInvalidError(f"the target is Python {detail}", hint=OTHER_PYTHON)
    raise ProbeFailedError(f"the probe gave up ({kind}): {detail}")


def _unusable(wrong: WrongValueError) -> ProbeFailedError:
    return ProbeFailedError(f"the probe's answer can't be used: {wrong.problem}", where=wrong.path)


def _section(sections: Table, name: str) -> Table:
    section = sections.table(name)
    error = section.text_or_none("error")
    if error is not None:
        raise WrongValueError(section.where("error"), error)
    return section.table("ok")


def _interpreter(section: Table) -> Interpreter:
    return Interpreter(
        implementation=section.text("implementation"),
        version=section.text("version"),
        build=section.text("build"),
        soabi=section.text("soabi"),
        platform_tag=section.text("platform_tag"),
        libc=section.text("libc"),
    )


def _layout(paths: Table, sites: Table) -> Layout:
    return Layout(
        python=_path(paths, "executable"),
        prefix=_path(paths, "prefix"),
        base_prefix=_path(paths, "base_prefix"),
        libraries=tuple(dict.fromkeys((_path(paths, "purelib"), _path(paths, "platlib")))),
        scripts=_path(paths, "scripts"),
        headers=_path(paths, "headers"),
        path=(),
        is_venv=sites.flag("is_venv"),
        system_site=sites.flag("system_site"),
    )


def _path(table: Table, key: str) -> Path:
    path = Path(table.text(key))
    if not path.is_absolute():
        raise WrongValueError(table.where(key), f"expected an absolute path, found {str(path)[:80]!r}")
    return path


def _paths(table: Table, key: str) -> tuple[Path, ...]:
    return tuple(Path(text) for text in table.texts(key))


def _not_live(kind: str, detail: str) -> Observed[Live]:
    if kind == "no-torch":
        return Absent()
    if kind == "too-old":
        return Unobserved(f"the target is Python {detail}; {OLDEST} is the oldest that can be looked at")
    return Unobserved(f"torch can't be imported: {detail}")


def _version(sections: Table, name: str) -> str | None:
    """A version, None, or the error that asking for it raised: a job would meet the same error."""
    section = sections.table(name)
    error = section.text_or_none("error")
    return f"error: {error}" if error is not None else _text_or_null(section, "ok")


def _text_or_null(table: Table, key: str) -> str | None:
    return None if key in table.content and table.content[key] is None else table.text(key)


def _texts(sections: Table, name: str) -> tuple[str, ...]:
    section = sections.table(name)
    error = section.text_or_none("error")
    if error is not None:
        raise WrongValueError(section.where("error"), error)
    return section.texts("ok")


def _gpus(answer: Table) -> tuple[Gpu, ...]:
    if not answer.has("devices"):  # an answer about nothing is not "none there"
        raise WrongValueError("devices", "missing")
    return tuple(_gpu(device) for device in answer.tables("devices"))


def _gpu(device: Table) -> Gpu:
    return Gpu(
        index=device.integer("index"),
        name=device.text("name"),
        capability=device.text("capability"),
        memory_mib=device.integer("memory") >> 20,
    )
