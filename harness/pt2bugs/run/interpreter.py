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
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.version import InvalidVersion, Version
from pt2bugs.case.versions import public
from pt2bugs.envs.environment import EnvironmentFailure, Key, torch_folder
from pt2bugs.envs.extras import installed_extras, known_extras
from pt2bugs.errors import install_command
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
