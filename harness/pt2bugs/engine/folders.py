"""The folders of a run and of its cells, copies and removal whatever was left in them, and the cache of pt2bugs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MIRROR_BYTES, MIRROR_FILES, MIRROR_DEPTH = 1 << 30, 20_000, 32
"""Bounds of what is copied of a folder that a cell has written to."""


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

    @classmethod
    def is_one(cls, path: Path) -> bool:
        """Return whether a folder is that of a run.

        Args:
            path: of the folder.
        """
        return path.name.startswith(cls.PREFIX)

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
        _remove(str(path), None)


def _remove(name: str, parent: int | None) -> None:
    if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=parent)
        return
    with _opened(name, parent) as folder:
        _empty(folder)
    os.rmdir(name, dir_fd=parent)


@contextlib.contextmanager
def _opened(name: str, parent: int | None) -> Iterator[int]:
    """Open a folder, whatever rights it has; a link is never followed."""
    _unlock(name, parent)
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield folder
    finally:
        os.close(folder)


def mirror(source: Path, target: Path) -> None:
    """Make a folder have the files and folders of another one, and nothing else.

    Links, pipes and devices are left out, and so is what goes beyond `MIRROR_BYTES`, `MIRROR_FILES` or `MIRROR_DEPTH`:
    code that nobody has read may have written the source.

    Args:
        source: is read.
        target: is there, too.

    Raises:
        OSError: the target cannot be written.
    """
    with _opened(str(source), None) as theirs, _opened(str(target), None) as own:
        _mirror(theirs, own, _Room(), 0)


@dataclass
class _Room:
    """What may still be copied."""

    bytes: int = MIRROR_BYTES
    files: int = MIRROR_FILES

    def takes(self, status: os.stat_result) -> bool:
        """Take off a file, or a folder, if there is room for it."""
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        if size > self.bytes or not self.files:
            return False
        self.bytes, self.files = self.bytes - size, self.files - 1
        return True


def _mirror(source: int, target: int, room: _Room, depth: int) -> None:
    with os.scandir(source) as entries:
        statuses = {entry.name: entry.stat(follow_symlinks=False) for entry in entries}
    kept = {
        name: status
        for name, status in sorted(statuses.items())
        if (stat.S_ISREG(status.st_mode) or (stat.S_ISDIR(status.st_mode) and depth < MIRROR_DEPTH))
        and room.takes(status)
    }
    there = {name: os.stat(name, dir_fd=target, follow_symlinks=False) for name in os.listdir(target)}
    for name, status in there.items():
        if name not in kept or stat.S_IFMT(status.st_mode) != stat.S_IFMT(kept[name].st_mode):
            _remove(name, target)
    for name, status in kept.items():
        if stat.S_ISDIR(status.st_mode):
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, stat.S_IRWXU, dir_fd=target)
            with _opened(name, source) as theirs, _opened(name, target) as own:
                _mirror(theirs, own, room, depth + 1)
        elif name not in there or _stamp(there[name]) != _stamp(status):
            _copy(name, status, source, target)


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return stat.S_IFMT(status.st_mode), status.st_size, status.st_mtime_ns


def _copy(name: str, status: os.stat_result, source: int, target: int) -> None:
    """Copy a regular file with its time."""
    mode = stat.S_IMODE(status.st_mode) & 0o777 | stat.S_IRUSR | stat.S_IWUSR
    if not status.st_mode & stat.S_IRUSR:
        os.chmod(name, mode, dir_fd=source)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=target)
    read = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=source)
    with os.fdopen(read, "rb") as theirs:
        write = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=target)
        with os.fdopen(write, "wb") as own:
            shutil.copyfileobj(theirs, own)
            own.flush()
            os.utime(write, ns=(status.st_atime_ns, status.st_mtime_ns))


def _empty(root: int) -> None:
    counter = 0
    stuck: set[str] = set()
    while folders := [name for name in _remove_files(root) if name not in stuck]:
        for name in folders:
            try:
                with _opened(name, root) as folder:
                    for inner in _remove_files(folder):
                        counter += 1
                        with contextlib.suppress(OSError):
                            _unlock(inner, folder)
                            os.rename(
                                inner, f".removed-{counter}-{secrets.token_hex(4)}", src_dir_fd=folder, dst_dir_fd=root
                            )
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
