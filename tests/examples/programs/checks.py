"""Checks of the example's parts against references written without them; run where torch is. One JSON line."""

from __future__ import annotations

import importlib
import json
import math
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "dflash"))
torch: Any = importlib.import_module("torch")
acceptance: Any = importlib.import_module("acceptance")
attention: Any = importlib.import_module("attention")
config: Any = importlib.import_module("config")
data: Any = importlib.import_module("data")
loss: Any = importlib.import_module("loss")
mask: Any = importlib.import_module("mask")
model: Any = importlib.import_module("model")

SIZES = config.Sizes(
    vocabulary=300, width=32, heads=2, target_layers=2, taps=(0, 1), drafter_layers=1,
    length=16, batch=2, anchors=3, block=4, decay=2.0, pretraining=1, steps=1,
)  # fmt: skip
DOCUMENTS = torch.tensor([[0] * 6 + [1] * 10, [4] * 16])
ANCHORS = torch.tensor([[2, 8, 11], [1, 5, 12]])


def drafting_mask_is_as_the_paper_has_it() -> None:
    length, block = SIZES.length, SIZES.block
    queries = SIZES.noise
    seen = mask.dense(mask.drafting(DOCUMENTS, ANCHORS, block), DOCUMENTS, queries, length + queries)
    assert seen.shape == (2, 1, queries, length + queries)
    for row in range(2):
        for query in range(queries):
            anchor = int(ANCHORS[row, query // block])
            for key in range(length + queries):
                if key < length:
                    wanted = key < anchor and DOCUMENTS[row, key] == DOCUMENTS[row, anchor]
                else:
                    wanted = (key - length) // block == query // block
                assert bool(seen[row, 0, query, key]) == bool(wanted), (row, query, key)


def reading_mask_is_causal_and_keeps_documents_apart() -> None:
    seen = mask.dense(mask.reading(DOCUMENTS), DOCUMENTS, 16, 16)
    for row in range(2):
        for query in range(16):
            for key in range(16):
                wanted = key <= query and DOCUMENTS[row, key] == DOCUMENTS[row, query]
                assert bool(seen[row, 0, query, key]) == bool(wanted)


def flex_and_dense_attention_agree() -> None:
    generator = torch.Generator().manual_seed(0)
    documents = torch.zeros(2, 128, dtype=torch.long)
    documents[0, 50:] = 1
    anchors = torch.tensor([[3, 40, 60, 99], [1, 20, 64, 120]])
    drafting = mask.drafting(documents, anchors, 8)
    query = torch.randn(2, 2, 32, 16, generator=generator)
    key, value = (torch.randn(2, 2, 160, 16, generator=generator) for _ in range(2))
    answers = []
    for flex in (False, True):
        attend = attention.Attention(flex=flex)
        with torch.no_grad():
            answers.append(attend(query, key, value, attend.made(drafting, documents, 32, 160)))
    torch.testing.assert_close(answers[0], answers[1], rtol=1e-4, atol=1e-5)


def a_draft_does_not_know_what_comes_after_its_anchor() -> None:
    torch.manual_seed(0)
    target, drafter = model.Target(SIZES), model.Drafter(SIZES)
    plain = attention.uncompiled()
    tokens = torch.randint(258, 300, (2, 16))
    other = tokens.clone()
    other[:, 13:] = 258
    drafted = []
    for text in (tokens, other):
        _, features = target(text, DOCUMENTS, plain)
        drafted.append(drafter(features, text, DOCUMENTS, ANCHORS, target.embedding, plain))
    torch.testing.assert_close(drafted[0], drafted[1])
    other[:, 0] = 259
    _, features = target(other, DOCUMENTS, plain)
    changed = drafter(features, other, DOCUMENTS, ANCHORS, target.embedding, plain)
    assert not torch.allclose(changed[0, 0], drafted[0][0, 0])
    torch.testing.assert_close(changed[0, 1], drafted[0][0, 1])  # another document


def only_the_drafter_learns() -> None:
    target, drafter = model.Target(SIZES).requires_grad_(False), model.Drafter(SIZES)
    plain = attention.uncompiled()
    tokens = torch.randint(258, 300, (2, 16))
    _, features = target(tokens, DOCUMENTS, plain)
    states = drafter(features, tokens, DOCUMENTS, ANCHORS, target.embedding, plain)
    wanted, same = loss.labels(tokens, DOCUMENTS, ANCHORS, SIZES.block)
    loss.blockwise(target.head(states[:, :, 1:]), wanted, loss.weights(same, 2.0)).backward()
    assert all(weight.grad is None for weight in target.parameters())
    assert all(weight.grad is not None for weight in drafter.parameters())


def labels_stay_in_the_anchor_s_document() -> None:
    tokens = torch.arange(32).view(2, 16)
    wanted, same = loss.labels(tokens, DOCUMENTS, ANCHORS, 4)
    assert wanted[0].tolist() == [[3, 4, 5], [9, 10, 11], [12, 13, 14]]
    assert same[0].tolist() == [[True, True, True], [True, True, True], [True, True, True]]
    _, crossing = loss.labels(tokens, DOCUMENTS, torch.tensor([[4], [4]]), 4)
    assert crossing.tolist() == [[[True, False, False]], [[True, True, True]]]


def anchors_leave_room_on_both_sides() -> None:
    found = loss.anchors(torch.zeros(50, 16), 5, 4, torch.Generator().manual_seed(0))
    assert found.shape == (50, 5) and int(found.min()) >= 1 and int(found.max()) + 3 < 16
    assert all(row.tolist() == sorted(set(row.tolist())) for row in found)


def early_tokens_weigh_more() -> None:
    weight = loss.weights(torch.tensor([[True, True, False]]), 2.0)
    assert weight[0].tolist()[2] == 0.0 and math.isclose(float(weight[0, 1]), math.exp(-0.5), rel_tol=1e-6)
    logits = torch.tensor([[[0.0, 0.0], [4.0, 0.0], [0.0, 9.0]]])
    wanted = torch.tensor([[0, 1, 0]])
    first, second = math.log(2), math.log(1 + math.exp(4))
    mean = (first + second * math.exp(-0.5)) / (1 + math.exp(-0.5))
    assert math.isclose(float(loss.blockwise(logits, wanted, weight)), mean, rel_tol=1e-5)


def acceptance_counts_the_agreeing_beginning_and_one_more() -> None:
    drafted = torch.tensor([[1, 2, 3], [1, 9, 3], [9, 2, 3]])
    said = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]])
    assert acceptance.gained(drafted, said).tolist() == [4, 2, 1]


