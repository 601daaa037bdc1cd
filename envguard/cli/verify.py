"""``envguard verify``, ``diff`` and ``explain``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envguard.cli import arguments, observing
from envguard.cli.command import Command

if TYPE_CHECKING:
    from envguard.cli.wiring import Surroundings
    from envguard.model.drift import Report
    from envguard.model.policy import Policy

FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab")


def _declare_verify(parser: argparse.ArgumentParser) -> None:
    arguments.add_lock(parser)
    arguments.add_python(parser)
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--full", action="store_true", help="hash every file, hold bytecode against its source")
    depth.add_argument("--metadata", action="store_true", help="look at no files beside RECORDs")
    parser.add_argument("--live", action="store_true", help="also import torch in a child and take its own view")
    observing.add_run(parser, "logs of a later run, to hold against the recorded one")
    arguments.add_policy(parser)
    arguments.add_baseline(parser, write=True)
    parser.add_argument("--hook", action="store_true", help="refuse the environment that envguard itself runs in")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page to look at")
    arguments.add_formats(parser, FORMATS)


def _verify(options: argparse.Namespace) -> int:
    from envguard.adapters.project import load_lock
    from envguard.cli import output, wiring
    from envguard.model.target import Level
    from envguard.operations.verify import verify

    accepting = _accepting(options)
    around = wiring.surroundings()
    file = wiring.lock_file(options, around)
    lock, content = load_lock(file)
    policy, run = _policy(options, around), observing.run_of(options)
    target = wiring.target(options, around)
    if options.hook:
        _refuse_own(target.python)
    level = Level.FULL if options.full else Level.METADATA if options.metadata else Level.FAST
    if options.python is None:
        output.say(f"target: {target.python} ({target.chosen})", quiet=options.quiet)
    with output.Bars(quiet=options.quiet) as progress:
        report = verify(
            lock,
            target,
            level=level,
            policy=policy,
            today=wiring.today(),
            prober=observing.prober_of(
                wiring.prober(around, live=options.live, lock=lock, ahead=options.ahead), None, run
            ),
            store=wiring.store(),
            progress=progress,
        )
    if accepting:
        report = _accept(report, options)
    _print(report, options, file, content, "verify")
    return report.exit_code


def _refuse_own(python: Path) -> None:
    """A hook runner puts its own environment first on PATH: verifying that one would prove nothing."""
    from envguard.errors import UsageError

    own = Path(sys.prefix).resolve()
    if own in (python.parent.resolve(), python.parent.parent.resolve()):
        raise UsageError(
            "the target is the environment that the hook itself runs in",
            where=str(python),
            hint='name the project\'s: args: ["--python", ".venv"], or python in [tool.envguard]',
        )


def _policy(options: argparse.Namespace, around: Surroundings) -> Policy:
    """The project's policy, with the command line's words and the baseline's entries."""
    from envguard.cli import wiring

    policy = wiring.policy(options, around)
    known = wiring.baseline(options.baseline, wiring.today(), quiet=options.quiet)
    return replace(policy, ignore=(*policy.ignore, *known))


def _accepting(options: argparse.Namespace) -> bool:
    """Whether a baseline is to be written; who, why and until when must then be said."""
    from envguard.errors import UsageError

    named = {"--by": options.by, "--reason": options.reason, "--until": options.until}
    if options.write_baseline is None:
        if any(named.values()):
            raise UsageError("--by, --reason and --until say more of --write-baseline, which is missing")
        return False
    missing = [name for name, value in named.items() if not value]
    if missing:
        raise UsageError(
            f"--write-baseline needs {', '.join(missing)}",
            hint="an accepted drift says who accepts it, why, and until when",
        )
    return True


def _accept(report: Report, options: argparse.Namespace) -> Report:
    """Write the baseline; the report as it is with it."""
    from envguard.adapters.project import save_lock
    from envguard.checks.judge import judge
    from envguard.cli import output, wiring
    from envguard.formats.baseline import accepted, write_baseline
    from envguard.model.policy import Policy

    entries = accepted(report, by=options.by, reason=options.reason, until=options.until)
    save_lock(options.write_baseline, write_baseline(entries))
    output.say(f"{len(entries)} accepted until {options.until}: {options.write_baseline}", quiet=options.quiet)
    policy = Policy(ignore=entries)
    return replace(report, results=tuple(judge(result, policy, wiring.today()) for result in report.results))


