"""Files that a reader sees as they were or as they are to be, never half-written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pt2bugs.errors import InputError


class FileError(InputError):
    """A file that cannot be written.

    Cause: a folder that is not there or not writable, a full disk, a folder of that name.
    Remedy: the message names the file; what was there before is untouched.
    """


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
    """Write a file whole or not at all.

    Args:
        path: of the file.
        data: of it.

    Raises:
        FileError: it cannot be written.
    """
    try:
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
