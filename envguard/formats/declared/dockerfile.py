"""Dockerfile: the lines that install torch, and base images that bring it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from envguard.formats.declared.found import TORCH_FAMILY, Found, declare, one_variant
from envguard.formats.declared.requirement import split
from envguard.model.declared import Declared

_INSTALL = re.compile(r"\b(?:pip[0-9.]*|uv|conda|mamba|micromamba)\b[^;&|]*?\b(?:install|add)\b([^;&|]*)")
_INDEX = re.compile(r"(?:-i|--index-url|--extra-index-url|--index|--default-index)[=\s]\s*(\S+)")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))")
_SETTING = re.compile(r"""^\s*(?:ARG|ENV)\s+(.*)$""", re.IGNORECASE)
_PAIR = re.compile(r"""(\w+)=("[^"]*"|'[^']*'|\S*)""")
_IMAGE = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*\S*pytorch/pytorch:(\d[\w.]*)-cuda(\d+)\.(\d+)", re.IGNORECASE)


def read(text: str, file: str) -> Found:
    """Declarations of torch's family; a base image counts only where nothing installs torch over it."""
    variables: dict[str, str] = {}
    installed: list[Declared] = []
    images: list[Declared] = []
    for lines in _instructions(text):
        number, first = lines[0]
        setting = _SETTING.match(first)
        if setting:
            variables.update({name: value.strip("\"'") for name, value in _PAIR.findall(setting[1])})
        elif re.match(r"\s*RUN\b", first, re.IGNORECASE):
            installed.extend(_run(lines, variables, file))
        elif image := _IMAGE.match(_filled(first, variables)):
            images.append(Declared("torch", file, number, f"=={image[1]}", source=f"cu{image[2]}{image[3]}"))
    return Found(tuple(installed or images))


def _instructions(text: str) -> Iterator[list[tuple[int, str]]]:
    """Each instruction's lines with their numbers; comments inside are left out."""
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or (not line.strip() and lines):
            continue
        goes_on = line.rstrip().endswith("\\")
        lines.append((number, line.rstrip().removesuffix("\\")))
        if not goes_on:
            yield lines
            lines = []
    if lines:
        yield lines


def _run(lines: list[tuple[int, str]], variables: Mapping[str, str], file: str) -> Iterator[Declared]:
    whole = _filled("\n".join(line for _, line in lines), variables)
    numbers = [number for number, _ in lines]
    for install in _INSTALL.finditer(whole):
        source = one_variant(address.strip("\"'") for address in _INDEX.findall(install[1]))
        for word in re.finditer(r""""[^"\n]*"|'[^'\n]*'|[^\s"']+""", install[1]):
            parts = split(word[0].strip("\"'"))
            if parts is None or parts.name not in TORCH_FAMILY or "$" in word[0]:
                continue
            place = whole.count("\n", 0, install.start(1) + word.start())
            yield declare(parts, file, numbers[place], source=source)


def _filled(text: str, variables: Mapping[str, str]) -> str:
    """With the values that ARG and ENV give; a variable without one stays."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[3]
        return variables.get(name, found[2] if found[2] is not None else found[0])

    return _VARIABLE.sub(value, text)
