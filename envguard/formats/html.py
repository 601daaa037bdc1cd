"""A report → one HTML page that needs nothing else: no script, no font, no address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from envguard.formats.html_style import STYLE
from envguard.formats.lint_text import printable
from envguard.formats.run_rows import RunRow
from envguard.model.drift import DeviceHits, Finding, Outcome, Report, Result, Severity

LAYERS: tuple[tuple[str, str, frozenset[str]], ...] = (
    (
        "Wheels",
        "the same bytes, the same torch commit",
        frozenset({"torch-build", "distributions", "triton-pin", "cuda-mix"}),
    ),
    ("Environment", "files, interpreter, variables, driver, GPUs", frozenset()),
    ("Compile cache", "the same keys, for every device", frozenset({"compile-cache"})),
    ("Run", "topology, memory, throughput", frozenset({"run", "run-metrics", "topology", "warmup", "memory"})),
)
"""Name, what "the same" means, and checks; a check of none of them belongs to the environment."""

_WORDS = {
    Outcome.MATCH: ("match", "✓", "Everything matches"),
    Outcome.DRIFT: ("drift", "✕", "It drifted"),
    Outcome.UNKNOWN: ("unknown", "?", "Some could not be observed"),
    Outcome.NOT_RECORDED: ("silent", "–", "Nothing recorded"),
}
_SEVERITIES = {
    Severity.DRIFT: "drift",
    Severity.UNKNOWN: "unknown",
    Severity.NOTE: "note",
    Severity.IGNORED: "ignored",
}
_SHOWN = 200
"""Findings of one check on the page; JSON has all."""
_COMMANDS = (
    ("envguard restore", "envguard restore {lock}"),
    ("envguard warmup", "envguard warmup {lock}"),
    ("cache explain", "envguard cache explain {lock}"),
    ("cache load", "envguard cache load {lock}"),
    ("snapshot --update", "envguard snapshot -o {lock} --update"),
    ("envguard challenge", "envguard challenge {lock}"),
)
"""What a hint says, and the command that does it."""


def page(report: Report, *, lock: str, version: str, run: Sequence[RunRow] = ()) -> str:
    """The whole page. ``lock``: the lock file's path, for commands; ``run``: the run's numbers."""
    groups = [_results_of(report, number) for number in range(len(LAYERS))]
    parts = [
        _head(report),
        _verdict(report),
        _strip(groups, run),
        *(_layer(number, results, report.devices, run) for number, results in enumerate(groups)),
        _cures(report, lock),
        f"<footer>envguard {escape(version)} · {_text(lock)}</footer></main></body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _head(report: Report) -> str:
    title = _text(f"{_WORDS[report.outcome][2]}: {report.recorded}")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style></head>\n<body><main>"
    )


def _verdict(report: Report) -> str:
    word, sign, title = _WORDS[report.outcome]
    counts = [
        f"<b>{report.count(outcome)}</b> {name}"
        for outcome, name in (
            (Outcome.DRIFT, "drifted"),
            (Outcome.UNKNOWN, "unknown"),
            (Outcome.MATCH, "match"),
            (Outcome.NOT_RECORDED, "not recorded"),
        )
        if report.count(outcome)
    ]
    seen = [f"{report.distributions:,} distributions"] if report.distributions else []
    seen += [f"{report.files:,} files"] if report.files else []
    return (
        f'<header class="{word}"><span class="sign" aria-hidden="true">{sign}</span><div><h1>{title}</h1>\n'
        f"<p><code>{_text(report.recorded)}</code> <span class=dim>held against</span> "
        f"<code>{_text(report.observed)}</code></p>\n"
        f"<p class=dim>{' · '.join([*counts, *seen])}</p></div></header>"
    )


def _results_of(report: Report, number: int) -> list[Result]:
    named = LAYERS[number][2]
    elsewhere = frozenset().union(*(layer[2] for layer in LAYERS))
    return [
        result
        for result in report.results
        if result.check in named or (not named and result.check not in elsewhere)
    ]


def _outcome(results: Iterable[Result]) -> Outcome:
    outcomes = {result.outcome for result in results}
    order = (Outcome.DRIFT, Outcome.UNKNOWN, Outcome.MATCH)
    return next((outcome for outcome in order if outcome in outcomes), Outcome.NOT_RECORDED)


def _strip(groups: Sequence[Sequence[Result]], run: Sequence[RunRow]) -> str:
    cards = []
    for number, (results, (name, meaning, _)) in enumerate(zip(groups, LAYERS, strict=True)):
        word, sign, _ = _WORDS[_outcome(results)]
        told = _told(results) or ("as recorded" if word == "match" else "not recorded")
        if name == "Run" and run and _outcome(results) is Outcome.NOT_RECORDED:
            word, sign, told = _run_card(run)
        cards.append(
            f'<a class="card {word}" href="#layer-{number}"><span class="sign" aria-hidden="true">{sign}</span>'
            f"<b>{name}</b><small>{told}</small><small class=dim>{meaning}</small></a>"
        )
    return f'<nav class="strip" aria-label="Layers">{"".join(cards)}</nav>'


def _run_card(run: Sequence[RunRow]) -> tuple[str, str, str]:
    moved = sum(row.moved for row in run)
    if moved:
        return "note", "≠", f"{moved} of {len(run)} values moved"
    return "silent", "–", f"{len(run)} values recorded"


def _told(results: Iterable[Result]) -> str:
    drifts = sum(f.severity is Severity.DRIFT for result in results for f in result.findings)
    notes = sum(f.severity is Severity.NOTE for result in results for f in result.findings)
    unknown = sum(result.outcome is Outcome.UNKNOWN for result in results)
    parts = ((drifts, "drift", "drifts"), (unknown, "unknown", "unknown"), (notes, "note", "notes"))
    return ", ".join(f"{number:,} {one if number == 1 else many}" for number, one, many in parts if number)


def _layer(number: int, results: Sequence[Result], devices: Sequence[DeviceHits], run: Sequence[RunRow]) -> str:
    name = LAYERS[number][0]
    word, _, _ = _WORDS[_outcome(results)]
    picture = _cache(devices) if name == "Compile cache" else _run(run) if name == "Run" else ""
    if not results and not picture:
        return ""
    order = {Outcome.DRIFT: 0, Outcome.UNKNOWN: 1, Outcome.MATCH: 2, Outcome.NOT_RECORDED: 3}
    loud = [result for result in sorted(results, key=lambda result: order[result.outcome]) if _is_loud(result)]
    quiet = [result for result in results if not _is_loud(result)]
    body = [*map(_check, loud), picture, _quiet(quiet)]
    return f'<section id="layer-{number}" class="{word}"><h2>{name}</h2>{"".join(body)}</section>'


def _is_loud(result: Result) -> bool:
    return bool(result.findings) or result.outcome is Outcome.UNKNOWN


def _quiet(results: Sequence[Result]) -> str:
    match = [result.check for result in results if result.outcome is Outcome.MATCH]
    silent = [result.check for result in results if result.outcome is Outcome.NOT_RECORDED]
    lines = []
    for word, sign, names in (("match", "✓ match", match), ("silent", "– not recorded", silent)):
        if names:
            shown = " ".join(f"<code>{_text(name)}</code>" for name in names)
            lines.append(f'<p class="quiet"><span class="{word}">{sign}</span> {shown}</p>')
    return "".join(lines)


def _check(result: Result) -> str:
    word, sign, _ = _WORDS[result.outcome]
    rows = "".join(map(_finding, result.findings[:_SHOWN]))
    if len(result.findings) > _SHOWN:
        rows += f"<li class=dim>… and {len(result.findings) - _SHOWN:,} more (--format json lists all)</li>"
    reason = f"<p>{_text(result.reason)}</p>" if result.reason and result.outcome is Outcome.UNKNOWN else ""
    return (
        f'<article><h3><span class="pill {word}">{sign} {word}</span> <code>{_text(result.check)}</code></h3>'
        f"{reason}<ul>{rows}</ul></article>"
    )


def _finding(finding: Finding) -> str:
    word = _SEVERITIES[finding.severity]
    mark = "" if word == "drift" else f' <span class="pill {word}">{word}</span>'
    told = _sides(finding)
    told += f"<p>{_text(finding.detail)}</p>" if finding.detail else ""
    told += f"<p class=dim>ignored {_text(finding.ignored)}</p>" if finding.ignored else ""
    return f'<li class="{word}"><div><b>{_text(finding.subject)}</b>{mark}</div><div>{told}</div></li>'


def _sides(finding: Finding) -> str:
    """Old and new side by side; what is known of one side only stands alone."""
    sides = (("recorded", finding.recorded), ("now", finding.observed))
    known = [
        f'<div class="{name}"><small>{name}</small><code>{_text(value)}</code></div>'
        for name, value in sides
        if value is not None
    ]
    return f'<div class="sides">{"".join(known)}</div>' if known else ""


def _cache(devices: Sequence[DeviceHits]) -> str:
    """A bar a device, as long as its keys are many."""
    most = max((entry.recorded for entry in devices), default=0)
    if not most:
        return ""
    rows = "".join(_bar(entry, most) for entry in devices)
    legend = "".join(
        f'<span><i class="{kind}"></i>{words}</span>'
        for kind, words in (
            ("hit", "would load"),
            ("stale", "there, keyed to something else"),
            ("gone", "missing"),
        )
    )
    caption = "<figcaption>Recorded keys by device</figcaption>"
    return f'<figure class="cache">{caption}{rows}<p class="legend">{legend}</p></figure>'


def _bar(entry: DeviceHits, most: int) -> str:
    stale, gone = max(entry.there - entry.hits, 0), entry.recorded - max(entry.there, entry.hits)
    parts = "".join(
        f'<i class="{kind}" style="width:{100 * number / most:.2f}%"></i>'
        for kind, number in (("hit", entry.hits), ("stale", stale), ("gone", gone))
        if number
    )
    words = f"{entry.hits:,} of {entry.recorded:,} would load"
    return (
        f'<div class="device"><code>{_text(entry.device)}</code>'
        f'<span class="bar" role="img" aria-label="{words}">{parts}</span><small>{words}</small></div>'
    )


def _run(rows: Sequence[RunRow]) -> str:
    if not rows:
        return ""
    both = any(row.moved for row in rows)
    head = "<th></th><th>recorded</th>" + ("<th>now</th>" if both else "")
    lines = "".join(_run_line(row, both=both) for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{lines}</table></div>'


def _run_line(row: RunRow, *, both: bool) -> str:
    now = _text(row.now or "–") if row.moved else "<span class=dim>same</span>"
    cells = f'<th scope="row">{_text(row.name)}</th><td>{_text(row.was or "–")}</td>'
    return f'<tr class="{"moved" if row.moved else ""}">{cells}{f"<td>{now}</td>" if both else ""}</tr>'


def _cures(report: Report, lock: str) -> str:
    hints = dict.fromkeys(
        finding.hint
        for result in report.results
        for finding in result.findings
        if finding.hint and finding.severity is Severity.DRIFT
    )
    if not hints:
        return ""
    blocks = "".join(map(_cure, hints, [list(_commands(hint, lock)) for hint in hints]))
    return f'<section id="cures"><h2>What to do</h2>{blocks}</section>'


def _cure(hint: str, commands: Sequence[str]) -> str:
    lines = "".join(f"<pre><code>{_text(command)}</code></pre>" for command in commands)
    return f'<div class="cure"><p>{_text(hint)}</p>{lines}</div>'


def _commands(hint: str, lock: str) -> Iterator[str]:
    """Whole commands for what a hint names."""
    for words, command in _COMMANDS:
        if words in hint:
            yield command.format(lock=_shell(lock))


def _shell(text: str) -> str:
    return text if re.fullmatch(r"[\w@%+=:,./-]+", text) else "'" + text.replace("'", "'\"'\"'") + "'"


def _text(text: str) -> str:
    """For an element's content or a quoted attribute; long words may be broken after a slash or a dot."""
    return escape(printable(text))
