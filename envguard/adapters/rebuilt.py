"""A stand-in for another build of the installed torch: name and version are equal, the git commit is not."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path

from envguard.errors import TargetInvalidError

OTHER_COMMIT = "0123456789abcdef0123456789abcdef01234567"


def another_build(python: Path, folder: Path) -> Path:
    """Write a small wheel of the environment's torch version, holding only ``torch/version.py``.

    What ``verify`` must see is in that file and in RECORD; the gigabytes beside them would prove nothing more.
    """
    found = sorted(python.parent.parent.glob("lib/python*/site-packages/torch-*.dist-info"))
    if not found:
        raise TargetInvalidError("there is no torch to swap", where=str(python))
    version = found[0].name.removeprefix("torch-").removesuffix(".dist-info")
    text = (found[0].parent / "torch" / "version.py").read_text()
    text = re.sub(r"(?m)^git_version\b.*$", f"git_version = {OTHER_COMMIT!r}", text)
    info = f"torch-{version}.dist-info"
    tags = [line for line in (found[0] / "WHEEL").read_text().splitlines() if line.startswith("Tag:")]
    files = {
        "torch/__init__.py": "from torch.version import __version__\n",
        "torch/version.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
        f"{info}/WHEEL": "\n".join(["Wheel-Version: 1.0", "Root-Is-Purelib: false", *tags, ""]),
    }
    rows = "".join(f"{path},{_hash(content)},{len(content.encode())}\n" for path, content in files.items())
    files[f"{info}/RECORD"] = rows + f"{info}/RECORD,,\n"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"torch-{version}-{tags[0].removeprefix('Tag:').strip()}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel


def _hash(content: str) -> str:
    raw = hashlib.sha256(content.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
