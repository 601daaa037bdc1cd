"""Secrets in every place that one can be in, each a word of its own that can be looked for."""

from __future__ import annotations

import base64
import itertools
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from tests.faults.toy import Toy
from tests.installs import site_of

DEAD = "127.0.0.1:9"
"""Nobody answers there."""


@dataclass
class Planted:
    """``words``: place → secret."""

    toy: Toy
    host: str
    """Of an index that answers."""
    words: dict[str, str] = field(default_factory=dict)
    _count: Iterator[int] = field(default_factory=lambda: itertools.count(10))

    def word(self, place: str) -> str:
        assert place not in self.words
        self.words[place] = f"S3kr1t{next(self._count)}Zq9"
        return self.words[place]

    def everywhere(self) -> Planted:
        """Plant all of them."""
        self._indexes()
        self._files()
        self._variables()
        self._git()
        self._installed()
        self._declared()
        return self

    def found(self, content: bytes | str) -> list[str]:
        """Places whose secret is in a text, as it is, percent-coded, or as a Basic credential."""
        whole = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        return [place for place, word in self.words.items() if any(form in whole for form in _forms(word))]

    def on_disk(self) -> dict[str, list[str]]:
        """Files that envguard wrote → secrets in them."""
        toy = self.toy
        folders = (toy.data, toy.cache, toy.state, toy.project / "lockfiles", toy.root / "results")
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        assert files, "nothing was written: nothing is proven"
        return {
            str(path): seen for path in files if (seen := self.found(path.read_bytes()) + self.found(str(path)))
        }

    def _indexes(self) -> None:
        coded = self.word("index, percent-coded")
        self.toy.variables |= {
            "UV_DEFAULT_INDEX": f"http://user:{self.word('UV_DEFAULT_INDEX')}@{self.host}/simple",
            "UV_INDEX": f"corp=http://{self.word('UV_INDEX, lone token')}@{self.host}/a "
            f"http://u:{''.join(f'%{ord(letter):02x}' for letter in coded)}@{self.host}/b "
            f"http://{self.host}/q?token={self.word('index, query')}#{self.word('index, fragment')}",
            "UV_INDEX_CORP_USERNAME": "me",
            "UV_INDEX_CORP_PASSWORD": self.word("UV_INDEX_CORP_PASSWORD"),
            "UV_EXTRA_INDEX_URL": f"http://__token__:{self.word('UV_EXTRA_INDEX_URL')}@{self.host}/c",
            "UV_FIND_LINKS": f"http://u:{self.word('UV_FIND_LINKS')}@{self.host}/links",
            "PIP_INDEX_URL": f"http://u:{self.word('PIP_INDEX_URL')}@{self.host}/d",
            "PIP_EXTRA_INDEX_URL": f"http://{self.word('PIP_EXTRA_INDEX_URL')}:@{self.host}/e",
            "PIP_FIND_LINKS": f"http://u:{self.word('PIP_FIND_LINKS')}@{self.host}/f",
            "UV_PUBLISH_TOKEN": self.word("UV_PUBLISH_TOKEN"),
            "PIP_PASSWORD": self.word("PIP_PASSWORD"),
        }

    def _files(self) -> None:
        root, project = self.toy.root, self.toy.project
        pip = f"[global]\nindex-url = http://u:{self.word('pip.conf')}@{self.host}/g\n"
        pip += f"extra-index-url =\n  http://{self.word('pip.conf, extra')}@{self.host}/h\n"
        (root / "pip.conf").write_text(pip)
        uv = f'[[index]]\nname = "priv"\nurl = "http://u:{self.word("uv.toml")}@{self.host}/i"\n'
        (root / "uv.toml").write_text(uv)
        settings = f'[tool.envguard.index]\nours = "http://u:{self.word("tool.envguard")}@{self.host}/j"\n'
        settings += f'[[tool.uv.index]]\nname = "theirs"\nurl = "http://u:{self.word("tool.uv")}@{self.host}/k"\n'
        (project / "pyproject.toml").write_text('[project]\nname = "toy"\nversion = "1"\n' + settings)
        netrc = f"machine 127.0.0.1 login me password {self.word('netrc')}\n"
        (root / ".netrc").write_text(netrc + f"default login you password {self.word('netrc, default')}\n")
        (root / ".netrc").chmod(0o600)
        self.toy.variables |= {"PIP_CONFIG_FILE": str(root / "pip.conf"), "UV_CONFIG_FILE": str(root / "uv.toml")}
        self.toy.variables |= {"UV_NO_CONFIG": "", "NETRC": str(root / ".netrc")}

    def _variables(self) -> None:
        names = (
            *(
                "HF_TOKEN",
                "WANDB_API_KEY",
                "AWS_SECRET_ACCESS_KEY",
                "AWS_SESSION_TOKEN",
                "GITHUB_TOKEN",
                "CI_JOB_TOKEN",
            ),
            *(
                "NCCL_FABRIC_KEY",
                "TORCH_HUB_TOKEN",
                "TRITON_REMOTE_PASSWORD",
                "PYTORCH_SECRET",
                "CUDA_LICENSE_SECRET",
            ),
        )
        self.toy.variables |= {name: self.word(name) for name in names}
        self.toy.variables |= {
            "CUDA_X_URL": f"https://u:{self.word('CUDA_X_URL')}@host/x",
            "TORCHINDUCTOR_REDIS_URL": f"redis://:{self.word('TORCHINDUCTOR_REDIS_URL')}@host:6379",
            "TORCHINDUCTOR_CUTLASS_ALLOWLIST": f"hf_{self.word('a token for a recorded value')}abcdefghijk",
            "TRITON_CACHE_MANAGER": f"https://u:{self.word('TRITON_CACHE_MANAGER')}@host",
            "LD_LIBRARY_PATH": f"/nowhere/{self.word('LD_LIBRARY_PATH')}",
        }

    def _git(self) -> None:
        project, root = self.toy.project, self.toy.root
        (root / ".gitconfig").write_text(
            f'[url "https://u:{self.word("git insteadOf")}@h/"]\n\tinsteadOf = gh:\n'
            f"[http]\n\textraHeader = Authorization: Bearer {self.word('git extraHeader')}\n"
            "[user]\n\tname = x\n\temail = x@invalid\n"
        )
        for arguments in (
            ("init", "-q"),
            ("remote", "add", "origin", f"https://u:{self.word('git remote')}@host/x.git"),
            ("add", "pyproject.toml"),
            ("commit", "-q", "-m", "x"),
        ):
            environ = {**os.environ, "HOME": str(root)}
            subprocess.run(["git", *arguments], cwd=project, check=True, env=environ, timeout=60)

    def _installed(self) -> None:
        site = site_of(self.toy.environment)
        sources = {
            "vcs": {
                "url": f"https://u:{self.word('direct_url, vcs')}@host/x.git",
                "vcs_info": {"vcs": "git", "commit_id": "a" * 40},
            },
            "archive": {
                "url": "https://host/archive-1.0-py3-none-any.whl"
                f"?X-Amz-Signature={self.word('direct_url, signature')}#{self.word('direct_url, fragment')}",
                "archive_info": {},
            },
            "ssh": {
                "url": f"ssh://git:{self.word('direct_url, ssh')}@host/x.git",
                "vcs_info": {"vcs": "git", "commit_id": "b" * 40},
            },
            "folder": {
                "url": f"file://u:{self.word('direct_url, file')}@host/gone",
                "dir_info": {"editable": True},
            },
        }
        for name, source in sources.items():
            (info,) = site.glob(f"{name}-1.0.dist-info")
            (info / "direct_url.json").write_text(json.dumps(source))

    def _declared(self) -> None:
        project = self.toy.project
        (project / "requirements.txt").write_text(
            f"--index-url https://u:{self.word('requirements, option')}@host/simple\n"
            f"demo==1.0\nvcs @ git+https://u:{self.word('requirements, git')}@host/x.git@{'a' * 40}\n"
            f"archive @ https://host/archive-1.0-py3-none-any.whl?token={self.word('requirements, query')}\n"
        )
        (project / "environment.yml").write_text(
            f"channels:\n  - https://conda.invalid/t/{self.word('conda channel')}/x\n"
            "dependencies:\n  - torch=2.11\n  - pip:\n"
            f"    - --extra-index-url https://{self.word('conda pip')}@h/s\n"
        )
        (project / "Dockerfile").write_text(
            f"FROM user:{self.word('Dockerfile FROM')}@registry.invalid/x:1\n"
            f"RUN pip install --index-url https://u:{self.word('Dockerfile')}@h/simple torch==2.11\n"
        )
        (project / "uv.lock").write_text(
            'version = 1\n[[package]]\nname = "demo"\nversion = "1.0"\n'
            f'source = {{ registry = "https://u:{self.word("uv.lock")}@h/simple" }}\n'
        )


def _forms(word: str) -> list[bytes]:
    basic = [base64.b64encode(f"{user}:{word}".encode()).rstrip(b"=")[4:-2] for user in ("u", "user", "me", "")]
    coded = "".join(f"%{ord(letter):02x}" for letter in word)
    return [word.encode(), quote(word).encode(), coded.encode(), coded.upper().encode(), *basic]


def all_bytes(folder: Path) -> int:
    """How much there is to look through."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
