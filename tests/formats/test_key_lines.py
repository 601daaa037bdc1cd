"""Lines of key paths, as checks and rules name them."""

from __future__ import annotations

import pytest

from envguard.formats.key_lines import KeyLines
from envguard.formats.lockfile import write_lock
from envguard.formats.toml_text import parse
from tests.formats.test_lockfile import whole

LOCK = """\
schema = 1
[torch]
version = "2"
[machine]
driver = "580"
gpus = [
    {index = 5, name = "NVIDIA H200"},
    {index = 6, name = "NVIDIA H200"},
]
[variables.key]
OMP_NUM_THREADS = "8"
[cache.keys]
"cuda:5" = [
    "fxgraph/fa",
]
[[distribution]]
name = "a"
version = "1"
[[distribution]]
name = "torch"
sha256 = "x"
[[file]]
path = "x,\\"y'.py"
kind = "modified"
[[file]]
path = 'tool' # why
kind = "script"
root = "scripts"
[[policy.ignore]]
check = "files"
[[policy.ignore]]
check = "gpus"
until = 2027-01-01
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("schema", 1),
        ("torch.version", 3),
        ("torch.git-commit", 2),
        ("machine.driver", 5),
        ("machine.gpus", 6),
        ("machine.gpus[6]", 8),
        ("machine.gpus[9]", 6),
        ("variables.OMP_NUM_THREADS", 11),
        ("variables.OTHER", None),
        ("cache.keys", 12),
        ("cache.keys.cuda:5", 13),
        ("cache.keys.cuda:6", 12),
        ("distribution", 16),
        ("distribution[a]", 16),
        ("distribution[torch]", 19),
        ("distribution[torch].sha256", 21),
        ("distribution[torch].version", 19),
        ("distribution[0].version", 18),
        ("distribution[absent]", 16),
        ("file[x,\"y'.py]", 22),
        ("file[bin/tool]", 25),
        ("file[1].root", 28),
        ("policy.ignore[1].until", 33),
        ("nothing", None),
        ("", None),
    ],
)
def test_lines(key: str, line: int | None) -> None:
    assert KeyLines(LOCK).line(key) == line


def test_every_entry_of_a_lock_has_its_own_line() -> None:
    text = write_lock(whole()).decode()
    lines, rows = KeyLines(text), text.splitlines()
    for entry in parse(text.encode())["distribution"]:
        line = lines.line(f"distribution[{entry['name']}].name")
        assert line is not None
        assert rows[line - 1] == f'name = "{entry["name"]}"'


def test_empty_text() -> None:
    assert KeyLines("").line("torch.version") is None
