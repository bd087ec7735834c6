"""A program of one's own: what it is, what is known, and the interpreters it is run in."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from packaging.version import Version

from pt2bugs.case.corpus import corpus_roots
from pt2bugs.commands.console import say, warn
from pt2bugs.commands.options import ProgramOptions
from pt2bugs.commands.selection import load_corpus, open_store, package_sources
from pt2bugs.envs.environment import Environment, Key, choose_python
from pt2bugs.envs.packages import package_word
from pt2bugs.envs.releases import Release, known_releases, one_release
from pt2bugs.errors import InputError
from pt2bugs.results.folder import open_results, results_folder
from pt2bugs.run.interpreter import Interpreter, named_interpreter, running_interpreter
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
    corpus = load_corpus(corpus_roots(options.cases))
    histories = open_results(options.results).load(corpus, warn, options.python)
    return Known.load(histories, corpus, options.results or results_folder())


class Interpreters:
    """The interpreters of a program: environments with its packages, made when they are asked for, and kept in use."""

    def __init__(self, options: ProgramOptions) -> None:
        self._options = options
        self._store = open_store(options)
        self._stack = contextlib.ExitStack()
        requirements = read_requirements(options.requirements) if options.requirements else []
        self._installs = tuple(package_word(text) for text in (*options.packages, *requirements))

    @cached_property
    def releases(self) -> list[Release]:
        """The releases that there are."""
        return known_releases(package_sources(self._options), warn)

    def named(self, path: Path) -> Interpreter:
        """Return an interpreter that exists.

        Args:
            path: of the interpreter.

        Raises:
            InputError: packages are to be installed there, or it has no torch.
        """
        return self._existing(named_interpreter(path))

    @property
    def has_packages(self) -> bool:
        """True if the program needs packages of its own."""
        return bool(self._installs)

    def release(self, spec: str) -> str:
        """Return the release that a word means.

        Args:
            spec: the word.

        Raises:
            ReleaseError: it means several, or none.
        """
        return str(one_release(spec, self.releases))

    def of(self, spec: str | None, *, alone: bool = False) -> Interpreter:
        """Return the interpreter of a release with the packages of the program; without one the running Python.

        Args:
            spec: names the release.
            alone: without the packages.

        Raises:
            EnvironmentFailure: it cannot be made.
        """
        if spec is None:
            return self._existing(running_interpreter())
        release = one_release(spec, self.releases)
        environment = self._environment(release, () if alone else self._installs)
        return Interpreter(str(release), environment.python)

    def torch_of(self, release: str) -> Path:
        """Return the torch folder of a release, as its wheel has it.

        Args:
            release: a public version.

        Raises:
            EnvironmentFailure: it cannot be had.
        """
        known = next((known for known in self.releases if str(known) == release), None) or Release(Version(release), ())
        environment = self._environment(known, ())
        return Interpreter(release, environment.python).torch

    def torch_at_hand(self, release: str) -> Path | None:
        """Return the torch folder of a release if an environment with it is there.

        Args:
            release: a public version.
        """
        for environment in self._store.environments():
            if environment.key.torch == release:
                return Interpreter(release, environment.python).torch
        return None

    def _existing(self, target: Target) -> Interpreter:
        if self._installs:
            raise InputError("--with installs into an environment of its own: name its release")
        assert target.python is not None
        return Interpreter(target.key.torch, target.python.absolute())

    def _environment(self, release: Release, installs: Sequence[tuple[str, str]]) -> Environment:
        options = self._options
        words = tuple(word for word, _ in installs)
        python = choose_python(release, options.python)
        key = Key(str(release), python, (*options.extra, *words), package_sources(options).name, tuple(installs))
        environment = self._store.create(key, say)
        self._stack.enter_context(self._store.using(environment))
        return environment

    def close(self) -> None:
        """Let the environments go."""
        self._stack.close()


def read_requirements(path: Path) -> list[str]:
    """Return the requirements of a file but torch, whose release is the question.

    Args:
        path: of the file.

    Raises:
        InputError: it cannot be read, or holds options of pip.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--requirements {path}: cannot be read: {error}") from None
    requirements = []
    for number, line in enumerate(lines, 1):
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("-"):
            raise InputError(f"--requirements {path}:{number}: {text}: options of pip are not read; list requirements")
        name = text.replace("[", " ").replace("=", " ").replace("<", " ").replace(">", " ").replace("~", " ").split()[0]
        if name.lower() == "torch":
            say(f"{path}:{number}: {text} is left out: the release of torch is the question")
            continue
        requirements.append(text)
    return requirements
