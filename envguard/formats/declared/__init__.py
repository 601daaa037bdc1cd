"""The project's own declarations: which files declare, and how each kind is read."""

from __future__ import annotations

import re
from enum import Enum

from envguard.formats.declared.found import Found, Include
from envguard.model.declared import Unreadable

__all__ = ["Found", "Include", "Kind", "kind_of", "read"]


class Kind(Enum):
    """A kind of file that declares."""

    PYPROJECT = "pyproject.toml"
    UV_LOCK = "uv.lock"
    PYLOCK = "pylock.toml"
    REQUIREMENTS = "requirements.txt"
    CONDA = "environment.yml"
    DOCKERFILE = "Dockerfile"


_SHAPES = (
    (re.compile(r"pyproject\.toml"), Kind.PYPROJECT),
    (re.compile(r"uv\.lock"), Kind.UV_LOCK),
    (re.compile(r"pylock(\.[^.]+)?\.toml"), Kind.PYLOCK),
    (re.compile(r"(?:.*[-_.])?(?:requirements|constraints)(?:[-_.].*)?\.txt", re.IGNORECASE), Kind.REQUIREMENTS),
    (re.compile(r"(?:conda[-_.])?(?:environment|env)(?:[-_.].*)?\.ya?ml", re.IGNORECASE), Kind.CONDA),
    (
        re.compile(r"(?:Dockerfile|Containerfile)(?:[-_.].+)?|.+\.(?:Dockerfile|Containerfile)", re.IGNORECASE),
        Kind.DOCKERFILE,
    ),
)


def kind_of(path: str) -> Kind | None:
    """What a file of this path (with ``/``) declares as; None when it is no such file."""
    folder, _, name = path.rpartition("/")
    found = next((kind for shape, kind in _SHAPES if shape.fullmatch(name)), None)
    if found is None and folder.rpartition("/")[2] == "requirements" and name.endswith(".txt"):
        return Kind.REQUIREMENTS
    return found


def read(kind: Kind, content: bytes, file: str, *, by: Include | None = None) -> Found:
    """The declarations of one file. ``by``: how another file names it, so it speaks of that one's environment."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        return Found(unreadable=(Unreadable(file, line, f"not UTF-8 (byte {problem.start})"),))
    return _read(kind, text, file, by)


def _read(kind: Kind, text: str, file: str, by: Include | None) -> Found:
    name = file.rpartition("/")[2]
    match kind:
        case Kind.PYPROJECT:
            from envguard.formats.declared import pyproject

            return pyproject.read(text, file)
        case Kind.UV_LOCK:
            from envguard.formats.declared import uv_lock

            return uv_lock.read(text, file)
        case Kind.PYLOCK:
            from envguard.formats.declared import pylock

            return pylock.read(text, file, side=name != "pylock.toml")
        case Kind.REQUIREMENTS:
            from envguard.formats.declared import requirements_txt

            side = name != "requirements.txt" and by is None
            return requirements_txt.read(text, file, side=side, wanted=by is None or not by.constraint)
        case Kind.CONDA:
            from envguard.formats.declared import conda

            return conda.read(text, file)
        case Kind.DOCKERFILE:
            from envguard.formats.declared import dockerfile

            return dockerfile.read(text, file)
