"""Files held against what RECORDs say of them. Pure: what is there, and its digests, come from elsewhere."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from envguard.model.digest import Digest
from envguard.model.facts import FileFact, FileKind
from envguard.model.record import BOOKKEEPING

Entry = tuple[str, int, int, int, int, int]
"""Name, size, mtime and ctime in ns, inode, mode, of one directory entry.

Of a link to a file: type of the link, later ctime of the two, all else of the file. Of any other link: its own."""

OWN_SCRIPTS = frozenset(
    {
        "activate",
        "activate.bat",
        "activate.csh",
        "activate.fish",
        "activate.nu",
        "Activate.ps1",
        "activate.ps1",
        "activate.xsh",
        "activate_this.py",
        "deactivate.bat",
        "deactivate.csh",
        "deactivate.nu",
        "pydoc.bat",
    }
)
"""What venv, virtualenv and uv write into a scripts folder, beside the interpreter's names."""

_OWN_STARTUP = {
    "_virtualenv.pth": frozenset({"69ac3d8f27e679c81b94ab30b3b56e9cd138219b1ba94a1fa3606d5a76a1433d"}),
    "_virtualenv.py": frozenset(
        {
            "ee52b2e2e720a40885a6b4b90c40e28e5c70e550af74d5efd169eaa5db2a6f6f",  # uv 0.1
            "6cf30c56faf2a55228914dbbd17f8088ed371ebb08f5e7fa6fd931f913fcaf1d",  # uv 0.4 to 0.9
            "684b8c07932ba4a84ac2e5ae9afe49ef04e92bac3d8d4191d455cf09d093e5fc",  # virtualenv 20.0 to 20.4
            "ce57d5e0d9b5d7356cb42da7450ba8f9359bdf693e335f4c921626943c77e64d",  # virtualenv 20.13
            "c9199315871b11b12df226f890a38e66e63191e1adbfb11a66e6861151b33fca",  # virtualenv 20.17
            "0aeb86546345c1d0fada097536e35525714d5cdbcc2d8eb3f9912a955044fcff",  # virtualenv 20.24
            "0f20351ea7e90039c46d3fabdef991f28b1e3ff33eb13ee6f0d5cd21ea0e8b14",  # virtualenv 20.26 to 20.30
            "bec6155ff7bfc88f8e79e481f27fd7ee0a3b40eeca9bfeb41f4c4b997b2f8100",  # virtualenv 20.35
            "02943e192823d75212f206e1f2991ac572119882683a95dfbb7a1b913d7b14b5",  # virtualenv 21.0
        }
    ),
}
"""sha256 of startup files that make the environment itself: read from what those versions wrote."""

_SHA256 = frozenset({"sha256"})
_STARTUP_MODULES = ("sitecustomize", "usercustomize")
_MODULE_ENDINGS = (".py", ".pyc", ".so", ".pyd")


class Claim(NamedTuple):
    """What one RECORD says of one file; ``digest`` is ``algorithm:hex`` or empty."""

    owner: str
    digest: str
    size: str


class Seen(NamedTuple):
    """Digests of a file's bytes (of a link: of where it leads) by algorithm, hex; or why they could not be had."""

    digests: Mapping[str, str]
    problem: str | None = None
    behind: Mapping[str, str] | None = None
    """Of the file that a claimed link leads to; empty where it leads to none."""


class Folder(NamedTuple):
    """One folder of a library: its path in there, its entries, and the claims on names in it."""

    path: str
    entries: Sequence[Entry]
    claims: Mapping[str, Sequence[Claim]]
    silent: frozenset[str] = frozenset()
    """Top-level names that belong to distributions whose files nobody lists: not told as unowned."""


def mode_of(mode: int) -> str:
    """``0755`` or ``0644``: installers leave nothing else of a mode."""
    return "0755" if mode & 0o111 else "0644"


def is_startup(path: str, name: str) -> bool:
    """Whether Python runs this file of a library at every start."""
    if not path:
        stem, dot, ending = name.partition(".")
        if name.endswith(".pth") or name in _OWN_STARTUP:
            return True
        return stem in _STARTUP_MODULES and f"{dot}{ending}".endswith(_MODULE_ENDINGS)
    return path in _STARTUP_MODULES and name.startswith("__init__.") and name.endswith(_MODULE_ENDINGS)


def is_own_script(name: str) -> bool:
    """Whether an environment brings this name in its scripts folder by itself."""
    return name in OWN_SCRIPTS or name.startswith("python")


