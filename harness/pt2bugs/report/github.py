"""GitHub's workflow commands: what is not as expected, shown at the line of the case file that it is about.

GitHub shows the first ten of a step; the summary of the job has them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pt2bugs.case.expectation import expected_bug
from pt2bugs.case.model import Case
from pt2bugs.case.observation import telling_line
from pt2bugs.case.words import Verdict
from pt2bugs.results.matrix import where_of
from pt2bugs.results.record import Record

_ORDER = [Verdict.FAIL, Verdict.ERROR, Verdict.XPASS, Verdict.FLAKY]


def workflow_commands(
    unexpected: Sequence[Record], failures: Mapping[str, str], cases: Mapping[str, Case], root: Path
) -> Iterator[str]:
    """One workflow command for each line of the journal, the undocumented failures first.

    An environment that is broken is one problem, and gets one command, however many cells it has.

    Args:
        failures: environments that could not answer, and why.
        root: the checkout, from which GitHub counts the path of a file.
    """
    told: set[str] = set()
    for target, failure in failures.items():
        told.add(failure)
        yield command("error", failure, title=f"{target}: broken environment")
    for record in sorted(unexpected, key=lambda one: _ORDER.index(Verdict(one["verdict"]))):
        if record["verdict"] == Verdict.ERROR:
            if not any(text in record["message"] for text in told):
                told.add(record["message"])
                yield command("error", record["message"], title=f"torch {record['torch']}: broken environment")
            continue
        case = cases.get(record["case"])
        where = {"file": _within(case.path, root), "line": str(_line(case, record))} if case is not None else {}
        name = f"{record['check']}[{record['device']}-{record['backend']}]"
        told_first = f"{name}: {record['outcome']} {telling_line(record['message'])}".rstrip()
        text = [told_first, *([case.title, case.issue] if case is not None else [])]
        title = f"torch {record['torch']} {record['case']}: {record['verdict']}"
        yield command("error", "\n".join(text), **where, title=title)


def command(kind: str, message: str, **properties: str) -> str:
    """A workflow command, escaped as GitHub's own toolkit does it; properties without a value are left out."""
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{kind}{' ' if told else ''}{told}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _within(path: Path, root: Path) -> str:
    """The path from the top of the checkout; empty for a file elsewhere."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return ""


def _line(case: Case, record: Record) -> int:
    """The line to look at: the entry that no longer holds, or the check."""
    if record["verdict"] == Verdict.XPASS and (bug := expected_bug(case, record["check"], where_of(record))):
        return bug.line
    return next((check.line for check in case.checks if check.name == record["check"]), 1)
