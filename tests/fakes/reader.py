"""A reader of wheels that reads what a ``FakeIndex`` would serve, from files, and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from envguard.adapters.remote.inside import read_inside
from envguard.adapters.remote.pieces import ZipPieces
from envguard.adapters.remote.source import FileSource
from envguard.errors import EnvguardError
from envguard.model.wheel_facts import EVERYTHING, Cost, Part, WheelFacts
from envguard.planning import wheel_names
from envguard.planning.wheel_facts import told
from envguard.ports import Offer


class FileReader:
    """``ports.WheelReader`` over files by (source, filename); ``fail`` plans an error."""

    def __init__(self, files: Mapping[tuple[str, str], Path]) -> None:
        self.files = dict(files)
        self.asked: list[tuple[str, frozenset[Part]]] = []
        self.fail: dict[str, EnvguardError] = {}

    def read(self, offer: Offer, parts: frozenset[Part] = EVERYTHING) -> WheelFacts:
        """Facts of a file."""
        self.asked.append((offer.filename, parts))
        if offer.filename in self.fail:
            raise self.fail[offer.filename]
        wheel = wheel_names.parse(offer.filename)
        if wheel is None:
            raise AssertionError(offer.filename)
        with FileSource(self.files[offer.source, offer.filename]) as source:
            pieces = ZipPieces(source, source.size)
            pieces.begin()
            content = read_inside(pieces, wheel, parts)
            return replace(told(offer, wheel, content, Cost(1, 1)), size=source.size)
