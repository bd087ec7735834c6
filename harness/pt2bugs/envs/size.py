"""Sizes on disk: as people write them, and of folders whose files are shared by hard links."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path


def stats(root: Path) -> Iterator[os.stat_result]:
    """Yield the status of every file below a folder; links are not followed.

    Args:
        root: the folder.
    """
    for folder, _, names in os.walk(root):
        for name in names:
            with contextlib.suppress(OSError):
                yield (Path(folder) / name).lstat()


def inodes(root: Path) -> Iterator[tuple[int, int]]:
    """Yield inode and bytes on disk of every file below a folder.

    Args:
        root: the folder.
    """
    for stat in stats(root):
        yield stat.st_ino, stat.st_blocks * 512


_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Return the bytes in ``60G`` or ``500M``. A plain number has no meaning: 5 could be bytes or gigabytes.

    Args:
        text: a number with its unit.

    Raises:
        ValueError: it is no size, or has no unit.
    """
    matched = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*([KMGT])(?:i?B)?", text.strip(), re.IGNORECASE)
    if not matched:
        raise ValueError(f"{text!r} is not a size with its unit; write for example 60G or 500M")
    return int(float(matched[1]) * _UNITS[matched[2].upper()])


def format_size(size: int) -> str:
    """Return bytes for people: ``5.2 GiB``.

    Args:
        size: the bytes.
    """
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit in ("B", "KiB") else f"{value:.1f} {unit}"
        value /= 1024
    return f"{size} B"
