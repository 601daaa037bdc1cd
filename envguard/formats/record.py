"""RECORD: what a wheel says its files are, and the record fingerprint that every installer leaves the same.

Installers rewrite RECORD. The rule here drops what they write and keeps what the wheel held, so that the wheel
file, an environment made by uv and one made by pip give one fingerprint.
"""

from __future__ import annotations

import binascii
import csv
import hashlib
import io
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from envguard.model.digest import Digest
from envguard.model.distribution import Row
from envguard.model.record import BOOKKEEPING, InstalledRow, Listing

Key = tuple[str, str]

_HEADING = b"envguard rows 1\n"
_SCRIPTS = ("bin", "Scripts")
_LIBRARY = re.compile(r"(lib(?:64)?/python3\.\d+/(?:site|dist)-packages)/(.+)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:")
_UNUSUAL = re.compile(r"\\|\.\.|//|(?:^|/)\.(?:/|$)|^/|/$|^[A-Za-z]:")
_CACHED = re.compile(r"(?:^|/)__pycache__/[^/]+\.pyc$")
_SEPARATORS = re.compile(r"[-_.]+")
_SIZES = {name: hashlib.new(name).digest_size for name in hashlib.algorithms_guaranteed if "shake" not in name}
_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPE = re.compile(r"[\\\n\r\t]")
_UNESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_PLAIN = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_DUMPED_DIGEST = re.compile(r"[a-z0-9_]+:(?:[0-9a-f]{2})+")
_DUMPED_SIZE = re.compile(r"[^\\\n\r\t\x00]*")


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the paths of a RECORD lead to: absolute posix folders."""

    dist_info: str
    site: str
    prefix: str
    scripts: str
    headers: str

    @property
    def stem(self) -> str:
        """NAME-VERSION, canonical."""
        return _canonical(self.dist_info.removesuffix(".dist-info"))


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where one row's file lies. ``real`` is False for a path that no installer leaves where it says."""

    root: str
    path: str
    site: str = ""
    real: bool = True
    proves: bool = True
    """Whether the row is one of the wheel's own that all installers keep."""


def read_installed(
    content: bytes, dist_info: str, *, site: str, prefix: str, scripts: str, headers: str
) -> Listing:
    """Read the RECORD of an installed distribution; ``ValueError`` says why it can't be read.

    ``dist_info`` is the folder's name; the rest are absolute posix paths of the environment's folders.
    """
    places = _Places(dist_info, *(posixpath.normpath(part) for part in (site, prefix, scripts, headers)))
    return _listing(_rows(content), places)


def read_wheel(content: bytes, dist_info: str, names: Collection[str]) -> tuple[Listing, Listing]:
    """Read the RECORD inside a wheel whose zip holds ``names``; ``ValueError`` says why it can't be read.

    Two listings, as the two kinds of installers leave them: every hashed row (pip), and only the first row of each
    path that the zip holds (uv). A match with either is a match.
    """
    base = "/wheel"
    places = _Places(dist_info, f"{base}/lib/python3.0/site-packages", base, f"{base}/bin", f"{base}/include")
    rows = list(_rows(content))
    return _listing(rows, places), _listing(_first_present(rows, frozenset(names)), places)


def fingerprint(rows: Iterable[Row]) -> Digest:
    """Digest of normalised rows; order and repetition don't matter."""
    parts = sorted({f"{row.path}\0{row.digest}\0{row.size}" for row in rows})
    return Digest.of("\0".join(parts).encode("utf-8", "surrogateescape"))


def dump_rows(rows: Mapping[Key, Row]) -> bytes:
    """Rows as an object of the store: a heading, then ``root digest size path`` a line, sorted, with tabs."""
    lines = sorted(
        f"{row.root}\t{row.digest}\t{_escape(row.size)}\t{_escape(row.path)}\n" for row in rows.values()
    )
    return _HEADING + "".join(lines).encode("utf-8", "surrogateescape")


def load_rows(content: bytes) -> dict[Key, Row]:
    """Read ``dump_rows``'s object. ``ValueError`` names the line of anything that it would not have written."""
    if not content.startswith(_HEADING):
        raise ValueError("line 1: not a list of rows, or one of another schema")
    rows: dict[Key, Row] = {}
    lines = content[len(_HEADING) :].decode("utf-8", "surrogateescape").split("\n")
    if lines.pop():
        raise ValueError(f"line {len(lines) + 2}: cut off")
    before = ""
    for number, line in enumerate(lines, start=2):
        if line <= before:
            raise ValueError(f"line {number}: out of order")
        before = line
        try:
            row = _load_row(line)
        except ValueError as problem:
            raise ValueError(f"line {number}: {problem}") from None
        if (row.root, row.path) in rows:
            raise ValueError(f"line {number}: a path twice")
        rows[row.root, row.path] = row
    return rows


def is_cached_bytecode(path: str) -> bool:
    """Whether a path is a ``.pyc`` in ``__pycache__``: whoever runs writes it, no RECORD answers for it."""
    return path.endswith(".pyc") and _CACHED.search(path) is not None


def _load_row(line: str) -> Row:
    fields = line.split("\t")
    if len(fields) != 4:
        raise ValueError(f"{len(fields)} fields, not 4")
    root, digest, size, path = fields[0], fields[1], _unescape(fields[2]), _unescape(fields[3])
    if root not in ("library", "data"):
        raise ValueError(f"no such root: {root[:40]!r}")
    if not _DUMPED_DIGEST.fullmatch(digest):
        raise ValueError(f"not a digest: {digest[:80]!r}")
    if (
        not path
        or "\0" in path
        or path.startswith(("/", "../"))
        or posixpath.normpath(path) != path
        or path == ".."
    ):
        raise ValueError(f"not a path inside an environment: {path[:80]!r}")
    if not _DUMPED_SIZE.fullmatch(size):
        raise ValueError("not a size")
    return Row(root, path, digest, size)


