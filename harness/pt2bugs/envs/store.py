"""Environments: a torch release with its Python and extra packages, in a virtual environment made by uv.

One folder per key below the cache. A marker written last says that it is complete; everything before that
happens under a lock. Wheels are shared by hard links through a uv cache beside the environments.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pt2bugs.engine.folders import cache_home, remove_tree
from pt2bugs.envs.environment import Environment, EnvironmentFailure, Key, companions
from pt2bugs.envs.extras import known_extras
from pt2bugs.envs.size import format_size, inodes, stats
from pt2bugs.envs.sources import Sources
from pt2bugs.errors import install_command
from pt2bugs.files import FileError, write_text

MARKER = "pt2bugs.json"
INSTALL_S, INSTALL_BYTES = 90.0, 5 << 30
"""Cost of an environment where none was made here yet: a CUDA build from the default index."""
CPU_BYTES = 1 << 30
"""Size of a CPU build."""


class Store:
    """The folder of all environments, with its uv cache."""

    def __init__(self, source: Sources, home: Path | None = None, budget: int | None = None) -> None:
        """Open the folder, which need not be there.

        Args:
            source: of packages.
            home: the cache; None for the user's.
            budget: how many bytes all environments may take together; None: half of the disk they are on.
        """
        self.source = source
        self.home = (home or cache_home()) / "envs"
        self._budget = budget
        self._has_told_budget = False
        self._installing: subprocess.Popen[str] | None = None
        self.uv_cache = Path(os.environ.get("UV_CACHE_DIR") or self.home.parent / "uv")

    def find(self, key: Key) -> Environment | None:
        """Return the environment, if it is complete and its Python still there.

        Args:
            key: of the environment.
        """
        environment = Environment(key, self.home / key.folder)
        # Its Python is a link to one that may have been uninstalled since.
        is_there = (environment.path / MARKER).exists() and os.access(environment.python, os.X_OK)
        return environment if is_there else None

    def create(self, key: Key, log: Callable[[str], None] = lambda _: None, keep: Iterable[Key] = ()) -> Environment:
        """Return the environment; make it if it is absent, then remove others until the budget holds.

        Args:
            key: of the environment.
            log: told what is done.
            keep: environments that stay whatever the budget says.

        Raises:
            EnvironmentFailure: it cannot be made.
        """
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            with _locked(self.home / f"{key.folder}.lock"):
                is_new = (environment := self.find(key)) is None
                if environment is None:
                    self._tell_budget(log)
                    self._make_room([key, *keep], log)
                    log(f"installing {key}")
                    environment = self._install(key)
                else:
                    self._tell_other_packages(environment, log)
                os.utime(environment.path / MARKER)
            # What the disk holds in all is at hand, and no less than what the environments take of it.
            if is_new and shutil.disk_usage(self.home).used > self.budget and self.total() > self.budget:
                self.collect(self.budget, [key, *keep], log)
        except FileError as error:
            raise EnvironmentFailure(str(error)) from None
        except OSError as error:
            raise EnvironmentFailure(f"{self.home}: {error.strerror or error}") from None
        else:
            return environment

    @property
    def budget(self) -> int:
        """Bytes that all environments may take together."""
        if self._budget is not None:
            return self._budget
        there = next(folder for folder in (self.home, *self.home.parents) if folder.exists())
        return shutil.disk_usage(there).total // 2

    def _tell_budget(self, log: Callable[[str], None]) -> None:
        if self._has_told_budget:
            return
        self._has_told_budget = True
        why = "" if self._budget is not None else ", half of the disk"
        log(
            f"an environment takes about {format_size(self.cost_of_one()[0])}, and {format_size(self._free())} are free"
        )
        log(f"all may take {format_size(self.budget)} together{why}; the least recently used make room (--budget SIZE)")

    def _free(self) -> int:
        """Return the free bytes of the disk."""
        return shutil.disk_usage(self.home).free

    def _make_room(self, keep: Iterable[Key], log: Callable[[str], None]) -> None:
        """Remove others where the disk has no room for one more; warn where that does not suffice."""
        size, _ = self.cost_of_one()
        if (lacking := size - self._free()) > 0:
            self.collect(max(0, self.total() - lacking), keep, log)
        if self._free() < size:
            log(
                f"the disk may become full: {format_size(self._free())} are free; PT2BUGS_HOME moves the environments, "
                "--torch-backend cpu makes small ones"
            )

    def _tell_other_packages(self, environment: Environment, log: Callable[[str], None]) -> None:
        """Say so where an environment of that name was made from other folders of wheels: it may be another build."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            links = json.loads((environment.path / MARKER).read_text())["find_links"]
            if links != list(self.source.find_links):
                made_from = f"made with --find-links {', '.join(links)}" if links else "made without --find-links"
                log(f"{environment.key}: is there already, {made_from}; remove {environment.path} to have it made anew")

    def _install(self, key: Key) -> Environment:
        path = self.home / key.folder
        remove_tree(path)
        environment = Environment(key, path)
        requirements = [f"torch=={key.torch}", *companions(key.torch)]
        for name in key.extras:
            extra = known_extras().get(name)
            if extra is None:
                requirements.append(dict(key.installs).get(name, name))
                continue
            packages = extra.requirements_for(key.torch)
            if packages is None:
                raise EnvironmentFailure(f"the extra {name!r} is not made for torch {key.torch}")
            requirements += packages
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
            remove_tree(path)
            raise
        facts = {
            "torch": key.torch,
            "python": key.python,
            "extras": list(key.extras),
            "index": key.index,
            "find_links": list(self.source.find_links),
            "requirements": requirements,
            "seconds": round(time.monotonic() - began, 1),
            "bytes": sum(size for _, size in inodes(path)),
        }
        write_text(path / MARKER, json.dumps(facts, indent=1) + "\n")
        return environment

    def _uv(self, *arguments: str) -> None:
        environ = {**os.environ, "UV_CACHE_DIR": str(self.uv_cache), "UV_NO_PROGRESS": "1"}
        environ.pop("VIRTUAL_ENV", None)
        environ.setdefault("PYENV_VERSION", _pyenv_versions())
        # A session of its own: Ctrl-C is for us to handle, and must not look like a failure of uv.
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _END_WITH_PARENT, str(os.getpid()), _find_uv(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            start_new_session=True,
        ) as self._installing:
            try:
                _, stderr = self._installing.communicate()
            except BaseException:
                # Interrupted, it must not go on writing into a folder that the next run makes anew.
                self._installing.kill()
                raise
        status, self._installing = self._installing.returncode, None
        if status != 0:
            raise EnvironmentFailure(_uv_message(stderr) or f"uv ended with status {status}")

    def interrupt(self) -> None:
        """End an installation that runs in another thread; it fails there."""
        if (process := self._installing) is not None:
            process.kill()

    @contextlib.contextmanager
    def using(self, environment: Environment) -> Iterator[None]:
        """Keep the environment from being removed while it is in use; any number may use it at once.

        Args:
            environment: to keep.
        """
        with (self.home / f"{environment.key.folder}.use").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            yield

    def _remove(self, environment: Environment) -> bool:
        """Remove it unless a process makes or uses it."""
        with _alone(self.home / f"{environment.key.folder}.use") as is_unused:
            if not is_unused:
                return False
            with _locked(self.home / f"{environment.key.folder}.lock", wait=False) as is_ours:
                if is_ours:
                    # Another process that makes room may have been faster.
                    (environment.path / MARKER).unlink(missing_ok=True)
                    remove_tree(environment.path)
                return is_ours

    def _is_in_use(self, environment: Environment) -> bool:
        with _alone(self.home / f"{environment.key.folder}.use") as is_unused:
            return not is_unused

    def environments(self) -> Iterator[Environment]:
        """Yield every complete environment, least recently used first."""
        by_age = []
        for marker in self.home.glob(f"*/{MARKER}"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                key = _key_of(json.loads(marker.read_text()))
                by_age.append((marker.stat().st_mtime, Environment(key, marker.parent)))
        for _, environment in sorted(by_age, key=lambda pair: pair[0]):
            yield environment

    def cost_of_one(self) -> tuple[int, float]:
        """Return bytes and seconds of making an environment: as measured here, else as usual for that kind of build."""
        costs = []
        for marker in self.home.glob(f"*/{MARKER}"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                facts = json.loads(marker.read_text())
                costs.append((int(facts["bytes"]), float(facts["seconds"])))
        if not costs:
            return CPU_BYTES if self.source.torch_backend == "cpu" else INSTALL_BYTES, INSTALL_S
        return sum(size for size, _ in costs) // len(costs), sum(seconds for _, seconds in costs) / len(costs)

    def sizes(self) -> list[tuple[Environment, int, int]]:
        """Return for each environment its bytes, and those of them that no other environment has too."""
        files = {environment: dict(inodes(environment.path)) for environment in self.environments()}
        owners = Counter(inode for sizes in files.values() for inode in sizes)
        return [
            (environment, sum(sizes.values()), sum(size for inode, size in sizes.items() if owners[inode] == 1))
            for environment, sizes in files.items()
        ]

    def total(self) -> int:
        """Return the bytes of all environments and the uv cache together, each file counted once.

        What pruning drops from the cache is not counted: while uv works it has to wait.
        """
        sizes: dict[int, int] = dict(inodes(self.home))
        if self.owns_cache:
            sizes.update(inodes(self.uv_cache))
            for archive in self._unused_archives():
                for inode, _ in inodes(archive):
                    sizes.pop(inode, None)
        return sum(sizes.values())

    @property
    def owns_cache(self) -> bool:
        """The uv cache is ours to prune, unless the user named it."""
        return not os.environ.get("UV_CACHE_DIR")

    def collect(
        self, budget: int, keep: Iterable[Key] = (), log: Callable[[str], None] = lambda _: None
    ) -> list[Environment]:
        """Remove least recently used environments until everything fits the budget.

        Environments in use stay.

        Args:
            budget: in bytes.
            keep: environments that stay, too.
            log: told what is removed.

        Returns:
            Those that were removed.
        """
        self._remove_unfinished()
        self._prune_cache()
        removed = []
        for environment, _ in self.to_remove(budget, keep):
            if self._remove(environment):
                log(f"removed {environment.key}")
                removed.append(environment)
        if removed:
            self._prune_cache()
        return removed

    def to_remove(self, budget: int, keep: Iterable[Key] = ()) -> list[tuple[Environment, int]]:
        """Return what `collect` would remove, and the bytes that each frees. Removes nothing.

        Args:
            budget: in bytes.
            keep: environments that stay.
        """
        files = {environment: dict(inodes(environment.path)) for environment in self.environments()}
        owners = Counter(inode for sizes in files.values() for inode in sizes)
        left, kept = self.total(), set(keep)
        removable = []
        for environment, sizes in files.items():
            if left <= budget:
                break
            if environment.key in kept or self._is_in_use(environment):
                continue
            owners.subtract(sizes.keys())
            freed = sum(size for inode, size in sizes.items() if owners[inode] == 0)
            left -= freed
            removable.append((environment, freed))
        return removable

    def _remove_unfinished(self) -> None:
        for path in self.home.glob("torch-*/"):
            if not (path / MARKER).exists():
                with _locked(path.with_name(f"{path.name}.lock"), wait=False) as is_ours:
                    if is_ours:
                        remove_tree(path)

    def _prune_cache(self) -> None:
        """Drop unpacked wheels of our uv cache that no environment links to any more."""
        if not self.owns_cache or not self.uv_cache.is_dir():
            return
        # uv holds this lock, shared, while it works: what it has just unpacked is linked nowhere yet.
        with _alone(self.uv_cache / ".lock") as is_idle:
            if not is_idle:
                return
            for archive in self._unused_archives():
                remove_tree(archive)
            # uv trusts its note of a wheel from a folder, and would install from an archive that is gone.
            for link in self.uv_cache.glob("wheels-v*/**/*"):
                if link.is_symlink() and not link.exists():
                    for noted in (link, link.with_name(f"{link.name}.rev"), link.with_name(f"{link.name}.http")):
                        noted.unlink(missing_ok=True)

    def _unused_archives(self) -> Iterator[Path]:
        """Yield the unpacked wheels of the uv cache that no environment links to."""
        for archive in self.uv_cache.glob("archive-v*/*"):
            links = [stat.st_nlink for stat in stats(archive)]
            if links and max(links) == 1:
                yield archive


def _key_of(facts: Any) -> Key:
    """Return the key of an environment, as its marker says it.

    Raises:
        KeyError, TypeError: the marker does not say it, or what it says cannot be.
    """
    extras = tuple(facts["extras"])
    if not all(isinstance(text, str) for text in (facts["torch"], facts["python"], facts["index"], *extras)):
        raise TypeError("texts are expected")
    return Key(facts["torch"], facts["python"], extras, facts["index"])


_END_WITH_PARENT = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
"""Starts a program that gets SIGKILL when the one that waits for it dies: it would go on installing into a folder that
the next run has begun to make anew."""


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Hold a lock exclusively that others share (filelock cannot); yield False where another process holds it."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextlib.contextmanager
def _locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold a lock between processes; without `wait` it yields False where another process holds it."""
    from filelock import FileLock, Timeout  # not there where results are only read

    lock = FileLock(path, timeout=-1 if wait else 0)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _find_uv() -> str:
    """Return the program of uv.

    Raises:
        EnvironmentFailure: it is not installed.
    """
    try:
        from uv import find_uv_bin

        return find_uv_bin()
    except (ImportError, FileNotFoundError):
        raise EnvironmentFailure(
            f"uv makes the environments, and is not installed: {install_command('envs')}"
        ) from None


def _pyenv_versions() -> str:
    """Return all Pythons of pyenv, for its shims: uv tries the first on the path, and a shim of a version that is not
    switched on fails. Empty, which pyenv reads as unset, where there is no pyenv that this user may read."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    try:
        names = [path.name for path in (root / "versions").iterdir()]
    except OSError:
        return ""
    return ":".join(sorted(name for name in names if re.match(r"3\.[1-9][0-9]", name)))


def _uv_message(stderr: str) -> str:
    """Return what uv said went wrong, on one line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", stderr)
    lines = [re.sub(r"^[\s×╰─▶│├error:]+", "", line).strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("Using ", "Creating ", "Activate ", "Resolved "))]
    message = " ".join(lines)[:600]
    if "No space left" in message or "os error 28" in message:
        return f"the disk is full; `pt2bugs envs gc --budget SIZE` removes environments ({message[:200]})"
    if re.search(r"dns error|error trying to connect|Connection refused|Network is unreachable|client error", message):
        return f"no network, or the package index is away ({message[:300]})"
    return message
