"""The summary of a run in Markdown, for a page of a CI job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from packaging.version import Version

from pt2bugs.case.model import Case
from pt2bugs.case.observation import telling_line
from pt2bugs.case.words import Verdict
from pt2bugs.report.markdown import inline, link, table
from pt2bugs.results.matrix import public_or_empty
from pt2bugs.results.record import Record

MOST = 300
"""Unexpected cells that are listed: a CI takes a page of some size only (GitHub a mebibyte)."""


@dataclass(frozen=True)
class Measured:
    """What a run has answered: its lines, those of them that are not as expected, how many cells have no line, and
    why environments could not answer."""

    title: str
    lines: Sequence[Record]
    unexpected: Sequence[Record]
    unanswered: int = 0
    failures: Mapping[str, str] = field(default_factory=dict)


def run_summary(measured: Measured, cases: Mapping[str, Case]) -> str:
    """Counts by release, then every cell that is not as expected."""
    lines = [f"## pt2bugs{f': {measured.title}' if measured.title else ''}", ""]
    count = len(measured.unexpected)
    told = f"{count} of {len(measured.lines)} cells are not as expected" if count else "all cells are as expected"
    missing = f"; {measured.unanswered} have no answer" if measured.unanswered else ""
    lines += [f"{told[0].upper()}{told[1:]}{missing}." if measured.lines or missing else "No cells.", ""]
    lines += _counts(measured.lines)
    for target, failure in measured.failures.items():
        lines += [f"- **{inline(target)}**: {inline(failure[:600])}"]
    lines += [""] if measured.failures else []
    shown = [one for one in measured.unexpected if one["verdict"] != Verdict.ERROR or not measured.failures]
    if shown:
        rows = [_row(record, cases.get(record["case"])) for record in shown[:MOST]]
        lines += table(["torch", "case", "check", "verdict", "seen"], rows)
        lines += ["", f"And {len(shown) - MOST} more."] if len(shown) > MOST else []
        lines += [""]
    return "\n".join(lines)


def _counts(records: Sequence[Record]) -> list[str]:
    if not records:
        return []
    counts: dict[str, Counter[str]] = {}
    for record in records:
        counts.setdefault(public_or_empty(record["torch"]), Counter())[record["verdict"]] += 1
    names = [str(verdict) for verdict in Verdict if any(one[verdict] for one in counts.values())]
    rows = [
        [inline(release or "unknown"), *(str(counts[release][name] or "") for name in names)]
        for release in sorted(counts, key=lambda one: Version(one or "0"))
    ]
    return [*table(["torch", *names], rows), ""]


def _row(record: Record, case: Case | None) -> list[str]:
    name = f"{record['check']}[{record['device']}-{record['backend']}]"
    seen = f"{record['outcome']} {telling_line(record['message'])[:200]}"
    who = f"{link(case)} {inline(case.title)}" if case is not None else inline(record["case"])
    return [inline(record["torch"]), who, inline(name), record["verdict"], inline(seen)]
