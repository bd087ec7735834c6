"""A program of one's own: its selection, the documented bugs, and the interpreters that run it."""

from __future__ import annotations

import shlex
from pathlib import Path

from pt2bugs.commands.console import say
from pt2bugs.commands.options import ProgramOptions
from pt2bugs.commands.selection import load_histories
from pt2bugs.envs.in_use import Environments
from pt2bugs.envs.packages import read_requirements
from pt2bugs.results.folder import open_results
from pt2bugs.run.interpreter import Interpreters
from pt2bugs.triage.program import load_program
from pt2bugs.upgrade.exposure import Known
from pt2bugs.upgrade.recorded import Program


def select_program(options: ProgramOptions) -> Program:
    """Return the program as the user starts it.

    Args:
        options: of the command.

    Raises:
        InputError: it is not Python.
    """
    return Program(load_program(Path(options.script)).path, options.arguments, 60 * options.minutes)


def select_known(options: ProgramOptions) -> Known:
    """Return what the corpus, the journal and the isolated fixes say.

    Args:
        options: of the command.

    Raises:
        InputError: a case, a line of the journal or an isolation cannot be read.
    """
    histories = load_histories(options.cases, options.results, options.python)
    return Known.load(histories, open_results(options.results).folder)


def exposure_command(options: ProgramOptions, release: str) -> str:
    """Return the command that asks of a release which documented bugs concern the program, with all that it needs.

    Args:
        options: of the command.
        release: a public version.
    """
    packages = [word for package in options.packages for word in ("--with", package)]
    listed = ["--requirements", str(options.requirements)] if options.requirements else []
    arguments = ["--", *options.arguments] if options.arguments else []
    return shlex.join(["pt2bugs", "exposure", options.script, "--torch", release, *packages, *listed, *arguments])


def select_interpreters(options: ProgramOptions, environments: Environments) -> Interpreters:
    """Return what makes the interpreters of the program, with its packages.

    Args:
        options: of the command.
        environments: make them.

    Raises:
        InputError: the file of requirements cannot be read, or a package is none.
    """
    listed = read_requirements(options.requirements, say) if options.requirements else []
    return Interpreters(environments, (*options.packages, *listed))
