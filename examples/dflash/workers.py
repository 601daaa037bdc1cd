"""What a target and a drafter do, each in a thread or a process of its own, and the queues between them."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import guarding
import loss
import torch
from attention import for_device
from config import Role, Sizes
from data import Text
from model import Drafter, Target
from torch import Tensor


class Stopped(Exception):  # noqa: N818 - it is no error
    """Another worker failed."""


class Box(Protocol):
    """A queue, of threads or of processes."""

    def put(self, item: Any, block: bool = ..., timeout: float | None = ...) -> None:
        """Wait for room, so long."""

    def get(self, block: bool = ..., timeout: float | None = ...) -> Any:
        """Wait for an item, so long."""


class Signal(Protocol):
    """An event, of threads or of processes."""

    def is_set(self) -> bool:
        """Whether it was."""

    def set(self) -> None:
        """Tell all."""


@dataclass(frozen=True)
class Batch:
    """Text with what a target made of it. [batch, length]; ``features`` [batch, length, taps * width]."""

    text: Text
    features: Tensor

    def to(self, device: str) -> Batch:
        """The same elsewhere."""
        text = Text(self.text.tokens.to(device), self.text.documents.to(device))
        return Batch(text, self.features.to(device))


@dataclass
class Outcome:
    """What a worker says when it is done. Seconds and tokens leave the first step out."""

    name: str
    device: str
    tokens: int = 0
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    weights: dict[str, Tensor] = field(default_factory=dict)
    peak_mib: int = 0
    error: str | None = None


@dataclass(frozen=True)
class Work:
    """All that workers share. ``boxes``: one a drafter. ``ready()``: a worker's first step is done."""

    sizes: Sizes
    text: Text
    weights: dict[str, Tensor]
    boxes: list[Box]
    results: Box
    stop: Signal
    targets: int
    ready: Callable[[], None]
    through_host: bool = False
    """Features travel in the host's memory: between processes."""

    def put(self, box: Box, item: Batch) -> None:
        """Wait for room."""
        self._patiently(lambda: box.put(item, timeout=0.5))

    def take(self, box: Box) -> Batch:
        """Wait for a batch."""
        batch: Batch = self._patiently(lambda: box.get(timeout=0.5))
        return batch

    def _patiently(self, attempt: Callable[[], Any]) -> Any:
        while not self.stop.is_set():
            with contextlib.suppress(queue.Full, queue.Empty):
                return attempt()
        raise Stopped


def run(role: Role, work: Work) -> None:
    """A worker's whole life; its outcome goes to ``work.results``."""
    outcome = Outcome(role.name, role.device)
    try:
        _prepare(role, work)
        {"target": _read, "drafter": _draft}[role.kind](role, work, outcome)
        if role.device != "cpu":
            torch.cuda.synchronize(role.device)
            outcome.peak_mib = torch.cuda.max_memory_allocated(role.device) >> 20
    except Stopped:
        outcome.error = "stopped"
    except Exception as error:  # whatever it is, the others must end too
        outcome.error = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
        work.stop.set()
    work.results.put(outcome)


def _prepare(role: Role, work: Work) -> None:
    if role.device != "cpu":
        torch.cuda.set_device(role.device)
    # One function is compiled for each device and each kind of worker; torch stops at 8 without a word, and runs
    # the rest uncompiled. From torch 2.12 the setting is a thread's own.
    workers = work.targets + len(work.boxes)
    torch._dynamo.config.recompile_limit = max(8, 2 * workers)


def _target(role: Role, work: Work) -> Target:
    target = Target(work.sizes)
    target.load_state_dict(work.weights)
    return target.to(role.device).requires_grad_(False).eval()


def _precision(device: str) -> AbstractContextManager[object]:
    return contextlib.nullcontext() if device == "cpu" else torch.autocast("cuda", torch.bfloat16)


def _read(role: Role, work: Work, outcome: Outcome) -> None:
    """A target: text in, features out."""
    target, attention = _target(role, work), for_device(role.device, training=False)
    drafters = len(work.boxes)

    def one(number: int) -> Batch:
        text = work.text.batch(number, work.sizes.batch)
        batch = Batch(Text(text.tokens.to(role.device), text.documents.to(role.device)), torch.empty(0))
        with torch.no_grad(), _precision(role.device):
            _, features = target(batch.text.tokens, batch.text.documents, attention)
        return replace(batch, features=features)

    for number in _timed(range(role.number, drafters * work.sizes.steps, work.targets), work.sizes, outcome):
        first = number == role.number
        with guarding.first_step(role.device) if first else contextlib.nullcontext():
            batch = one(number)
        if first:
            work.ready()
        work.put(work.boxes[number % drafters], batch.to("cpu") if work.through_host else batch)


def _draft(role: Role, work: Work, outcome: Outcome) -> None:
    """A drafter: features in, steps of the optimizer."""
    sizes, box = work.sizes, work.boxes[role.number]
    target, attention = _target(role, work), for_device(role.device, training=True)
    torch.manual_seed(role.number)
    drafter = Drafter(sizes).to(role.device)
    optimizer = torch.optim.AdamW(drafter.parameters(), lr=2e-3, weight_decay=0.01)
    generator = torch.Generator().manual_seed(role.number)
    losses = []

    def one(batch: Batch) -> Tensor:
        tokens, documents = batch.text.tokens, batch.text.documents
        anchors = loss.anchors(documents, sizes.anchors, sizes.block, generator)
        wanted, same = loss.labels(tokens, documents, anchors, sizes.block)
        with _precision(role.device):
            states = drafter(batch.features, tokens, documents, anchors, target.embedding, attention)
            logits = target.head(states[:, :, 1:])
        error = loss.blockwise(logits, wanted, loss.weights(same, sizes.decay))
        torch.autograd.backward(error)
        return error.detach()

    for number in _timed(range(sizes.steps), sizes, outcome):
        batch = work.take(box).to(role.device)
        with guarding.first_step(role.device) if number == 0 else contextlib.nullcontext():
            losses.append(one(batch))
        if number == 0:
            work.ready()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    outcome.losses = [round(float(one), 4) for one in losses]
    outcome.weights = {name: weight.cpu() for name, weight in drafter.state_dict().items()}


def _timed(numbers: range, sizes: Sizes, outcome: Outcome) -> Iterator[int]:
    """Count tokens and seconds of all steps but the first, which compiles."""
    started = 0.0
    for place, number in enumerate(numbers):
        yield number
        tokens = sizes.batch * sizes.length
        guarding.step(tokens)
        if place:
            outcome.tokens += tokens
            outcome.seconds = time.perf_counter() - started
        else:
            started = time.perf_counter()
