"""Secrets are found wherever they stand, and never printed; what belongs in a lock is no secret."""

from __future__ import annotations

import pytest

from envguard.formats.lockfile import write_lock
from envguard.planning.lint import secrets
from tests.formats.test_lockfile import whole
from tests.planning.lint.subjects import good, subject

# Put together here, so that no scanner takes this file for a leak.
RANDOM = "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA1bC2"
PLANTED = {
    "userinfo": ("https://ann:" + RANDOM + "@index.example/simple", "an address holds a user's name or password"),
    "user alone": ("https://" + RANDOM + "@index.example/simple", "an address holds a user's name or password"),
    "signature": ("https://x.example/w.whl?X-Amz-Signature=" + RANDOM, "an address holds X-Amz-Signature=…"),
    "query token": ("https://x.example/w.whl?token=" + RANDOM, "an address holds token=…"),
    "github": ("ghp_" + RANDOM, "ghp_… is the beginning of a token"),
    "github fine": ("github_pat_" + RANDOM, "gith… is the beginning of a token"),
    "gitlab": ("glpat-" + RANDOM, "glpa… is the beginning of a token"),
    "hugging face": ("hf_" + RANDOM, "hf_a… is the beginning of a token"),
    "openai": ("sk-" + RANDOM, "sk-a… is the beginning of a token"),
    "aws": ("AKIA" + "IOSFODNN7EXAMPLE", "AKIA… is the beginning of a token"),
    "slack": ("xoxb-" + "123456789012-abc", "xoxb… is the beginning of a token"),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NSJ9.c2ln", "eyJh… is the beginning of a token"),
    "private key": ("-----BEGIN OPENSSH " + "PRIVATE KEY-----", "----… is the beginning of a token"),
    "random": (RANDOM + "/" + RANDOM[::-1], "aB3d… (73 characters) looks random: a token?"),
    "home": ("/home/ann/data", "a home folder: /home/ann"),
    "root": ("cd /root/work", "a home folder: /root/w"),
    "mac": ("/Users/ann", "a home folder: /Users/ann"),
    "windows": (r"C:\\Users\\ann\\x", r"a home folder: C:\\Users\\ann"),
}


@pytest.mark.parametrize(("value", "words"), PLANTED.values(), ids=PLANTED.keys())
@pytest.mark.parametrize("place", ['\n[team]\nnote = "{}"\n', "\n# see {}\n"], ids=["value", "comment"])
def test_planted(value: str, words: str, place: str) -> None:
    looked = subject(good(), extra=place.format(value))
    (finding,) = secrets.RULE.run(looked)
    assert finding.message == words
    assert value in looked.text.splitlines()[(finding.line or 0) - 1]
    assert RANDOM not in f"{finding.message} {finding.hint} {finding.subject}"


@pytest.mark.parametrize(
    "line",
    [
        'HF_TOKEN = "short"',
        'password = "hunter2"',
        "api_key = 'x'",
        '"aws-secret-access-key" = "abc"',
        'env = {WANDB_API_KEY = "x"}',
        'command = "TOKEN=abc python train.py"',
    ],
)
def test_called_like_a_key(line: str) -> None:
    (finding,) = secrets.RULE.run(subject(good(), extra=f"\n[team]\n{line}\n"))
    assert finding.message.endswith("is called like a key, and has a value")


@pytest.mark.parametrize(
    "line",
    [
        'url = "https://${USER}:${TOKEN}@index.example/simple"',
        'url = "ssh://git@code.example/x"',
        'folder = "/tmp/torchinductor_<user>"',
        'folder = "/home/<user>/cache"',
        "max-tokens = 512",
        "tokens-per-second = 12800",
        'path = "site-packages/home/ann.py"',
        'note = "loss 0.123456789012345678901234567890 at step 100000"',
        'text = "ThisIsAVeryLongClassNameWithNoDigitsWhatsoever"',
        'path = "nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9"',
        'commit = "70d99e998b4955e0049d13a98d77ae1b14db1f45"',
        'author = "ann"',
    ],
)
def test_no_secret(line: str) -> None:
    assert secrets.RULE.run(subject(good(), extra=f"\n[team]\n{line}\n")) == ()


def test_a_lock_with_everything_in_it_holds_none() -> None:
    assert secrets.RULE.run(subject(whole())) == ()
    assert b"torchinductor_<user>" in write_lock(whole())
