"""What two results folders say of the same cells: equal, different, or different for a reason that the header gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pt2bugs.case.expectation import elsewhere
from pt2bugs.case.model import Case
from pt2bugs.results.matrix import CellKey, where_of
from pt2bugs.results.record import Record
from pt2bugs.results.tables import sorted_keys

VERDICT = ("verdict",)
COLUMNS = ("outcome", "verdict", "error_type", "message", "signal", "graphs")
"""What `cells.csv` has of a cell beyond its key."""


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
        """For machines: the key, and both values of every column that differs."""
        both: list[dict[str, Any]] = [dict(record or {}) for record in (self.first, self.second)]
        values = {name: [record.get(name) for record in both] for name in self.columns}
        return {**self.key._asdict(), "differs": values, "reason": self.reason}


def differences(
    first: Mapping[CellKey, Record],
    second: Mapping[CellKey, Record],
    cases: Mapping[str, Case],
    columns: tuple[str, ...] = VERDICT,
) -> list[Difference]:
    """The cells in which two folders differ in one of the columns, in the order of `cells.csv`.

    Releases, Pythons and devices that one of them has no line of at all are left aside: it did not ask there.
    """
    asked = _asked(first) & _asked(second)
    found = []
    for key in sorted_keys(dict.fromkeys([*first, *second])):
        one, other = first.get(key), second.get(key)
        if _place(key) not in asked:
            continue
        if one is None or other is None:
            found.append(Difference(key, one, other, ("verdict",)))
            continue
        differ = tuple(name for name in columns if one[name] != other[name])  # type: ignore[literal-required]
        if differ:
            found.append(Difference(key, one, other, differ, _reason(cases.get(key.case), one, other)))
    return found


def shared_cells(first: Mapping[CellKey, Record], second: Mapping[CellKey, Record]) -> int:
    """How many cells both have a line of."""
    return len(first.keys() & second.keys())


def _place(key: CellKey) -> tuple[str, str, str]:
    return (key.device, key.torch, key.python)


def _asked(lines: Mapping[CellKey, Record]) -> set[tuple[str, str, str]]:
    return {_place(key) for key in lines}


def _reason(case: Case | None, *records: Record) -> str:
    if case is None:
        return ""
    if case.flaky:
        return "the case says that it is flaky"
    reasons = (elsewhere(case, record["check"], where_of(record)) for record in records)
    return next((reason for reason in reasons if reason), "")
