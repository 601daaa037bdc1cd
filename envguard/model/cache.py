"""The compile cache: what its keys depend on, which keys there are, and what their graphs were keyed with."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from envguard.model.digest import Digest

CPU = "cpu"
UNKNOWN_DEVICE = "unknown"
"""The device of an entry whose text names none, or can't be read."""


class KeySource(Enum):
    """How keys came to be known."""

    FOUND = "found"
    """As they lay in a folder: stale ones may be among them, so they are never a criterion."""
    WARMUP = "warmup"
    TRACE = "trace"
    GUARD = "guard"

    @property
    def counts(self) -> bool:
        """Whether a missing key is a drift."""
        return self is not KeySource.FOUND


@dataclass(frozen=True, slots=True)
class CacheFactors:
    """What every key depends on and no other section holds; None where it could not be had (``unseen`` says why).

    CUDA, GPU names, Python, driver and CPU flags are in the other sections of the facts.
    """

    torch_key: str | None = None
    """``torch._inductor.codecache.torch_key()``, hex."""
    triton_key: str | None = None
    """sha256 of the text that Triton's ``triton_key()`` answers, hex; None without Triton."""
    threads: int | None = None
    """CPU threads, where keys of CPU code hold them (torch 2.13 and later)."""
    settings: tuple[tuple[str, str], ...] = ()
    """Variables that enter keys and don't say what holds without them, by name; of paths only a digest."""
    ptxas: str | None = None
    """sha256 of a ptxas that a variable puts in the place of Triton's own, hex."""
    unseen: tuple[tuple[str, str], ...] = ()
    """Factor → why it could not be had."""


@dataclass(frozen=True, slots=True)
class DeviceKeys:
    """The keys of one device (``cpu``, ``cuda:0``): ``aotautograd/a…`` and ``fxgraph/f…``, sorted."""

    device: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """One of the things a graph's key is made of: torch's hash of it, and its text where that is at hand."""

    hash: str
    text: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Graph:
    """What one graph's key (``f…``) was made of, by name (``inductor_config[max_autotune]``)."""

    key: str
    components: Mapping[str, Component]


@dataclass(frozen=True, slots=True)
class CacheKeys:
    """The keys of a cache. A key that names several devices is listed for each."""

    source: KeySource
    devices: tuple[DeviceKeys, ...]
    triton: tuple[str, ...] = ()
    """Triton's keys (``triton/KEY``), whichever folder of a device they lay in; torch brings them along itself."""
    attributed_by: str = "text"
    """How the devices are known: ``text`` of the entries, ``warmup`` or ``trace`` that made them."""
    components: Digest | None = None
    """Object in the store: what the graphs' keys were made of, as hashes."""
    damaged: tuple[str, ...] = field(default=(), compare=False)
    """Seen live: keys whose entries can't be read to their end; a lookup misses them."""
    graphs: tuple[Graph, ...] = field(default=(), compare=False, repr=False)
    """Seen live: what the entries themselves say their keys were made of."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names but Triton's, sorted, each once."""
        return tuple(sorted({key for device in self.devices for key in device.keys}))

    @property
    def fingerprint(self) -> Digest:
        """Digest of the sorted list of all names: equal for equal environment and workload, in any folder."""
        return Digest.of("".join(f"{name}\n" for name in (*self.names, *self.triton)).encode())

    def of(self, device: str) -> tuple[str, ...]:
        """The keys of one device."""
        return next((entry.keys for entry in self.devices if entry.device == device), ())


def keys_by_device(devices: Mapping[str, tuple[str, ...]]) -> tuple[DeviceKeys, ...]:
    """Device → its keys (as names, or the devices of each), in the one order they are kept in."""
    return tuple(
        DeviceKeys(device, tuple(sorted(set(devices[device])))) for device in sorted(devices, key=device_order)
    )


def device_order(device: str) -> tuple[str, int]:
    """For sorting: ``cuda:2`` before ``cuda:10``."""
    kind, _, index = device.partition(":")
    return kind, int(index) if index.isdecimal() else -1


def torch_component(torch_key: str, protocol: int = 4) -> str:
    """The hash that torch writes before ``torch_version`` in a graph's components, for a torch key (hex).

    It is base32 of the sha256 of the key's pickle, made without memo (``FxGraphCachePickler``).
    """
    body = b"C\x20" + bytes.fromhex(torch_key) + b"."
    pickled = b"\x80" + bytes([protocol]) + b"\x95" + struct.pack("<Q", len(body)) + body
    return base64.b32encode(hashlib.sha256(pickled).digest())[:51].decode("ascii").lower()
