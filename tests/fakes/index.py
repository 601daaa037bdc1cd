"""An index in memory: serves wheels, counts what it was asked, and can lie, cut short or fail on purpose."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from envguard.errors import EnvguardError, IndexUnreachableError, OtherBytesError
from envguard.model.digest import Digest
from envguard.ports import Offer, Progress


def canonical(name: str) -> str:
    """PEP 503, as the port is asked."""
    return "-".join(part for part in name.lower().replace("_", "-").replace(".", "-").split("-") if part)


@dataclass
class _Planned:
    """A failure that is due: for how many more times (None: for ever), and how many times it fired."""

    error: EnvguardError
    left: int | None
    fired: int = 0

    def strike(self) -> None:
        """Raise while there are times left."""
        if self.left == 0:
            return
        self.left = None if self.left is None else self.left - 1
        self.fired += 1
        raise self.error


class FakeIndex:
    """``ports.Index`` over wheels given to ``add``. Safe to use from several threads.

    ``asked`` lists the names of ``offers`` calls, ``fetched`` the filenames of ``fetch`` calls, in order;
    ``fired`` counts planned faults that happened, so that a test can assert that its fault fired.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fetched: list[str] = []
        self._offers: dict[str, list[Offer]] = {}
        self._bytes: dict[tuple[str, str], bytes] = {}
        self._cut: dict[str, int] = {}
        self._failures: dict[str, list[_Planned]] = {}
        self._troubles: dict[str, list[EnvguardError]] = {}
        self._lies_or_cuts = 0
        self._mutex = threading.Lock()

    @property
    def fired(self) -> int:
        """How many planned faults happened: failures, cuts and lies."""
        with self._mutex:
            return self._lies_or_cuts + sum(plan.fired for plans in self._failures.values() for plan in plans)

    def add(
        self, wheel: Path, *, source: str = "default", hashed: bool = True, yanked: str | None = None
    ) -> Offer:
        """Serve a wheel file's bytes under its name; ``hashed`` False: the page gives no hash and no size."""
        content = wheel.read_bytes()
        offer = Offer(
            filename=wheel.name,
            location=f"{source}/{wheel.name}",
            source=source,
            sha256=Digest.of(content) if hashed else None,
            size=len(content) if hashed else None,
            yanked=yanked,
        )
        with self._mutex:
            self._offers.setdefault(canonical(wheel.name.split("-")[0]), []).append(offer)
            self._bytes[source, wheel.name] = content
        return offer

    def reupload(self, filename: str, content: bytes, *, source: str = "default") -> None:
        """Other bytes under a name that was served before, with the page's hash and size moved along."""
        with self._mutex:
            self._bytes[source, filename] = content
            for name, offers in self._offers.items():
                self._offers[name] = [
                    replace(offer, sha256=offer.sha256 and Digest.of(content), size=offer.size and len(content))
                    if (offer.source, offer.filename) == (source, filename)
                    else offer
                    for offer in offers
                ]

    def lie(self, filename: str, content: bytes, *, source: str = "default") -> None:
        """Serve other bytes while the page keeps the old hash."""
        with self._mutex:
            self._bytes[source, filename] = content

    def cut(self, filename: str, after: int) -> None:
        """End the body after ``after`` bytes, every time: a fetch is IndexUnreachableError."""
        with self._mutex:
            self._cut[filename] = after

    def fail(self, what: str, error: EnvguardError, *, times: int | None = None) -> None:
        """Raise ``error`` when ``what`` (a filename for fetch, a distribution's name for offers) is asked for."""
        with self._mutex:
            self._failures.setdefault(what, []).append(_Planned(error, times))

    def withdraw(self, filename: str) -> None:
        """Offer a file no more."""
        with self._mutex:
            for name, offers in self._offers.items():
                self._offers[name] = [offer for offer in offers if offer.filename != filename]

    def offers(self, name: str) -> Sequence[Offer]:
        """Every wheel added for a distribution, in the order they were added."""
        with self._mutex:
            self.asked.append(name)
            self._strike(name)
            return tuple(self._offers.get(canonical(name), ()))

    def trouble(self, name: str, error: EnvguardError) -> None:
        """Say that a source could not be asked for a distribution, while what was added is offered."""
        with self._mutex:
            self._troubles.setdefault(canonical(name), []).append(error)

    def troubles(self, name: str) -> Sequence[EnvguardError]:
        """What ``trouble`` was told."""
        with self._mutex:
            return tuple(self._troubles.get(canonical(name), ()))

    def fetch(self, offer: Offer, folder: Path, *, expect: Digest | None, progress: Progress) -> Path:
        """Write the bytes under the offer's filename; when they are not ``expect``, nothing."""
        with self._mutex:
            self.fetched.append(offer.filename)
            self._strike(offer.filename)
            content = self._bytes[offer.source, offer.filename]
            if offer.filename in self._cut:
                self._lies_or_cuts += 1
                raise IndexUnreachableError(
                    f"index {offer.source}: the connection ended before {offer.filename} was whole",
                    where=offer.location,
                    hint="run the same command again",
                )
            got = Digest.of(content)
            if expect is not None and got != expect:
                self._lies_or_cuts += 1
                raise OtherBytesError(
                    f"index {offer.source} now serves other bytes for {offer.filename}: "
                    f"expected {expect}, got {got}",
                    where=offer.location,
                    hint="restore it from the archive, or record the environment anew",
                )
        progress.step(offer.filename, len(content), len(content), "B")
        path = folder / offer.filename
        path.write_bytes(content)
        return path

    def _strike(self, what: str) -> None:
        for plan in self._failures.get(what, ()):
            plan.strike()


class Silence:
    """``ports.Progress`` that remembers its steps and shows nothing."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, int, int | None, str]] = []

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        """Remember it."""
        self.steps.append((what, done, total, unit))