def algorithms_of(claims: Sequence[Claim]) -> frozenset[str]:
    """The hashes that a file's claims, and its fact, need."""
    if len(claims) <= 1 and (not claims or claims[0].digest.startswith("sha256:") or not claims[0].digest):
        return _SHA256
    return frozenset({"sha256", *(claim.digest.partition(":")[0] for claim in claims)} - {""})


def to_hash(folder: Folder) -> dict[str, frozenset[str]]:
    """The files of a folder whose digests are needed, and by which algorithms."""
    wanted = {}
    is_dist_info = folder.path.endswith(".dist-info")
    for name, *_, mode in folder.entries:
        kind = stat.S_IFMT(mode)
        if kind not in (stat.S_IFREG, stat.S_IFLNK) or (is_dist_info and _is_bookkeeping(folder.path, name)):
            continue
        claims = folder.claims.get(name, ())
        if claims or is_startup(folder.path, name) or not _is_silent(folder, name):
            wanted[name] = algorithms_of(claims)
    return wanted


def library_facts(folder: Folder, seen: Mapping[str, Seen]) -> Iterator[FileFact]:
    """What is to be told of a folder of a library."""
    there = set()
    for entry in folder.entries:
        there.add(entry[0])
        yield from _library_fact(folder, entry, seen)
    for name in sorted(folder.claims.keys() - there):
        if not _is_bookkeeping(folder.path, name):
            yield from missing(_join(folder.path, name), "library", folder.claims[name])


def missing(path: str, root: str, claims: Sequence[Claim]) -> Iterator[FileFact]:
    """A file that is claimed and isn't there; one without a hash never needs to be."""
    hashed = [claim for claim in claims if claim.digest]
    if hashed:
        yield FileFact(path, FileKind.MISSING, root, owners=owners_of(claims), expected=expected_of(hashed))


def placed_facts(
    path: str, root: str, entry: Entry | None, claims: Sequence[Claim], seen: Seen | None
) -> Iterator[FileFact]:
    """A file outside the libraries that distributions own: data, and headers, which are always told."""
    if entry is not None and seen is not None:
        entry, seen = through(entry, claims, seen)
    if entry is None:
        yield from missing(path, root, claims)
    elif (odd := odd_fact(path, root, entry, claims, seen)) is not None:
        yield odd
    elif seen is None or seen.problem is not None:
        yield unreadable(path, root, claims, seen)
    elif root == "headers":
        yield FileFact(
            path,
            FileKind.HEADER,
            root,
            sha256=sha256_of(seen),
            mode=mode_of(entry[5]),
            owners=owners_of(claims),
            detail=None if fits(claims, seen) else "changed after install",
        )
    else:
        yield from _owned(path, root, entry, claims, seen)


def odd_fact(path: str, root: str, entry: Entry, claims: Sequence[Claim], seen: Seen | None) -> FileFact | None:
    """A link, a folder or a device where distributions put a file."""
    mode = entry[5]
    if stat.S_ISREG(mode):
        return None
    kind = FileKind.UNREADABLE if stat.S_ISDIR(mode) else FileKind.MODIFIED
    hashed = [claim for claim in claims if claim.digest]
    return FileFact(
        path,
        kind,
        root,
        sha256=None if seen is None else sha256_of(seen),
        owners=owners_of(claims),
        expected=expected_of(hashed),
        detail=f"{_what(mode)}{_whither(seen)} is in its place",
    )


def through(entry: Entry, claims: Sequence[Claim], seen: Seen) -> tuple[Entry, Seen]:
    """A link that leads to the claimed bytes is as good as they are: uv puts such links with one of its modes."""
    if not seen.behind or not stat.S_ISLNK(entry[5]):
        return entry, seen
    behind = Seen(seen.behind)
    if not any(claim.digest for claim in claims) or not fits(claims, behind):
        return entry, seen
    return (*entry[:5], stat.S_IFREG | stat.S_IMODE(entry[5])), behind


def _whither(seen: Seen | None) -> str:
    if seen is None or seen.behind is None:
        return ""
    return " to other bytes" if seen.behind else " that leads to no file"


def unreadable(path: str, root: str, claims: Sequence[Claim], seen: Seen | None) -> FileFact:
    """A file whose bytes could not be had."""
    problem = seen.problem if seen is not None else None
    return FileFact(
        path,
        FileKind.UNREADABLE,
        root,
        owners=owners_of(claims),
        expected=expected_of([claim for claim in claims if claim.digest]),
        detail=problem or "could not be read",
    )


def owners_of(claims: Sequence[Claim]) -> tuple[str, ...]:
    """Canonical names, sorted, each once."""
    return tuple(sorted({claim.owner for claim in claims}))


