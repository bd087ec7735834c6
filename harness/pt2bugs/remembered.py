"""What was worked out from files, kept for the next command, and used only while the files are what they were.

It lies in the user's cache (``PT2BUGS_HOME`` moves it). Where that cannot be written, everything is worked out anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import packaging

from pt2bugs.engine.folders import cache_home
from pt2bugs.files import FileError, write_bytes

T = TypeVar("T")

WORTH_S = 0.1
"""What takes less time to work out is not kept."""
MOST = 16
"""Kept files; of more, those that were written longest ago go."""


def remembered(name: str, roots: Sequence[Path], files: Iterable[Path], make: Callable[[], tuple[T, bool]]) -> T:
    """What `make` works out from `files`; from the cache, if the bytes of the files, and pt2bugs, are the same.

    Args:
        roots: with `name` they name the kept file: another answer for them replaces it.
        make: gives the answer, and whether it may be kept: not one that came with warnings, which must be heard again.

    Raises:
        Exception: whatever `make` raises.
    """
    files = list(files)
    kept = _path(name, roots)
    key = _digest(files)
    known = _read(kept, key)
    if known is not None:
        answer: T = known[0]
        return answer
    began = time.perf_counter()
    answer, may_be_kept = make()
    # A file that was written meanwhile would be remembered by what it was before.
    if kept and key and may_be_kept and time.perf_counter() - began > WORTH_S and _digest(files) == key:
        with contextlib.suppress(FileError, RecursionError, pickle.PicklingError):
            write_bytes(kept, key + pickle.dumps((answer,), pickle.HIGHEST_PROTOCOL))
            _tidy(kept.parent)
    return answer


def digest_of(text: str, named: Iterable[tuple[str, Path]]) -> bytes:
    """Of a text, and of files, each by a name for it and its content; empty if one of them cannot be read."""
    digest = hashlib.sha256(text.encode())
    try:
        for name, path in named:
            data = path.read_bytes()
            digest.update(f"\0{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
            digest.update(data)
    except OSError:
        return b""
    return digest.digest()


def _path(name: str, roots: Sequence[Path]) -> Path | None:
    """Where an answer is kept; None on a machine where the user has no folder."""
    try:
        text = "\0".join(str(root.resolve()) for root in roots)
        return (
            cache_home() / "remembered" / f"{name}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
        )
    except (RuntimeError, OSError):
        return None


def _digest(files: Iterable[Path]) -> bytes:
    """Of the files, by name and content, and of the programs that read them; empty if one cannot be read."""
    package = Path(__file__).parent
    programs = [Path(__file__)]
    for room in ("case", "results", "triage"):
        programs += package.glob(f"{room}/*.py")
    named = [(str(path), path) for path in (*sorted(programs), *files)]
    return digest_of(f"{sys.version}\0{packaging.__version__}", named)


def _read(kept: Path | None, key: bytes) -> tuple[Any] | None:
    """A tuple with the kept answer; None if there is none, or another than that of the key."""
    if kept is None or not key:
        return None
    try:
        with kept.open("rb") as file:
            found = os.fstat(file.fileno())
            # Unpickling runs what the file says: only the user's own is read.
            if found.st_uid != os.getuid() or found.st_mode & 0o022 or file.read(len(key)) != key:
                return None
            answer: tuple[Any] = pickle.load(file)
            return answer
    except Exception:
        # A torn file raises whatever its bytes lead to.
        return None


def _tidy(folder: Path) -> None:
    with contextlib.suppress(OSError):
        files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in files[MOST:]:
            path.unlink(missing_ok=True)