def _escape(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED[found[0]], text)


def _unescape(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        if found[1] not in _PLAIN:
            raise ValueError("an unknown escape")
        return _PLAIN[found[1]]

    return _UNESCAPE.sub(plain, text) if "\\" in text else text


def _rows(content: bytes) -> Iterator[tuple[str, str, str]]:
    """Path, digest (``algorithm:hex`` or empty) and size of each row."""
    if b"\0" in content:
        raise ValueError("it holds NUL bytes")
    text = content.decode("utf-8", "surrogateescape")
    try:
        for fields in csv.reader(io.StringIO(text, newline="")):
            if fields and (path := fields[0].strip("\ufeff")):
                yield path, _digest(fields[1]) if len(fields) > 1 else "", fields[2] if len(fields) > 2 else ""
    except csv.Error as problem:
        raise ValueError(f"not a list of comma-separated rows: {problem}") from None


def _digest(text: str) -> str:
    """``algorithm:hex``, whether it was written in base64 or hex; empty when it proves nothing."""
    algorithm, _, value = text.partition("=")
    algorithm = algorithm.lower()
    size = _SIZES.get(algorithm)
    if size is None:
        return ""
    try:
        raw = bytes.fromhex(value) if len(value) == 2 * size else _base64(value)
    except ValueError:
        return ""
    return f"{algorithm}:{raw.hex()}" if len(raw) == size else ""


def _base64(text: str) -> bytes:
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    return binascii.a2b_base64(plain + "=" * (-len(plain) % 4), strict_mode=True)


def _first_present(rows: Sequence[tuple[str, str, str]], names: Collection[str]) -> Iterator[tuple[str, str, str]]:
    seen = set()
    for path, digest, size in rows:
        if path in names and path not in seen:
            seen.add(path)
            yield path, digest, size


def _listing(rows: Iterable[tuple[str, str, str]], places: _Places) -> Listing:
    kept: list[Row] = []
    placed: list[InstalledRow] = []
    errata: list[str] = []
    for path, digest, size in rows:
        spot = _spot(path, places)
        if spot is None or is_cached_bytecode(spot.path):
            continue
        own = spot.root == "library" and _is_bookkeeping(spot.path, places.dist_info)
        if spot.real:
            placed.append(InstalledRow(spot.root, spot.path, "" if own else digest, size, spot.site))
        if own or not spot.proves:
            continue
        if not digest:
            errata.append(spot.path)
        elif spot.root in ("library", "data"):
            kept.append(Row(spot.root, spot.path, digest, size))
    by_path: dict[Key, Row] = {}
    for row in kept:
        by_path.setdefault((row.root, row.path), row)
    data = [row for row in kept if row.root == "data"]
    return Listing(
        rows=by_path,
        placed=tuple(placed),
        errata=tuple(errata),
        record=fingerprint(row for row in kept if row.root == "library"),
        record_data=fingerprint(data) if data else None,
    )


def _is_bookkeeping(path: str, dist_info: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder == dist_info and name in BOOKKEEPING


def _spot(path: str, places: _Places) -> _Spot | None:
    """Where a row's file lies; None for a row that leads out of the environment or names none of its files."""
    first = path.partition("/")[0]
    if not first.endswith(".data") and not _UNUSUAL.search(path):
        return _Spot("library", path)
    path = path.replace("\\", "/")
    if path.startswith("/") or _DRIVE.match(path):
        spot = _at(posixpath.normpath(path), places)
        return None if spot is None else _Spot(spot.root, spot.path, spot.site, proves=False)
    if path.endswith("/"):
        return None
    path = posixpath.normpath(path)
    first, _, rest = path.partition("/")
    if first.endswith(".data") and _canonical(first.removesuffix(".data")) == places.stem:
        return _unpacked(rest)
    return _at(posixpath.normpath(posixpath.join(places.site, path)), places)


def _unpacked(path: str) -> _Spot | None:
    """Where a file of the wheel's own ``.data`` folder goes; installers leave such rows only where no file is."""
    scheme, _, rest = path.partition("/")
    if not rest:
        return None
    if scheme in ("purelib", "platlib"):
        return _Spot("library", rest, real=False)
    if scheme != "data" or rest.partition("/")[0] in (*_SCRIPTS, "include"):
        return None
    library = _LIBRARY.fullmatch(rest)
    return _Spot("library", library[2], real=False) if library else _Spot("data", rest, real=False)


def _at(path: str, places: _Places) -> _Spot | None:
    """The root that an absolute path lies in; None for a folder on the way to the library."""
    if f"{places.site}/".startswith(f"{path}/"):
        return None
    if (inside := _below(path, places.site)) is not None:
        return _Spot("library", inside)
    if (inside := _below(path, places.scripts)) is not None:
        return _Spot("scripts", inside)
    inside = _below(path, places.prefix)
    if inside is None:
        outside = _below(path, places.headers)
        return None if outside is None else _Spot("headers", outside)
    first, _, rest = inside.partition("/")
    if first in _SCRIPTS and rest:
        return _Spot("scripts", rest)
    if first == "include" and rest:
        return _Spot("headers", rest)
    library = _LIBRARY.fullmatch(inside)
    if library:
        return _Spot("library", library[2], f"{places.prefix}/{library[1]}")
    return _Spot("data", inside)


def _below(path: str, folder: str) -> str | None:
    start = folder if folder.endswith("/") else folder + "/"
    return path[len(start) :] if path.startswith(start) else None


def _canonical(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()