def expected_of(claims: Sequence[Claim]) -> Digest | None:
    """The one sha256 that RECORDs name; None when they differ or use another algorithm."""
    named = {claim.digest for claim in claims}
    if len(named) != 1:
        return None
    algorithm, _, value = named.pop().partition(":")
    return Digest(value) if algorithm == "sha256" else None


def fits(claims: Sequence[Claim], seen: Seen) -> bool:
    """Whether the bytes are those of one of the claims, or none of them has a hash."""
    hashed = [claim.digest.partition(":") for claim in claims if claim.digest]
    return not hashed or any(seen.digests.get(algorithm) == value for algorithm, _, value in hashed)


def sha256_of(seen: Seen) -> Digest | None:
    """The file's sha256."""
    value = seen.digests.get("sha256")
    return Digest(value) if value else None


def _library_fact(folder: Folder, entry: Entry, seen: Mapping[str, Seen]) -> Iterator[FileFact]:
    name, mode = entry[0], entry[5]
    claims = folder.claims.get(name, ())
    if _is_bookkeeping(folder.path, name):
        return
    path = _join(folder.path, name)
    if stat.S_ISLNK(mode) and name in seen:
        entry, behind = through(entry, claims, seen[name])
        if stat.S_ISREG(entry[5]):
            yield from _read_library_fact(folder, entry, path, claims, behind)
            return
    if not stat.S_ISREG(mode):
        yield from _odd_library_fact(folder, entry, path, claims, seen.get(name))
    elif name in seen and seen[name].problem is not None:
        yield unreadable(path, "library", claims, seen[name])
    elif name in seen:
        yield from _read_library_fact(folder, entry, path, claims, seen[name])


def _odd_library_fact(
    folder: Folder, entry: Entry, path: str, claims: Sequence[Claim], seen: Seen | None
) -> Iterator[FileFact]:
    name, mode = entry[0], entry[5]
    if any(claim.digest for claim in claims) and (odd := odd_fact(path, "library", entry, claims, seen)):
        yield odd
    elif not stat.S_ISDIR(mode) and (is_startup(folder.path, name) or not _is_silent(folder, name)):
        kind = FileKind.STARTUP if is_startup(folder.path, name) else FileKind.UNOWNED
        sha256 = None if seen is None else sha256_of(seen)
        yield FileFact(path, kind, sha256=sha256, owners=owners_of(claims), detail=_what(mode))


def _read_library_fact(
    folder: Folder, entry: Entry, path: str, claims: Sequence[Claim], seen: Seen
) -> Iterator[FileFact]:
    sha256 = sha256_of(seen)
    if is_startup(folder.path, entry[0]) and not _is_environments_own(entry[0], sha256):
        yield FileFact(
            path,
            FileKind.STARTUP,
            sha256=sha256,
            mode=mode_of(entry[5]),
            owners=owners_of(claims),
            expected=expected_of([claim for claim in claims if claim.digest]),
        )
    if claims:
        yield from _owned(path, "library", entry, claims, seen)
    elif not is_startup(folder.path, entry[0]):
        yield FileFact(path, FileKind.UNOWNED, sha256=sha256, mode=mode_of(entry[5]))


def _owned(path: str, root: str, entry: Entry, claims: Sequence[Claim], seen: Seen) -> Iterator[FileFact]:
    hashed = [claim for claim in claims if claim.digest]
    if hashed and fits(claims, seen):
        return
    yield FileFact(
        path,
        FileKind.MODIFIED if hashed else FileKind.ERRATA,
        root,
        sha256=sha256_of(seen),
        mode=mode_of(entry[5]),
        owners=owners_of(claims),
        expected=expected_of(hashed),
        detail=_how(entry[1], hashed) if hashed else None,
    )


def _how(size: int, claims: Sequence[Claim]) -> str:
    sizes = {claim.size for claim in claims if claim.size}
    if not sizes or str(size) in sizes:
        return "same size, other bytes" if sizes else "other bytes"
    return f"{size} bytes, not {' or '.join(sorted(sizes))}"


def _is_environments_own(name: str, sha256: Digest | None) -> bool:
    return sha256 is not None and sha256.hex in _OWN_STARTUP.get(name, frozenset())


def _is_silent(folder: Folder, name: str) -> bool:
    """Whether an entry that nobody claims is still not worth a word."""
    path = folder.path
    if path.endswith("__pycache__") and path.rpartition("/")[2] == "__pycache__":
        return True
    if (path or name).partition("/")[0] in folder.silent:
        return True
    return not path and name.endswith(".virtualenv")


def _is_bookkeeping(path: str, name: str) -> bool:
    return name in BOOKKEEPING and "/" not in path and path.endswith(".dist-info")


def _what(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "something that is no file"


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
