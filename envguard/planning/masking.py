"""The last line against secrets in what is printed: their shapes, and the values that this shell calls secret.

Before it stand types that can't be printed with their secret (``formats.address``) and lists of what may be kept
(``model.variables``). What a library's or a tool's own message quotes gets past those.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping

USERINFO = re.compile(r"\b[a-z][a-z0-9+.-]*://(?P<user>[^/\s\"'@<>]+)@", re.IGNORECASE)
_QUERY = (
    r"[?&](?P<name>(?:x-amz-)?(?:access_?|api_?|auth_?)?(?:token|key|signature|sig|credential|password|secret))="
)
QUERY = re.compile(_QUERY + r"[^&\s\"']{6,}", re.IGNORECASE)
TOKEN = re.compile(
    r"(?<![A-Za-z0-9_])(?P<token>"
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{20,}"
    r"|sk-[A-Za-z0-9_-]{20,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|xox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|pypi-[A-Za-z0-9_-]{32,}|npm_[A-Za-z0-9]{30,}"
    r"|dop_v1_[a-f0-9]{32,}|hvs\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*"
    r"|nvapi-[\w-]{20,}|wandb_v1_\w{20,}|-----BEGIN [A-Z ]*PRIVATE KEY-----)"
)
HIDDEN = "****"

_USER = re.compile(r"(?<=//)(?!git@|\$)[^/\s\"'<>]+@")
_VALUE = re.compile(f"(?P<front>{_QUERY})" + r"[^&\s\"']+", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY$", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z0-9+=_-]{24,}")
_CODED = re.compile(r"(?:%[0-9a-f]{2})+", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"//(?:[^/\s:@]*:)?([^/\s@]+)@")
_SHORTEST = 8
_BITS = 4.0
"""Entropy of a character from which on a long string is no word. Base64 of random bytes has 4.4 and more."""


def masked(text: str, secrets: Collection[str] = ()) -> str:
    """A text with ``****`` in the place of userinfo, secret parts of queries, known tokens and ``secrets``."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    if "@" in text:
        text = _USER.sub(f"{HIDDEN}@", text)
    if "=" in text:
        text = _VALUE.sub(rf"\g<front>{HIDDEN}", text)
    return TOKEN.sub(HIDDEN, text)


def secrets_of(environ: Mapping[str, str]) -> frozenset[str]:
    """Values that a shell's variables call secret by name, and passwords in addresses that they hold."""
    found = {value for name, value in environ.items() if _SECRET_NAME.search(name) and "/" not in value}
    found |= {password for value in environ.values() for password in _IN_ADDRESS.findall(value)}
    found |= {_CODED.sub(_decoded, value) for value in found} | {_coded(value) for value in found}
    return frozenset(value for value in found if len(value) >= _SHORTEST)


def _decoded(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def _coded(value: str) -> str:
    return "".join(
        chr(byte) if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "-._~") else f"%{byte:02X}"
        for byte in value.encode("utf-8", "surrogateescape")
    )


def is_secret(value: str) -> bool:
    """Whether a value as a whole looks like a token."""
    return TOKEN.search(value) is not None or (_WORD.fullmatch(value) is not None and is_random(value))


def is_random(text: str) -> bool:
    """Whether a text is no word but random: small, capital and digits, and much entropy."""
    kinds = [any(map(test, text)) for test in (str.islower, str.isupper, str.isdigit)]
    return all(kinds) and text.count("/") <= len(text) // 16 and _entropy(text) >= _BITS


def _entropy(text: str) -> float:
    """Shannon's, in bits a character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
