"""What installers write into the scripts folder, undone to what does not depend on place or installer.

A launcher is made from ``module:attribute`` by a template of each installer; a script that begins with
``#!python`` gets the environment's interpreter. Both are turned back, so that one digest serves for uv, pip, any
folder and relocatable environments; everything else is taken as it is.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection

HERE = "."
"""The folder of an interpreter that is found beside the script itself."""

_PYTHON = re.compile(r"pythonw?[\d.]*(?:t|d)?")
_EXEC = re.compile(
    rb"(?:# coding: [\w.-]+\r?\n)?"  # uv repeats what a script declares: it counts in the first lines alone
    rb"'''exec' ([^\r\n]*) \"\$0\" \"\$@\"\r?\n' '''\r?\n"
)
_OCTAL = re.compile(r"""\"\$\(printf %b ((?:'\\'0[0-7]{3} ?)+)\)\"""")
"""A word that uv (0.13) writes as ``printf``'s escapes, so that it is ASCII in whatever coding the script has."""
_BESIDE = re.compile(r"""\"\$\(dirname (?:-- )?\"\$(?:0|\(realpath (?:-- )?\"\$0\"\))\"\)\"/(.*)""")
_TRIMS = (
    r"    sys\.argv\[0\] = re\.sub\(r(?P<quote>['\"])\(-script\\\.pyw\??\|\\\.exe\)\?\$(?P=quote), "
    r"(?:''|\"\"), sys\.argv\[0\]\)\n",
    r"    if sys\.argv\[0\]\.endswith\(\"-script\.pyw\"\):\n"
    r"        sys\.argv\[0\] = sys\.argv\[0\]\[:-11\]\n"
    r"    elif sys\.argv\[0\]\.endswith\(\"\.exe\"\):\n"
    r"        sys\.argv\[0\] = sys\.argv\[0\]\[:-4\]\n",
    r"    if sys\.argv\[0\]\.endswith\(['\"]\.exe['\"]\):\n        sys\.argv\[0\] = sys\.argv\[0\]\[:-4\]\n",
    r"    sys\.argv\[0\] = sys\.argv\[0\]\.removesuffix\(['\"]\.exe['\"]\)\n",
)
_IMPORT = r"from (?P<module{n}>[\w.]+) import (?P<name{n}>\w+)\n"
_LAUNCHER = re.compile(
    r"(?:# -\*- coding: utf-8 -\*-\n)?(?:import re\n)?import sys\n\n?"
    rf"(?:{_IMPORT.format(n=1)}\n?)?"
    r"if __name__ == (?:'__main__'|\"__main__\"):\n"
    rf"(?:    {_IMPORT.format(n=2)})?"
    rf"(?:{'|'.join(_TRIMS)})"
    r"    sys\.exit\((?P<attribute>[\w.]+)\(\)\)\n?"
)


def interpreter(content: bytes) -> str | None:
    """The Python that a script asks for: a path, or ``./python`` for one beside it; None for any other file."""
    found = _split(content)
    return found[0] if found else None


def undo(content: bytes, *, folders: Collection[str], target: str | None = None) -> bytes:
    """A script as the wheel held it: ``#!python`` for the environment's own interpreter, a launcher by its target.

    ``folders`` are those whose ``python*`` is the environment's own (posix paths). ``target`` is what
    entry_points.txt says the launcher runs; without one, any launcher is recognised. What starts another
    interpreter, or was changed, stays as it is.
    """
    found = _split(content)
    if found is None:
        return content
    python, body = found
    folder = posixpath.dirname(python)
    if folder not in (HERE, *folders):
        return content
    runs = launched(body)
    if runs is not None and target in (None, runs):
        return f"#!python\n# launcher of {runs}\n".encode()
    return b"#!python\n" + body


def launched(body: bytes) -> str | None:
    """``module:attribute`` that a launcher's text, without its first line, runs; None for any other text."""
    if len(body) > 4096:
        return None
    try:
        found = _LAUNCHER.fullmatch(body.decode("ascii").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        return None
    if found is None or bool(found["name1"]) == bool(found["name2"]):
        return None
    name = found["name1"] or found["name2"]
    attribute = found["attribute"]
    if attribute.partition(".")[0] != name:
        return None
    return f"{found['module1'] or found['module2']}:{attribute}"


def _split(content: bytes) -> tuple[str, bytes] | None:
    """Python's path and what follows the line, or the lines of shell, that start it."""
    if not content.startswith(b"#!"):
        return None
    first, _, body = content.partition(b"\n")
    line = first[2:].strip().decode("utf-8", "surrogateescape")
    if line == "/bin/sh":
        found = _EXEC.match(body)
        python = _unquoted(found[1].decode("utf-8", "surrogateescape")) if found else None
        body = body[found.end() :] if found else b""
    else:
        python = line
    if python is None or not _PYTHON.fullmatch(posixpath.basename(python)):
        return None
    return python, body


def _unquoted(word: str) -> str | None:
    """The path that one word of shell stands for; ``./name`` for a file beside the script."""
    word = _OCTAL.sub(_spelled, word)
    beside = _BESIDE.fullmatch(word)
    try:
        words = shlex.split(beside[1] if beside else word)
    except ValueError:
        return None
    if len(words) != 1:
        return None
    return f"{HERE}/{words[0]}" if beside and "/" not in words[0] else words[0]


def _spelled(escapes: re.Match[str]) -> str:
    codes = bytes(int(code, 8) & 0xFF for code in re.findall(r"0([0-7]{3})", escapes[1]))
    return shlex.quote(codes.decode("utf-8", "surrogateescape"))
