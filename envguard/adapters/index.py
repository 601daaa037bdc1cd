"""Every place that wheels can be had from: find-links folders, then indexes of the simple API."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from envguard.adapters import local_wheels
from envguard.adapters.asking import asked, refuse_status
from envguard.adapters.download import Download
from envguard.adapters.local_wheels import LocalWheel
from envguard.adapters.pages import Caps, Page, canonical, files, is_filename, received
from envguard.adapters.part import Part
from envguard.adapters.transport import BadAnswerError, Timeouts, Transport
from envguard.errors import EnvguardError, IndexAnswerError, NotObtainableError
from envguard.formats.address import Address
from envguard.formats.index_settings import NamedIndex, Sources
from envguard.model.digest import Digest
from envguard.ports import Offer, Progress

FIND_LINKS = "find-links"


class Line(NamedTuple):
    """How indexes are asked. ``pause`` waits between tries, in seconds."""

    transport: Transport
    timeouts: Timeouts
    pause: Callable[[float], None]


class SimpleIndexes:
    """``ports.Index`` over folders and indexes. Each page is asked for once; safe to use from several threads."""

    def __init__(
        self,
        sources: Sources,
        *,
        timeouts: Timeouts | None = None,
        caps: Caps | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """``pause`` waits between tries, in seconds."""
        self._sources = sources
        self._timeouts = timeouts or Timeouts()
        self._caps = caps or Caps()
        self._pause = pause
        self._transport = Transport(sources.indexes, sources.certificates, self._timeouts)
        self._download = Download(self._transport, self._timeouts, pause)
        self._known: dict[str, tuple[tuple[Offer, ...], tuple[EnvguardError, ...]]] = {}
        self._sdists: dict[str, tuple[Offer, ...]] = {}
        self._flat: dict[str, Page | None] = {}
        self._turns: dict[str, threading.Lock] = {}
        self._mutex = threading.Lock()

    def __enter__(self) -> SimpleIndexes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept."""
        self._transport.close()

    def offers(self, name: str) -> Sequence[Offer]:
        """Every wheel file of a distribution, in the order of the sources.

        A source that fails is passed over while another one has something (``troubles`` tells), else its error is
        raised: IndexUnreachableError, IndexAnswerError. A project that an index hasn't got is no error.
        """
        offers, troubles = self._asked(canonical(name))
        if troubles and not offers:
            raise troubles[0]
        return offers

    @property
    def line(self) -> Line:
        """What asks the indexes, for those who read parts of their files."""
        return Line(self._transport, self._timeouts, self._pause)

    def sdists(self, name: str) -> Sequence[Offer]:
        """Every sdist that the pages of indexes list for a distribution; errors as for ``offers``."""
        self.offers(name)
        return self._sdists[canonical(name)]

    def troubles(self, name: str) -> Sequence[EnvguardError]:
        """What went wrong while the offers of a distribution were gathered."""
        return self._asked(canonical(name))[1]

    def fetch(self, offer: Offer, folder: Path, *, expect: Digest | None, progress: Progress) -> Path:
        """Download (going on after breaks) or copy into ``folder`` under the offer's filename, hashing on the way.

        A file that is there already and is ``expect`` is taken as it is. OtherBytesError when the bytes are not
        ``expect``; nothing bad is kept. Without ``expect``, the source's own sha256 must hold (IndexAnswerError).
        """
        if not is_filename(offer.filename):
            raise NotObtainableError(f"not a wheel's filename: {offer.filename[:200]!r}", where=offer.location)
        path = folder / offer.filename
        if _is_there(path, expect):
            size = path.stat().st_size
            progress.step(offer.filename, size, size, "B")
            return path
        _remove_other(path, offer)
        with Part(folder, offer.filename).held() as part:
            try:
                self._fill(offer, part, expect, progress)
                part.finish(path)
            except BaseException as error:
                if isinstance(error, IndexAnswerError) or not part.can_go_on:
                    part.discard()
                raise
        return path

    def _fill(self, offer: Offer, part: Part, expect: Digest | None, progress: Progress) -> None:
        if isinstance(offer.reference, LocalWheel):
            local_wheels.copy(offer, offer.reference, part, expect, progress)
        elif isinstance(offer.reference, Address):
            self._download.fetch(offer, offer.reference, part, expect, progress)
        else:
            raise NotObtainableError(f"{offer.filename} is not an offer of these indexes", where=offer.location)

    def _asked(self, name: str) -> tuple[tuple[Offer, ...], tuple[EnvguardError, ...]]:
        with self._turn(f"project {name}"):
            if name not in self._known:
                self._known[name] = self._gathered(name)
            return self._known[name]

    def _gathered(self, name: str) -> tuple[tuple[Offer, ...], tuple[EnvguardError, ...]]:
        offers: list[Offer] = []
        troubles: list[EnvguardError] = []
        for folder in self._sources.find_links:
            with _kept(troubles, str(folder), FIND_LINKS):
                offers += _of(name, self._in_links(folder, name))
        for index in self._sources.indexes:
            with _kept(troubles, str(index.address), index.name):
                offers += _of(name, self._on_index(index, name))
        self._sdists[name] = tuple(offer for offer in offers if not is_filename(offer.filename))
        return tuple(offer for offer in offers if is_filename(offer.filename)), tuple(troubles)

    def _in_links(self, folder: Path, name: str) -> list[Offer]:
        if folder.suffix in (".html", ".htm") and folder.is_file():
            return local_wheels.on_page(folder, name, FIND_LINKS, self._caps)
        return local_wheels.in_folder(folder, FIND_LINKS)

    def _on_index(self, index: NamedIndex, name: str) -> list[Offer]:
        root = index.address.local
        if root is not None:
            if index.flat:
                return local_wheels.in_folder(root, index.name)
            return local_wheels.in_simple_folder(root, name, index.name, self._caps) or []
        page = self._flat_page(index) if index.flat else self._page(index, _project(index.address, name), name)
        found = [] if page is None else files(page, name, self._caps)
        return [local_wheels.offered(one, index.name) for one in found]

    def _flat_page(self, index: NamedIndex) -> Page | None:
        with self._turn(f"page {index.name}"):
            if index.name not in self._flat:
                self._flat[index.name] = self._page(index, index.address, "its list of files")
            return self._flat[index.name]

    def _page(self, index: NamedIndex, address: Address, what: str) -> Page | None:
        """A page; None when the index hasn't got it."""
        from pypi_simple import ACCEPT_JSON_PREFERRED

        headers = {"Accept": ACCEPT_JSON_PREFERRED, "Accept-Encoding": "gzip"}

        def once(deadline: float) -> Page | None:
            with self._transport.get(address, headers, deadline) as answer:
                if answer.status == 404:
                    return None
                if answer.status != 200:
                    refuse_status(answer, what=what, index=index.name)
                return received(answer, self._caps)

        return asked(
            once,
            what=what,
            where=str(address),
            index=index.name,
            timeouts=self._timeouts,
            total=self._timeouts.page,
            pause=self._pause,
        )

    def _turn(self, what: str) -> threading.Lock:
        with self._mutex:
            return self._turns.setdefault(what, threading.Lock())


