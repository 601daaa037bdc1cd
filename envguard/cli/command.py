"""A subcommand: what it is called, what it takes, what runs it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple


class Command(NamedTuple):
    """``declare`` adds arguments to its parser; ``run`` answers with an exit code."""

    name: str
    declare: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    takes_command: bool = False
    """What follows ``--`` is another program's command line: ``options.command``, a list (empty without one)."""
