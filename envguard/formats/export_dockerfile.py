"""A lock as a Dockerfile: restores it into a slim image in two stages, as a user that can't change it."""

from __future__ import annotations

import json
import re

from envguard import __version__
from envguard.errors import EnvguardError
from envguard.model.facts import VariableKind
from envguard.model.lock import Lock
from envguard.model.observed import Value, value_or_none

OLDEST = (3, 11)
"""Python that envguard itself runs on, in the image as anywhere."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def dump(lock: Lock, *, path: str) -> bytes:
    """The file; ``path``: the lock's, in the build context. EnvguardError when no image can be made for it."""
    texts = (_HEAD.format(name=_line(lock.name), base=_base(lock), version=__version__), _RESTORED, _final(lock))
    content = "\n".join(texts)
    return content.replace("ARG LOCK\n", f"ARG LOCK={_quoted(path)}\n").encode()


def remarks(lock: Lock) -> tuple[str, ...]:
    """What the image can't hold of this lock, in words."""
    said = []
    python = value_or_none(lock.facts.interpreter)
    if python is not None and re.search(r"-\d+[td]+-", python.soabi):
        said.append(f"the lock's Python is a special build ({python.soabi}); name an image that has it: BASE")
    variables = value_or_none(lock.facts.variables)
    paths = [entry.name for entry in variables.values if entry.kind is VariableKind.PRESENCE] if variables else []
    if paths:
        said.append(f"variables that hold paths are not set in the image: {', '.join(sorted(paths))}")
    return tuple(said)


def _base(lock: Lock) -> str:
    python = lock.facts.interpreter
    if not isinstance(python, Value):
        raise EnvguardError("the lock doesn't say which Python it is for", where=lock.name)
    numbers = re.match(r"(\d+)\.(\d+)", python.value.version)
    if python.value.implementation != "cpython" or numbers is None:
        raise EnvguardError(
            f"no slim image has this lock's Python ({python.value.implementation} {python.value.version[:20]})",
            where=lock.name,
        )
    minor = int(numbers[1]), int(numbers[2])
    if minor < OLDEST:
        raise EnvguardError(
            f"the lock's Python is {minor[0]}.{minor[1]}, and envguard in an image needs {OLDEST[0]}.{OLDEST[1]}",
            where=lock.name,
            hint="restore it outside, with envguard restore, and mount the environment",
        )
    return f"python:{minor[0]}.{minor[1]}-slim"


def _final(lock: Lock) -> str:
    compiler = '"gcc libc6-dev"' if isinstance(lock.facts.torch, Value) else '""'
    text = _FINAL.replace('DEBIAN_PACKAGES="gcc libc6-dev"', f"DEBIAN_PACKAGES={compiler}")
    return text.replace("    VIRTUAL_ENV=", f"{_variables(lock)}    VIRTUAL_ENV=")


def _variables(lock: Lock) -> str:
    """Those that enter cache keys or change results, as the lock records them."""
    variables = value_or_none(lock.facts.variables)
    kinds = (VariableKind.KEY, VariableKind.NUMERICS)
    kept = {
        entry.name: entry.value
        for entry in (variables.values if variables else ())
        if entry.kind in kinds and _NAME.fullmatch(entry.name) and entry.value.isprintable()
    }
    return "".join(f"    {name}={_quoted(value)} \\\n" for name, value in sorted(kept.items()))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("$", "\\$")


def _line(text: str) -> str:
    """Text that can stand in a comment."""
    return "".join(character if character.isprintable() else "?" for character in text)[:200]


_HEAD = """\
# The environment that the envguard lock {name} records, as an image; every file of it is proven.
#
#   docker build --tag NAME .
#   docker run --rm NAME                                                        envguard verify: 0 match, 1 drift
#   docker run --rm --gpus all --volume "$PWD":/workspace NAME python train.py
#
# BASE needs the recorded Python's minor version: python:3.X-slim, or a Debian with python3-venv.
ARG BASE={base}

FROM ${{BASE}} AS tool
# What pip installs envguard from: a requirement, or a wheel in the build context (./envguard-VERSION-….whl).
ARG ENVGUARD=envguard=={version}
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
WORKDIR /context
RUN --mount=type=bind,target=/context \\
    --mount=type=cache,target=/root/.cache/pip \\
    --mount=type=secret,id=netrc,target=/root/.netrc \\
    python3 -m venv /opt/envguard/tool \\
    && /opt/envguard/tool/bin/pip install --disable-pip-version-check --no-compile "${{ENVGUARD}}" \\
    && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/envguard/tool \\
    && mkdir /opt/envguard/bin \\
    && ln -s ../tool/bin/envguard /opt/envguard/bin/envguard
"""

_RESTORED = """\
FROM tool AS restored
# The lock, a path in the build context.
ARG LOCK
# Folders of the build context, where needed: wheel files, and a store that holds the lock's archive.
ARG FIND_LINKS
ARG STORE
# Addresses of indexes; a password belongs into a secret: --secret id=netrc,src=FILE
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ENV ENVGUARD_DATA_DIR=/opt/envguard \\
    ENVGUARD_CACHE_DIR=/var/cache/envguard
WORKDIR /context
RUN --mount=type=bind,target=/context \\
    --mount=type=cache,target=/var/cache/envguard \\
    --mount=type=secret,id=netrc,target=/root/.netrc \\
    : "${LOCK:?say which lock: --build-arg LOCK=lockfiles/NAME.toml}" \\
    && cp "${LOCK}" /opt/envguard/lock.toml \\
    && if [ -n "${STORE}" ]; then cp -r "${STORE}" /opt/envguard/store; fi \\
    && /opt/envguard/bin/envguard restore "${LOCK}" --target /opt/envguard/env \\
        ${FIND_LINKS:+--find-links "${FIND_LINKS}"} \\
    && rm -rf /opt/envguard/store
"""

_FINAL = """\
FROM ${BASE}
# torch.compile builds with a C compiler; --build-arg DEBIAN_PACKAGES= leaves it out.
ARG DEBIAN_PACKAGES="gcc libc6-dev"
ARG USER_ID=1000
# hadolint ignore=DL3008,SC2086
RUN if [ -n "${DEBIAN_PACKAGES}" ]; then \\
        apt-get update \\
        && apt-get install --yes --no-install-recommends ${DEBIAN_PACKAGES} \\
        && rm -rf /var/lib/apt/lists/*; \\
    fi \\
    && useradd --uid "${USER_ID}" --create-home envguard \\
    && install --directory --owner=envguard /workspace /var/cache/envguard /home/envguard/.cache
COPY --from=restored /opt/envguard /opt/envguard
ENV PATH=/opt/envguard/env/bin:/opt/envguard/bin:$PATH \\
    VIRTUAL_ENV=/opt/envguard/env \\
    PYTHONDONTWRITEBYTECODE=1 \\
    ENVGUARD_CACHE_DIR=/var/cache/envguard \\
    NVIDIA_VISIBLE_DEVICES=all \\
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /workspace
USER ${USER_ID}
# Driver and GPUs are the host's; everything else must be as recorded.
HEALTHCHECK --interval=30m --timeout=10m --start-period=10m --retries=1 \\
    CMD ["envguard", "verify", "--quiet", "--allow-unknown", "driver,gpus", \\
        "--python", "/opt/envguard/env", "/opt/envguard/lock.toml"]
CMD ["envguard", "verify", "--python", "/opt/envguard/env", "/opt/envguard/lock.toml"]
"""
