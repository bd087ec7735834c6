"""The splits: the part that each bug is in. Bugs of one group are in one part."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from pt2bugs.dataset.rows import Row

BY_ROOT = (("train", 70), ("validation", 85), ("test", 100))
"""The parts of the split by root, and the percentage that each ends at."""
BY_DAY = (("train", "2025-07-01"), ("validation", "2026-01-01"))
"""The parts of the split by day, and the day before which the fix of each was released."""
NEWEST = "test"
UNFIXED = "unfixed"


def by_root(rows: Iterable[Row]) -> list[Row]:
    """Return the part of each bug by a hash of its group: 70, 15 and 15 percent.

    Args:
        rows: of `bugs`.
    """
    return [{"bug": row["bug"], "part": _part_of_hash(row["group"])} for row in rows]


def _part_of_hash(group: str) -> str:
    percent = int.from_bytes(hashlib.sha256(group.encode()).digest()[:8], "big") % 100
    return next(part for part, end in BY_ROOT if percent < end)


def by_day(rows: Iterable[Row]) -> list[Row]:
    """Return the part of each bug by the day of the release that fixed it; a group goes where its latest one goes.

    Args:
        rows: of `bugs`.
    """
    rows = list(rows)
    order = [*(part for part, _ in BY_DAY), NEWEST, UNFIXED]
    latest: dict[str, str] = {}
    rank: Callable[[str], Any] = order.index
    for row in rows:
        latest[row["group"]] = max(latest.get(row["group"], order[0]), _part_of_day(row), key=rank)
    return [{"bug": row["bug"], "part": latest[row["group"]]} for row in rows]


def _part_of_day(row: Row) -> str:
    if not row["fixed_in"]:
        return UNFIXED
    # A release without a known day is newer than this version of pt2bugs.
    return next((part for part, end in BY_DAY if row["fixed_on"] and row["fixed_on"] < end), NEWEST)
