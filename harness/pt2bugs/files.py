"""Files that a reader sees as they were or as they are to be, never half-written; folders that are read whole."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pt2bugs.errors import InputError


class FileError(InputError):
    """A file that cannot be written.

    Cause: a folder that is not there or not writable, a full disk, a folder of that name.
    Remedy: the message names the file; what was there before is untouched.
    """


def listed(folder: Path, suffix: str) -> list[Path]:
    """Return what lies in a folder and has a name that ends so, sorted; nothing where the folder is not there.

    `Path.glob` takes a folder that may not be read for an empty one.

    Args:
        folder: to look into.
        suffix: the end of the names.

    Raises:
        InputError: the folder cannot be read.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(suffix))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(error) from None


def walked(folder: Path, suffix: str, *, hidden: bool = False) -> Iterator[Path]:
    """Yield the files in and below a folder whose names end so, in no order; none where the folder is not there.

    Args:
        folder: to look into.
        suffix: the end of the names.
        hidden: look into hidden folders, and at hidden files, too.

    Raises:
        InputError: a folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise _unreadable(error)

    for top, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if hidden or not name.startswith(".")]
        kept = (name for name in names if name.endswith(suffix) and (hidden or not name.startswith(".")))
        yield from (Path(top, name) for name in kept)


def _unreadable(error: OSError) -> InputError:
    return InputError(f"{error.filename}: cannot be read: {error.strerror}")


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all.

    Args:
        path: of the file.
        text: of it; bytes of a path that are no UTF-8 become visible escapes.

    Raises:
        FileError: it cannot be written.
    """
    write_bytes(path, text.encode(errors="backslashreplace"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; what is no file, such as ``/dev/stdout``, is written to, and not replaced.

    Args:
        path: of the file.
        data: of it.

    Raises:
        FileError: it cannot be written.
    """
    try:
        if _is_stream(path):
            _write_into(path, data)
        else:
            _write_beside(path, data)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None


def append_text(path: Path, text: str) -> None:
    """Add to the end of a text file, which is made if it is not there.

    Args:
        path: of the file.
        text: the end.

    Raises:
        FileError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None


def _is_stream(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise OSError(errno.EINVAL, "is no file")
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _write_into(path: Path, data: bytes) -> None:
    # A pipe that nobody reads is an error, and no wait without an end.
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)


def _write_beside(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(beside).chmod(0o644)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
