"""The files of the data set, by path. The same corpus and results give the same bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pt2bugs.case.corpus import brought
from pt2bugs.case.model import Case
from pt2bugs.dataset.metadata import checksums, croissant
from pt2bugs.dataset.rows import Row, Tables, program_path
from pt2bugs.dataset.schema import BUGS, CELLS, SCHEMA, SPLIT, Column
from pt2bugs.dataset.splits import by_day, by_root
from pt2bugs.isolate import fixes
from pt2bugs.results.tables import csv_text

_TYPES = {"text": pa.string(), "texts": pa.list_(pa.string()), "integer": pa.int64(), "boolean": pa.bool_()}
DATASHEET = Path("evaluation") / "datasheet.md"
README = Path(__file__).parent / "README.md"


def data_set(tables: Tables, cases: Iterable[Case], results: Path, *, is_ours: bool) -> dict[str, bytes]:
    """Return every file, by its path in the data set.

    Args:
        tables: the rows.
        cases: those whose programs belong to it.
        results: the folder that may have isolations.
        is_ours: the corpus is the one that the datasheet describes.
    """
    files = {
        "bugs.jsonl": _json_lines(tables.bug_rows),
        "bugs.parquet": _parquet(tables.bug_rows, BUGS),
        "cells.parquet": _parquet(tables.cell_rows, CELLS),
        "splits/by-root.csv": _csv(by_root(tables.bug_rows)),
        "splits/by-day.csv": _csv(by_day(tables.bug_rows)),
    }
    for case in cases:
        files[program_path(case)] = case.path.read_bytes()
        isolated = results / fixes.FOLDER / f"{case.id}.json"
        if isolated.is_file():
            files[f"fixes/{case.id}.json"] = isolated.read_bytes()
    files["README.md"] = README.read_bytes()
    if is_ours:
        files["datasheet.md"] = (brought("docs") / DATASHEET).read_bytes()
        files["CITATION.cff"] = (brought("docs").parent / "CITATION.cff").read_bytes()
    files["croissant.json"] = croissant(files)
    return {**files, "SHA256SUMS": checksums(files)}


def _json_lines(rows: Iterable[Row]) -> bytes:
    return "".join(json.dumps({"schema": SCHEMA, **row}, ensure_ascii=False) + "\n" for row in rows).encode()


def _parquet(rows: Sequence[Row], columns: Sequence[Column]) -> bytes:
    schema = pa.schema(
        [pa.field(column.name, _TYPES[column.type]) for column in columns],
        metadata={"pt2bugs.schema": str(SCHEMA)},
    )
    buffer = io.BytesIO()
    # Named, since the defaults may change with pyarrow.
    pq.write_table(pa.Table.from_pylist(list(rows), schema), buffer, compression="zstd", version="2.6")
    return buffer.getvalue()


def _csv(rows: Sequence[Row]) -> bytes:
    return csv_text(pd.DataFrame(list(rows), columns=[column.name for column in SPLIT])).encode()
