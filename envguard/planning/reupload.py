"""Two wheels of one version, told apart by what their RECORDs list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from envguard.model.distribution import Row
from envguard.model.facts import TorchBuild
from envguard.model.wheel_facts import WheelFacts

Rows = Mapping[tuple[str, str], Row]

_DIST_INFO = re.compile(r"[^/]+\.dist-info/([^/]+)")
_LABELS = frozenset({"WHEEL", "RECORD"})
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two RECORDs agree and differ in. Paths are in order of what they tell: version files first."""

    files: int
    """Files that both list with the same content."""
    changed: tuple[str, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether both list the same files with the same content."""
        return not (self.changed or self.only_first or self.only_second)

    @property
    def same_code(self) -> bool:
        """Whether only WHEEL differs: built or tagged anew from the same files."""
        return not (self.only_first or self.only_second) and all(_told(path) in _LABELS for path in self.changed)


def compare(first: Rows, second: Rows) -> Comparison:
    """Hold the rows of one RECORD against another's. The version in dist-info's name doesn't count."""
    one, other = _by_path(first), _by_path(second)
    both = one.keys() & other.keys()
    changed = [
        path for path in both if (one[path].digest, one[path].size) != (other[path].digest, other[path].size)
    ]
    return Comparison(
        files=len(both) - len(changed),
        changed=tuple(sorted(changed, key=_order)),
        only_first=tuple(sorted(one.keys() - other.keys(), key=_order)),
        only_second=tuple(sorted(other.keys() - one.keys(), key=_order)),
    )


def explained(comparison: Comparison, builds: tuple[TorchBuild | None, TorchBuild | None] = (None, None)) -> str:
    """In one line: ``same 12,248 files, zip repacked``, or what differs, values of ``torch/version.py`` first."""
    if comparison.same:
        return f"same {_count(comparison.files)}, zip repacked"
    values = _values(*builds)
    if comparison.same_code:
        return f"same code, another WHEEL file ({_count(comparison.files)} equal): built or tagged anew"
    parts = []
    if comparison.changed:
        number = len(comparison.changed)
        verb = "differs" if number == 1 else "differ"
        parts.append(f"{_count(number)} {verb}: {_listed(comparison.changed, values)}")
    for paths, where in ((comparison.only_first, "first"), (comparison.only_second, "second")):
        if paths:
            parts.append(f"{_count(len(paths))} only in the {where}: {_listed(paths, '')}")
    return f"{'; '.join(parts)}; {_count(comparison.files)} equal"


def agreement(one: WheelFacts, other: WheelFacts) -> str:
    """What two files of one version agree in, and what differs, in one line."""
    agree, differ = [], []
    for what, first, second in _aspects(one, other):
        if first is None or second is None:
            continue
        if first == second:
            agree.append(f"{what} {first}")
        else:
            differ.append(f"{what} {first} and {second}")
    text = f"{' and '.join([', '.join(agree[:-1]), agree[-1]]) if len(agree) > 1 else ''.join(agree)}"
    parts = [f"agree in {text}"] if text else []
    if differ:
        parts.append(f"differ in {', '.join(differ)}")
    if one.content.rows and other.content.rows:
        builds = (one.content.torch, other.content.torch)
        parts.append(explained(compare(one.content.rows, other.content.rows), builds))
    return "; ".join(parts)


def _aspects(one: WheelFacts, other: WheelFacts) -> list[tuple[str, str | None, str | None]]:
    first, second = one.content.torch, other.content.torch
    return [
        ("version", one.version, other.version),
        ("build", first.build if first else None, second.build if second else None),
        ("commit", first.git_commit[:12] if first else None, second.git_commit[:12] if second else None),
        ("variant", one.variant, other.variant),
        ("build tag", one.build_tag or "none", other.build_tag or "none")
        if one.build_tag != other.build_tag
        else ("build tag", None, None),
        ("sha256", one.sha256.short if one.sha256 else None, other.sha256.short if other.sha256 else None),
    ]


def _values(one: TorchBuild | None, other: TorchBuild | None) -> str:
    if one is None or other is None:
        return ""
    pairs = (
        ("version", one.build, other.build),
        ("git", one.git_commit[:10], other.git_commit[:10]),
        ("cuda", one.cuda, other.cuda),
        ("hip", one.hip, other.hip),
    )
    return ", ".join(f"{what} {first} → {second}" for what, first, second in pairs if first != second)


def _listed(paths: tuple[str, ...], values: str) -> str:
    shown = [f"{path} ({values})" if values and _is_version(path) else path for path in paths[:_SHOWN]]
    more = len(paths) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _count(number: int) -> str:
    return f"{number:,} file{'' if number == 1 else 's'}"


def _by_path(rows: Rows) -> dict[str, Row]:
    """Rows by path; a dist-info folder's name holds the version, and is left out."""
    return {_plain(path) if root == "library" else f"data:{path}": row for (root, path), row in rows.items()}


def _plain(path: str) -> str:
    folder, _, rest = path.partition("/")
    return f"*.dist-info/{rest}" if folder.endswith(".dist-info") else path


def _told(path: str) -> str:
    match = _DIST_INFO.fullmatch(path)
    return match[1] if match else ""


def _is_version(path: str) -> bool:
    return path == "torch/version.py"


def _order(path: str) -> tuple[int, str]:
    """version.py, then other version files, then code, then what is written about it."""
    name = path.rpartition("/")[2]
    if _is_version(path):
        return 0, path
    if name in ("version.py", "_version.py"):
        return 1, path
    return (3 if ".dist-info/" in path else 2), path
