"""What can go wrong, by condition. An error carries text only; ``cli.main`` prints it and chooses the exit code.

Drift is never raised: it is a value (``model.drift``).
"""


class EnvguardError(Exception):
    """Something a user can cause or mend. Printed as ``error[slug]: message / at: where / hint: hint``."""

    slug = "could-not"
    exit_code = 3

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint


class UsageError(EnvguardError):
    """The command line, or the project's settings, ask for something that makes no sense."""

    slug = "usage"
    exit_code = 2


class LockInvalidError(EnvguardError):
    """A lock file can't be read: ``where`` names the line or the key path."""

    slug = "lock-invalid"
    exit_code = 2


class SettingsInvalidError(EnvguardError):
    """A settings file (pyproject.toml, uv.toml, pip.conf) holds something that can't be understood."""

    slug = "settings-invalid"
    exit_code = 2


class TargetInvalidError(EnvguardError):
    """The target isn't a Python interpreter or a folder that holds one."""

    slug = "target-invalid"
    exit_code = 2


class TargetBrokenError(EnvguardError):
    """The target is an environment whose interpreter doesn't start."""

    slug = "target-broken"


class ProbeFailedError(EnvguardError):
    """The probe ran in the target interpreter and gave no usable answer."""

    slug = "probe-failed"


class SnapshotRefusedError(EnvguardError):
    """The environment can't be recorded as it is (two dist-info folders of one distribution, say)."""

    slug = "snapshot-refused"


class StoreError(EnvguardError):
    """The store's folder can't be used."""

    slug = "store"


class ObjectMissingError(EnvguardError):
    """The store doesn't hold an object."""

    slug = "object-missing"


class ObjectCorruptError(EnvguardError):
    """An object's bytes don't hash to its name."""

    slug = "object-corrupt"
    exit_code = 1


class IndexUnreachableError(EnvguardError):
    """An index can't be asked: no connection, time over, or errors until the last try."""

    slug = "index-unreachable"


class IndexAnswerError(EnvguardError):
    """An index answered with something that can't be used."""

    slug = "index-answer"


class OtherBytesError(EnvguardError):
    """An index, folder or store gives other bytes for a filename than the lock names."""

    slug = "other-bytes"


class WheelInvalidError(EnvguardError):
    """A file that was named is no wheel, or one that is refused."""

    slug = "wheel-invalid"
    exit_code = 2


class NotObtainableError(EnvguardError):
    """A plan can't be carried out: no source has what the lock names."""

    slug = "not-obtainable"


class InstallFailedError(EnvguardError):
    """uv could not make the environment; the message holds its reason."""

    slug = "install-failed"


class UvUnsuitableError(EnvguardError):
    """uv is missing, or can't be used."""

    slug = "uv-unsuitable"


class InUseError(EnvguardError):
    """A process still uses what would be moved or removed, or another envguard holds the lock file."""

    slug = "in-use"


class NotRebuildableError(EnvguardError):
    """Installed files can't stand for the wheel that they came from; the message names the file."""

    slug = "not-rebuildable"


class RootsUnreadableError(EnvguardError):
    """What the store's objects are needed for can't be told, so none may be removed."""

    slug = "roots-unreadable"


class MissingExtraError(EnvguardError):
    """What was asked for needs a library that only an extra of envguard brings."""

    slug = "missing-extra"


class CacheUnsafeError(EnvguardError):
    """A compile cache, or its place, is not the user's alone: loading it would run somebody else's code."""

    slug = "cache-unsafe"


class NotTrustedError(EnvguardError):
    """Code that a lock names would run, and nothing says that the lock is the user's own word."""

    slug = "not-trusted"


class WarmupFailedError(EnvguardError):
    """A warmup could not be run to its end, or compiled nothing."""

    slug = "warmup-failed"


class RehearsalFailedError(EnvguardError):
    """A rehearsal could not be held: a device isn't there, or the target doesn't start."""

    slug = "rehearsal-failed"
