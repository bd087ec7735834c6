"""What can be taken from the site: tables, the headers, the lives of the bugs, and a feed of the releases."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pt2bugs.bisect.compare import Difference
from pt2bugs.case.model import Case
from pt2bugs.report.atom import NEVER, Entry, atom
from pt2bugs.report.history import History
from pt2bugs.report.trends import Trends
from pt2bugs.results.matrix import CellKey, cell_key
from pt2bugs.results.record import Record
from pt2bugs.results.tables import cells_table, csv_text, matrix_table

FILES = {
    "data/matrix.csv": "the matrix: a row per check, a column per release, the verdict in each",
    "data/cells.csv": "one row per cell: outcome, verdict, exception type, message",
    "data/cases.json": "all that the headers of the cases say",
    "data/lives.json": "of every bug: the releases that have it, that introduced it, that fixed it",
}


def data_files(cases: Sequence[Case], histories: Sequence[History], trends: Trends) -> dict[str, str]:
    """The files by their path from the top of the site."""
    lines: dict[CellKey, Record] = {}
    for history in histories:
        for matrix_cell in history.matrix_cells.values():
            lines |= {cell_key(record): record for record in (matrix_cell.record, *matrix_cell.others)}
    cells = cells_table(lines)
    lives = [
        {
            "case": life.case.id,
            "component": life.case.component,
            "symptom": life.case.symptom,
            "issue": life.case.issue,
            "title": life.case.title,
            "open_in": list(life.open_in),
            "introduced": list(life.introduced),
            "fixed": list(life.fixed),
            "open": life.is_open,
        }
        for life in trends.lives
    ]
    # No path of the machine that makes the page.
    shown = [{key: value for key, value in case.as_dict().items() if key != "path"} for case in cases]
    return {
        "data/matrix.csv": csv_text(matrix_table(cells, cases)),
        "data/cells.csv": csv_text(cells),
        "data/cases.json": json.dumps(shown, ensure_ascii=False, indent=1) + "\n",
        "data/lives.json": json.dumps(lives, ensure_ascii=False, indent=1) + "\n",
    }


def feed(
    releases: Sequence[str], changes: Sequence[Sequence[Difference]], histories: Sequence[History], repository: str
) -> str:
    """An Atom feed with an entry for each release against the one before it, the newest first.

    `changes` are the differences that each of `releases` but the first made, in the same order.
    """
    entries = []
    for before, after, differences in reversed(list(zip(releases, releases[1:], changes, strict=False))):
        counts: dict[str, int] = {}
        for one in differences:
            counts[str(one.change)] = counts.get(str(one.change), 0) + 1
        names = [name for name in ("broken", "different failure", "fixed") if name in counts]
        told = ", ".join(f"{counts[name]} {name}" for name in names)
        changed = [one for one in differences if str(one.change) in ("broken", "fixed")]
        lines = [f"{one.change}: {one.cell.case.id} {one.cell.case.title}" for one in changed]
        entries.append(
            Entry(
                id=f"{repository}#torch-{after}",
                title=f"torch {after}: {told or 'no change'}",
                updated=_measured(after, histories),
                href=f"compare.html?a={before}&b={after}",
                summary="\n".join(dict.fromkeys(lines)) or f"No change against torch {before}.",
            )
        )
    return atom("pt2bugs: what torch releases change", f"{repository}#releases", "feed.xml", entries)


def _measured(release: str, histories: Sequence[History]) -> str:
    return max(
        (matrix_cell.record["started"] for one in histories if (matrix_cell := one.matrix_cells.get(release))),
        default=NEVER,
    )
