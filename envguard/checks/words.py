"""How checks say things: short digests, a few names of many, counts."""

from __future__ import annotations

from collections.abc import Sequence

from envguard.model.digest import Digest

RESTORE = "envguard restore builds the recorded environment beside this one"
RECORD_ANEW = "if it is meant to be so: envguard snapshot --update"


def few(names: Sequence[str], shown: int = 3) -> str:
    """``a, b, c and 4 more``; ``a and b`` when that is all."""
    if len(names) > shown:
        return f"{', '.join(names[:shown])} and {len(names) - shown:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def count(number: int, noun: str) -> str:
    """``1 file``, ``2,000 files``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def head(digest: Digest) -> str:
    """``9f2c…``: enough to tell two apart in one line."""
    return f"{digest.hex[:4]}…"


def arrow(was: Digest | None, now: Digest | None) -> str:
    """`` (sha256 9f2c… → 41aa…)`` with a space before it; empty when neither is known."""
    if was is None and now is None:
        return ""
    return f" (sha256 {head(was) if was else 'unknown'} → {head(now) if now else 'unknown'})"
