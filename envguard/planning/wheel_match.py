"""Which of an index's files are meant: by version, by Python and platform, or by an installed distribution."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from envguard.errors import UsageError
from envguard.model.facts import Interpreter
from envguard.model.offer import Offer
from envguard.planning import wheel_names
from envguard.planning.wheel_names import WheelName

ANY = "any"

_PYTHON = re.compile(r"(?:cp|py|python)?(\d)\.?(\d{1,2})(?:\.\d+)?(t?)", re.IGNORECASE)
_GENERIC_LINUX = re.compile(r"(?:manylinux(?:_\d+_\d+|\d+)|linux)_(.+)")
_LINUX = re.compile(r"linux_(.+)")
_VERSIONED = re.compile(r"(manylinux|musllinux|macosx)_(\d+)_(\d+)_(.+)")
_OLD = {"manylinux1": "manylinux_2_5", "manylinux2010": "manylinux_2_12", "manylinux2014": "manylinux_2_17"}
_FAT = frozenset({"universal2", "universal"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """A Python (``cp312``, ``cp313t``) and a platform (``linux_x86_64``, ``manylinux_2_28_x86_64``); None: any."""

    python: str | None = None
    platform: str | None = None


def wanted(python: str | None, platform: str | None) -> Wanted:
    """Read what a user named: ``cp312``, ``3.12``, ``any``; ``linux_x86_64``, ``any``. UsageError."""
    return Wanted(
        None if python in (None, ANY) else _python(python or ""),
        None if platform in (None, ANY) else re.sub(r"[-.]", "_", platform or "").lower(),
    )


def _python(text: str) -> str:
    match = _PYTHON.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"not a Python: {text[:40]!r}", hint="write cp312, 3.12, cp313t or any")
    return f"cp{match[1]}{match[2]}{match[3].lower()}"


def of_interpreter(seen: Interpreter) -> Wanted:
    """What can be installed for a Python; another implementation than CPython: anything."""
    numbers = re.match(r"(\d+)\.(\d+)", seen.version)
    if numbers is None or seen.implementation != "cpython":
        return Wanted()
    minor = f"{numbers[1]}{numbers[2]}"
    threads = "t" if f"-{minor}t" in seen.soabi else ""
    return wanted(f"cp{minor}{threads}", seen.platform_tag or ANY)


def fits(wheel: WheelName, want: Wanted) -> bool:
    """Whether a wheel can be installed there."""
    pairs = None if want.python is None else _pairs(want.python)
    for tag in wheel.tags:
        interpreter, abi, platform = tag.split("-")
        if pairs is not None and (interpreter, abi) not in pairs:
            continue
        if want.platform is None or _on(platform, want.platform):
            return True
    return False


def _pairs(python: str) -> frozenset[tuple[str, str]]:
    """Every pair of interpreter and ABI tag that a CPython takes."""
    from packaging.tags import compatible_tags, cpython_tags

    version = (int(python[2]), int(python[3:].removesuffix("t")))
    tags = [
        *cpython_tags(version, [python], [ANY]),
        *compatible_tags(version, python.removesuffix("t"), [ANY]),
    ]
    return frozenset((tag.interpreter, tag.abi) for tag in tags)


def _on(tag: str, platform: str) -> bool:
    """Whether a wheel's platform tag can be used on a platform; a plain ``linux_*`` stands for any glibc."""
    if tag in (ANY, platform):
        return True
    plain = _LINUX.fullmatch(platform)
    if plain is not None:
        found = _GENERIC_LINUX.fullmatch(tag)
        return found is not None and found[1] == plain[1]
    here, there = _VERSIONED.fullmatch(_modern(platform)), _VERSIONED.fullmatch(_modern(tag))
    if here is None or there is None:
        return _LINUX.fullmatch(tag) is not None and here is not None and tag.endswith(f"linux_{here[4]}")
    same = here[4] == there[4] or (here[1] == "macosx" and there[4] in _FAT)
    return here[1] == there[1] and same and (int(there[2]), int(there[3])) <= (int(here[2]), int(here[3]))


def _modern(tag: str) -> str:
    old, _, rest = tag.partition("_")
    return f"{_OLD[old]}_{rest}" if old in _OLD else tag


