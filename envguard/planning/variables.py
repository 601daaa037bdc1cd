"""Which environment variables are facts: those of the table, and of paths and addresses only a digest."""

from __future__ import annotations

from collections.abc import Mapping

from envguard.model.digest import Digest
from envguard.model.facts import Variable, VariableKind, Variables
from envguard.model.variables import KNOWN
from envguard.planning.masking import is_secret

_LONGEST = 500


def select(environ: Mapping[str, str], source: str) -> Variables:
    """The variables of the table that are set, by name. ``source``: ``shell`` or ``process``.

    Nothing outside the table is ever kept. A value that holds a path, an address or a token becomes its
    digest, whatever its kind: a lock tells neither hosts nor secrets.
    """
    known = sorted(environ.keys() & KNOWN.keys())
    return Variables(source, tuple(_variable(name, environ[name]) for name in known))


def _variable(name: str, value: str) -> Variable:
    kind = KNOWN[name].kind
    raw = value.encode("utf-8", "surrogateescape")
    telling = any(mark in value for mark in ("/", "\\", "@")) or is_secret(value)
    if kind is VariableKind.PRESENCE or len(value) > _LONGEST or telling:
        return Variable(name, kind, str(Digest.of(raw)))
    return Variable(name, kind, raw.decode("utf-8", "backslashreplace"))