@contextlib.contextmanager
def _kept(troubles: list[EnvguardError], where: str, source: str) -> Iterator[None]:
    """Errors of one source are put aside, so that the others are asked."""
    try:
        yield
    except BadAnswerError as error:
        troubles.append(IndexAnswerError(f"index {source} gives no usable answer: {error}", where=where))
    except EnvguardError as error:
        troubles.append(error)


def _remove_other(path: Path, offer: Offer) -> None:
    """What has the name and not the bytes must not stay, unless it is the very file that is to be copied."""
    source = offer.reference.path if isinstance(offer.reference, LocalWheel) else None
    with contextlib.suppress(OSError):
        if source is None or not path.samefile(source):
            path.unlink()


def _project(address: Address, name: str) -> Address:
    """The address of a project's page; a query that an index wants stays behind it."""
    whole, mark, query = address.reveal().partition("#")[0].partition("?")
    return Address(f"{whole.rstrip('/')}/{name}/{mark}{query}")


def _of(name: str, offers: Iterable[Offer]) -> list[Offer]:
    return [offer for offer in offers if _named(offer.filename, name)]


def _named(filename: str, name: str) -> bool:
    if is_filename(filename):
        return canonical(filename.partition("-")[0]) == name
    return canonical(filename).startswith(f"{name}-")  # sdists of old have dashes in their names


def _is_there(path: Path, expect: Digest | None) -> bool:
    if expect is None or path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as stream:
            return Digest.of_stream(stream) == expect
    except OSError:
        return False
