"""Arguments that several commands share, and what they mean."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path


def add_python(parser: argparse.ArgumentParser) -> None:
    """``--python``: the target."""
    parser.add_argument(
        "--python",
        type=Path,
        metavar="PATH",
        help="the target: an interpreter or an environment's folder "
        "(default: configured, .venv, CONDA_PREFIX, VIRTUAL_ENV)",
    )


def add_lock(parser: argparse.ArgumentParser) -> None:
    """``LOCK``, optional."""
    parser.add_argument(
        "lock",
        nargs="?",
        type=Path,
        metavar="LOCK",
        help="lock file (default: the one in [tool.envguard], or the only one in lockfiles/)",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """``--format`` and ``-q``."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="form of the result on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when all is well")


def add_formats(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """``--format`` with forms for CI services, and ``-q``."""
    parser.add_argument("--format", choices=formats, default="text", help="form of the result on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when all is well")


def add_baseline(parser: argparse.ArgumentParser, *, write: bool) -> None:
    """``--baseline``; with ``write`` also the arguments that write one."""
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="accepted drifts: [[policy.ignore]] entries in a TOML file"
    )
    if not write:
        return
    parser.add_argument(
        "--write-baseline", type=Path, metavar="FILE", help="accept today's drifts, into this file"
    )
    parser.add_argument("--by", metavar="NAME", help="with --write-baseline: who accepts")
    parser.add_argument("--reason", metavar="TEXT", help="with --write-baseline: why")
    parser.add_argument("--until", type=_day, metavar="DATE", help="with --write-baseline: last day (2027-01-31)")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a day (2027-01-31): {text[:20]!r}") from None


def add_policy(parser: argparse.ArgumentParser) -> None:
    """``--strict`` and ``--allow-unknown``."""
    parser.add_argument("--strict", action="store_true", help="notes count as drift")
    parser.add_argument(
        "--allow-unknown",
        action="append",
        default=[],
        metavar="CHECK[,CHECK]",
        help="checks whose 'unknown' does not count (driver,gpus on a machine without a GPU)",
    )


def add_find_links(parser: argparse.ArgumentParser) -> None:
    """``--find-links``."""
    parser.add_argument(
        "--find-links",
        action="append",
        type=Path,
        default=[],
        metavar="DIR",
        help="folder of wheel files to look in before any index",
    )
