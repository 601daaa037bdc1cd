"""The command line: parser, the one try/except, exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from envguard import __version__
from envguard.errors import EnvguardError

if TYPE_CHECKING:
    from envguard.adapters.ahead import Ahead

INTERRUPTED = 130
BUG = 70
CLOSED = 141


def entry() -> None:
    """Console script."""
    ahead = _ahead(sys.argv[1:])
    try:
        code = main(sys.argv[1:], ahead)
    finally:
        if ahead is not None:
            ahead.end()
    raise SystemExit(code)


def _ahead(arguments: Sequence[str]) -> Ahead | None:
    """``verify`` looks at thousands of files: another core begins while this one imports."""
    if arguments[:1] != ["verify"] or not {"--full", "--metadata", "-h", "--help"}.isdisjoint(arguments):
        return None
    from envguard.adapters import ahead, folders

    return ahead.begin(lambda: os.fspath(folders.cache()))


def main(arguments: Sequence[str], ahead: Ahead | None = None) -> int:
    """Run one command; the exit code (design: 0 match, 1 drift, 2 usage, 3 could not, 4 unknown, 70 bug)."""
    if list(arguments) == ["--version"]:  # before anything is imported
        sys.stdout.write(f"envguard {__version__}\n")
        return 0
    from envguard.cli.parser import parse

    try:
        options = parse(arguments)
        options.ahead = ahead
        code = options.run(options)
        sys.stdout.flush()
    except EnvguardError as error:
        _print_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return INTERRUPTED
    except MemoryError:
        sys.stderr.write(
            "error[memory]: there is not enough memory for this\n  hint: raise the limit (ulimit -v)\n"
        )
        return EnvguardError.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED
    except Exception:
        return _print_bug()
    return int(code)


def _print_error(error: EnvguardError) -> None:
    lines = [f"error[{error.slug}]: {error.message}"]
    if error.where:
        lines.append(f"  at: {error.where}")
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    sys.stderr.write(_masked("\n".join(lines)) + "\n")


def _masked(text: str) -> str:
    """A message may quote what a library or a tool said, and that an address with its password."""
    from envguard.planning.masking import masked, secrets_of

    return masked(text, secrets_of(os.environ))


def _print_bug() -> int:
    import platform
    import traceback

    sys.stderr.write(_masked(traceback.format_exc()))
    sys.stderr.write(
        f"\nerror[bug]: this is a fault of envguard, not yours.\n"
        f"  at: envguard {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"  hint: please report it with the lines above; look through them for what should stay private\n"
    )
    return BUG
