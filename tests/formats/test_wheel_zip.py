from __future__ import annotations

import io
import zipfile

import pytest

from envguard.formats.record import read_wheel
from envguard.formats.wheel_zip import WheelZip, record_text


def made(*entries: tuple[str, bytes, bool]) -> bytes:
    stream = io.BytesIO()
    with WheelZip(stream) as archive:
        for name, content, executable in entries:
            archive.write(name, content, executable=executable)
    return stream.getvalue()


def test_bytes_follow_from_content_alone() -> None:
    entries = [("a.py", b"1", False), ("bin/ä", b"2", True)]
    assert made(*entries) == made(*entries)
    with zipfile.ZipFile(io.BytesIO(made(*entries))) as archive:
        plain, executable = archive.infolist()
    assert (plain.date_time, plain.create_system, plain.compress_type) == ((1980, 1, 1, 0, 0, 0), 3, 0)
    assert (plain.external_attr >> 16, executable.external_attr >> 16) == (0o100644, 0o100755)
    assert executable.filename == "bin/ä"


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="no text"):
        made(("\udcff.py", b"", False))


def test_an_entry_can_be_streamed() -> None:
    stream = io.BytesIO()
    with WheelZip(stream) as archive, archive.entry("a", 4) as entry:
        entry.write(b"ab")
        entry.write(b"cd")
    assert stream.getvalue() == made(("a", b"abcd", False))


def test_record_is_read_back_as_it_was_meant() -> None:
    rows = [("a,b.py", f"sha256:{'0f' * 32}", "3"), ('q"u.py', "", ""), ("é.py", f"sha384:{'01' * 48}", "1")]
    text = record_text(rows, "x-1.dist-info/RECORD")
    assert text.endswith(b"x-1.dist-info/RECORD,,\n")
    listed, _ = read_wheel(text, "x-1.dist-info", [])
    assert {path: row.digest for (_, path), row in listed.rows.items()} == {
        "a,b.py": f"sha256:{'0f' * 32}",
        "é.py": f"sha384:{'01' * 48}",
    }
    assert listed.errata == ('q"u.py',)
