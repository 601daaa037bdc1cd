"""Which code: the commit of a folder, and where installs that came from no index came from (PEP 610)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from envguard.adapters.git import GitError, NoRepositoryError
from envguard.adapters.working_tree import look, root_of
from envguard.model.distribution import Origin
from envguard.model.facts import Code
from envguard.model.observed import Absent, Observed, Unobserved, Value

_SECONDS = 15.0


def code(folder: Path, *, timeout: float = _SECONDS) -> Observed[Code]:
    """The git commit of a folder's repository, and a digest of what its whole tree holds beyond that commit.

    Absent when it is no repository; Unobserved when git is missing, does not trust the folder or takes too long.
    """
    root = root_of(folder)
    if root is None:
        return Absent()
    try:
        seen = look(root, timeout=timeout)
    except NoRepositoryError:
        return Absent()
    except GitError as error:
        return Unobserved(str(error))
    if seen.commit is None:
        return Unobserved("the git repository has no commit yet")
    return Value(Code(seen.commit, seen.changes))


def origin(direct_url: bytes, site: Path) -> Origin | None:
    """Where an install came from, by its ``direct_url.json``; None when that can't be understood.

    Folder and editable installs are told by the git commit and the changes of their folder, where it is still
    there; a relative one is taken from ``site``. No address of this machine and no secret is kept.
    """
    try:
        content: Any = json.loads(direct_url)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or not isinstance(content.get("url"), str):
        return None
    url, below = content["url"], _text(content, "subdirectory")
    if isinstance(content.get("vcs_info"), dict):
        commit = _text(content["vcs_info"], "commit_id")
        return Origin("vcs", url=public(url), commit=commit, subdirectory=below)
    if isinstance(content.get("dir_info"), dict):
        return _folder(url, content["dir_info"].get("editable") is True, below, site)
    if isinstance(content.get("archive_info"), dict):
        return Origin("archive", url=public(url), subdirectory=below)
    return None


def folder_of(direct_url: bytes, site: Path) -> Path | None:
    """The folder of this machine that ``direct_url.json`` names; a relative one is taken from ``site``."""
    try:
        content: Any = json.loads(direct_url)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or not isinstance(content.get("url"), str):
        return None
    folder = _local(content["url"], site)
    below = _text(content, "subdirectory")
    return folder / below if folder is not None and below and ".." not in Path(below).parts else folder


def public(url: str) -> str | None:
    """An address without userinfo, query and fragment; None for a path of this machine, or an unclear one."""
    from urllib.parse import urlsplit, urlunsplit

    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if not parts.netloc or scheme.rpartition("+")[2] in ("file", ""):
        return None
    if "@" in parts.path and ":" in parts.path:  # https://user/x:password@host reads as a path
        return None
    return urlunsplit((scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _folder(url: str, editable: bool, below: str | None, site: Path) -> Origin:
    folder = _local(url, site)
    whole = Origin("folder", editable=editable, subdirectory=below)
    root = root_of(folder) if folder is not None and folder.is_dir() else None
    if folder is None or root is None:
        return whole
    part = os.path.relpath(os.path.realpath(folder), root)
    try:
        seen = look(root, part, timeout=_SECONDS)
    except GitError:
        return whole
    inside = None if part == "." else Path(part).as_posix()
    return Origin(
        "folder", editable=editable, commit=seen.commit, changes=seen.changes, subdirectory=inside or below
    )


def _local(url: str, site: Path) -> Path | None:
    """The folder that a ``file:`` address names on this machine."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        parts = urlsplit(url)
        named = url2pathname(parts.path) if parts.scheme == "file" else url
    except ValueError:
        return None
    if parts.scheme not in ("file", "") or parts.netloc not in ("", "localhost") or "\0" in named:
        return None
    return site / named


def _text(content: dict[str, Any], key: str) -> str | None:
    value = content.get(key)
    return value if isinstance(value, str) else None