class Oracle(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """Drafts the first ``right`` tokens as the target says them."""

    def __init__(self, target: Any, right: int) -> None:
        super().__init__()
        self.target, self.right = target, right

    def forward(self, features: Any, tokens: Any, documents: Any, anchor: Any, embedding: Any, plain: Any) -> Any:
        rows = torch.arange(len(tokens))
        text, place = tokens.clone(), anchor[:, 0]
        drafted = torch.zeros(len(tokens), 1, SIZES.block, SIZES.width)
        for offset in range(1, SIZES.block):
            states, _ = self.target(text, documents, plain)
            state = states[rows, place + offset - 1]
            text[rows, place + offset] = self.target.head(state).argmax(-1)
            drafted[:, 0, offset] = state if offset <= self.right else -state
        return drafted


def acceptance_is_what_the_draft_is_worth() -> None:
    torch.manual_seed(1)
    target = model.Target(SIZES)
    prompts = torch.randint(258, 300, (2, 4))
    for right, wanted in ((3, 4.0), (1, 2.0), (0, 1.0)):
        assert acceptance.measure(target, Oracle(target, right), prompts, SIZES) == wanted, right


def text_is_packed_by_document() -> None:
    text = data.pack([[1, 2, 3], [4], [5, 6, 7, 8]], 4)
    assert text.tokens.tolist() == [[1, 2, 3, data.END], [4, data.END, 5, 6]]
    assert text.documents.tolist() == [[0, 0, 0, 0], [0, 0, 1, 1]]
    assert list(data.encode(["ab", "é"], {"ab": 300})) == [300, *"é".encode()]


def held_out_text_is_another() -> None:
    text, held_out = data.read(1024, 256)
    assert len(text.tokens) > 100 and len(held_out.tokens) >= 8
    assert int(text.tokens.max()) < 1024 and data.MASK not in text.tokens
    same = text.batch(3, 4), text.batch(3, 4)
    assert torch.equal(same[0].tokens, same[1].tokens)


CHECKS = (
    drafting_mask_is_as_the_paper_has_it, reading_mask_is_causal_and_keeps_documents_apart,
    flex_and_dense_attention_agree, a_draft_does_not_know_what_comes_after_its_anchor, only_the_drafter_learns,
    labels_stay_in_the_anchor_s_document, anchors_leave_room_on_both_sides, early_tokens_weigh_more,
    acceptance_counts_the_agreeing_beginning_and_one_more, acceptance_is_what_the_draft_is_worth,
    text_is_packed_by_document, held_out_text_is_another,
)  # fmt: skip


def main() -> None:
    told: dict[str, str] = {}
    for check in CHECKS:
        try:
            check()
            told[check.__name__] = ""
        except Exception:
            told[check.__name__] = traceback.format_exc()
    sys.stdout.write(json.dumps(told) + "\n")


main()
