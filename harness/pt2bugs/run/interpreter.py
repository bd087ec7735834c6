"""An interpreter that exists already: the running one, a team's virtual environment, a torch built from source."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.version import InvalidVersion, Version
from pt2bugs.case.versions import public
from pt2bugs.envs.environment import EnvironmentFailure, Key, torch_folder
from pt2bugs.envs.extras import installed_extras, known_extras
from pt2bugs.envs.in_use import Environments
from pt2bugs.envs.packages import package_word
from pt2bugs.errors import InputError, install_command
from pt2bugs.run.plan import Target

_PATIENCE_S = 60
"""Seconds. A Python on a slow network file system takes a few."""
_MAX_BYTES = 1 << 20
_ASK = """
import importlib.metadata as metadata, importlib.util as util, json, pathlib, sys
spec = util.find_spec("torch")
version = {}
if spec is not None and spec.origin:
    exec((pathlib.Path(spec.origin).parent / "version.py").read_text(), version)
present = []
for name in sys.argv[1:]:
    try:
        metadata.version(name)
        present.append(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps({"python": list(sys.version_info[:3]), "torch": version.get("__version__"),
                  "git": version.get("git_version"), "present": present}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python with torch: `release` is its public version, `exe` the path, `torch` the folder."""

    release: str
    exe: Path

    @property
    def torch(self) -> Path:
        """Its torch folder.

        Raises:
            EnvironmentFailure: it is not beside the interpreter.
        """
        return torch_folder(self.exe)

    @classmethod
    def existing(cls, target: Target) -> Interpreter:
        """Return an interpreter that exists.

        Args:
            target: named by the user, or the running one.
        """
        assert target.python is not None
        return cls(target.key.torch, target.python.absolute())


class Interpreters:
    """The interpreters that run a user's program: environments of releases with its packages, or ones that exist.

    Args:
        environments: make those of releases, and keep them in use.
        packages: what the program needs beside torch, as ``--with`` takes it.

    Raises:
        InputError: a package is neither a requirement nor a file or folder.
    """

    def __init__(self, environments: Environments, packages: Sequence[str]) -> None:
        self._environments = environments
        self._installs = tuple(map(package_word, packages))

    @property
    def has_packages(self) -> bool:
        """True if the program needs packages of its own."""
        return bool(self._installs)

    def existing(self, target: Target) -> Interpreter:
        """Return an interpreter that exists, into which nothing is installed.

        Args:
            target: named by the user, or the running one.

        Raises:
            InputError: packages are to be installed there.
        """
        if self._installs:
            raise InputError("--with installs into an environment of its own: name its release")
        return Interpreter.existing(target)

    def of(self, word: str, *, alone: bool = False) -> Interpreter:
        """Return the interpreter of a release with the packages of the program.

        Args:
            word: names the release.
            alone: without the packages.

        Raises:
            ReleaseError: the word means several releases, or none.
            EnvironmentFailure: it cannot be made.
        """
        release = self._environments.release(word)
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


def python_of(target: Target, environments: Environments) -> Path:
    """Return the Python of a target.

    Args:
        target: an interpreter that exists, or an environment.
        environments: make it.

    Raises:
        EnvironmentFailure: it cannot be made.
    """
    return target.python.absolute() if target.python else environments.made(target.key).python


def running_interpreter() -> Target:
    """Return the running interpreter and the torch it has.

    Raises:
        EnvironmentFailure: it has none.
    """
    try:
        torch = public(metadata.version("torch"))
    except (metadata.PackageNotFoundError, InvalidVersion):
        message = f"this Python has no torch; install one (`{install_command('run')}`), or say which with --torch"
        raise EnvironmentFailure(message) from None
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Target(Key(torch, python, installed_extras()), Path(sys.executable))


@dataclass(frozen=True)
class _Answer:
    """The last line that a Python prints when it runs `_ASK`."""

    python: list[int]
    torch: str | None
    git: str | None
    present: list[str]


def _ask(command: list[str], path: Path) -> tuple[int, str, str]:
    """Run an unknown program with a deadline, and return its status and the end of what it printed.

    Raises:
        EnvironmentFailure: it cannot be started, takes too long or prints without end.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
            )
        except OSError as error:
            raise EnvironmentFailure(f"--python-exe {path}: cannot be started: {error.strerror}") from None
        try:
            with contextlib.suppress(ProcessLookupError):
                # Beyond that the system ends it.
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (_MAX_BYTES, _MAX_BYTES))
            status = process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise EnvironmentFailure(f"--python-exe {path}: has not answered for {_PATIENCE_S} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read(_MAX_BYTES).decode(errors="replace"))
        if status == -signal.SIGXFSZ:
            raise EnvironmentFailure(f"--python-exe {path}: prints more than any Python would: {texts[0][:40]!r} ...")
        return status, texts[0], texts[1]


def named_interpreter(path: Path) -> Target:
    """Return the interpreter at `path` and the build of torch that it has, read without importing it.

    Args:
        path: as the user wrote it.

    Raises:
        EnvironmentFailure: it does not start, or has no torch.
    """
    # Absolute, or PATH would be searched for a bare name; not resolved, as the link of a virtual environment says
    # which one it is.
    python_exe = path.absolute()
    marks = [name for extra in known_extras().values() for name in extra.distributions]
    status, output, errors = _ask([str(python_exe), "-c", _ASK, *marks], path)
    if status != 0:
        last = (errors.strip().splitlines() or ["it said nothing"])[-1]
        raise EnvironmentFailure(f"--python-exe {path}: left with status {status}: {last}")
    try:
        answer = _Answer(**json.loads(output.splitlines()[-1]))
        python = ".".join(map(str, answer.python[:2]))
        is_old = Version(python) < Version("3.10")
    except (ValueError, IndexError, TypeError, RecursionError):
        raise EnvironmentFailure(f"--python-exe {path}: does not answer as a Python does") from None
    if not answer.torch:
        raise EnvironmentFailure(f"--python-exe {path}: has no torch")
    if is_old:
        raise EnvironmentFailure(f"--python-exe {path}: is Python {python}; pt2bugs measures with 3.10 and newer")
    present = set(answer.present)
    extras = tuple(sorted(name for name, extra in known_extras().items() if present & set(extra.distributions)))
    build = f"{answer.torch}@{(answer.git or 'unknown')[:10]}"
    return Target(Key(public(answer.torch), python, extras), python_exe, build)
