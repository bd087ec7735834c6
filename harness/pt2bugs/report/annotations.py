"""Output for a CI job on GitHub: annotations at lines of case files, summaries of a run and a baseline, and SARIF.

GitHub shows the first ten annotations of a step; the summary of the job has them all. Code scanning takes SARIF.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from packaging.version import Version

from pt2bugs import __version__
from pt2bugs.backends.baseline import Change, Difference
from pt2bugs.case.expectation import expected_bug
from pt2bugs.case.failure import Level
from pt2bugs.case.model import Case
from pt2bugs.case.observation import shortened, telling_line
from pt2bugs.case.versions import public_or_empty
from pt2bugs.case.vocabulary import Verdict
from pt2bugs.report.markdown import case_link, escape, link, table
from pt2bugs.results.journal import Record
from pt2bugs.results.line import cell_key, where_of

MAX_ROWS = 300
"""Unexpected cells that a summary lists: GitHub takes a mebibyte."""
_ORDER = [Verdict.FAIL, Verdict.ERROR, Verdict.XPASS, Verdict.FLAKY]


def workflow_command(kind: str, message: str, **properties: str) -> str:
    """Return a workflow command, escaped as GitHub's own toolkit escapes it.

    Args:
        kind: `error`, `warning` or `notice`.
        message: what is shown; it may have several lines.
        properties: as `file`, `line` and `title`; those without a value are left out.
    """
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{kind}{' ' if told else ''}{told}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# --- a run --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """The answers of a run: its lines, those of them that are not as expected, how many cells have no line, and
    why environments could not answer."""

    title: str
    lines: Sequence[Record]
    unexpected: Sequence[Record]
    unanswered: int = 0
    failures: Mapping[str, str] = field(default_factory=dict)


def run_annotations(
    unexpected: Iterable[Record], failures: Mapping[str, str], cases: Mapping[str, Case], root: Path
) -> Iterator[str]:
    """Yield a workflow command for each unexpected line of the journal, undocumented failures first.

    A broken environment is one problem, and gets one command, however many cells it has.

    Args:
        unexpected: the lines that are not as expected.
        failures: environments that could not answer, and why.
        cases: the corpus by id.
        root: the checkout, from which GitHub counts the path of a file.
    """
    told: set[str] = set()
    for target, failure in failures.items():
        told.add(failure)
        yield workflow_command("error", failure, title=f"{target}: broken environment")
    for record in sorted(unexpected, key=lambda record: _ORDER.index(Verdict(record["verdict"]))):
        if record["verdict"] == Verdict.ERROR:
            if not any(text in record["message"] for text in told):
                told.add(record["message"])
                yield workflow_command("error", record["message"], title=f"torch {record['torch']}: broken environment")
            continue
        case = cases.get(record["case"])
        file, line = _place(case, record["check"], root)
        if case is not None and record["verdict"] == Verdict.XPASS:
            # The entry that no longer holds.
            entry = expected_bug(case, record["check"], where_of(record))
            line = entry.line if entry is not None else line
        seen = f"{cell_key(record).cell.item}: {record['outcome']} {telling_line(record['message'])}".rstrip()
        text = [seen, *([case.title, case.issue] if case is not None else [])]
        title = f"torch {record['torch']} {record['case']}: {record['verdict']}"
        yield workflow_command("error", "\n".join(text), file=file, line=str(line if file else ""), title=title)


def _place(case: Case | None, check: str, root: Path) -> tuple[str, int]:
    """Return a file from the top of the checkout, and the line of a check in it; empty and 1 for a case elsewhere."""
    file = _within(case.path, root) if case is not None else ""
    if case is None or not file:
        return "", 1
    return file, next((known.line for known in case.checks if known.name == check), 1)


def _within(path: Path, root: Path) -> str:
    """Return the path from the top of the checkout; empty for a file elsewhere."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return ""


def run_summary(measured: Measured, cases: Mapping[str, Case]) -> str:
    """Return the summary of a run in Markdown: counts by release, then every cell that is not as expected.

    Args:
        measured: the answers of the run.
        cases: the corpus by id.
    """
    parts = [f"## pt2bugs{f': {measured.title}' if measured.title else ''}"]
    count = len(measured.unexpected)
    told = f"{count} of {len(measured.lines)} cells are not as expected" if count else "All cells are as expected"
    missing = f"; {measured.unanswered} have no answer" if measured.unanswered else ""
    parts.append(f"{told}{missing}." if measured.lines or missing else "No cells.")
    if measured.lines:
        parts.append(_verdict_counts(measured.lines))
    if measured.failures:
        failures = measured.failures.items()
        parts.append("\n".join(f"- **{escape(target)}**: {escape(failure[:600])}" for target, failure in failures))
    shown = [record for record in measured.unexpected if record["verdict"] != Verdict.ERROR or not measured.failures]
    if shown:
        rows = [_row(record, cases.get(record["case"])) for record in shown[:MAX_ROWS]]
        parts.append(table(["torch", "case", "check", "verdict", "seen"], rows))
    if len(shown) > MAX_ROWS:
        parts.append(f"And {len(shown) - MAX_ROWS} more.")
    return "\n\n".join(parts) + "\n"


