"""The page: whole in itself, true to the report, and harmless whatever the names."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from envguard.checks import CHECKS
from envguard.formats.html import LAYERS, page
from envguard.formats.run_rows import RunRow
from envguard.model.drift import DeviceHits, Finding, Outcome, Report, Result, Severity
from tests.formats.test_reports import incident

_VOID = frozenset({"meta", "br", "img", "input", "link", "hr"})


class Reader(HTMLParser):
    """Fails when elements do not close; remembers what could fetch something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def read(report: Report, **more: object) -> Reader:
    return Reader(page(report, lock="lockfiles/good.toml", version="1.2.3", **more))  # type: ignore[arg-type]


def test_it_needs_nothing_else() -> None:
    reader = read(incident())
    assert not {tag for tag, _, _ in reader.attributes} & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "form",
        "base",
    }
    for _, name, value in reader.attributes:
        assert not name.startswith("on")
        if name in ("href", "src", "action"):
            assert value.startswith("#")
    text = page(incident(), lock="l", version="1")
    assert not re.search(r"url\(|@import|https?://", text)
    assert "default-src 'none'" in text


def test_the_verdict_and_the_layers() -> None:
    text = " ".join(read(incident()).text)
    assert "It drifted" in text
    for name, _, _ in LAYERS:
        assert name in text
    for words in ("2.11.0+cu128", "2.11.0+cu130", "no NVIDIA driver on this machine", "by ann: CI is smaller"):
        assert words in text


@pytest.mark.parametrize(
    ("outcome", "title"),
    [
        (Outcome.MATCH, "Everything matches"),
        (Outcome.UNKNOWN, "Some could not be observed"),
        (Outcome.DRIFT, "It drifted"),
    ],
)
def test_titles(outcome: Outcome, title: str) -> None:
    report = Report("a", "b", (Result("files", outcome, reason="why"),))
    assert title in read(report).text


def test_old_and_new_stand_side_by_side_and_one_side_alone() -> None:
    both = Finding("torch", "1", "2")
    one = Finding("cache", observed="0 of 4", severity=Severity.NOTE)
    text = page(Report("a", "b", (Result("torch-build", Outcome.DRIFT, (both, one)),)), lock="l", version="1")
    assert '<div class="recorded"><small>recorded</small><code>1</code></div><div class="now">' in text
    assert text.count('<div class="recorded">') == 1


def test_the_cache_as_a_picture() -> None:
    devices = (DeviceHits("cuda:5", 16, 16, 16), DeviceHits("cuda:6", 16, 0, 9), DeviceHits("cuda:7", 4, 0, 0))
    report = Report("a", "b", (Result("compile-cache", Outcome.DRIFT),), devices=devices)
    text = page(report, lock="l", version="1")
    bars = re.findall(r'role="img" aria-label="([^"]+)">(.*?)</span>', text)
    assert bars == [
        ("16 of 16 would load", '<i class="hit" style="width:100.00%"></i>'),
        (
            "0 of 16 would load",
            '<i class="stale" style="width:56.25%"></i><i class="gone" style="width:43.75%"></i>',
        ),
        ("0 of 4 would load", '<i class="gone" style="width:25.00%"></i>'),
    ]


def test_the_run() -> None:
    report = Report("a", "b", ())
    moved = " ".join(read(report, run=(RunRow("tokens", "12,800", "11,200"), RunRow("warm", "yes", "yes"))).text)
    assert "1 of 2 values moved" in moved
    assert "11,200" in moved
    alone = " ".join(read(report, run=(RunRow("tokens", "12,800", "12,800"),)).text)
    assert "1 values recorded" in alone
    assert "now" not in alone
    silent = Report("a", "b", (Result("run", Outcome.NOT_RECORDED, reason="not asked for"),))
    assert "1 values recorded" in " ".join(read(silent, run=(RunRow("tokens", "1", "1"),)).text)


def test_cures_are_whole_commands() -> None:
    finding = Finding("x", hint="envguard restore builds it; or envguard snapshot --update")
    report = Report("a", "b", (Result("files", Outcome.DRIFT, (finding,)),))
    text = page(report, lock="lock files/it's.toml", version="1")
    assert (
        "<pre><code>envguard restore &#x27;lock files/it&#x27;&quot;&#x27;&quot;&#x27;s.toml&#x27;</code></pre>"
        in text
    )
    assert "--update</code></pre>" in text


def test_names_do_no_harm() -> None:
    evil = "<script>alert(1)</script>\"' onload=x \x1b[31m\udcff\n"
    finding = Finding(evil, evil, evil, evil, evil, Severity.DRIFT, ignored=evil)
    report = Report(
        evil, evil, (Result(evil, Outcome.DRIFT, (finding,), evil),), devices=(DeviceHits(evil, 2, 1, 1),)
    )
    reader = read(report, run=(RunRow(evil, evil, None),))
    assert not any(tag == "script" for tag, _, _ in reader.attributes)
    page(report, lock=evil, version="1").encode()


def test_long_lists_are_cut() -> None:
    findings = tuple(Finding(f"f{number}") for number in range(1000))
    text = page(Report("a", "b", (Result("files", Outcome.DRIFT, findings),)), lock="l", version="1")
    assert "… and 800 more" in text
    assert len(text) < 100_000


def test_every_check_has_a_layer() -> None:
    named = {slug for _, _, slugs in LAYERS for slug in slugs}
    assert {"torch-build", "distributions", "compile-cache", "run"} <= named & {check.slug for check in CHECKS}
