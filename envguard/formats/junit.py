"""Cases → JUnit XML, as CI services show test results: a test case a check, a suite a lock."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from envguard.model.drift import Outcome
from envguard.model.lint import Case, Cases, LintFinding

# What XML 1.0 can't hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_text(cases: Cases) -> str:
    """The whole file. An unknown check is an error, a drift a failure, what was not compared is skipped."""
    suites: dict[str, list[Case]] = {}
    for case in cases.cases:
        suites.setdefault(case.file or cases.subject, []).append(case)
    seconds = cases.seconds / (len(suites) or 1)
    total = _counts(list(cases.cases))
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name={_attribute(f"envguard {cases.command}")} {total} time="{cases.seconds:.3f}">',
            *(line for name, entries in suites.items() for line in _suite(cases.command, name, entries, seconds)),
            "</testsuites>",
            "",
        ]
    )


def _suite(command: str, name: str, entries: list[Case], seconds: float) -> list[str]:
    head = f'  <testsuite name={_attribute(f"envguard {command} {name}")} {_counts(entries)} time="{seconds:.3f}">'
    return [head, *(line for case in entries for line in _case(command, name, case)), "  </testsuite>"]


def _counts(entries: list[Case]) -> str:
    failures = sum(case.outcome is Outcome.DRIFT for case in entries)
    errors = sum(case.outcome is Outcome.UNKNOWN for case in entries)
    skipped = sum(case.outcome is Outcome.NOT_RECORDED for case in entries)
    return f'tests="{len(entries)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'


def _case(command: str, suite: str, case: Case) -> list[str]:
    line = next((finding.line for finding in case.findings if finding.line), None)
    file = case.findings[0].file if case.findings else case.file
    place = (f" file={_attribute(file)}" if file else "") + (f' line="{line}"' if line else "")
    head = (
        f"    <testcase name={_attribute(case.name)} classname={_attribute(f'envguard.{command}.{suite}')}{place}"
    )
    inside = _inside(case)
    return [f'{head} time="0.000">', *inside, "    </testcase>"] if inside else [f'{head} time="0.000"/>']


def _inside(case: Case) -> list[str]:
    match case.outcome:
        case Outcome.DRIFT:
            failing = [finding for finding in case.findings if finding.fails]
            told = [_told(finding) for finding in case.findings]
            message = failing[0].message if failing else case.name
            more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
            return [_element("failure", message + more, case.name, "\n".join(told))]
        case Outcome.UNKNOWN:
            told = [_told(finding) for finding in case.findings]
            return [_element("error", case.reason or "could not be observed", "unknown", "\n".join(told))]
        case Outcome.NOT_RECORDED:
            return [f"      <skipped message={_attribute(case.reason or 'not recorded')}/>"]
    if not case.findings:
        return []
    return [f"      <system-out>{_escaped(chr(10).join(map(_told, case.findings)))}</system-out>"]


def _element(tag: str, message: str, kind: str, text: str) -> str:
    return f"      <{tag} message={_attribute(message)} type={_attribute(kind)}>{_escaped(text)}</{tag}>"


def _told(finding: LintFinding) -> str:
    word = "ignored" if finding.ignored else finding.severity.value
    hint = f" → {finding.hint}" if finding.hint else ""
    return f"{finding.file}:{finding.line or 1}: {word}: {finding.message}{hint}"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _escaped(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)
