"""Reports as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from envguard.formats.report_json import report_document
from envguard.formats.report_text import SHOWN, report_lines
from envguard.model.drift import Finding, Outcome, Report, Result, Severity

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "report-1.json"


def incident() -> Report:
    """The report of design section 10."""
    return Report(
        recorded="good-5t3d",
        observed=".venv/bin/python",
        results=(
            Result("interpreter", Outcome.MATCH, (Finding("python", "3.12.3", "3.12.4", severity=Severity.NOTE),)),
            Result(
                "torch-build",
                Outcome.DRIFT,
                (
                    Finding(
                        "torch",
                        "2.11.0+cu128",
                        "2.11.0+cu130",
                        "variant moved, commit 70d99e998b equal",
                        hint="envguard restore lockfiles/good-5t3d.toml",
                    ),
                ),
            ),
            Result("driver", Outcome.UNKNOWN, reason="no NVIDIA driver on this machine"),
            Result("files", Outcome.DRIFT, (Finding("requests/api.py", detail="changed after install"),)),
            Result("code", Outcome.NOT_RECORDED, reason="not recorded"),
            Result(
                "variables",
                Outcome.MATCH,
                (
                    Finding(
                        "OMP_NUM_THREADS", "8", "4", severity=Severity.IGNORED, ignored="by ann: CI is smaller"
                    ),
                ),
            ),
        ),
        distributions=213,
        files=61204,
        seconds=0.42,
    )


def test_text() -> None:
    assert list(report_lines(incident())) == [
        "drift torch-build        torch 2.11.0+cu128 → 2.11.0+cu130: variant moved, commit 70d99e998b equal",
        "drift files              requests/api.py changed after install",
        "unknown driver           no NVIDIA driver on this machine",
        "note interpreter         python 3.12.3 → 3.12.4",
        "ignored variables        OMP_NUM_THREADS 8 → 4   (ignored by ann: CI is smaller)",
        "hint: envguard restore lockfiles/good-5t3d.toml",
        "2 drifted, 1 unknown, 2 match, 1 not recorded   good-5t3d, 213 distributions, 61,204 files, 0.4 s",
    ]


def test_quiet_says_nothing_when_all_matches() -> None:
    fine = Report("x", "y", (Result("files", Outcome.MATCH),))
    assert list(report_lines(fine, quiet=True)) == []
    assert len(list(report_lines(incident(), quiet=True))) == 7


def test_many_findings_are_cut_and_counted() -> None:
    findings = tuple(Finding(f"a{number}.py", detail="missing") for number in range(SHOWN + 480))
    lines = list(report_lines(Report("x", "y", (Result("files", Outcome.DRIFT, findings),))))
    assert len(lines) == SHOWN + 2
    assert lines[SHOWN] == "drift files              … and 480 more (--format json lists all)"


def test_a_terminal_gets_no_control_characters() -> None:
    finding = Finding("a\x1b]0;evil\x07\n.py", detail="added \udcff")
    (line, _) = report_lines(Report("x", "y", (Result("files", Outcome.DRIFT, (finding,)),)))
    assert line.isprintable()
    assert "a\\x1b]0;evil\\x07\\n.py added \\udcff" in line


def test_json_fits_its_published_schema() -> None:
    document = report_document(incident())
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert document["outcome"] == "drift"
    assert document["exit-code"] == 1
    assert document["counts"] == {"match": 2, "drift": 2, "unknown": 1, "not-recorded": 1}
    assert document["results"][1]["findings"][0]["observed"] == "2.11.0+cu130"


class TestOutcome:
    """Drift before unknown before match; nothing looked at is unknown."""

    def test_no_results_are_unknown(self) -> None:
        assert Report("x", "y", ()).exit_code == 4

    def test_drift_wins(self) -> None:
        assert incident().exit_code == 1

    def test_unknown_is_4_and_can_be_allowed(self) -> None:
        results = (Result("driver", Outcome.UNKNOWN), Result("files", Outcome.MATCH))
        assert Report("x", "y", results).exit_code == 4
        assert Report("x", "y", results, allowed_unknown=frozenset({"driver"})).exit_code == 0
        assert Report("x", "y", results, allowed_unknown=frozenset({"gpus"})).exit_code == 4

    def test_not_recorded_never_fails(self) -> None:
        results = (Result("driver", Outcome.NOT_RECORDED), Result("files", Outcome.MATCH))
        assert Report("x", "y", results).exit_code == 0
