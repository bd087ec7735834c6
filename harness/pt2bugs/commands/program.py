"""A program of one's own: its selection, the documented bugs, and the interpreters that run it."""

from __future__ import annotations

from pathlib import Path

from pt2bugs.commands.console import say
from pt2bugs.commands.options import ProgramOptions
from pt2bugs.commands.selection import Environments, load_histories
from pt2bugs.envs.packages import package_word, read_requirements
from pt2bugs.errors import InputError
from pt2bugs.results.folder import open_results
from pt2bugs.run.interpreter import Interpreter
from pt2bugs.run.plan import Target
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


class Interpreters:
    """The interpreters of a program: one that exists, or environments of releases with the packages of the program.

    Closed by `Environments`, which keep them in use.
    """

    def __init__(self, options: ProgramOptions, environments: Environments) -> None:
        self._environments = environments
        requirements = read_requirements(options.requirements, say) if options.requirements else []
        self._installs = tuple(package_word(text) for text in (*options.packages, *requirements))

    @property
    def has_packages(self) -> bool:
        """True if the program needs packages of its own."""
        return bool(self._installs)

    def existing(self, target: Target) -> Interpreter:
        """Return an interpreter that exists.

        Args:
            target: named by the user, or the running one.

        Raises:
            InputError: packages are to be installed there.
        """
        if self._installs:
            raise InputError("--with installs into an environment of its own: name its release")
        assert target.python is not None
        return Interpreter(target.key.torch, target.python.absolute())

    def of(self, spec: str, *, alone: bool = False) -> Interpreter:
        """Return the interpreter of a release with the packages of the program.

        Args:
            spec: names the release.
            alone: without the packages.

        Raises:
            EnvironmentFailure: it cannot be made.
        """
        release = self._environments.release(spec)
        (environment,) = self._environments.of(release, installs=() if alone else self._installs)
        return Interpreter(release, environment.python)

    def torch_of(self, release: str) -> Path:
        """Return the torch folder of a release, as its wheel has it.

        Args:
            release: a public version.

        Raises:
            EnvironmentFailure: it cannot be had.
        """
        (environment,) = self._environments.of(release)
        return environment.torch

    def torch_at_hand(self, release: str) -> Path | None:
        """Return the torch folder of a release if an environment with it is there.

        Args:
            release: a public version.
        """
        environment = self._environments.at_hand(release)
        return environment.torch if environment is not None else None
