"""A hook added to the text of .pre-commit-config.yaml; every byte that was there stays."""

from __future__ import annotations

import re

_FILES = (
    r"^(.*/)?(lockfiles/[^/]+\.toml|pyproject\.toml|uv\.lock|pylock(\..+)?\.toml|requirements[^/]*\.txt"
    r"|environment\.ya?ml|Dockerfile)$"
)
ENTRY = f"""- repo: local
  hooks:
    - id: envguard-lint
      name: envguard lint
      entry: envguard lint --hook
      language: system
      files: {_FILES}
"""
"""What is added to the list of repos."""

_REPOS = re.compile(r"^(?P<key>repos|\"repos\"|'repos')[ \t]*:[ \t]*(?P<rest>.*)$")
_ITEM = re.compile(r"^(?P<indent> *)-(?: |$)")


def with_hook(text: str | None) -> str | None:
    """The file with the hook; as it was where it has one of envguard's. None where no list of repos is found."""
    if text is None or not text.strip():
        return "repos:\n" + _indented("  ", "\n")
    if re.search(r"\bid:\s*[\"']?envguard-", text):
        return text
    lines = text.splitlines(keepends=True)
    start = next((number for number, line in enumerate(lines) if _REPOS.match(line.rstrip("\r\n"))), None)
    if start is None:
        return None
    end = "\r\n" if "\r\n" in text else "\n"
    rest = _rest(lines[start])
    if rest == "[]":
        head = lines[start].replace("[]", "", 1).rstrip() + end
        return "".join([*lines[:start], head, _indented("  ", end), *lines[start + 1 :]])
    return None if rest else _inserted(lines, start, end)


def _rest(line: str) -> str:
    """What stands behind ``repos:``, without a comment."""
    found = _REPOS.match(line.rstrip("\r\n"))
    return re.sub(r"(^|\s+)#.*$", "", found["rest"]).strip() if found else ""


def _inserted(lines: list[str], start: int, end: str) -> str | None:
    """Behind the last entry of the block list that begins after line ``start``."""
    indent: str | None = None
    last = start
    for number in range(start + 1, len(lines)):
        line = lines[number].rstrip("\r\n")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item = _ITEM.match(line)
        if indent is None:
            if item is None and line.startswith(" "):
                return None
            if item is None:
                break
            indent = item["indent"]
        elif _ends(line, indent):
            break
        last = number
    if indent is None:
        return "".join([*lines[: start + 1], _indented("  ", end), *lines[start + 1 :]])
    gap = "" if lines[last].endswith("\n") else end
    return "".join([*lines[: last + 1], gap, _indented(indent, end), *lines[last + 1 :]])


def _ends(line: str, indent: str) -> bool:
    """Whether a line belongs to the list no more: a key, or the document's end."""
    depth = len(line) - len(line.lstrip(" "))
    return depth < len(indent) or (depth == len(indent) and not line.lstrip(" ").startswith("- "))


def _indented(indent: str, end: str) -> str:
    return "".join(f"{indent}{line}{end}" for line in ENTRY.splitlines())
