from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envguard.planning.launchers import interpreter, launched, undo

BIN = "/env/bin"

UV = """# -*- coding: utf-8 -*-
import sys
from toy.cli import main
if __name__ == "__main__":
    if sys.argv[0].endswith("-script.pyw"):
        sys.argv[0] = sys.argv[0][:-11]
    elif sys.argv[0].endswith(".exe"):
        sys.argv[0] = sys.argv[0][:-4]
    sys.exit(main())
"""
UV_FIRST = """# -*- coding: utf-8 -*-
import re
import sys
from toy.cli import main
if __name__ == "__main__":
    sys.argv[0] = re.sub(r"(-script\\.pyw|\\.exe)?$", "", sys.argv[0])
    sys.exit(main())
"""
PIP = """# -*- coding: utf-8 -*-
import re
import sys
from toy.cli import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
PIP_25 = """import sys
from toy.cli import main
if __name__ == '__main__':
    if sys.argv[0].endswith('.exe'):
        sys.argv[0] = sys.argv[0][:-4]
    sys.exit(main())
"""
PIP_26 = """import sys
from toy.cli import main
if __name__ == '__main__':
    sys.argv[0] = sys.argv[0].removesuffix('.exe')
    sys.exit(main())
"""
VIRTUALENV = """# -*- coding: utf-8 -*-
import re
import sys
if __name__ == '__main__':
    from toy.cli import main
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
CONDA = """# -*- coding: utf-8 -*-
import re
import sys

from toy.cli import main

if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw?|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
BODIES = {
    "uv": UV,
    "uv 0.1": UV_FIRST,
    "pip to 25.0": PIP,
    "pip 25.3": PIP_25,
    "pip 26": PIP_26,
    "virtualenv": VIRTUALENV,
    "conda": CONDA,
}
STARTS = {
    "plain": "#!/env/bin/python\n",
    "python3": "#!/env/bin/python3\n",
    "minor": "#!/env/bin/python3.11\n",
    "uv, relocatable": "#!/bin/sh\n"
    "'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")\"/'python' \"$0\" \"$@\"\n' '''\n",
    "beside, older": "#!/bin/sh\n'''exec' \"$(dirname \"$0\")\"/python3 \"$0\" \"$@\"\n' '''\n",
    "uv, long": "#!/bin/sh\n'''exec' '/env/bin/python' \"$0\" \"$@\"\n' '''\n",
    "pip, long": "#!/bin/sh\n'''exec' /env/bin/python \"$0\" \"$@\"\n' '''\n",
    "pip, quoted": "#!/bin/sh\n'''exec' \"/env/bin/python\" \"$0\" \"$@\"\n' '''\n",
}
LAUNCHER = b"#!python\n# launcher of toy.cli:main\n"


def undone(text: str, *folders: str, target: str | None = None) -> bytes:
    return undo(text.encode(), folders=folders or (BIN,), target=target)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("body", BODIES)
def test_every_launcher_is_told_by_its_target(start: str, body: str) -> None:
    assert undone(STARTS[start] + BODIES[body]) == LAUNCHER
    assert undone(STARTS[start] + BODIES[body], target="toy.cli:main") == LAUNCHER


@pytest.mark.parametrize("start", STARTS)
def test_every_script_has_its_first_line_back(start: str) -> None:
    assert undone(f"{STARTS[start]}print(1)\n") == b"#!python\nprint(1)\n"


_PYTHON_OCTAL = r"'\'0160 '\'0171 '\'0164 '\'0150 '\'0157 '\'0156"
_PATH_OCTAL = r"'\'0057 '\'0145 '\'0156 '\'0166 '\'0057 '\'0142 '\'0151 '\'0156 '\'0057 " + _PYTHON_OCTAL


@pytest.mark.parametrize("coding", ["UTF-8", "latin-1", "cp1252", "utf_8"])
@pytest.mark.parametrize(
    "asked",
    [
        rf'''"$(dirname -- "$(realpath -- "$0")")"/"$(printf %b {_PYTHON_OCTAL})"''',
        rf'''"$(printf %b {_PATH_OCTAL})"''',
    ],
    ids=["beside", "path"],
)
def test_a_script_that_declares_its_coding(coding: str, asked: str) -> None:
    """As uv 0.13 writes it where a plain first line won't do."""
    body = f"# -*- coding: {coding} -*-\nprint('\xe9')\n".encode("latin-1")
    whole = f"#!/bin/sh\n# coding: {coding}\n'''exec' {asked} \"$0\" \"$@\"\n' '''\n".encode() + body
    assert undo(whole, folders=(BIN,)) == b"#!python\n" + body
    assert interpreter(whole) in ("./python", f"{BIN}/python")


