"""The project's tasks, run in the environment that ``./dev`` made. CI runs these and nothing else."""

from __future__ import annotations

import sys

import nox

nox.options.default_venv_backend = "none"
nox.options.stop_on_first_error = True


def _run(session: nox.Session, module: str, *arguments: str) -> None:
    session.run(sys.executable, "-m", module, *arguments, external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Form and style."""
    _run(session, "ruff", "format", "--check", ".")
    _run(session, "ruff", "check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Types, strict."""
    _run(session, "mypy")


@nox.session
def layers(session: nox.Session) -> None:
    """Who may import whom."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    session.run(sys.executable, "-c", code, external=True)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests but those on a real torch environment."""
    chosen = session.posargs or [
        "-n",
        "2",
        "-m",
        "not torch and not nightly",
        "--durations",
        "25",
    ]
    _run(session, "pytest", *chosen)


@nox.session
def coverage(session: nox.Session) -> None:
    """What the tests reach, branches too."""
    _run(
        session,
        "pytest",
        "-n",
        "2",
        "-m",
        "not torch and not nightly",
        "--cov",
        "--cov-report",
        "term:skip-covered",
    )


@nox.session
def e2e(session: nox.Session) -> None:
    """The main job on a real torch environment, from a fresh installation of the tool."""
    _run(session, "pytest", *(session.posargs or ["-m", "torch and not nightly", "--durations", "15"]))


@nox.session
def nightly(session: nox.Session) -> None:
    """Long loops: interrupted restores, false alarms, every parser fuzzed. Hours, not minutes."""
    _run(session, "pytest", *(session.posargs or ["-m", "nightly"]))
    many = ["tests/test_archive_survives.py", "tests/adapters/remote/test_online.py"]
    session.run(sys.executable, "-m", "pytest", *many, external=True, env={"ENVGUARD_TEST_MANY": "1"})
    _run(session, "tests.fuzz.guided", "3600")


@nox.session
def image(session: nox.Session) -> None:
    """The Dockerfile and an exported one, really built and run; installs what that needs. A few minutes."""
    _run(session, "tests.image.build", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Speed, side by side with peers; prints ratios."""
    session.run(sys.executable, "-m", "benchmarks.run", *session.posargs, external=True)
