"""What was read inside wheels, kept in the cache folder by sha256: bytes of one digest never say another thing."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

from envguard.adapters import files, folders
from envguard.adapters.provenance.reading import SMALL_CAP, read
from envguard.formats import wheel_json
from envguard.model.digest import Digest
from envguard.model.distribution import Evidence, Wheel
from envguard.model.wheel_facts import Fingerprint, WheelContent

_SAFE = re.compile(r"[A-Za-z0-9._+-]{1,240}")


class KeptWheels:
    """The folder ``wheels`` of envguard's cache. A file that is damaged, or can't be written, counts as none."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folders.cache() / "wheels" if folder is None else folder

    def content(self, key: str) -> WheelContent | None:
        """What is kept for a key."""
        text = read(self._folder / f"{key}.json", wheel_json.CAP)
        if text is None:
            return None
        try:
            return wheel_json.load_content(text)
        except ValueError:
            return None

    def keep(self, key: str, content: WheelContent) -> None:
        """Keep what was read."""
        self._write(f"{key}.json", wheel_json.dump_content(content))

    def proven(self, name: str, fingerprint: Fingerprint) -> Wheel | None:
        """The wheel of an index that a record fingerprint was once proven to be of."""
        text = read(self._folder / self._mark(name, fingerprint), SMALL_CAP)
        try:
            match json.loads(text or b"null"):
                case {"filename": str(filename), "sha256": str(sha256), "size": size, "index": str(index)}:
                    if _SAFE.fullmatch(filename) and isinstance(size, int | None):
                        return Wheel(filename, Digest.parse(sha256), None, size, index, Evidence.INDEX_RECORD)
        except (ValueError, RecursionError):
            pass
        return None

    def prove(self, name: str, fingerprint: Fingerprint, wheel: Wheel) -> None:
        """Keep what a record fingerprint is of."""
        whole = {"filename": wheel.filename, "sha256": str(wheel.sha256), "size": wheel.size, "index": wheel.index}
        self._write(self._mark(name, fingerprint), json.dumps(whole).encode())

    def _mark(self, name: str, fingerprint: Fingerprint) -> str:
        data = fingerprint.record_data.hex if fingerprint.record_data else ""
        return f"record-{Digest.of(f'{name} {fingerprint.record.hex} {data}'.encode()).hex}.json"

    def _write(self, name: str, content: bytes) -> None:
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            files.write(self._folder / name, content, durable=False)
