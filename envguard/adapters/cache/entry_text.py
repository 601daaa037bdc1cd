"""What an entry of the cache says of itself, read as text: its opcodes are listed, none is run.

An entry is a pickle, and loading one runs code. ``pickletools.genops`` only names the opcodes and their arguments,
so a hostile entry can waste a bounded time, and nothing else.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from envguard.model.cache import CPU, Component, Graph

LARGEST = 64 << 20
"""Bytes of an entry that is looked into; a larger one is told as such."""
MOST_OPCODES = 2_000_000
_LONGEST_BYTES = 1 << 20
_LONGEST_TEXT = 800

_SURE = re.compile(
    r"_DeviceGuard\((\d{1,4})\)|get_raw_stream\((\d{1,4})\)"
    r"|device\(type='cuda', index=(\d{1,4})\)|\]cuda:(\d{1,4})\b"
)
_LOOSE = re.compile(r"\bcuda:(\d{1,4})\b")
_CPU = re.compile(r"device\(type='cpu'\)|\]cpu\b|'cpu'|\"cpu\"")
_GRAPH_KEY = re.compile(r"f[a-z2-7]{51}")
_COMPONENT = re.compile(r"\[([a-z2-7]{51})\] ([^:\n]{1,200}): (.*)", re.DOTALL)
_STORES = frozenset({"MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT"})
_FETCHES = frozenset({"BINGET", "LONG_BINGET", "GET"})
_INTEGERS = frozenset({"BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1"})


@dataclass(frozen=True, slots=True)
class EntryText:
    """``devices``: ``cpu``, ``cuda:0``, …; none when the text names none. ``problem``: why it can't be whole."""

    devices: frozenset[str]
    graphs: tuple[Graph, ...] = ()
    named: frozenset[str] = frozenset()
    """Keys of graphs that it mentions."""
    problem: str | None = None


def read_entry(content: bytes, *, graphs: bool = True) -> EntryText:
    """Read an entry's text; whatever is wrong with it is told, never raised."""
    reader = _Reader(graphs)
    problem = None
    try:
        for name, argument in _opcodes(content):
            reader.take(name, argument)
    except _TooLongError:
        problem = f"it has more than {MOST_OPCODES:,} opcodes"
    except Exception:  # pickletools raises whatever its readers do
        problem = "it is cut off or no pickle"
    return EntryText(reader.devices(), reader.found(), frozenset(reader.named), problem)


class _TooLongError(Exception):
    pass


def _opcodes(content: bytes) -> Iterator[tuple[str, object]]:
    import pickletools  # only where an entry is read as text

    for number, (opcode, argument, _) in enumerate(pickletools.genops(io.BytesIO(content))):
        if number >= MOST_OPCODES:
            raise _TooLongError
        yield opcode.name, argument


@dataclass(slots=True)
class _Reader:
    """Sees opcodes one after the other."""

    with_graphs: bool
    sure: set[str] = field(default_factory=set)
    loose: set[str] = field(default_factory=set)
    cpu: bool = False
    named: set[str] = field(default_factory=set)
    graphs: dict[str, dict[str, Component]] = field(default_factory=dict)
    _key: str | None = None
    _memo: int = 0
    _cuda_slots: set[int] = field(default_factory=set)
    _after_cuda: bool = False
    """The last thing put on the stack is the text ``cuda``: an integer after it is an index."""

    def take(self, name: str, argument: object) -> None:
        """One opcode."""
        if name in _STORES:
            self._store(name, argument)
        elif isinstance(argument, str) and name not in _FETCHES:
            self._after_cuda = argument == "cuda"
            self._text(argument)
        elif name in _FETCHES:
            self._after_cuda = isinstance(argument, int) and argument in self._cuda_slots
        else:
            if self._after_cuda and name in _INTEGERS and isinstance(argument, int) and 0 <= argument < 10_000:
                self.sure.add(f"cuda:{argument}")
            self._after_cuda = False
            if isinstance(argument, bytes) and len(argument) <= _LONGEST_BYTES:
                self._devices(argument.decode("latin-1"))

    def _store(self, name: str, argument: object) -> None:
        slot = self._memo if name == "MEMOIZE" or not isinstance(argument, int) else argument
        self._memo += 1
        if self._after_cuda:
            self._cuda_slots.add(slot)

    def _text(self, text: str) -> None:
        if text == CPU:
            self.cpu = True
        elif _GRAPH_KEY.fullmatch(text):
            self.named.add(text)
            self._key = text
        elif text.startswith("[") and (found := _COMPONENT.fullmatch(text)):
            self._component(found[1], found[2], found[3])
        self._devices(text)

    def _component(self, hashed: str, name: str, text: str) -> None:
        if self.with_graphs and self._key is not None:
            shown = text if len(text) <= _LONGEST_TEXT and name != "gm" else None
            self.graphs.setdefault(self._key, {}).setdefault(name, Component(hashed, shown))

    def _devices(self, text: str) -> None:
        if "cuda" in text or "Guard" in text or "get_raw_stream" in text:
            self.sure.update(f"cuda:{int(index)}" for found in _SURE.findall(text) for index in found if index)
            self.loose.update(f"cuda:{int(index)}" for index in _LOOSE.findall(text))
        self.cpu = self.cpu or ("cpu" in text and _CPU.search(text) is not None)

    def devices(self) -> frozenset[str]:
        """An index that only a line of somebody's source names counts when nothing better does."""
        return frozenset(self.sure or self.loose or ({CPU} if self.cpu else ()))

    def found(self) -> tuple[Graph, ...]:
        """The graphs whose components it holds."""
        return tuple(Graph(key, components) for key, components in self.graphs.items())
