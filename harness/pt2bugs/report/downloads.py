"""What can be taken from the site: tables, the headers, the lives of the bugs, and a feed of the releases."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from pt2bugs.bisect.compare import Difference
from pt2bugs.case.model import Case
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
        for square in history.squares.values():
            lines |= {cell_key(record): record for record in (square.record, *square.others)}
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


_ATOM = "http://www.w3.org/2005/Atom"


def feed(
    releases: Sequence[str], changes: Sequence[Sequence[Difference]], histories: Sequence[History], repository: str
) -> str:
    """An Atom feed with an entry for each release against the one before it, the newest first.

    `changes` are the differences that each of `releases` but the first made, in the same order.
    """
    ET.register_namespace("", _ATOM)
    root = ET.Element(f"{{{_ATOM}}}feed")

    def add(parent: ET.Element, name: str, text: str = "", **attributes: str) -> ET.Element:
        element = ET.SubElement(parent, f"{{{_ATOM}}}{name}", attributes)
        element.text = text or None
        return element

    days = {release: _measured(release, histories) for release in releases}
    add(root, "title", "pt2bugs: what torch releases change")
    add(root, "id", f"{repository}#releases")
    add(root, "updated", max(days.values(), default="1970-01-01T00:00:00Z"))
    add(root, "link", href="feed.xml", rel="self")
    add(add(root, "author"), "name", "pt2bugs")
    for before, after, differences in reversed(list(zip(releases, releases[1:], changes, strict=False))):
        counts: dict[str, int] = {}
        for one in differences:
            counts[str(one.change)] = counts.get(str(one.change), 0) + 1
        names = [name for name in ("broken", "different failure", "fixed") if name in counts]
        told = ", ".join(f"{counts[name]} {name}" for name in names)
        entry = add(root, "entry")
        add(entry, "title", f"torch {after}: {told or 'no change'}")
        add(entry, "id", f"{repository}#torch-{after}")
        add(entry, "updated", days[after])
        add(entry, "link", href=f"compare.html?a={before}&b={after}")
        changed = [one for one in differences if str(one.change) in ("broken", "fixed")]
        words = [f"{one.change}: {one.cell.case.id} {one.cell.case.title}" for one in changed]
        add(entry, "summary", _printable("\n".join(dict.fromkeys(words))) or f"No change against torch {before}.")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _measured(release: str, histories: Sequence[History]) -> str:
    return max(
        (square.record["started"] for one in histories if (square := one.squares.get(release))),
        default="1970-01-01T00:00:00Z",
    )


def _printable(text: str) -> str:
    """Text without what XML cannot hold."""
    return "".join(c for c in text if c.isprintable() or c == "\n")
