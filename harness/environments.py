"""Environments: a torch release with its Python and extra packages, in a virtual environment made by uv.

One folder per key below the cache. A marker written last says that it is complete; everything before that
happens under a lock. Wheels are shared by hard links through a uv cache beside the environments.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from packaging.version import Version
from uv import find_uv_bin

from harness.extras import EXTRAS
from harness.files import write_text
from harness.releases import Release, Sources
from harness.warmup import cache_home

MARKER = "pt2bugs.json"
PLUGIN_REQUIREMENTS = (
    "pytest>=8.2,<9.2",
    "pytest-forked>=1.6,<2",
    "pytest-timeout>=2.2,<3",
    "packaging>=23.2",
)
"""What the harness needs inside an environment; bounds as in pyproject.toml."""


class EnvironmentFailure(Exception):
    """An environment that cannot be made.

    Cause: no wheel for any Python here, no network, a full disk, an extra that is not made for the release.
    Remedy: the message carries uv's own words; nothing half-made stays behind.
    """


@dataclass(frozen=True)
class Key:
    """What makes two environments the same."""

    torch: str
    python: str
    extras: tuple[str, ...] = ()
    index: str = ""

    @property
    def folder(self) -> str:
        parts = [f"torch-{self.torch}", f"py{self.python}", *self.extras]
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
        return self.path / "bin" / "python"


def companions(torch: str) -> tuple[str, ...]:
    """What a release needs beside itself to compile anything.

    torch up to 2.2 was built against numpy 1; Inductor imports setuptools up to 2.9, and torch up to 2.1
    what setuptools 70 removed from pkg_resources.
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
    """Whether torch.compile of that release supports that Python minor version."""
    for before, newest in _NEWEST_PYTHON:
        if Version(torch).release[:2] < before:
            return Version(python) <= Version(newest)
    return True


def choose_python(release: Release, asked: str | None = None) -> str:
    """The Python minor version for a release: the running one if it will do, else the newest that will.

    It will do if the release has a wheel for it and its torch.compile supports it.

    Raises:
        EnvironmentFailure: the Python asked for has no wheel of that release.
    """
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    supported = [
        python for python in release.pythons if Version(python) >= Version("3.10") and compiles_on(str(release), python)
    ]
    if asked is not None:
        if asked not in release.pythons:
            raise EnvironmentFailure(
                f"torch {release} has no wheel for Python {asked}; it has for {', '.join(release.pythons)}"
            )
        return asked
    if running in supported:
        return running
    if not supported:
        raise EnvironmentFailure(
            f"torch {release} has no wheel for Python 3.10 or newer, only for {', '.join(release.pythons)}"
        )
    return supported[-1]


