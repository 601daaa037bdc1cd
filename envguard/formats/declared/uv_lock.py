"""uv.lock, by its lines: uv writes it in one form only, and a parser would take longer than all else in lint."""

from __future__ import annotations

import re

from envguard.formats.declared.found import Found
from envguard.formats.declared.requirement import canonical
from envguard.model.declared import Declared, Unreadable

_PACKAGE = "[[package]]\n"
_NAME = re.compile(r'^name = "([^"\n]+)"$', re.MULTILINE)
_VERSION = re.compile(r'^version = "([^"\n]+)"$', re.MULTILINE)
_SOURCE = re.compile(r'^source = \{ (\w+) = "([^"\n]*)"', re.MULTILINE)
_WHEEL = re.compile(r'\{ (?:url|path) = "(?:[^"\n]*/)?([^"/\n]+\.whl)", hash = "sha256:([0-9a-f]{64})"')
_COMMIT = re.compile(r"#([0-9a-f]{40})$")
_OWN = frozenset({"editable", "virtual", "directory"})


def read(text: str, file: str) -> Found:
    """Every version that uv locked; the project itself is none."""
    text = text.replace("\r\n", "\n")
    head, *packages = text.split(_PACKAGE)
    if not re.search(r"^version = \d+$", head, re.MULTILINE):
        return Found(unreadable=(Unreadable(file, 1, "not a lock file of uv: no version in its first lines"),))
    line = head.count("\n") + 1
    declared: list[Declared] = []
    for package in packages:
        entry = _entry(package, file, line)
        if entry is not None:
            declared.append(entry)
        line += package.count("\n") + 1
    return Found(tuple(declared))


def _entry(package: str, file: str, line: int) -> Declared | None:
    name, version, source = _NAME.search(package), _VERSION.search(package), _SOURCE.search(package)
    if name is None or version is None or (source and source[1] in _OWN):
        return None
    commit = _COMMIT.search(source[2]) if source and source[1] == "git" else None
    return Declared(
        canonical(name[1]),
        file,
        line + package.count("\n", 0, version.start()) + 1,
        f"=={version[1]}",
        source=source[2] if source else None,
        commit=commit[1] if commit else None,
        wheels=dict(_WHEEL.findall(package)),
    )
