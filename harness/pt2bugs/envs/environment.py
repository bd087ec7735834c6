"""An environment: a torch release with its Python and its companions."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version
from pt2bugs.envs.packages import folder_word
from pt2bugs.envs.releases import Release
from pt2bugs.errors import InputError


class EnvironmentFailure(InputError):
    """An environment that cannot be made.

    Cause: no wheel for any Python here, no network, a full disk, an extra that is not made for the release.
    Remedy: the message carries uv's own words; nothing half-made stays behind.
    """


@dataclass(frozen=True)
class Key:
    """Identity of an environment.

    `extras` are names of `envs.extras`, or words of `envs.packages` for further packages; `installs` says for each of
    those words what to install, where that is not the word itself.
    """

    torch: str
    python: str
    extras: tuple[str, ...] = ()
    index: str = ""
    installs: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def folder(self) -> str:
        """The name of its folder."""
        parts = [f"torch-{self.torch}", f"py{self.python}", *map(folder_word, self.extras)]
        if self.index:
            parts.append(hashlib.sha256(self.index.encode()).hexdigest()[:8])
        return "-".join(parts)

    def __str__(self) -> str:
        with_extras = f" with {', '.join(self.extras)}" if self.extras else ""
        return f"torch {self.torch}{with_extras}, Python {self.python}"


@dataclass(frozen=True)
class Environment:
    """A complete environment on disk."""

    key: Key
    path: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.path / "bin" / "python"

    @property
    def torch(self) -> Path:
        """Its torch folder.

        Raises:
            EnvironmentFailure: it has none.
        """
        return torch_folder(self.python)

    @property
    def build(self) -> str:
        """A word for its torch: what is known of one wheel does not hold for another of the same release.

        Raises:
            EnvironmentFailure: it has none.
        """
        version = (self.torch / "version.py").read_bytes()
        return f"{self.key.folder}-{hashlib.sha256(version).hexdigest()[:8]}"


def torch_folder(python: Path) -> Path:
    """Return the torch folder of the environment that an interpreter belongs to.

    Args:
        python: the interpreter; its link is not followed.

    Raises:
        EnvironmentFailure: there is no torch beside it.
    """
    for folder in python.parent.parent.glob("lib*/python3*/site-packages/torch"):
        return folder
    raise EnvironmentFailure(f"{python}: its torch is not in the folder of its environment")


def companions(torch: str) -> tuple[str, ...]:
    """Return what a release needs beside itself to compile anything.

    torch up to 2.2 was built against numpy 1; Inductor imports setuptools up to 2.9, and torch up to 2.1
    what setuptools 70 removed from pkg_resources.

    Args:
        torch: the version.
    """
    version = Version(torch)
    return (
        "numpy<2" if version.release[:2] <= (2, 2) else "numpy",
        "setuptools<70" if version.release[:2] <= (2, 1) else "setuptools",
    )


_NEWEST_PYTHON = (((2, 1), "3.10"), ((2, 4), "3.11"), ((2, 6), "3.12"), ((2, 9), "3.13"))
"""Before that torch release, Dynamo refuses to compile on any newer Python, wheel or not (its own message
says so: "Python 3.11+ not yet supported for torch.compile")."""


def compiles_on(torch: str, python: str) -> bool:
    """Return whether torch.compile of a release supports a Python.

    Args:
        torch: the version.
        python: a minor version.
    """
    for before, newest in _NEWEST_PYTHON:
        if Version(torch).release[:2] < before:
            return Version(python) <= Version(newest)
    return True


def choose_python(release: Release, wanted: str | None = None) -> str:
    """Return the Python minor version for a release: the running one if it will do, else the newest that will.

    It will do if the release has a wheel for it and its torch.compile supports it.

    Args:
        release: of torch.
        wanted: a minor version to take if there is a wheel for it.

    Raises:
        EnvironmentFailure: the wanted Python has no wheel of that release.
    """
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    supported = [
        python for python in release.pythons if Version(python) >= Version("3.10") and compiles_on(str(release), python)
    ]
    if wanted is not None:
        if wanted not in release.pythons:
            raise EnvironmentFailure(
                f"torch {release} has no wheel for Python {wanted}; it has for {', '.join(release.pythons)}"
            )
        return wanted
    if running in supported:
        return running
    if not supported:
        raise EnvironmentFailure(
            f"torch {release} has no wheel for Python 3.10 or newer, only for {', '.join(release.pythons)}"
        )
    return supported[-1]
