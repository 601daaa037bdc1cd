"""``[warmup]``: read, written, refused; and the words of a command line."""

from __future__ import annotations

from typing import Any

import pytest

from envguard.formats.decode import Table, WrongValueError
from envguard.formats.warmup_lock import flex_from_words, read_warmup, warmup_document
from envguard.model.warmup import Bypass, FlexAttention, Launch, Mask, Recipe, Warmup

COMMAND = Warmup(
    Recipe(Launch.RANKS, ("torchrun", "train.py"), None, ("cuda:0",), 3, 60),
    (Bypass("rank 0", "aotautograd", "DDP", 3),),
    (("rank 0", 6),),
    True,
)
FLEX = Warmup(Recipe(workload=FlexAttention((128,), kv_heads=2, masks=(Mask.PREFIX,), backward=False)))


@pytest.mark.parametrize("warmup", [COMMAND, FLEX], ids=["command", "workload"])
def test_reading_gives_back_what_was_written(warmup: Warmup) -> None:
    assert read_warmup(Table(warmup_document(warmup), "warmup")) == warmup


def test_none_is_an_empty_table() -> None:
    assert warmup_document(None) == {}


def flex(**changes: Any) -> dict[str, Any]:
    return {
        "flex-attention": {"lengths": [128], **{key.replace("_", "-"): value for key, value in changes.items()}}
    }


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "neither": ({}, "warmup", "either a command or"),
    "both": ({"command": ["x"], **flex()}, "warmup", "either a command or"),
    "a command as text": ({"command": "rm -rf"}, "warmup.command", "expected a list"),
    "a NUL": ({"command": ["a\0b"]}, "warmup.command", "holds a NUL"),
    "unknown launch": ({"command": ["x"], "launch": "all"}, "warmup.launch", "expected one of"),
    "ranks without a command": ({"launch": "ranks", **flex()}, "warmup.launch", "ranks need a command"),
    "no time": ({"command": ["x"], "deadline": 0}, "warmup.deadline", "more than 0"),
    "too much time": ({"command": ["x"], "deadline": 10**9}, "warmup.deadline", "at most a week"),
    "no steps": ({"command": ["x"], "steps": 0}, "warmup.steps", "at least 1"),
    "a device that is none": ({"command": ["x"], "devices": ["gpu0"]}, "warmup.devices[0]", "not a device"),
    "a device twice": ({"command": ["x"], "devices": ["cpu", "cpu"]}, "warmup.devices", "twice"),
    "no lengths": ({"flex-attention": {}}, "warmup.flex-attention.lengths", "a list of sequence"),
    "length nought": (flex(lengths=[0]), "warmup.flex-attention.lengths[0]", "at least 1"),
    "length as text": (flex(lengths=["x"]), "warmup.flex-attention.lengths[0]", "at least 1"),
    "a dtype that is code": (flex(dtype="__import__"), "warmup.flex-attention.dtype", "expected one of"),
    "a mask that is none": (flex(masks=["full"]), "warmup.flex-attention.masks[0]", "expected one of"),
    "a score_mod that is code": (flex(score_mod="os; x"), "warmup.flex-attention.score-mod", "module:function"),
    "heads that do not divide": (flex(heads=8, kv_heads=3), "warmup.flex-attention.kv-heads", "does not divide"),
    "heads without end": (flex(heads=10**9), "warmup.flex-attention.heads", "expected 1 to"),
}


@pytest.mark.parametrize(("document", "path", "problem"), BAD.values(), ids=BAD.keys())
def test_what_makes_no_sense_is_refused(document: dict[str, Any], path: str, problem: str) -> None:
    with pytest.raises(WrongValueError) as caught:
        read_warmup(Table(document, "warmup"))
    assert caught.value.path == path
    assert problem in caught.value.problem


def test_words_of_a_command_line() -> None:
    text = "lengths=128+256, heads=4,kv-heads=2,masks=causal+sliding,backward=false,score-mod=a.b:c,dtype=float16"
    assert flex_from_words(text) == FlexAttention(
        (128, 256),
        heads=4,
        kv_heads=2,
        masks=(Mask.CAUSAL, Mask.SLIDING),
        backward=False,
        score_mod="a.b:c",
        dtype="float16",
    )


@pytest.mark.parametrize("text", ["", "lengths", "lengths=x", "heads=4", "length=1", "lengths=1,backward=yes"])
def test_words_that_make_no_sense(text: str) -> None:
    with pytest.raises(WrongValueError):
        flex_from_words(text)


def test_which_recipes_need_leave() -> None:
    assert COMMAND.recipe.needs_leave
    assert not FLEX.recipe.needs_leave
    assert Recipe(workload=FlexAttention((1,), score_mod="a:b")).needs_leave
