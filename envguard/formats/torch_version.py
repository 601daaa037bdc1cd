"""``torch/version.py``, read without running it (written by torch's tools/generate_torch_version.py)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

_CAP = 64 * 1024
_NAMES = frozenset({"__version__", "git_version", "cuda", "hip", "xpu", "debug"})
_LABEL = re.compile(r"(?:cu\d+|rocm[\d.]+|xpu|cpu)(?![a-z0-9])")


@dataclass(frozen=True, slots=True)
class TorchVersion:
    """What ``torch/version.py`` assigns; ``git_version`` is ``Unknown`` where the build didn't know it."""

    version: str
    git_version: str
    cuda: str | None = None
    hip: str | None = None
    xpu: str | None = None
    debug: bool = False

    @property
    def variant(self) -> str:
        """``cu130``, ``rocm6.4``, ``xpu`` or ``cpu``: by the local label, else by what it was built with."""
        label = _LABEL.match(self.version.partition("+")[2].lower())
        if label:
            return label[0].rstrip(".")
        if self.cuda:
            return "cu" + "".join(self.cuda.split(".")[:2])
        if self.hip:
            return "rocm" + ".".join(self.hip.split(".")[:2])
        return "xpu" if self.xpu else "cpu"


def read_torch_version(content: bytes) -> TorchVersion:
    """Read the constants; ``ValueError`` when it isn't such a file."""
    if len(content) > _CAP:
        raise ValueError("torch/version.py is too large to be what torch writes")
    import ast

    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise ValueError(f"torch/version.py can't be parsed: {problem}") from None
    found: dict[str, object] = {}
    for statement in tree.body:
        for name in _assigned(statement):
            value = getattr(statement, "value", None)
            if name in _NAMES and isinstance(value, ast.Constant):
                found[name] = value.value
    version = found.get("__version__")
    if not isinstance(version, str) or not version:
        raise ValueError("torch/version.py has no __version__")
    return TorchVersion(
        version=version,
        git_version=_text(found.get("git_version")) or "Unknown",
        cuda=_text(found.get("cuda")),
        hip=_text(found.get("hip")),
        xpu=_text(found.get("xpu")),
        debug=found.get("debug") is True,
    )


def _assigned(statement: ast.stmt) -> list[str]:
    import ast

    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
