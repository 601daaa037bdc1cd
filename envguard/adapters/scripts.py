"""The scripts folder: what a wheel brought there, with what installers wrote undone, and what nobody brought."""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
from collections.abc import Iterator, Mapping, Sequence

from envguard.adapters.hashing import Wanted, read_file, see
from envguard.model.digest import Digest
from envguard.model.facts import FileFact, FileKind
from envguard.model.target import Layout
from envguard.planning import launchers
from envguard.planning.held import (
    Claim,
    Entry,
    Seen,
    fits,
    is_own_script,
    missing,
    mode_of,
    odd_fact,
    owners_of,
    sha256_of,
    through,
    unreadable,
)

_TEXT_CAP = 1 << 20
"""Bytes up to which a script can be a text that an installer wrote into."""
_SHA256 = frozenset({"sha256"})


def script_facts(
    layout: Layout, entries: Sequence[Entry], claims: Mapping[str, Sequence[Claim]]
) -> Iterator[FileFact]:
    """What is to be told of the scripts folder. Files of nobody only in a venv: elsewhere it is shared."""
    own = _Own(layout)
    there = set()
    for entry in entries:
        name, mode = entry[0], entry[5]
        there.add(name)
        claimed = claims.get(name, ())
        if claimed:
            yield _claimed(layout, own, entry, claimed)
        elif layout.is_venv and not stat.S_ISDIR(mode) and not is_own_script(name):
            yield _fact(layout, own, entry, ())
    for name in sorted(claims.keys() - there):
        yield from missing(name, "scripts", claims[name])


class _Own:
    """Which folders' ``python*`` is the environment's own, whatever name they are reached by."""

    def __init__(self, layout: Layout) -> None:
        self._real = {os.path.realpath(folder) for folder in (layout.scripts, layout.python.parent)}
        self._answers: dict[str, bool] = {}

    def folders(self, content: bytes) -> tuple[str, ...]:
        """The folder that a script's interpreter lies in, if it is one of them."""
        python = launchers.interpreter(content)
        folder = posixpath.dirname(python) if python is not None else ""
        if not folder.startswith("/"):
            return ()
        if folder not in self._answers:
            self._answers[folder] = os.path.realpath(folder) in self._real
        return (folder,) if self._answers[folder] else ()


def _claimed(layout: Layout, own: _Own, entry: Entry, claims: Sequence[Claim]) -> FileFact:
    if stat.S_ISREG(entry[5]):
        return _fact(layout, own, entry, claims)
    seen = _see(layout, entry, claimed=True)
    entry, behind = through(entry, claims, seen)
    return odd_fact(entry[0], "scripts", entry, claims, seen) or _fact(layout, own, entry, claims, behind)


def _fact(
    layout: Layout, own: _Own, entry: Entry, claims: Sequence[Claim], behind: Seen | None = None
) -> FileFact:
    """``behind``: digests of the file that the script, a link, leads to."""
    name, size, mode = entry[0], entry[1], entry[5]
    if not stat.S_ISREG(mode) or size > _TEXT_CAP:
        seen = behind or _see(layout, entry)
        if seen.problem is not None:
            return unreadable(name, "scripts", claims, seen)
        undone, other, told = sha256_of(seen), None, stat.S_ISREG(mode)
    else:
        try:
            content = read_file(_path(layout, name), cap=_TEXT_CAP, follow=behind is not None)
        except OSError as problem:
            return unreadable(name, "scripts", claims, Seen({}, problem.strerror or str(problem)))
        seen = Seen({"sha256": hashlib.sha256(content).hexdigest()})
        folders = own.folders(content)
        undone = Digest.of(launchers.undo(content, folders=folders))
        other = _other_python(content, folders)
        # uv makes every script executable, pip only those that are in the wheel
        told = not claims or not content.startswith(b"#!")
    return FileFact(
        name,
        FileKind.SCRIPT,
        "scripts",
        sha256=undone,
        mode=mode_of(mode) if told else None,
        owners=owners_of(claims),
        detail=other or (None if fits(claims, seen) or not _sha256_only(claims) else "changed after install"),
    )


def _other_python(content: bytes, folders: tuple[str, ...]) -> str | None:
    python = launchers.interpreter(content)
    if python is None or folders or python.startswith(f"{launchers.HERE}/"):
        return None
    return f"starts another interpreter: {python}"


def _sha256_only(claims: Sequence[Claim]) -> bool:
    return all(claim.digest.startswith("sha256:") for claim in claims if claim.digest)


def _see(layout: Layout, entry: Entry, *, claimed: bool = False) -> Seen:
    return see(Wanted(_path(layout, entry[0]), entry[1], _SHA256, claimed=claimed))


def _path(layout: Layout, name: str) -> str:
    return os.path.join(layout.scripts, name)  # noqa: PTH118 - odd names must not raise