def _verdict_counts(records: Sequence[Record]) -> str:
    counts: dict[str, Counter[str]] = {}
    for record in records:
        counts.setdefault(public_or_empty(record["torch"]), Counter())[record["verdict"]] += 1
    names = [str(verdict) for verdict in Verdict if any(count[verdict] for count in counts.values())]
    rows = [
        [escape(release or "unknown"), *(str(counts[release][name] or "") for name in names)]
        for release in sorted(counts, key=lambda release: Version(release or "0"))
    ]
    return table(["torch", *names], rows)


def _row(record: Record, case: Case | None) -> list[str]:
    seen = f"{record['outcome']} {shortened(telling_line(record['message']), 200)}"
    who = f"{case_link(case)} {escape(case.title)}" if case is not None else escape(record["case"])
    return [escape(record["torch"]), who, escape(cell_key(record).cell.item), record["verdict"], escape(seen)]


# --- a baseline ---------------------------------------------------------------------------------------


def baseline_annotations(differences: Iterable[Difference], cases: Mapping[str, Case], root: Path) -> str:
    """Return a workflow command for each difference from a baseline, a line each.

    Args:
        differences: from `backends.baseline.differences`.
        cases: the corpus by id.
        root: the checkout, from which GitHub counts the path of a file.
    """
    lines = []
    for difference in differences:
        file, line = _place(cases.get(difference.cell.case), difference.cell.check, root)
        kind = "warning" if difference.change is Change.GONE else "error"
        title = f"{difference.change}: {difference.name}"
        where = str(line if file else "")
        lines.append(workflow_command(kind, difference.summary, file=file, line=where, title=title))
    return "\n".join(lines)


def baseline_summary(differences: Iterable[Difference], cases: Mapping[str, Case]) -> str:
    """Return the differences from a baseline as a table in Markdown.

    Args:
        differences: from `backends.baseline.differences`.
        cases: the corpus by id.
    """
    rows = []
    for difference in differences:
        case = cases.get(difference.cell.case)
        name = link(difference.name, case.issue if case else "")
        rows.append([str(difference.change), name, escape(difference.summary)])
    return table(["change", "cell", "seen"], rows)


def baseline_sarif(
    differences: Iterable[Difference], cases: Mapping[str, Case], baseline: Path, root: Path
) -> dict[str, Any]:
    """Return the failures that a baseline does not have as SARIF 2.1.0, for code scanning.

    A rule is a case. An alert is the same one from night to night, by the cell and its failure, and closes when it is
    gone. It stands at the check, or, since that is mostly elsewhere, at the baseline.

    Args:
        differences: from `backends.baseline.differences`; what is gone is no failure.
        cases: the corpus by id.
        baseline: the file.
        root: the checkout, from which GitHub counts the path of a file.
    """
    failing = [(difference, difference.failure) for difference in differences if difference.failure is not None]
    ids = sorted({difference.cell.case for difference, _ in failing})
    results = []
    for difference, failure in failing:
        cell = difference.cell
        file, line = _place(cases.get(cell.case), cell.check, root)
        results.append(
            {
                "ruleId": cell.case,
                "ruleIndex": ids.index(cell.case),
                "level": "error",
                "message": {"text": f"{difference.change}: {difference.name}: {difference.summary}"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": quote(file or _within(baseline, root) or baseline.name)},
                            "region": {"startLine": line},
                        }
                    }
                ],
                "partialFingerprints": {"pt2bugs/v1": f"{difference.name} {failure.fingerprint(Level.MESSAGE)}"},
            }
        )
    driver = {"name": "pt2bugs", "version": __version__, "rules": [_sarif_rule(id_, cases.get(id_)) for id_ in ids]}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _sarif_rule(id_: str, case: Case | None) -> dict[str, Any]:
    if case is None:
        return {"id": id_}
    return {
        "id": id_,
        "shortDescription": {"text": case.title},
        "fullDescription": {"text": case.doc or case.title},
        "helpUri": case.issue,
        "properties": {"tags": [case.component, case.symptom]},
    }