def _print(
    report: Report,
    options: argparse.Namespace,
    file: Path,
    content: bytes,
    command: str,
    documents: tuple[dict[str, Any], dict[str, Any] | None] | None = None,
) -> None:
    """The report in the form that was asked for, and as a page. ``documents``: parsed locks of a diff."""
    from envguard.cli import output

    if options.html is not None:
        _write_page(report, options.html, file, content, documents)
    if options.format in ("text", "json"):
        output.print_report(report, form=options.format, quiet=options.quiet)
        return
    from envguard.adapters.declared_files import shown
    from envguard.checks import CHECKS
    from envguard.formats.cases import cases_of

    explanations = {check.slug: (check.explanation or "").strip() for check in CHECKS}
    name, text = shown(file, Path.cwd()), content.decode("utf-8-sig")
    cases = cases_of(report, command=command, file=name, text=text, explanations=explanations)
    output.print_cases(cases, form=options.format)


def _write_page(
    report: Report,
    page_file: Path,
    file: Path,
    content: bytes,
    documents: tuple[dict[str, Any], dict[str, Any] | None] | None,
) -> None:
    from envguard import __version__
    from envguard.adapters.declared_files import shown
    from envguard.adapters.project import save_lock
    from envguard.formats import toml_text
    from envguard.formats.html import page
    from envguard.formats.run_rows import run_rows

    old, new = documents or (toml_text.parse(content), None)
    text = page(report, lock=shown(file, Path.cwd()), version=__version__, run=run_rows(old, new))
    save_lock(page_file, text.encode("utf-8", "backslashreplace"))


def _declare_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="A", help="a lock file")
    parser.add_argument("new", type=Path, metavar="B", help="another")
    arguments.add_policy(parser)
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page to look at")
    arguments.add_formats(parser, (*FORMATS, "markdown"))


def _diff(options: argparse.Namespace) -> int:
    from envguard.adapters.project import load_lock
    from envguard.cli import output, wiring
    from envguard.formats import toml_text
    from envguard.operations.verify import diff

    around = wiring.surroundings()
    old, new = load_lock(options.old), load_lock(options.new)
    report = diff(
        old[0],
        new[0],
        policy=wiring.policy(options, around),
        today=wiring.today(),
        store=wiring.store(),
    )
    if options.format == "text" and options.html is None:
        output.print_report(report, form="text", quiet=options.quiet)
        return report.exit_code
    documents = toml_text.parse(old[1]), toml_text.parse(new[1])
    if options.format == "markdown":
        from envguard.formats.comment import comment_text
        from envguard.formats.run_rows import run_rows

        output.print_text(comment_text(report, old[0], new[0], run_rows(*documents)))
        if options.html is not None:
            _write_page(report, options.html, options.new, new[1], documents)
    else:
        _print(report, options, options.new, new[1], "diff", documents)
    return report.exit_code


def _declare_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("check", nargs="?", metavar="CHECK", help="a check's name; left out: a list of all")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="form of the result on stdout")


def _explain(options: argparse.Namespace) -> int:
    from envguard.checks import CHECKS
    from envguard.cli import output
    from envguard.errors import UsageError

    texts = {check.slug: (check.explanation or "").strip() for check in CHECKS}
    if options.check is not None and options.check not in texts:
        raise UsageError(
            f"no check is called {options.check[:60]}", hint=f"the checks are {', '.join(sorted(texts))}"
        )
    shown = texts if options.check is None else {options.check: texts[options.check]}
    if options.format == "json":
        output.print_json({"schema": "envguard-explain-1", "checks": shown})
    elif options.check is None:
        output.print_lines(f"{slug:<16} {text.splitlines()[0]}" for slug, text in shown.items())
    else:
        output.print_lines(texts[options.check].splitlines())
    return 0


VERIFY = Command("verify", _declare_verify, _verify)
DIFF = Command("diff", _declare_diff, _diff)
EXPLAIN = Command("explain", _declare_explain, _explain)
