"""``envguard run``."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from envguard.cli import arguments
from envguard.cli.command import Command
from envguard.errors import EnvguardError, UsageError

if TYPE_CHECKING:
    from envguard.adapters.node import Word
    from envguard.cli.wiring import Surroundings
    from envguard.model.lock import Lock
    from envguard.model.target import Layout, Target

REFUSED = 125
"""Envguard's own word: the command was not started."""
_SCRIPTS = ("bin", "Scripts")


def _declare(parser: argparse.ArgumentParser) -> None:
    arguments.add_lock(parser)
    arguments.add_python(parser)
    parser.add_argument(
        "--force",
        action="append",
        default=[],
        metavar="CHECK[,CHECK]",
        help="start though this check drifted (one of verify's, or disk, gpu-memory, hazards)",
    )
    parser.add_argument("--no-guard", action="store_true", help="start the command without the guard and its log")
    parser.add_argument(
        "--after-warm",
        choices=("warning", "error", "count"),
        help="what a compile is after the program said guard.warm() (default: warning)",
    )
    parser.add_argument("--cache", type=Path, metavar="DIR", help="the compile cache's folder for this run")
    parser.add_argument(
        "--log",
        type=Path,
        metavar="DIR",
        help="folder for the run's logs (default: one of its own, which is told)",
    )
    arguments.add_policy(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when all is well")
    parser.usage = "envguard run [LOCK] [OPTION…] -- COMMAND…"
    parser.epilog = (
        "Exit code: the command's own, and signals as if envguard were not there; 125: refused before the start, "
        "126: can't be executed, 127: not found."
    )


def _run(options: argparse.Namespace) -> int:
    from envguard.adapters import child
    from envguard.cli import output

    try:
        if not options.command:
            raise UsageError("no command to run", hint="envguard run LOCK -- python train.py")
        environ = _prepared(options)
        if environ is None:
            return REFUSED
    except EnvguardError as error:
        error.exit_code = REFUSED
        raise
    try:
        child.become(child.find(options.command, environ, Path.cwd()), environ)
    except child.NotStartedError as problem:
        output.say(f"error[not-started]: {problem}")
        return problem.code


def _prepared(options: argparse.Namespace) -> dict[str, str] | None:
    """The environment that the command is started with, after a preflight; None when that refused."""
    from envguard.adapters import node
    from envguard.cli import output, wiring

    around = wiring.surroundings()
    start = _Start(options, around, wiring.lock(options, around), dict(os.environ))
    if not node.is_rank(os.environ):
        word = start.look()
    else:
        word, looked = node.once(os.environ, start.about(), start.look)
        if not looked and not word.starts:
            output.say("error[refused]: the preflight of this node's first rank refused the start")
    return {**start.environ, **word.variables} if word.starts else None


@dataclass(slots=True)
class _Start:
    """One start: what it is asked for, and with which variables."""

    options: argparse.Namespace
    around: Surroundings
    lock: Lock
    environ: dict[str, str]

    def about(self) -> str:
        """What was asked for: ranks that ask for something else look for themselves."""
        from envguard.formats.lockfile import lock_id

        asked = {name: str(value) for name, value in sorted(vars(self.options).items()) if name != "run"}
        return json.dumps([lock_id(self.lock), str(self.around.folder), asked])

    def look(self) -> Word:
        """The preflight: told on stderr, kept beside the run's logs."""
        from envguard.adapters import run_logs
        from envguard.adapters.headroom import Headroom
        from envguard.adapters.node import Word
        from envguard.adapters.surroundings import RunSurroundings
        from envguard.cli import output, wiring
        from envguard.formats import preflight as told
        from envguard.operations.run import preflight

        forced = _forced(self.options.force)
        target = _target(self.options, self.around)
        self.environ.pop("ENVGUARD_RUN_OWNER", None)
        given = self._given(forced)
        environ = {**self.environ, **given}
        prober = wiring.prober(self.around, variables=given)
        logs = self.options.log or run_logs.new_folder(self.lock.name)
        with output.Bars(quiet=self.options.quiet) as progress:
            seen = preflight(
                self.lock,
                target,
                policy=wiring.policy(self.options, self.around),
                today=wiring.today(),
                forced=forced,
                prober=prober,
                surroundings=RunSurroundings(environ, self.around.folder),
                headroom=Headroom(environ, self._folders(environ, logs)),
                store=wiring.store(),
                progress=progress,
            )
        plain = seen.decision.starts and not seen.decision.forced and not seen.decision.warned
        for line in told.lines(seen.decision, seen.report):
            output.say(line, quiet=self.options.quiet and plain)
        variables = {**given, **_activated(prober.layout(target), self.environ), **self._guarded(logs)}
        run_logs.keep(logs, told.document(seen.decision, seen.report, seen.diagnosis, given))
        if seen.decision.starts:
            self._say(target, given, logs)
        return Word(seen.decision.starts, str(logs), variables)

    def _given(self, forced: frozenset[str]) -> dict[str, str]:
        """The recorded variables, and the cache: named, else as the environment says, else the lock's own."""
        from envguard.adapters.cache.place import VARIABLE
        from envguard.cli import wiring
        from envguard.planning.run import variables_to_set

        given = {} if "variables" in forced else variables_to_set(self.lock.facts, self.environ)
        if self.options.cache is not None:
            return {**given, VARIABLE: str(self.around.folder / self.options.cache)}
        own = wiring.own_cache(self.lock)
        if VARIABLE in self.environ or own is None or not own.inductor.is_dir():
            return given
        return {**given, **own.variables()}

    def _guarded(self, logs: Path) -> dict[str, str]:
        from envguard.adapters import injected
        from envguard.formats.lockfile import lock_id

        if self.options.no_guard:
            return {"ENVGUARD_GUARD": "off"}
        ours = str(injected.folder())
        others = [part for part in self.environ.get("PYTHONPATH", "").split(os.pathsep) if part not in ("", ours)]
        after = {"ENVGUARD_AFTER_WARM": self.options.after_warm} if self.options.after_warm else {}
        return {
            "PYTHONPATH": os.pathsep.join([ours, *others]),
            "ENVGUARD_RUN_LOG": f"{self.around.folder / logs}{os.sep}",
            "ENVGUARD_LOCK": f"{self.lock.name}-{lock_id(self.lock)[:12]}",
            **after,
        }

    def _folders(self, environ: Mapping[str, str], logs: Path) -> list[tuple[str, Path]]:
        from envguard.adapters.cache.place import place

        return [("the compile cache", place(environ, self.around.folder).folder), ("the run's logs", logs)]

    def _say(self, target: Target, given: Mapping[str, str], logs: Path) -> None:
        from envguard.cli import output

        quiet = self.options.quiet
        output.say(f"target: {target.python} ({target.chosen})", quiet=quiet)
        for name, value in sorted(given.items()):
            before = self.environ.get(name)
            output.say(f"set {name}={value}{'' if before is None else f' (was {before})'}", quiet=quiet)
        if not self.options.no_guard:
            output.say(f"run log: {logs}", quiet=quiet)


def _forced(named: list[str]) -> frozenset[str]:
    from envguard.checks import CHECKS
    from envguard.planning.run import OWN_CHECKS

    known = {check.slug for check in CHECKS} | set(OWN_CHECKS)
    forced = frozenset(part.strip() for text in named for part in text.split(",") if part.strip())
    unknown = sorted(forced - known)
    if unknown:
        raise UsageError(
            f"no check is called {unknown[0][:60]}", hint=f"the checks are {', '.join(sorted(known))}"
        )
    return forced


def _target(options: argparse.Namespace, around: Surroundings) -> Target:
    """The environment that the command itself runs in, where its first word says so; else as ever."""
    from envguard.adapters import target as targets
    from envguard.cli import wiring

    named = _environment_of(around.folder / options.command[0]) if os.sep in options.command[0] else None
    if named is None:
        try:
            return wiring.target(options, around)
        except UsageError:
            if options.python is not None or not Path(options.command[0]).name.startswith("python"):
                raise
            return targets.choose(Path(options.command[0]), None, around.folder, os.environ)
    if options.python is not None:
        chosen = wiring.target(options, around)
        if _folder_of(chosen.python) != _folder_of(named):
            raise UsageError(
                "the command is of another environment than --python",
                where=f"{named}, {chosen.python}",
                hint="leave --python out: the command says which environment is meant",
            )
        return chosen
    chosen = targets.choose(named, None, around.folder, os.environ)
    return type(chosen)(chosen.python, "the command's own")


def _environment_of(file: Path) -> Path | None:
    """The interpreter beside a program of an environment, or the program itself where it is one."""
    if file.name.startswith("python"):
        return file
    above = file.parent.parent
    if file.parent.name in _SCRIPTS and ((above / "pyvenv.cfg").is_file() or (above / "conda-meta").is_dir()):
        return above
    return None


def _folder_of(python: Path) -> str:
    return os.path.realpath(python.parent if python.is_file() else python / _SCRIPTS[0])


def _activated(layout: Layout, environ: Mapping[str, str]) -> dict[str, str]:
    """What activating the environment would set: ``python`` and ``torchrun`` are the ones that were verified."""
    scripts = os.path.realpath(layout.scripts)
    path = [part for part in environ.get("PATH", os.defpath).split(os.pathsep) if part != scripts]
    activated = {"PATH": os.pathsep.join([scripts, *path])}
    if layout.is_venv:
        activated["VIRTUAL_ENV"] = os.path.realpath(layout.prefix)
    return activated


RUN = Command("run", _declare, _run, takes_command=True)
