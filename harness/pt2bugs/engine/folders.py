"""The folders of a run and of its cells, their removal whatever was left in them, and the cache of pt2bugs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import tempfile
import time
from pathlib import Path


def cache_home() -> Path:
    """Return where environments and what was learnt about them are kept; ``PT2BUGS_HOME`` moves it."""
    if home := os.environ.get("PT2BUGS_HOME"):
        return Path(home)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pt2bugs"


class RunFolder:
    """A temporary folder of a run. If the run is killed, the next one removes it.

    The folder itself is locked: a file in it could be removed by what runs there.
    """

    PREFIX = "pt2bugs-run-"

    def __init__(self, path: Path, lock: int) -> None:
        self.path, self._lock = path, lock

    @classmethod
    def create(cls, purpose: str = "cells") -> RunFolder:
        """Make the folder of a run.

        Args:
            purpose: a word of its name.

        Raises:
            OSError: the temporary folder is full, or not writable.
        """
        base = Path(tempfile.gettempdir())
        for old in base.glob(f"{cls.PREFIX}*"):
            with contextlib.suppress(OSError):
                if cls._is_abandoned(old):
                    remove_tree(old)
        path = Path(tempfile.mkdtemp(prefix=f"{cls.PREFIX}{purpose}-"))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            remove_tree(path)
            raise
        return cls(path, lock)

    @staticmethod
    def _is_abandoned(path: Path) -> bool:
        status = path.lstat()
        if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
            return False
        # Another run may just have made its folder, and not locked it yet.
        if time.time() - status.st_mtime < 10:
            return False
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(lock)
        return True

    def remove(self) -> None:
        remove_tree(self.path)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


class CellFolder:
    """The folder of a supervisor's cells, one after the other, with the variables that point there.

    It is made before the cell is forked, so that the cell has nothing to prepare.
    """

    FOLDERS = ("home", "tmp", "work")

    def __init__(self, run_folder: Path, name: str) -> None:
        self._run_folder, self._prefix = run_folder, name
        self._is_ready = False
        self._set_name(name)

    def _set_name(self, name: str) -> None:
        self.path = f"{self._run_folder}/{name}"
        # The caches are made by those who use them.
        for variable, folder in (
            ("HOME", "home"),
            ("TMPDIR", "tmp"),
            ("XDG_CACHE_HOME", "home/.cache"),
            ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
            ("TRITON_CACHE_DIR", "triton"),
        ):
            os.environ[variable] = f"{self.path}/{folder}"

    @property
    def output(self) -> str:
        """Return the file that takes what the cell prints."""
        return f"{self.path}/output"

    def make(self) -> None:
        """Make it if it is not there.

        Raises:
            OSError: it cannot be made.
        """
        if self._is_ready:
            return
        if os.path.lexists(self.path):
            # A check has left something there that cannot be removed.
            self._set_name(f"{self._prefix}-{secrets.token_hex(8)}")
        try:
            for folder in ("", *self.FOLDERS):
                os.mkdir(f"{self.path}/{folder}", stat.S_IRWXU)  # noqa: PTH102
        except OSError:
            remove_tree(Path(self.path))
            raise
        self._is_ready = True

    def renew(self) -> None:
        """Remove what a cell has left, and prepare the folder of the next one."""
        self._is_ready = False
        remove_tree(Path(self.path))
        with contextlib.suppress(OSError):
            self.make()


def remove_tree(path: Path) -> None:
    """Remove a folder, as far as it can be removed; never raises.

    Also where a check took away its own permissions, put something else in its place, or nested folders deeper than
    a path may be long: each folder found is moved up into `path` before it is looked into.

    Args:
        path: of the folder.
    """
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return
        _unlock(str(path), None)
        root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _empty(root)
        finally:
            os.close(root)
        path.rmdir()


def _empty(root: int) -> None:
    counter = 0
    stuck: set[str] = set()
    while folders := [name for name in _remove_files(root) if name not in stuck]:
        for name in folders:
            try:
                _unlock(name, root)
                folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
            except OSError:
                stuck.add(name)
                continue
            try:
                for inner in _remove_files(folder):
                    counter += 1
                    with contextlib.suppress(OSError):
                        _unlock(inner, folder)
                        os.rename(
                            inner, f".removed-{counter}-{secrets.token_hex(4)}", src_dir_fd=folder, dst_dir_fd=root
                        )
            finally:
                os.close(folder)
            try:
                os.rmdir(name, dir_fd=root)
            except OSError:
                stuck.add(name)


def _remove_files(folder: int) -> list[str]:
    """Remove everything but folders; returns the names of those."""
    folders = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in list(entries):
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    os.unlink(entry.name, dir_fd=folder)
    return folders


def _unlock(name: str, parent: int | None) -> None:
    """Give ourselves every right on a folder; a link is never followed."""
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(name, stat.S_IRWXU, dir_fd=parent)
