"""environment.yml of conda: its own packages, and the list for pip inside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envguard.formats.declared import requirements_txt
from envguard.formats.declared.found import Found, Include
from envguard.formats.declared.requirement import canonical
from envguard.model.declared import Declared, Unreadable

if TYPE_CHECKING:
    from yaml import MappingNode, Node, ScalarNode

_MATCH = re.compile(r"(?:[^:\s]+::)?([A-Za-z0-9_.-]+)\s*(.*)")
_NAMES = {"pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch"}
"""PyPI's names for conda's."""


def read(text: str, file: str) -> Found:
    """All declarations of one file."""
    import yaml

    try:
        # Nodes only: nothing is constructed, no alias is expanded, and each keeps its line.
        top = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = mark.line + 1 if mark is not None else None
        return Found(unreadable=(Unreadable(file, line, f"not YAML: {getattr(problem, 'problem', problem)}"),))
    except RecursionError:
        return Found(unreadable=(Unreadable(file, None, "nested too deeply"),))
    wanted = _entry(top, "dependencies") if isinstance(top, yaml.MappingNode) else None
    if not isinstance(wanted, yaml.SequenceNode):
        return Found()
    declared: list[Declared] = []
    includes: list[Include] = []
    unreadable: list[Unreadable] = []
    for node in wanted.value:
        if isinstance(node, yaml.ScalarNode):
            declared.extend(_conda(node, file))
        elif isinstance(node, yaml.MappingNode):
            found = _pip(node, file)
            declared.extend(found.declared)
            includes.extend(found.includes)
            unreadable.extend(found.unreadable)
    return Found(tuple(_with_cuda(declared)), tuple(unreadable), tuple(includes))


def _entry(node: MappingNode, key: str) -> Node | None:
    found: Iterator[Node] = (value for name, value in node.value if name.value == key)
    return next(found, None)


def _conda(node: ScalarNode, file: str) -> Iterator[Declared]:
    found = _MATCH.fullmatch(node.value.strip())
    if found:
        name = canonical(found[1])
        yield Declared(
            _NAMES.get(name, name), file, node.start_mark.line + 1, _specifier(found[2]), side=name not in _NAMES
        )


def _specifier(text: str) -> str:
    """conda's ``=2.5`` (which means 2.5.*), ``==2.5.1``, ``2.5.*``, ``>=2,<3`` and ``=2.5.1=build`` as PEP 440."""
    text = text.strip().replace(" ", "")
    if not text or "|" in text:
        return ""
    exact = re.fullmatch(r"(={0,2})([\w.!+-]+?(?:\.\*)?)(?:=[\w.*]+)?", text)
    if exact is None:
        return text
    version = exact[2]
    if version.endswith(".*") or exact[1] == "==" or "=" in text[len(exact[1]) :]:
        return f"=={version}"
    return f"=={version}.*"


def _pip(node: MappingNode, file: str) -> Found:
    import yaml

    entries = _entry(node, "pip")
    if not isinstance(entries, yaml.SequenceNode):
        return Found()
    lines: dict[int, str] = {
        entry.start_mark.line + 1: entry.value for entry in entries.value if isinstance(entry, yaml.ScalarNode)
    }
    # The lines of pip's list at the places that they have in the file.
    text = "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1))
    return requirements_txt.read(text, file, wanted=False)


def _with_cuda(declared: list[Declared]) -> Iterator[Declared]:
    """``pytorch-cuda=12.4`` says which variant of torch is meant."""
    for entry in declared:
        if entry.name == "pytorch-cuda":
            numbers = re.match(r"==(\d+)\.(\d+)", entry.specifier)
            if numbers:
                yield Declared("torch", entry.file, entry.line, source=f"cu{numbers[1]}{numbers[2]}")
        else:
            yield entry
