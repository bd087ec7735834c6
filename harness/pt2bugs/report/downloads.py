"""The files to take from the site: tables, headers, lives of bugs, and a feed of the releases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from pt2bugs.bisect.compare import Change, Comparison
from pt2bugs.case.model import Case
from pt2bugs.report.atom import NEVER, Entry, atom
from pt2bugs.report.trends import Trends
from pt2bugs.results.history import History
from pt2bugs.results.journal import Record
from pt2bugs.results.line import CellKey, cell_key
from pt2bugs.results.tables import cells_table, csv_text, matrix_table

FILES = {
    "data/matrix.csv": "the matrix: a row per check, a column per release, the verdict in each",
    "data/cells.csv": "one row per cell: outcome, verdict, exception type, message",
    "data/cases.json": "all that the headers of the cases say",
    "data/lives.json": "of every bug: the releases that have it, that introduced it, that fixed it",
}


def data_files(cases: Sequence[Case], histories: Sequence[History], trends: Trends) -> Iterator[tuple[str, str]]:
    """Yield the files by their path from the top of the site.

    Args:
        cases: the cases that the site shows.
        histories: their rows.
        trends: the lives of their bugs.
    """
    lines: dict[CellKey, Record] = {}
    for history in histories:
        for finding in history.findings.values():
            lines |= {cell_key(record): record for record in (finding.record, *finding.others)}
    cells = cells_table(lines)
    yield "data/matrix.csv", csv_text(matrix_table(cells, cases))
    yield "data/cells.csv", csv_text(cells)
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
    shown = [{key: value for key, value in case.as_json().items() if key != "path"} for case in cases]
    yield "data/cases.json", json.dumps(shown, ensure_ascii=False, indent=1) + "\n"
    yield "data/lives.json", json.dumps(lives, ensure_ascii=False, indent=1) + "\n"


def feed(comparisons: Iterable[Comparison], histories: Sequence[History]) -> str:
    """Return an Atom feed with an entry for each release against the one before it, the newest first.

    Args:
        comparisons: of neighbouring releases, the oldest first.
        histories: say when a release was measured.
    """
    entries = []
    for comparison in comparisons:
        before, after = comparison.before, comparison.after
        counts = {change: len(comparison.of(change)) for change in (Change.BROKEN, Change.DIFFERENT, Change.FIXED)}
        told = ", ".join(f"{count} {change}" for change, count in counts.items() if count)
        changed = [part for part in comparison.differences if part.change in (Change.BROKEN, Change.FIXED)]
        lines = [f"{part.change}: {part.cell.case.id} {part.cell.case.title}" for part in changed]
        entries.append(
            Entry(
                id=f"urn:pt2bugs:torch-{after}",
                title=f"torch {after}: {told or 'no change'}",
                updated=_measured(after, histories),
                href=f"compare.html?a={before}&b={after}",
                summary="\n".join(dict.fromkeys(lines)) or f"No change against torch {before}.",
            )
        )
    return atom("pt2bugs: what torch releases change", "urn:pt2bugs:releases", "feed.xml", entries[::-1])


def _measured(release: str, histories: Sequence[History]) -> str:
    return max(
        (finding.record["started"] for row in histories if (finding := row.findings.get(release))),
        default=NEVER,
    )
