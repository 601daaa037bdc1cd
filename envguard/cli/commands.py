"""All subcommands, in the order of ``--help``."""

from __future__ import annotations

from envguard.cli.cache import CACHE
from envguard.cli.command import Command
from envguard.cli.demo import DEMO
from envguard.cli.doctor import DOCTOR
from envguard.cli.export import EXPORT
from envguard.cli.init import INIT
from envguard.cli.inspect import CHALLENGE, FIND, IDENTIFY, INSPECT
from envguard.cli.lint import LINT
from envguard.cli.restore import LIST, PRUNE, RESTORE, ROLLBACK
from envguard.cli.run import RUN
from envguard.cli.snapshot import SNAPSHOT
from envguard.cli.store import STORE
from envguard.cli.verify import DIFF, EXPLAIN, VERIFY
from envguard.cli.warmup import WARMUP

COMMANDS: tuple[Command, ...] = (
    INIT,
    SNAPSHOT,
    VERIFY,
    DIFF,
    LINT,
    RUN,
    RESTORE,
    LIST,
    ROLLBACK,
    PRUNE,
    STORE,
    EXPORT,
    EXPLAIN,
    DOCTOR,
    INSPECT,
    FIND,
    IDENTIFY,
    CHALLENGE,
    CACHE,
    WARMUP,
    DEMO,
)
