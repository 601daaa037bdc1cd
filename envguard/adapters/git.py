"""Asks git, with no hook, file watcher, prompt, network or lock.

What git still runs are filters (large files, say), which a repository names and the user's configuration defines.
"""

from __future__ import annotations

import os
from pathlib import Path

_QUIET = (
    "--no-pager",
    "--no-optional-locks",
    "--literal-pathspecs",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.untrackedCache=false",
    "-c", "protocol.allow=never",
    "-c", "status.showUntrackedFiles=all",
)  # fmt: skip
_KEPT = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"})
"""Where git's own settings lie, among them whom it trusts. All else (GIT_DIR of a hook, …) is dropped."""


class GitError(Exception):
    """git could not tell; the text says why, and what to do where there is something."""


class NoRepositoryError(GitError):
    """git finds no repository there."""


def git(folder: Path, *arguments: str, timeout: float) -> bytes:
    """What git prints when it is run in ``folder``. GitError."""
    from envguard.adapters import process

    try:
        ended = process.run(["git", *_QUIET, *arguments], environ=_environ(folder), folder=folder, timeout=timeout)
    except process.ChildTimeoutError:
        raise GitError(f"git took more than {timeout:g} s: list large folders of results in .gitignore") from None
    except OSError as error:
        if error.errno == 2 and not folder.is_dir():
            raise GitError("the folder is gone") from None
        raise GitError(f"git can't be started: {error.strerror}") from None
    if ended.code != 0:
        raise _error(folder, ended.stderr.decode("utf-8", "replace"), ended.code)
    return ended.stdout


def _environ(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_CEILING_DIRECTORIES": str(folder.parent),  # a damaged repository is not taken for the one around it
    }


def _error(folder: Path, stderr: str, code: int) -> GitError:
    if "not a git repository (or any" in stderr:
        return NoRepositoryError("no git repository")
    if "dubious ownership" in stderr:
        return GitError(
            "git does not trust this folder, which belongs to somebody else: "
            f"git config --global --add safe.directory {folder}"
        )
    first = next((line.strip() for line in stderr.splitlines() if line.strip()), f"exit {code}")
    return GitError(f"git: {first[:200]}")