def interpreter_of(tags: Collection[str]) -> Interpreter:
    """An interpreter that a wheel's tags are for, so that markers can be evaluated; Linux where any would do."""
    pythons, platforms = set(), set()
    for tag in tags:
        interpreter, _, platform = tag.split("-")
        pythons.add(interpreter)
        platforms.add(platform)
    platform = min(platforms - {ANY}, default="linux_x86_64")
    linux = re.fullmatch(r"(?:manylinux|musllinux|linux)[^_]*(?:_\d+_\d+)?_(.+)", platform)
    numbers = [
        (int(found[1]), int(found[2])) for python in pythons if (found := re.fullmatch(r"cp(\d)(\d+)", python))
    ]
    major, minor = max(numbers, default=(3, 12))
    return Interpreter(
        implementation="cpython",
        version=f"{major}.{minor}.0",
        build="",
        soabi="",
        platform_tag=f"linux_{linux[1]}" if linux else platform,
        libc="",
    )


def of_version(offers: Iterable[Offer], name: str, version: str) -> list[Offer]:
    """Wheels of a version. With a local label (``2.11.0+cu130``) only that; without, those of every label too."""
    if "+" in version:
        return [offer for offer in offers if wheel_names.fits(offer.filename, name, version)]
    return [
        offer
        for offer in offers
        if (parsed := wheel_names.parse(offer.filename))
        and wheel_names.fits(_without_label(offer.filename, parsed), name, version)
    ]


def _without_label(filename: str, parsed: WheelName) -> str:
    label = parsed.version.partition("+")[2]
    if not label:
        return filename
    first, second, rest = filename.split("-", 2)
    return f"{first}-{second.partition('+')[0]}-{rest}"


def once(offers: Iterable[Offer]) -> list[Offer]:
    """The same file of several sources once: the first one's."""
    seen: dict[tuple[str, object], Offer] = {}
    for offer in offers:
        seen.setdefault((offer.filename, offer.sha256 or offer.location), offer)
    return list(seen.values())


def fitting(offers: Iterable[Offer], want: Wanted) -> list[Offer]:
    """Offers that can be installed there."""
    return [offer for offer in offers if (parsed := wheel_names.parse(offer.filename)) and fits(parsed, want)]


def builds(offers: Iterable[Offer], want: Wanted) -> list[tuple[Offer, int]]:
    """One file of every build (version, label, build tag), newest first, and how many files that build has.

    Which file: one that fits, else, of a build that has no fitting file, none. Linux on x86_64 before others.
    """
    from packaging.version import Version

    groups: dict[tuple[str, str], list[Offer]] = {}
    for offer in offers:
        parsed = wheel_names.parse(offer.filename)
        if parsed is not None:
            groups.setdefault((parsed.version, parsed.build), []).append(offer)
    found = []
    for key in sorted(groups, key=lambda key: (Version(key[0]), _number(key[1])), reverse=True):
        candidates = fitting(groups[key], want)
        if candidates:
            found.append((min(candidates, key=_preference), len(groups[key])))
    return found


def _number(build: str) -> tuple[int, str]:
    match = re.match(r"\d+", build)
    return (int(match[0]) if match else 0, build)


def _preference(offer: Offer) -> tuple[int, int, str]:
    """Common machines first; newer Pythons first among them."""
    name = offer.filename
    place = 0 if "linux" in name and "x86_64" in name else 1 if "linux" in name else 2
    match = re.search(r"-cp3(\d+)-", name)
    return (place, -int(match[1]) if match else 0, name)


def candidates(
    offers: Sequence[Offer], name: str, version: str, rebuilt: str | None, tags: Collection[str], want: Wanted
) -> list[Offer]:
    """Files that an installed distribution may come from, likeliest first.

    ``rebuilt`` is the filename that its WHEEL file leads to, ``tags`` the tags in it; files that can't be
    installed in this environment are left out, unless they are of that very name.
    """
    own = wheel_names.parse(rebuilt) if rebuilt else None
    ranked = []
    for offer in once(offers):
        parsed = wheel_names.parse(offer.filename)
        if parsed is None or not wheel_names.fits(offer.filename, name, version):
            continue
        if parsed == own:
            rank = 0
        elif not fits(parsed, want):
            continue
        else:
            rank = 1 if parsed.tags & set(tags) else 2
        ranked.append((rank, offer))
    return [offer for _, offer in sorted(ranked, key=lambda pair: pair[0])]
