"""What the results say about each check, release by release: the rows that the pages show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from pt2bugs.bisect.evidence import Evidence, Finding
from pt2bugs.bisect.search import Search, State, Transition
from pt2bugs.case.cells import Cell
from pt2bugs.case.words import Verdict
from pt2bugs.results.matrix import CellKey
from pt2bugs.results.record import Record
from pt2bugs.results.tables import matrix_value, sorted_keys, version_key


@dataclass(frozen=True)
class MatrixCell:
    """One cell of the matrix. `record` is the line it shows; `others` are those of further Pythons."""

    record: Record
    others: tuple[Record, ...]
    finding: Finding | None

    @property
    def value(self) -> str:
        """As in `matrix.csv`."""
        return matrix_value(self.record["verdict"], self.record["outcome"])


@dataclass(frozen=True)
class History:
    """A row of the matrix: a check on one device and backend, and what it shows by release where it was run."""

    cell: Cell
    extras: str
    releases: Sequence[str]
    matrix_cells: dict[str, MatrixCell]

    @property
    def anchor(self) -> str:
        """Names the row within the page of its case."""
        name = "-".join(part for part in (*self.cell.key[1:], self.extras) if part)
        return re.sub(r"[^\w.+-]", "_", name)

    def finding(self, release: str) -> Finding | None:
        """What the results say of a release; None where it was not run."""
        return self.matrix_cells[release].finding if release in self.matrix_cells else None

    @cached_property
    def search(self) -> Search[str]:
        """What the results say of each release, as `pt2bugs bisect` takes it."""
        states = {
            release: matrix_cell.finding.state if matrix_cell.finding else State.UNKNOWN
            for release, matrix_cell in self.matrix_cells.items()
        }
        return Search([release for release in self.releases if release in states], states=states)

    @cached_property
    def transitions(self) -> list[Transition[str]]:
        """Where the check flips."""
        return self.search.transitions()


def histories(lines: dict[CellKey, Record], evidence: Evidence) -> list[History]:
    """The rows of the matrix, in its order. Every case of `lines` must be one of the corpus of `evidence`."""
    keys = [key for key in sorted_keys(lines) if key[5]]
    releases = sorted({key[5] for key in keys}, key=version_key)
    found = []
    for (case_id, check, device, backend, extras), group in groupby(keys, key=lambda key: key[:5]):
        case = evidence.cases[case_id]
        if check in {one.name for one in case.checks}:
            cell = Cell(case, case.check(check), device, backend)
            matrix_cells = dict(_matrix_cells(list(group), lines, cell, evidence))
            found.append(History(cell, extras, releases, matrix_cells))
    return found


def _matrix_cells(
    keys: list[CellKey], lines: dict[CellKey, Record], cell: Cell, evidence: Evidence
) -> Iterator[tuple[str, MatrixCell]]:
    for release, group in groupby(keys, key=lambda key: key[5]):
        # By Python version. As in the matrix the newest shows, an error only where there is no answer.
        records = [lines[key] for key in group]
        shown = max(enumerate(records), key=lambda item: (item[1]["verdict"] != Verdict.ERROR, item[0]))[1]
        others = tuple(record for record in records if record is not shown)
        yield release, MatrixCell(shown, others, evidence.find(cell, release, shown["extras"]))
