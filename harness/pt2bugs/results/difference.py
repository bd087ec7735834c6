"""The differences between two results folders about the same cells, and the reasons that headers give for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pt2bugs.case.expectation import elsewhere
from pt2bugs.case.model import Case
from pt2bugs.results.journal import Record
from pt2bugs.results.line import CellKey, sorted_keys, where_of

VERDICT = ("verdict",)
COLUMNS = ("outcome", "verdict", "error_type", "message", "signal", "graphs")
"""Columns of `cells.csv` beyond the key of a cell."""


@dataclass(frozen=True)
class Difference:
    """A cell of which two folders say different things; `None` where one has no line.

    `reason` is what the header says about it: that the case is flaky, or shows its bug on some machines only.
    """

    key: CellKey
    first: Record | None
    second: Record | None
    columns: tuple[str, ...]
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the key, and both values of every column that differs."""
        both: list[dict[str, Any]] = [dict(record or {}) for record in (self.first, self.second)]
        values = {name: [record.get(name) for record in both] for name in self.columns}
        return {**self.key._asdict(), "differs": values, "reason": self.reason}


def differences(
    first: Mapping[CellKey, Record],
    second: Mapping[CellKey, Record],
    cases: Mapping[str, Case],
    columns: tuple[str, ...] = VERDICT,
) -> list[Difference]:
    """Return the cells in which two folders differ, in the order of `cells.csv`.

    Releases, Pythons and devices that one of them has no line of at all are left aside: it did not ask there.

    Args:
        first: the newest lines of one folder.
        second: those of the other.
        cases: by id.
        columns: those that are compared.
    """
    places = _places(first) & _places(second)
    different = []
    for key in sorted_keys(dict.fromkeys([*first, *second])):
        left, right = first.get(key), second.get(key)
        if _place(key) not in places:
            continue
        if left is None or right is None:
            different.append(Difference(key, left, right, ("verdict",)))
            continue
        differ = tuple(name for name in columns if left[name] != right[name])  # type: ignore[literal-required]
        if differ:
            different.append(Difference(key, left, right, differ, _reason(cases.get(key.case), left, right)))
    return different


def shared_cells(first: Mapping[CellKey, Record], second: Mapping[CellKey, Record]) -> int:
    """Return how many cells both folders have a line of.

    Args:
        first: the newest lines of one folder.
        second: those of the other.
    """
    return len(first.keys() & second.keys())


def _place(key: CellKey) -> tuple[str, str, str]:
    return (key.device, key.torch, key.python)


def _places(lines: Mapping[CellKey, Record]) -> set[tuple[str, str, str]]:
    return {_place(key) for key in lines}


def _reason(case: Case | None, *records: Record) -> str:
    if case is None:
        return ""
    if case.flaky:
        return "the case says that it is flaky"
    reasons = (elsewhere(case, record["check"], where_of(record)) for record in records)
    return next((reason for reason in reasons if reason), "")
