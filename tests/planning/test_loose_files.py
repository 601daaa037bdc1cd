from __future__ import annotations

import pytest

from envguard.model.facts import FileFact, FileKind
from envguard.planning.loose_files import FileStep, file_steps, modes
from tests.builders import digest

BYTES = digest("bytes")


@pytest.mark.parametrize(
    "fact",
    [
        FileFact("demo/api.py", FileKind.MODIFIED, sha256=BYTES, owners=("demo",), expected=digest("wheel")),
        FileFact("stray.py", FileKind.UNOWNED, sha256=BYTES),
        FileFact("hook.pth", FileKind.STARTUP, sha256=BYTES),
        FileFact("hook.pth", FileKind.STARTUP, sha256=BYTES, owners=("demo",), expected=digest("wheel")),
        FileFact("tool", FileKind.SCRIPT, root="scripts", sha256=BYTES),
        FileFact("demo.h", FileKind.HEADER, root="headers", sha256=BYTES),
    ],
    ids=["modified", "unowned", "startup", "startup-edited", "script", "header"],
)
def test_what_no_wheel_brings_is_put_back_or_refused(fact: FileFact) -> None:
    assert file_steps([fact], {BYTES}, set()) == ((FileStep(fact, BYTES),), (), ())
    steps, problems, _ = file_steps([fact], set(), set())
    assert steps == ()
    assert [problem.subject for problem in problems] == [fact.shown]
    assert f"--without {fact.shown}" in (problems[0].hint or "")


@pytest.mark.parametrize(
    "fact",
    [
        FileFact("demo.pth", FileKind.STARTUP, sha256=BYTES, owners=("demo",)),
        FileFact("demo.pth", FileKind.STARTUP, sha256=BYTES, owners=("demo",), expected=BYTES),
        FileFact("demo", FileKind.SCRIPT, root="scripts", sha256=BYTES, owners=("demo",)),
        FileFact("demo.h", FileKind.HEADER, root="headers", sha256=BYTES, owners=("demo",)),
        FileFact("demo/x.txt", FileKind.ERRATA, sha256=BYTES, owners=("demo",)),
    ],
    ids=["startup", "startup-as-its-wheel", "script", "header", "errata"],
)
def test_what_a_wheel_brings_needs_no_step(fact: FileFact) -> None:
    assert file_steps([fact], set(), set()) == ((), (), ())


def test_a_file_that_was_missing_is_removed() -> None:
    fact = FileFact("demo/gone.py", FileKind.MISSING, owners=("demo",))
    assert file_steps([fact], set(), set())[0] == (FileStep(fact, None),)


@pytest.mark.parametrize(
    ("kind", "words"),
    [(FileKind.BYTECODE, "compiled anew"), (FileKind.UNREADABLE, "comes from its wheel")],
    ids=["bytecode", "unreadable"],
)
def test_what_is_made_anew_is_told(kind: FileKind, words: str) -> None:
    steps, problems, notes = file_steps([FileFact("demo/x.py", kind, owners=("demo",))], set(), set())
    assert (steps, problems) == ((), ())
    assert len(notes) == 1
    assert words in notes[0]


def test_one_place_told_twice_needs_its_bytes_once() -> None:
    edited = FileFact("hook.pth", FileKind.MODIFIED, sha256=BYTES, owners=("demo",), expected=digest("wheel"))
    startup = FileFact(
        "hook.pth", FileKind.STARTUP, sha256=digest("unkept"), owners=("demo",), expected=digest("w")
    )
    steps, problems, _ = file_steps([edited, startup], {BYTES}, set())
    assert [step.sha256 for step in steps] == [BYTES]
    assert problems == ()


@pytest.mark.parametrize("named", ["demo", "bin/tool", "tool"])
def test_files_of_what_is_left_out_are_left_out(named: str) -> None:
    fact = FileFact("tool", FileKind.MODIFIED, root="scripts", sha256=BYTES, owners=("demo",))
    assert file_steps([fact], set(), {named}) == ((), (), ())


def test_a_file_with_another_owner_stays() -> None:
    fact = FileFact("shared.py", FileKind.MODIFIED, sha256=BYTES, owners=("demo", "other"))
    assert len(file_steps([fact], {BYTES}, {"demo"})[0]) == 1


def test_startup_code_outside_the_environment_is_the_machines() -> None:
    fact = FileFact("standard library/sitecustomize.py", FileKind.STARTUP, root="path", sha256=BYTES)
    assert file_steps([fact], set(), set()) == (
        (),
        (),
        ("standard library/sitecustomize.py: lay outside the environment; it is not restored",),
    )


def test_exec_bits_of_what_wheels_bring_are_set_as_recorded() -> None:
    script = FileFact("demo", FileKind.SCRIPT, root="scripts", sha256=BYTES, mode="0644", owners=("demo",))
    others = (
        FileFact("own", FileKind.SCRIPT, root="scripts", sha256=BYTES, mode="0755"),
        FileFact("x.py", FileKind.MODIFIED, sha256=BYTES, mode="0755", owners=("demo",)),
        FileFact("unknown", FileKind.SCRIPT, root="scripts", sha256=BYTES, owners=("demo",)),
        FileFact("out", FileKind.SCRIPT, root="scripts", sha256=BYTES, mode="0644", owners=("other",)),
    )
    assert modes((script, *others), {"other"}) == (script,)
