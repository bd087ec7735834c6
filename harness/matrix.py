"""The matrix: the newest countable line of every cell, as pandas tables.

Outcomes come from the journal, expectations from the case files as they are now: a verdict is derived
again whenever a table is made, so that editing a `[[tool.pt2bugs.bug]]` entry needs no new run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import pandas as pd
from packaging.version import InvalidVersion, Version

from harness.case import Case
from harness.expectation import Where, judge, public
from harness.files import write_text
from harness.garbage import no_collection
from harness.journal import Record, journal_files, read_newest
from harness.outcome import Observation, Verdict

CELL_COLUMNS = [
    "case",
    "check",
    "device",
    "backend",
    "extras",
    "torch",
    "python",
    "outcome",
    "verdict",
    "error_type",
    "message",
    "signal",
    "graphs",
]
ROW = ["case", "check", "device", "backend", "extras"]
"""What makes a row of the matrix."""

CellKey = tuple[str, str, str, str, str, str, str]
"""Case, check, device, backend, extras, public torch version, Python minor version."""


def cell_key(record: Record) -> CellKey:
    """Which cell a journal line is about."""
    return (
        record["case"],
        record["check"],
        record["device"],
        record["backend"],
        "+".join(record["extras"]),
        public_or_empty(record["torch"]),
        python_minor(record["python"]),
    )


@lru_cache(maxsize=4096)
def public_or_empty(version: str) -> str:
    try:
        return public(version)
    except InvalidVersion:
        return ""


@lru_cache(maxsize=4096)
def python_minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def is_complete(record: Record) -> bool:
    """Whether the line closes its cell: the last repeat, and not an error of the environment."""
    return bool(record["repeat"] >= record["repeats"]) and record["verdict"] != Verdict.ERROR


def newest(records: Iterable[Record], cases: dict[str, Case]) -> dict[CellKey, Record]:
    """The newest line of every cell, with its verdict by today's expectations.

    A line of an older version of a case file is stale and left out. An error of the environment, or a
    series of repeats that was cut off, counts only while the cell has nothing better.
    """
    found: dict[CellKey, Record] = {}
    ranks: dict[CellKey, tuple[bool, str]] = {}
    for record in records:
        case = cases.get(record["case"])
        if case is not None and record["case_hash"] != case.hash:
            continue
        key, rank = cell_key(record), _rank(record)
        known = ranks.get(key)
        if known is None or rank >= known:
            ranks[key], found[key] = rank, record
    return {key: _judged(record, cases.get(record["case"])) for key, record in found.items()}


def _rank(record: Record) -> tuple[bool, str]:
    return is_complete(record), record["started"]


def _judged(record: Record, case: Case | None) -> Record:
    if case is None or record["verdict"] in (Verdict.FLAKY, Verdict.ERROR) or not record["torch"]:
        return record
    if all(check.name != record["check"] for check in case.checks):
        return record
    where = Where(public(record["torch"]), record["python"], record["device"], record["backend"])
    verdict = judge(case, record["check"], where, Observation.from_dict(record)).verdict
    return record if record["verdict"] == verdict else {**record, "verdict": str(verdict)}


class Results:
    """A results folder: `journal/*.jsonl` and the tables derived from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal_folder = folder / "journal"

    def load(self, cases: Iterable[Case], warn: Callable[[str], None]) -> dict[CellKey, Record]:
        """The newest line of every cell.

        Raises:
            JournalError: a journal cannot be read, or is of a newer schema.
        """
        files = journal_files(self.journal_folder)
        with no_collection():
            return newest(read_newest(files, warn), {case.id: case for case in cases})

    def derive(self, cases: list[Case], warn: Callable[[str], None]) -> None:
        """Write `cells.csv` and `matrix.csv` anew, each whole or not at all.

        Raises:
            JournalError: a journal cannot be read.
            OSError: a table cannot be written; the one that was there stays.
        """
        cells = cells_table(self.load(cases, warn))
        write_csv(cells, self.folder / "cells.csv")
        write_csv(matrix_table(cells, cases), self.folder / "matrix.csv")


@lru_cache(maxsize=4096)
def version_key(version: str) -> Version:
    return Version(version or "0")


def sorted_keys(lines: Iterable[CellKey]) -> list[CellKey]:
    """Cells by case, check, device, backend and extras, then in version order."""
    keys = list(lines)
    # A few dozen versions among many cells: put them in order once.
    versions = sorted({version for key in keys for version in key[5:]}, key=lambda text: (version_key(text), text))
    place = {version: number for number, version in enumerate(versions)}
    return sorted(keys, key=lambda key: (*key[:5], place[key[5]], place[key[6]]))


def cells_table(lines: dict[CellKey, Record]) -> pd.DataFrame:
    """One row per cell, sorted, with the columns of `cells.csv`."""
    with no_collection():
        keys = sorted_keys(lines)
        records = [lines[key] for key in keys]
        columns = {name: [key[place] for key in keys] for place, name in enumerate(CELL_COLUMNS[:6])}
        columns |= {name: [record[name] for record in records] for name in CELL_COLUMNS[6:]}
        return pd.DataFrame(columns, columns=CELL_COLUMNS).astype({"graphs": "Int64"})


def matrix_value(verdict: str, outcome: str) -> str:
    """A cell of the matrix: the verdict, and how it failed where it failed as documented."""
    return f"xfail:{outcome}" if verdict == Verdict.XFAIL else verdict


def matrix_table(cells: pd.DataFrame, cases: Iterable[Case]) -> pd.DataFrame:
    """One row per check x device x backend x extras, one column per release in version order.

    A release run with several Pythons shows the newest Python on which it gave an answer.
    """
    known = {case.id: case for case in cases}
    cells = cells[cells["torch"] != ""]
    releases = sorted(cells["torch"].unique(), key=version_key)
    head = ["case", "check", "component", "symptom", "device", "backend", "extras"]
    if cells.empty:
        return pd.DataFrame(columns=head)
    values = [matrix_value(v, o) for v, o in zip(cells["verdict"], cells["outcome"], strict=True)]
    wide = (
        cells.assign(value=values, answers=cells["verdict"] != Verdict.ERROR)
        .sort_values("answers", kind="stable")
        .drop_duplicates([*ROW, "torch"], keep="last")
        .pivot(index=ROW, columns="torch", values="value")
        .reindex(columns=releases)
        .fillna("")
        .sort_index()
        .reset_index()
    )
    for position, attribute in ((2, "component"), (3, "symptom")):
        column = [getattr(known[id_], attribute) if id_ in known else "" for id_ in wide["case"]]
        wide.insert(position, attribute, column)
    wide.columns.name = None
    return wide[[*head, *releases]]


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write beside and rename, so that a reader sees the old table or the new one."""
    write_text(path, csv_text(table))


_FORMULA = frozenset("=+-@\t\r")


def csv_text(table: pd.DataFrame) -> str:
    """CSV with one header line, in which no text starts a formula when a spreadsheet opens it.

    Such a text gets an apostrophe in front, which spreadsheets take as "this is text".
    """

    safe = {
        name: [f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value for value in column.tolist()]
        for name, column in table.items()
    }
    text: str = pd.DataFrame(safe, dtype=object).to_csv(index=False, lineterminator="\n")
    return text
