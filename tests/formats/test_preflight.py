"""What a preflight prints and keeps."""

from __future__ import annotations

from envguard.formats.preflight import SHOWN, document, lines
from envguard.model.drift import DeviceHits, Outcome, Report, Result
from envguard.model.hazards import Diagnosis
from envguard.model.preflight import Decision, Remark

REPORT = Report(
    "good", "/env/bin/python", (Result("files", Outcome.MATCH),), devices=(DeviceHits("cuda:0", 48, 12, 48),)
)


def test_a_start() -> None:
    (last,) = lines(Decision(), REPORT)
    assert last.startswith("preflight: 1 match")
    assert last.endswith("hits predicted: cuda:0 12 of 48")


def test_a_refusal_says_how_to_start_all_the_same() -> None:
    remarks = (Remark("files", "a\x1b.py", "mend"), Remark("files", "b"), Remark("disk", "full"))
    told = list(lines(Decision(refused=remarks, warned=(Remark("gpus", "unknown: x"),)), REPORT))
    assert told[0] == "refused  files          a\\x1b.py"
    assert told[1].endswith("do: mend")
    assert "warning  gpus           unknown: x" in told
    assert told[-1] == "not started; to start all the same: envguard run --force files --force disk …"


def test_many_remarks_are_counted() -> None:
    told = list(lines(Decision(forced=tuple(Remark("files", str(n)) for n in range(SHOWN + 5))), REPORT))
    assert "forced   … and 5 more" in told


def test_the_document_has_everything() -> None:
    kept = document(Decision(refused=(Remark("files", "a", "b"),)), REPORT, Diagnosis(), {"B": "2", "A": "1"})
    assert (kept["schema"], kept["starts"], list(kept["variables"])) == ("envguard-preflight-1", False, ["A", "B"])
    assert kept["refused"] == [{"check": "files", "text": "a", "hint": "b"}]
    assert kept["report"]["recorded"] == "good"
