"""The lock holds something secret, or names a person's home.

What: passwords and tokens in addresses (https://name:token@host, ?signature=…), strings with the prefix of a known
kind of token (ghp_, hf_, AKIA, …), long random-looking strings where none belong, values of variables that are
called like a key (…_TOKEN, …_API_KEY), and paths of home folders.

Why: locks are committed and copied. envguard writes none of these; they come in through notes, comments, tables
written by hand, and warmup commands.

How to mend it: take it out, and out of the history, and have the token replaced by a new one: it has been seen.
A string that is none of this: [[policy.ignore]] check = "secrets" with the subject that the message names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envguard.planning.lint.rule import Rule, Said, Subject
from envguard.planning.masking import QUERY, TOKEN, USERINFO, is_random

_KEY_LIKE = re.compile(
    r"""(?<![\w-])["']?(?P<name>[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|credentials?|api[_-]?key|access[_-]?key"""
    r"""|private[_-]?key|auth[_-]?key)(?:[_-]?id)?)["']?\s*=\s*["']?(?P<value>[^\s"',}]+)""",
    re.IGNORECASE,
)
_HOME = re.compile(
    r"(?:(?<![\w.<>-])/(?:home|Users)/(?!<)[\w.-]+|(?<![\w.<>/-])/root/[\w.]|[A-Za-z]:\\{1,2}Users\\{1,2}[\w.-]+)"
)
_BELONGS = re.compile(
    r"sha256:[0-9a-f]{64}|\b[0-9a-f]{7,}\b|(?:aotautograd/a|fxgraph/f)[a-z2-7]+|triton/[A-Z2-7]+|[^\s\"'/]+\.whl"
)
_LONG = re.compile(r"[A-Za-z0-9+/=]{24,}")


def look(subject: Subject) -> Iterator[Said]:
    """A finding a place. No message holds the secret."""
    for number, line in enumerate(subject.text.split("\n"), 1):
        # Nearly all lines of a lock are digests: one cheap look spares five dear ones.
        if line.count('"') == 2 and _PLAIN.fullmatch(line):
            continue
        for what, name, hint in _in_line(line):
            yield Said(what, hint, line=number, subject=name)


_PLAIN = re.compile(
    r"(?:name|version|index|evidence|kind|mode|root) = \"[A-Za-z0-9.+-]{1,23}\""
    r"|(?:[a-z0-9-]{1,20} = |    )\"(?:sha256:[0-9a-f]{64}|(?:aotautograd/a|fxgraph/f)[a-z2-7]+)\",?"
    r"|wheel = \"[\w.+-]+\.whl\""
)


def _in_line(line: str) -> Iterator[tuple[str, str, str]]:
    told = False
    for found in USERINFO.finditer(line):
        user = found["user"]
        if user != "git" and "$" not in user:
            told = True
            yield "an address holds a user's name or password", "userinfo", _OUT
    for found in QUERY.finditer(line):
        told = True
        yield f"an address holds {found['name']}=…", found["name"], _OUT
    for found in TOKEN.finditer(line):
        told = True
        yield f"{found['token'][:4]}… is the beginning of a token", found["token"][:4], _OUT
    if not told:
        yield from _less_sure(line)
    for found in _HOME.finditer(line):
        yield f"a home folder: {found[0].rstrip()}", found[0], "write a path that holds on every machine, or none"


def _less_sure(line: str) -> Iterator[tuple[str, str, str]]:
    named = _KEY_LIKE.search(line)
    if named and named["value"] not in ("[", "{", "true", "false", "") and "$" not in named["value"][:2]:
        yield f"{named['name']} is called like a key, and has a value", named["name"], _OUT
        return
    if len(line) < 24:
        return
    for found in _LONG.finditer(_BELONGS.sub(" ", line)):
        if is_random(found[0]):
            yield f"{found[0][:4]}… ({len(found[0])} characters) looks random: a token?", found[0][:4], _MAYBE


_OUT = "take it out, and replace the token: it has been seen"
_MAYBE = 'take it out; if it is none, [[policy.ignore]] check = "secrets" with these four characters as subject'

RULE = Rule("secrets", __doc__, look)
