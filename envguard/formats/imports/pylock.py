"""``pylock.toml`` (PEP 751), read by the library that defines it → claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from envguard.errors import LockInvalidError
from envguard.formats import toml_text
from envguard.formats.address import Address
from envguard.formats.imports.claims import Claim, Claims
from envguard.model.digest import Digest
from envguard.model.distribution import Origin

if TYPE_CHECKING:
    from packaging.markers import Environment
    from packaging.pylock import Package, Pylock
    from packaging.tags import Tag


def read(content: bytes, where: str, *, environment: Environment, tags: Sequence[Tag]) -> Claims:
    """What the file would have installed for ``environment`` and ``tags`` (best first). LockInvalidError."""
    from packaging.pylock import Pylock, PylockSelectError, PylockValidationError

    try:
        lock = Pylock.from_dict(toml_text.parse(content))
    except toml_text.TomlError as problem:
        place = f"{where}:{problem.line}" if problem.line else where
        raise LockInvalidError(str(problem), where=place) from None
    except PylockValidationError as problem:
        raise LockInvalidError(f"not a pylock: {problem}", where=where) from None
    try:
        return Claims(tuple(sorted(_claims(lock, environment, tags), key=lambda claim: claim.name)))
    except PylockSelectError as problem:
        hint = "name an environment that it is for: --python PATH"
        raise LockInvalidError(str(problem), where=where, hint=hint) from None


def _claims(lock: Pylock, environment: Environment, tags: Sequence[Tag]) -> Iterator[Claim]:
    from packaging.pylock import PackageArchive, PackageDirectory, PackageSdist, PackageVcs

    for package, chosen in lock.select(environment=environment, tags=tags):
        version = str(package.version) if package.version is not None else ""
        if isinstance(chosen, PackageVcs):
            origin = Origin(
                "vcs", url=_public(chosen.url), commit=chosen.commit_id, subdirectory=chosen.subdirectory
            )
            yield Claim(package.name, version, origin=origin)
        elif isinstance(chosen, PackageDirectory):
            origin = Origin("folder", editable=bool(chosen.editable), subdirectory=chosen.subdirectory)
            yield Claim(package.name, version, origin=origin)
        elif isinstance(chosen, PackageArchive):
            origin = Origin("archive", url=_public(chosen.url), subdirectory=chosen.subdirectory)
            yield Claim(package.name, version, hashes=_hashes(chosen.hashes), size=chosen.size, origin=origin)
        elif isinstance(chosen, PackageSdist):
            yield Claim(package.name, version, index=package.index, sdist=_sdist(chosen.filename, chosen.hashes))
        else:
            yield _wheel(package, version, chosen.filename, chosen.hashes, chosen.size)


def _wheel(package: Package, version: str, filename: str, hashes: Mapping[str, str], size: int | None) -> Claim:
    return Claim(package.name, version, filename, _hashes(hashes), size, package.index)


def _sdist(filename: str, hashes: Mapping[str, str]) -> str:
    found = _hashes(hashes)
    return f"{filename} {found[0]}" if found else filename


def _hashes(hashes: Mapping[str, str]) -> tuple[Digest, ...]:
    text = hashes.get("sha256", "").lower()
    try:
        return (Digest.parse(f"sha256:{text}"),)
    except ValueError:
        return ()


def _public(url: str | None) -> str | None:
    """Without userinfo, query and fragment; nothing where it can't be told what is secret."""
    if url is None:
        return None
    try:
        return str(Address.parse(url))
    except ValueError:
        return None
