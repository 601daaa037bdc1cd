"""The page in a real headless browser: nothing is wider than the window, in light and in dark."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from envguard.formats.html import page
from envguard.formats.run_rows import RunRow
from envguard.model.drift import DeviceHits, Finding, Outcome, Report, Result
from tests.formats.test_reports import incident

pytestmark = pytest.mark.slow

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MEASURE = """<script>document.title = [
document.querySelector("main").scrollWidth, document.documentElement.scrollWidth, innerWidth,
getComputedStyle(document.body).backgroundColor, document.querySelectorAll("section").length].join("|")
</script></body>"""


def everything() -> Report:
    """The incident, with long names and a cache of many devices."""
    long = "nvidia/" + "a_very_long_name_of_a_library_that_has_no_place_to_break" * 4
    findings = (Finding(long, long, "sha256:" + "0" * 64, long, hint="envguard restore builds it " + long),)
    more = (
        Result("startup-code", Outcome.DRIFT, findings),
        Result("compile-cache", Outcome.DRIFT, (Finding("cuda:5", observed="18 of 48 keys present"),)),
        Result("run", Outcome.MATCH),
    )
    report = incident()
    devices = tuple(DeviceHits(f"cuda:{index}", 48, 6 * index, 48) for index in range(8))
    return Report(report.recorded, report.observed, (*report.results, *more), 213, 61204, devices=devices)


@pytest.mark.skipif(BROWSER is None, reason="no chromium here")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_fits_the_window(tmp_path: Path, width: int, dark: bool) -> None:
    text = page(everything(), lock="lockfiles/good.toml", version="1", run=(RunRow("tokens", "12,800", "11,200"),))
    text = re.sub(r"<meta http-equiv[^>]+>", "", text).replace("</body>", MEASURE)
    # A window is at least 500 pixels wide when no picture is taken: narrower ones are measured by their content.
    text = text.replace("<main>", f'<main style="max-width:{min(width, 1080)}px">')
    file = tmp_path / "page.html"
    file.write_text(text)
    assert BROWSER is not None
    command = [
        BROWSER,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},900",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--dump-dom",
        file.as_uri(),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>([^<]+)</title>", ended.stdout)
    assert title is not None
    content, whole, window, colour, sections = title[1].split("|")
    assert int(content) <= width
    assert int(whole) <= int(window)
    assert colour == ("rgb(15, 19, 24)" if dark else "rgb(246, 247, 249)")
    assert sections == "5"