class Store:
    """The folder of all environments, with its uv cache."""

    def __init__(self, source: Sources, home: Path | None = None) -> None:
        self.source = source
        self.home = (home or cache_home()) / "envs"
        self._installing: subprocess.Popen[str] | None = None
        self.uv_cache = Path(os.environ.get("UV_CACHE_DIR") or self.home.parent / "uv")

    def find(self, key: Key) -> Environment | None:
        """The environment, if it is complete."""
        path = self.home / key.folder
        return Environment(key, path) if (path / MARKER).exists() else None

    def create(self, key: Key, talk: Callable[[str], None] = lambda _: None) -> Environment:
        """The environment, made if it is not there.

        Raises:
            EnvironmentFailure: it cannot be made.
        """
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            with FileLock(self.home / f"{key.folder}.lock"):
                if (found := self.find(key)) is None:
                    talk(f"installing {key}")
                    found = self._install(key)
                os.utime(found.path / MARKER)
                return found
        except OSError as error:
            raise EnvironmentFailure(f"{self.home}: {error.strerror or error}") from None

    def _install(self, key: Key) -> Environment:
        path = self.home / key.folder
        shutil.rmtree(path, ignore_errors=True)
        environment = Environment(key, path)
        requirements = [f"torch=={key.torch}", *companions(key.torch), *PLUGIN_REQUIREMENTS]
        for name in key.extras:
            found = EXTRAS[name].requirements_for(key.torch)
            if found is None:
                raise EnvironmentFailure(f"the extra {name!r} is not made for torch {key.torch}")
            requirements += found
        began = time.monotonic()
        try:
            # The running one exactly, not another patch release of it that uv may come upon first.
            running = f"{sys.version_info.major}.{sys.version_info.minor}"
            self._uv("venv", "--python", sys.executable if key.python == running else key.python, str(path))
            self._uv(
                *("pip", "install", "--python", str(environment.python), "--link-mode", "hardlink"),
                *self.source.uv_arguments,
                *requirements,
            )
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        facts = {
            "torch": key.torch,
            "python": key.python,
            "extras": list(key.extras),
            "index": key.index,
            "requirements": requirements,
            "seconds": round(time.monotonic() - began, 1),
        }
        write_text(path / MARKER, json.dumps(facts, indent=1) + "\n")
        return environment

    def _uv(self, *arguments: str) -> None:
        environ = {**os.environ, "UV_CACHE_DIR": str(self.uv_cache), "UV_NO_PROGRESS": "1"}
        environ.pop("VIRTUAL_ENV", None)
        environ.setdefault("PYENV_VERSION", _pyenv_versions())
        # A session of its own: Ctrl-C is for us to handle, and must not look like a failure of uv.
        self._installing = subprocess.Popen(
            [find_uv_bin(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            start_new_session=True,
        )
        _, words = self._installing.communicate()
        status, self._installing = self._installing.returncode, None
        if status != 0:
            raise EnvironmentFailure(_uv_words(words) or f"uv ended with status {status}")

    def interrupt(self) -> None:
        """End an installation that runs in another thread; it fails there."""
        if (process := self._installing) is not None:
            process.kill()

    @contextlib.contextmanager
    def using(self, environment: Environment) -> Iterator[None]:
        """Keep the environment from being removed while it is in use; any number may use it at once."""
        with (self.home / f"{environment.key.folder}.use").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            yield

    def _remove(self, environment: Environment) -> bool:
        """Remove it unless somebody makes or uses it."""
        with (self.home / f"{environment.key.folder}.use").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with FileLock(self.home / f"{environment.key.folder}.lock", timeout=0):
                    (environment.path / MARKER).unlink()
                    shutil.rmtree(environment.path, ignore_errors=True)
            except (BlockingIOError, Timeout):
                return False
        return True

    def environments(self) -> Iterator[Environment]:
        """Every complete environment, least recently used first."""
        found = []
        for marker in self.home.glob(f"*/{MARKER}"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                facts = json.loads(marker.read_text())
                key = Key(facts["torch"], facts["python"], tuple(facts["extras"]), facts["index"])
                found.append((marker.stat().st_mtime, Environment(key, marker.parent)))
        for _, environment in sorted(found, key=lambda pair: pair[0]):
            yield environment

    def sizes(self) -> list[tuple[Environment, int, int]]:
        """For each environment its bytes, and those of them that no other environment has too."""
        files = {environment: dict(_inodes(environment.path)) for environment in self.environments()}
        owners: dict[int, int] = {}
        for inodes in files.values():
            for inode in inodes:
                owners[inode] = owners.get(inode, 0) + 1
        return [
            (
                environment,
                sum(inodes.values()),
                sum(size for inode, size in inodes.items() if owners[inode] == 1),
            )
            for environment, inodes in files.items()
        ]

    def total(self) -> int:
        """Bytes of all environments and the uv cache together, each file counted once."""
        roots = [self.home, *([self.uv_cache] if self.owns_cache else [])]
        inodes: dict[int, int] = {}
        for root in roots:
            inodes.update(_inodes(root))
        return sum(inodes.values())

    @property
    def owns_cache(self) -> bool:
        """Whether the uv cache is ours to prune; one that the user named is not."""
        return not os.environ.get("UV_CACHE_DIR")

    def collect(
        self, budget: int, keep: Iterable[Key] = (), talk: Callable[[str], None] = lambda _: None
    ) -> list[Environment]:
        """Remove least recently used environments until everything fits the budget, in bytes.

        Environments in use (locked) or in `keep` stay. Returns those removed.
        """
        removed: list[Environment] = []
        kept = set(keep)
        self._remove_unfinished()
        self._prune_cache()
        for environment in list(self.environments()):
            if self.total() <= budget:
                break
            if environment.key in kept:
                continue
            if self._remove(environment):
                talk(f"removed {environment.key}")
                removed.append(environment)
                self._prune_cache()
        return removed

    def _remove_unfinished(self) -> None:
        for path in self.home.glob("torch-*/"):
            if not (path / MARKER).exists():
                lock = FileLock(f"{path}.lock", timeout=0)
                with contextlib.suppress(Timeout), lock:
                    shutil.rmtree(path, ignore_errors=True)

    def _prune_cache(self) -> None:
        """Drop unpacked wheels of our uv cache that no environment links to any more."""
        if not self.owns_cache:
            return
        for archive in self.uv_cache.glob("archive-v*/*"):
            links = [stat.st_nlink for stat in _stats(archive)]
            if links and max(links) == 1:
                shutil.rmtree(archive, ignore_errors=True)


def _stats(root: Path) -> Iterator[os.stat_result]:
    for folder, _, names in os.walk(root):
        for name in names:
            with contextlib.suppress(OSError):
                yield (Path(folder) / name).lstat()


def _inodes(root: Path) -> Iterator[tuple[int, int]]:
    for stat in _stats(root):
        yield stat.st_ino, stat.st_blocks * 512


def _pyenv_versions() -> str:
    """All Pythons of pyenv, for its shims: uv tries the first on the path, and a shim of a version that is not
    switched on fails. Empty, which pyenv reads as unset, where there is no pyenv."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return ":".join(sorted(path.name for path in root.glob("versions/3.[1-9][0-9]*")))


def _uv_words(stderr: str) -> str:
    """What uv said went wrong, on one line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", stderr)
    lines = [re.sub(r"^[\s×╰─▶│├error:]+", "", line).strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("Using ", "Creating ", "Activate ", "Resolved "))]
    words = " ".join(lines)[:600]
    if "No space left" in words or "os error 28" in words:
        return f"the disk is full; `pt2bugs envs gc --budget SIZE` removes environments ({words[:200]})"
    if re.search(r"dns error|error trying to connect|Connection refused|Network is unreachable|client error", words):
        return f"no network, or the package index is away ({words[:300]})"
    return words


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Bytes in ``60G``, ``500M`` or a plain number.

    Raises:
        ValueError: it is none of these.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not found:
        raise ValueError(f"{text!r} is not a size; write for example 60G or 500M")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def format_size(size: int) -> str:
    """Bytes for people: ``5.2 GiB``."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit in ("B", "KiB") else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError
