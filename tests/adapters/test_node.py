"""One preflight a node: who looks, who takes the word, and when a word is too old."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envguard.adapters import folders, node
from envguard.adapters.node import Word, is_rank, once

WORD = Word(True, "/log", {"A": "1"})


class Looks:
    """Counts how often somebody looked."""

    def __init__(self, word: Word = WORD) -> None:
        self.word = word
        self.times = 0

    def __call__(self) -> Word:
        self.times += 1
        return self.word


def words() -> list[Path]:
    return list((folders.state() / "preflights").glob("*.json"))


@pytest.mark.parametrize(
    ("environ", "rank"),
    [
        ({}, False),
        ({"LOCAL_RANK": "0"}, True),
        ({"SLURM_LOCALID": "3"}, True),
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "1"}, True),
        ({"LOCAL_RANK": ""}, False),
        ({"LOCAL_RANK": "x"}, False),
    ],
)
def test_ranks_are_known_by_their_launcher_s_variables(environ: dict[str, str], rank: bool) -> None:
    assert is_rank(environ) is rank


def test_the_first_looks_and_the_others_take_its_word() -> None:
    first, second = Looks(), Looks(Word(False, "", {}))
    assert once({}, "same", first) == (WORD, True)
    assert once({"LOCAL_RANK": "1"}, "same", second) == (WORD, False)
    assert (first.times, second.times) == (1, 0)


def test_a_refusal_is_a_word_too() -> None:
    refused = Word(False, "/log", {})
    once({}, "same", Looks(refused))
    assert once({}, "same", Looks()) == (refused, False)


def test_another_question_is_looked_at() -> None:
    once({}, "one", Looks())
    assert once({}, "other", looks := Looks())[1] and looks.times == 1


def test_another_attempt_of_the_launcher_is_looked_at() -> None:
    once({"TORCHELASTIC_RESTART_COUNT": "0"}, "same", Looks())
    assert once({"TORCHELASTIC_RESTART_COUNT": "1"}, "same", Looks())[1]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"schema": 2}', b'{"schema": 1, "starts": 1, "log": "", "variables": {}}'],
)
def test_a_word_that_can_t_be_read_is_none(content: bytes) -> None:
    once({}, "same", Looks())
    words()[0].write_bytes(content)
    assert once({}, "same", Looks())[1]


def test_an_old_word_is_none_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    once({}, "same", Looks())
    os.utime(words()[0], (1, 1))
    once({}, "other", Looks())
    assert len(words()) == 1
    assert once({}, "same", Looks())[1]


RANK = """
import json, sys, time
from envguard.adapters.node import Word, once
def look():
    time.sleep(0.3)
    open(sys.argv[1], "a").write("looked\\n")
    return Word(True, "/log", {})
print(json.dumps(once({"LOCAL_RANK": "0"}, "same", look)[1]))
"""


def test_ranks_of_one_launcher_look_once_and_those_of_the_next_again(tmp_path: Path) -> None:
    launcher = (
        "import subprocess, sys\n"
        "command = [sys.executable, '-c', *sys.argv[1:]]\n"
        "ranks = [subprocess.Popen(command, stdout=-1, text=True) for _ in range(4)]\n"
        "print([rank.communicate()[0].strip() for rank in ranks])\n"
    )
    marks = tmp_path / "marks"
    for number in (1, 2):
        ended = subprocess.run(
            [sys.executable, "-c", launcher, RANK, str(marks)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        answers = json.loads(ended.stdout.replace("'", '"'))
        assert sorted(answers) == ["false", "false", "false", "true"]
        assert len(marks.read_text().splitlines()) == number


def test_where_proc_tells_nothing_the_parent_s_number_must_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert node._started(0) == ""
