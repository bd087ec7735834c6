"""An interpreter that exists already: the running one, a team's virtual environment, a torch built from source."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.version import InvalidVersion, Version
from pt2bugs.case.expectation import public
from pt2bugs.envs.environment import EnvironmentFailure, Key
from pt2bugs.envs.extras import EXTRAS, installed_extras
from pt2bugs.run.schedule import Target

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


def running_interpreter() -> Target:
    """The running interpreter and the torch it has.

    Raises:
        EnvironmentFailure: it has none.
    """
    try:
        torch = public(metadata.version("torch"))
    except (metadata.PackageNotFoundError, InvalidVersion):
        message = "this Python has no torch; install one (`pip install 'pt2bugs[run]'`), or say which with --torch"
        raise EnvironmentFailure(message) from None
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Target(Key(torch, python, installed_extras()), Path(sys.executable))


def named_interpreter(path: Path) -> Target:
    """The interpreter at `path` and the build of torch that it has, read without importing it.

    Raises:
        EnvironmentFailure: it does not start, or has no torch.
    """
    marks = [mark for extra in EXTRAS.values() for mark in extra.marks]
    try:
        done = subprocess.run(
            [str(path), "-c", _ASK, *marks], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    except OSError as error:
        raise EnvironmentFailure(f"--python-exe {path}: cannot be started: {error.strerror}") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise EnvironmentFailure(f"--python-exe {path}: left with status {done.returncode}: {last}")
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise EnvironmentFailure(f"--python-exe {path}: does not answer as a Python does") from None
    if not answer["torch"]:
        raise EnvironmentFailure(f"--python-exe {path}: has no torch")
    python = ".".join(map(str, answer["python"][:2]))
    if Version(python) < Version("3.10"):
        raise EnvironmentFailure(f"--python-exe {path}: is Python {python}; pt2bugs measures with 3.10 and newer")
    extras = tuple(sorted(name for name, extra in EXTRAS.items() if set(extra.marks) & set(answer["present"])))
    build = f"{answer['torch']}@{(answer['git'] or 'unknown')[:10]}"
    return Target(Key(public(answer["torch"]), python, extras), path, build)