@pytest.mark.parametrize(
    "asked", [r'''"$(printf %b '\'0057 '\'0145)"''', r'''"$(printf %b rm)"''', r'''"$(printf %b '\'0999)"''']
)
def test_other_words_of_escapes_are_verbatim(asked: str) -> None:
    whole = f"#!/bin/sh\n# coding: utf-8\n'''exec' {asked} \"$0\" \"$@\"\n' '''\nprint(1)\n".encode()
    assert undo(whole, folders=(BIN,)) == whole


def test_attribute_of_an_attribute() -> None:
    text = UV.replace("import main", "import A").replace("main()", "A.b()")
    assert undone(f"#!/env/bin/python\n{text}") == b"#!python\n# launcher of toy.cli:A.b\n"


def test_folder_with_spaces() -> None:
    assert (
        undone(f"#!/bin/sh\n'''exec' '/my env/bin/python' \"$0\" \"$@\"\n' '''\n{UV}", "/my env/bin") == LAUNCHER
    )
    assert undone("#!/my env/bin/python\nx\n", "/my env/bin") == b"#!python\nx\n"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("main())", "main() or 0)"), id="what it calls"),
        pytest.param(("import sys\n", "import sys\nimport evil\n"), id="one line more"),
        pytest.param(("from toy.cli import main", "from evil import main"), id="another module"),
        pytest.param(("sys.exit(main())", "sys.exit(other())"), id="another name"),
        pytest.param(("[:-4]", "[:-5]"), id="one digit"),
        pytest.param(("main())\n", "main())\nimport evil\n"), id="after the end"),
    ],
)
def test_a_changed_launcher_is_another(change: tuple[str, str]) -> None:
    text = f"#!/env/bin/python\n{UV.replace(*change)}"
    assert undone(text) != LAUNCHER
    assert undone(text, target="toy.cli:main") != LAUNCHER


def test_a_launcher_of_something_else_than_its_entry_point_is_verbatim() -> None:
    assert undone(f"#!/env/bin/python\n{UV}", target="toy.cli:other") == f"#!python\n{UV}".encode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"#!/other/bin/python\n{UV}", id="another environment's interpreter"),
        pytest.param(f"#!/env/bin/python -S\n{UV}", id="an argument"),
        pytest.param(f"#!/env/bin/evil\n{UV}", id="another program"),
        pytest.param(f"#!/env/bin/../../other/bin/python\n{UV}", id="a path that leads elsewhere"),
        pytest.param("#!/usr/bin/env python\nprint(1)\n", id="env"),
        pytest.param("#!/bin/sh\necho hi\n", id="shell"),
        pytest.param("#!/bin/sh\n'''exec' \"/env/bin/python\n' '''\n", id="half a form"),
        pytest.param("#!/bin/sh\n'''exec' '/env/bin/python \"$0\" \"$@\"\n' '''\nx", id="an open quote"),
        pytest.param("#!/bin/sh\n'''exec' /env/bin/python -E \"$0\" \"$@\"\n' '''\nx", id="two words"),
        pytest.param("\x7fELF", id="a binary"),
        pytest.param("", id="empty"),
        pytest.param("print(1)\n", id="no first line"),
        pytest.param("#!", id="nothing after it"),
    ],
)
def test_everything_else_is_verbatim(text: str) -> None:
    assert undone(text) == text.encode()


def test_bytes_that_are_no_text_are_kept() -> None:
    assert undo(b"#!/env/bin/python\n\xff\n", folders=(BIN,)) == b"#!python\n\xff\n"


def test_interpreter() -> None:
    assert interpreter(b"#!/env/bin/python3\nx") == "/env/bin/python3"
    assert interpreter(STARTS["uv, relocatable"].encode()) == "./python"
    assert interpreter(b"#!/bin/sh\necho") is None
    assert interpreter(b"x") is None


def test_launched_needs_one_import() -> None:
    both = VIRTUALENV.replace("import sys\n", "import sys\nfrom a import main\n")
    assert launched(both.encode()) is None
    assert launched(UV.replace("from toy.cli import main\n", "").encode()) is None
    assert launched(b"x" * 5000) is None


@given(st.binary(max_size=100), st.sampled_from([b"", b"#!/env/bin/python\n", b"#!/bin/sh\n'''exec' "]))
def test_any_bytes(content: bytes, start: bytes) -> None:
    result = undo(start + content, folders=(BIN,))
    assert result == start + content or result.startswith(b"#!python\n")
