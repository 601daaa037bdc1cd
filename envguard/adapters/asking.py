"""Asking an index again: which answers are worth another try, how long to wait, and what is said in the end."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from envguard.adapters.transport import Answer, BadAnswerError, Timeouts, UnreachableError
from envguard.errors import IndexAnswerError, IndexUnreachableError

T = TypeVar("T")

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_MEANING = {
    401: "wants a user and password",
    403: "refuses it (403)",
    404: "hasn't got it (404)",
    410: "hasn't got it any more (410)",
}
_CREDENTIALS = "put them into netrc, or for an index NAME into UV_INDEX_NAME_USERNAME and UV_INDEX_NAME_PASSWORD"


class Gaining:
    """How far a file has come: tries count from the last one that brought it further."""

    LEAST = 1 << 16
    """Bytes that count as getting further; less would let a server that drips hold us for ever."""

    def __init__(self) -> None:
        self.tries = 0
        self.best = 0

    def failed(self, position: int, *, slow: bool = False) -> None:
        """A try ended at ``position``; a slow one never counts as a gain."""
        self.tries = 1 if not slow and position >= self.best + self.LEAST else self.tries + 1
        self.best = max(self.best, position)


def asked(
    once: Callable[[float], T],
    *,
    what: str,
    where: str,
    index: str,
    timeouts: Timeouts,
    total: float,
    pause: Callable[[float], None],
    position: Callable[[], int] = lambda: 0,
) -> T:
    """``once(deadline)``, again while it raises UnreachableError, for ``total`` seconds at most.

    ``position`` tells how many bytes have come. IndexUnreachableError and IndexAnswerError name index and what.
    """
    import tenacity

    deadline = time.monotonic() + total
    gaining = Gaining()

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, UnreachableError) and error.wait is not None:
            return min(error.wait, timeouts.longest_wait)
        return spread(state)

    def stop(state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        slow = isinstance(error, UnreachableError) and error.slow
        gaining.failed(position(), slow=slow)
        final = isinstance(error, UnreachableError) and error.final
        return final or gaining.tries >= timeouts.attempts or time.monotonic() + state.upcoming_sleep > deadline

    spread = tenacity.wait_random_exponential(multiplier=0.5, max=8)
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(UnreachableError), wait=wait, stop=stop, sleep=pause, reraise=True
    )
    try:
        return retrying(once, deadline)
    except UnreachableError as error:
        times = retrying.statistics.get("attempt_number", 1)
        tries = f" (asked {times} times)" if times > 1 else ""
        raise IndexUnreachableError(
            f"index {index} can't be asked for {what}: {error.reason}{tries}",
            where=where,
            hint="check the network and the index's address, then run the same command again",
        ) from None
    except BadAnswerError as error:
        raise IndexAnswerError(f"index {index} gives no usable answer for {what}: {error}", where=where) from None


def refuse_status(answer: Answer, *, what: str, index: str) -> None:
    """Raise for a status that brings nothing: UnreachableError where another try may help, or IndexAnswerError."""
    if answer.status in _AGAIN:
        raise UnreachableError(f"it answers {answer.status}", wait=seconds(answer.headers.get("retry-after")))
    meaning = _MEANING.get(answer.status, f"answers {answer.status}")
    raise IndexAnswerError(
        f"index {index}, asked for {what}, {meaning}",
        where=str(answer.address),
        hint=_CREDENTIALS if answer.status == 401 else None,
    )


def seconds(retry_after: str | None) -> float | None:
    """What a Retry-After header asks for, from now; None when it says nothing that can be understood."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
