"""The tables derived from the newest lines: `cells.csv` and `matrix.csv`, as pandas tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from pt2bugs.case.model import Case
from pt2bugs.case.vocabulary import Verdict
from pt2bugs.files import write_text
from pt2bugs.results.journal import Record
from pt2bugs.results.line import CellKey, matrix_value, python_minor, ranks_of, sorted_keys, version_key

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
"""Columns that make a row of the matrix."""


def cells_table(lines: dict[CellKey, Record]) -> pd.DataFrame:
    """Return one row per cell, sorted, with the columns of `cells.csv`.

    Args:
        lines: by cell.
    """
    keys = sorted_keys(lines)
    records: list[Any] = [lines[key] for key in keys]
    columns = {name: [key[place] for key in keys] for place, name in enumerate(CELL_COLUMNS[:6])}
    columns |= {name: [record[name] for record in records] for name in CELL_COLUMNS[6:]}
    return pd.DataFrame(columns, columns=CELL_COLUMNS).astype({"graphs": "Int64"})


def matrix_table(cells: pd.DataFrame, cases: Iterable[Case]) -> pd.DataFrame:
    """Return one row per check x device x backend x extras, one column per release in version order.

    A release run with several Pythons shows the one that most answers of the table have, else another that answered.

    Args:
        cells: as of `cells_table`.
        cases: the corpus, for component and symptom.
    """
    known = {case.id: case for case in cases}
    cells = cells[cells["torch"] != ""]
    releases = sorted(cells["torch"].unique(), key=version_key)
    head = ["case", "check", "component", "symptom", "device", "backend", "extras"]
    if cells.empty:
        return pd.DataFrame(columns=head)
    values = [matrix_value(v, o) for v, o in zip(cells["verdict"], cells["outcome"], strict=True)]
    answers, pythons = cells["verdict"] != Verdict.ERROR, cells["python"].map(python_minor)
    ranks = ranks_of(pythons[answers])
    usual = [ranks[python][0] if python in ranks else 0 for python in pythons]
    wide = (
        cells.assign(value=values, answers=answers, usual=usual)
        .sort_values(["answers", "usual"], kind="stable")
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
    """Write a table beside its place and rename it, so that a reader sees the old one or the new one.

    Args:
        table: any.
        path: of the file.

    Raises:
        FileError: it cannot be written.
    """
    write_text(path, csv_text(table))


_FORMULA = frozenset("=+-@\t\r")


def csv_text(table: pd.DataFrame) -> str:
    """Return CSV with one header line, in which no text starts a formula when a spreadsheet opens it.

    Such a text gets an apostrophe in front, which spreadsheets take as "this is text".

    Args:
        table: any.
    """
    columns = [[_as_field(value) for value in column.tolist()] for _, column in table.items()]
    lines = _Lines()
    # pandas writes through this writer, too, and takes three times as long to come to it.
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(zip(*columns, strict=True))
    return "".join(lines)


class _Lines(list[str]):
    """What is written, in a quarter of the memory of a `StringIO`, which keeps four bytes for each character."""

    def write(self, text: str) -> None:
        """Take what is written.

        Args:
            text: the next part.
        """
        self.append(text)


def _as_field(value: Any) -> Any:
    if isinstance(value, str):
        return f"'{value}" if value[:1] in _FORMULA else value
    return "" if value is None or value is pd.NA else value
