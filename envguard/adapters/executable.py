"""Whether a path leads to something that could be an interpreter, and in words why it doesn't."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from envguard.errors import EnvguardError, TargetBrokenError, TargetInvalidError

NAME_ANOTHER = "name the interpreter, or the folder of its environment: --python PATH"
MAKE_ANEW = "make the environment anew (envguard restore LOCK), or name another one: --python PATH"


def check(python: Path) -> os.stat_result:
    """The stat of the file that ``python`` leads to. TargetInvalidError, TargetBrokenError."""
    try:
        found = python.stat()
    except OSError as error:
        raise _not_there(python, error) from None
    except ValueError:
        raise TargetInvalidError("this is no path", where=repr(str(python)), hint=NAME_ANOTHER) from None
    if stat.S_ISDIR(found.st_mode):
        raise TargetInvalidError("this is a folder, not an interpreter", where=str(python), hint=NAME_ANOTHER)
    if not os.access(python, os.X_OK):
        raise TargetInvalidError("this file is not executable", where=str(python), hint=NAME_ANOTHER)
    return found


def _not_there(python: Path, error: OSError) -> EnvguardError:
    if python.is_symlink():
        loop = error.errno == errno.ELOOP
        problem = "turns in a circle" if loop else f"leads to {os.path.realpath(python)}, which isn't there"
        return TargetBrokenError(f"the interpreter is a link that {problem}", where=str(python), hint=MAKE_ANEW)
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return TargetInvalidError("there is no such interpreter", where=str(python), hint=NAME_ANOTHER)
    return TargetInvalidError(
        f"the interpreter can't be looked at: {error.strerror}", where=str(python), hint=NAME_ANOTHER
    )
