"""Writes the figures and tables of docs/evaluation/fixes.md from `results/fixes`: `python docs/make_fixes.py`.

What stands between two comments ``<!-- name -->`` and ``<!-- end -->`` is written anew. A test holds it up to date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from packaging.version import Version
from pt2bugs.isolate import fixes
from pt2bugs.report.markdown import filled, table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evaluation" / "fixes.md"
ISOLATED = ("proved", "patch")
DRAWN = (
    "pytorch_144080",
    "pytorch_196211",
    "pytorch_183608",
    "pytorch_147278",
    "pytorch_143717",
    "pytorch_183767",
    "pytorch_189518",
    "pytorch_149969",
    "pytorch_148475",
    "pytorch_188225",
    "pytorch_138015",
)
"""Cases of isolated fixes, drawn at random and asked again one at a time."""

Row = Mapping[str, Any]


def page(text: str) -> str:
    """The page with the tables of the committed results."""
    rows = sorted(fixes.load(ROOT / "results"), key=_order)
    parts = {
        "counts": counts,
        "pairs": pairs,
        "drawn": drawn,
        "fixed": lambda rows: cases(row for row in rows if row["direction"] == "fixed"),
        "introduced": lambda rows: cases(row for row in rows if row["direction"] == "introduced"),
    }
    return filled(text, lambda name: parts[name](rows))


def _order(row: Row) -> tuple[int, str, str]:
    return -fixes.EVIDENCE.index(row["evidence"]), row["case"], row["check"]


def counts(rows: Sequence[Row]) -> str:
    """Return how many checks were asked, in each direction, and what came of them."""

    def lines() -> Iterator[Sequence[object]]:
        for direction in ("fixed", "introduced"):
            asked = [row for row in rows if row["direction"] == direction]
            isolated = [row for row in asked if row["evidence"] in ISOLATED]
            labels = Counter(row["label"] for row in asked if row["evidence"] not in ISOLATED)
            proved = sum(row["evidence"] == "proved" for row in asked)
            rest = ", ".join(f"{count} `{label}`" for label, count in labels.most_common()) or "-"
            yield direction, len(asked), proved, len(isolated) - proved, _seconds(isolated), rest

    return table(("direction", "asked", "proved", "patch", "median seconds of these", "not isolated"), lines())


def _seconds(rows: Sequence[Row]) -> object:
    return round(median(row["seconds"] for row in rows)) if rows else "-"


def drawn(rows: Sequence[Row]) -> str:
    """Return how long those took that were drawn at random."""
    rows = [row for row in rows if row["case"] in DRAWN and row["direction"] == "fixed"]
    isolated = [row for row in rows if row["evidence"] in ISOLATED]
    seconds = [round(row["seconds"]) for row in rows]
    head = ("drawn", "isolated again", "proved", "median seconds", "least", "most")
    proved = sum(row["evidence"] == "proved" for row in rows)
    return table(head, [(len(rows), len(isolated), proved, _seconds(rows), min(seconds), max(seconds))])


def pairs(rows: Sequence[Row]) -> str:
    """By pair of releases what the search had to choose from, and what was left of it."""
    groups: dict[tuple[Version, Version], list[Row]] = {}
    for row in rows:
        groups.setdefault((Version(row["bad"]), Version(row["good"])), []).append(row)

    def lines() -> Iterator[Sequence[object]]:
        for (bad, good), group in sorted(groups.items(), reverse=True):
            isolated = [row for row in group if row["evidence"] in ISOLATED]
            yield (
                f"{bad} to {good}",
                len(group),
                len(isolated),
                sum(row["evidence"] == "proved" for row in group),
                *(round(median(row["candidates"][place] for row in group)) for place in (0, 1)),
                round(median(len(row["units"]) for row in isolated)) if isolated else "-",
                _seconds(isolated),
            )

    head = ("pair", "asked", "isolated", "proved", "changed functions that ran", "for this check alone", "units", "s")
    return table(head, lines())


def cases(rows: Iterable[Row]) -> str:
    """A line for each check that was asked."""
    head = (
        "case",
        "releases",
        "units",
        "evidence",
        "ran / for this check alone",
        "trials",
        "s",
        "graphs, breaks (bad, patched, good)",
        "neighbours green",
        "named in the thread",
        "why no proof",
    )
    lines = [_case(row) for row in rows]
    return table(head, lines) if lines else "None yet."


def _case(row: Row) -> Sequence[object]:
    units = ", ".join(f"`{unit['file']}: {unit['qualname']}`".replace(": `", "`") for unit in row["units"])
    shown = units if row["evidence"] in ISOLATED else f"none: {row['label']}"
    named = {None: "-", True: "yes", False: "no"}[row["named_in_pull_request"]]
    return (
        row["case"],
        f"{row['bad']}, {row['good']}",
        shown.replace("|", "\\|"),
        row["evidence"],
        " / ".join(map(str, row["candidates"])),
        row["trials"],
        round(row["seconds"]),
        f"{_three(row['graphs'])}, {_three(row['breaks'])}",
        f"{row['stayed_green'][0]} of {row['stayed_green'][1]}",
        named,
        row["reason"].replace("|", "\\|") or "-",
    )


def _three(numbers: Sequence[int | None]) -> str:
    return "/".join("-" if number is None else str(number) for number in numbers)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
