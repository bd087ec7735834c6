"""`json`: one object per cell, with all keys of the journal and the facts of its case (docs/reference/exports.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from pt2bugs.export import Selected
from pt2bugs.results.line import sorted_keys


def records(selected: Selected) -> Iterator[dict[str, Any]]:
    """Yield the newest line of every cell in the order of `cells.csv`; `release` is the public torch version.

    Args:
        selected: what to export.
    """
    for key in sorted_keys(selected.lines):
        record = selected.lines[key]
        case = selected.cases.get(record["case"])
        about = (
            {"component": case.component, "symptom": case.symptom, "issue": case.issue, "title": case.title}
            if case
            else dict.fromkeys(("component", "symptom", "issue", "title"), "")
        )
        yield {**record, **about, "release": key.torch}


def one_per_line(rows: Iterable[dict[str, Any]]) -> bytes:
    """Return a JSON array with one object per line: for diffs, and a fifth of the time that indenting takes.

    Args:
        rows: the objects.
    """
    lines = (json.dumps(row, ensure_ascii=False).encode() for row in rows)
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def render(selected: Selected) -> bytes:
    return one_per_line(records(selected))
