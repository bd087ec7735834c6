"""A baseline: the failures that are known, so that only what is new, different or gone needs attention.

It is a file of accepted failures (`pt2bugs.bisect.accepted` has the format), with one entry for each cell that fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path

from pt2bugs.bisect.accepted import Accepted, CellName, accepted_text, entry_for, find_accepted
from pt2bugs.case.words import Outcome
from pt2bugs.files import write_text
from pt2bugs.results.failure import Failure, failure_of
from pt2bugs.results.matrix import public_or_empty
from pt2bugs.results.record import Record


class Change(str, Enum):
    """How a cell differs from the baseline."""

    NEW = "new"
    DIFFERENT = "different"
    EXPIRED = "expired"
    GONE = "gone"

    __str__ = str.__str__


@dataclass(frozen=True)
class Difference:
    """A cell that is not as the baseline has it: `known` is what it has, `failure` what was seen (None: it passed)."""

    change: Change
    cell: CellName
    known: Accepted | None
    failure: Failure | None

    @property
    def name(self) -> str:
        case, check, device, backend = self.cell
        return f"{case}::{check}[{device}-{backend}]"

    def as_dict(self) -> dict[str, str]:
        """The difference for machines."""
        case, check, device, backend = self.cell
        return {
            "change": str(self.change),
            "case": case,
            "check": check,
            "device": device,
            "backend": backend,
            "seen": self.failure.summary if self.failure else "pass",
            "known": str(self.known.identity) if self.known else "",
            "reason": self.known.reason if self.known else "",
        }

    @property
    def summary(self) -> str:
        """What is different, on one line."""
        seen = self.failure.summary if self.failure else "pass"
        if self.known is None:
            return seen
        if self.change is Change.EXPIRED:
            return f"{seen} (accepted until {self.known.until})"
        return f"{seen} (known: {self.known.identity})"


def differences(baseline: Sequence[Accepted], records: Mapping[CellName, Record], today: date) -> list[Difference]:
    """Where the lines of these cells are not as the baseline has them; cells that gave no answer are left out."""
    found = []
    for cell, record in sorted(records.items()):
        failure = failure_of(record)
        if failure is None:
            continue
        about = _about(baseline, cell, record)
        covering = find_accepted(about, cell, record)
        if covering is None:
            change = Change.DIFFERENT if about else Change.NEW
            found.append(Difference(change, cell, about[0] if about else None, failure))
        elif covering.has_ended(today):
            found.append(Difference(Change.EXPIRED, cell, covering, failure))
    found += [Difference(Change.GONE, cell, entry, None) for entry, cell in _gone(baseline, records)]
    order = list(Change)
    return sorted(found, key=lambda one: order.index(one.change))


def _about(baseline: Iterable[Accepted], cell: CellName, record: Record) -> list[Accepted]:
    torch = public_or_empty(record["torch"]) or "0"
    return [entry for entry in baseline if entry.speaks_of(cell, torch)]


def _gone(baseline: Iterable[Accepted], records: Mapping[CellName, Record]) -> list[tuple[Accepted, CellName]]:
    """Entries of which every cell that gave an answer passes, each with the first of these cells."""
    found = []
    for entry in baseline:
        about = [cell for cell, record in sorted(records.items()) if _about([entry], cell, record)]
        passing = [cell for cell in about if records[cell]["outcome"] == Outcome.PASS]
        if passing and not any(failure_of(records[cell]) for cell in about):
            found.append((entry, passing[0]))
    return found


def updated(baseline: Sequence[Accepted], records: Mapping[CellName, Record]) -> list[Accepted]:
    """The baseline with what was seen: entries that still cover a failure stay as they are, with reason and end date.

    Entries of cells that gave no answer or were not run stay, too.
    """
    gone = {id(entry) for entry, _ in _gone(baseline, records)}
    failing = {cell: record for cell, record in records.items() if failure_of(record)}
    kept = []
    for entry in baseline:
        about = [(cell, record) for cell, record in failing.items() if _about([entry], cell, record)]
        is_wrong = about and not any(entry.covers(cell, record) for cell, record in about)
        if id(entry) not in gone and not is_wrong:
            kept.append(entry)
    new = [entry_for(cell, line) for cell, line in failing.items() if find_accepted(kept, cell, line) is None]
    return [*kept, *new]


def write_baseline(path: Path, entries: Iterable[Accepted]) -> None:
    """Write the entries, sorted by cell.

    Raises:
        FileError: it cannot be written.
    """

    def cell_order(entry: Accepted) -> tuple[str, ...]:
        return entry.case, *(part or "" for part in (entry.bug.check, entry.bug.device, entry.bug.backend))

    text = "# Known failures, written by `pt2bugs backend NAME --baseline FILE --update-baseline`.\n"
    text += "# `reason`, and `until = 2026-12-31`, the last day on which an entry counts, are yours to add.\n\n"
    write_text(path, text + accepted_text(sorted(entries, key=cell_order)))


def as_text(found: Iterable[Difference]) -> str:
    """One line for each difference."""
    return "\n".join(f"{one.change}: {one.name}  {one.summary}" for one in found)


def as_markdown(found: Iterable[Difference], paths: Mapping[str, str]) -> str:
    """A table; `paths` are the addresses of the issues by case."""
    rows = ["| change | cell | seen |", "| --- | --- | --- |"]
    for one in found:
        summary = one.summary.replace("|", "\\|").replace("<", "&lt;")
        issue = paths.get(one.cell[0], "")
        rows.append(f"| {one.change} | [{one.name.replace('[', '(').replace(']', ')')}]({issue}) | {summary} |")
    return "\n".join(rows)


def as_annotations(found: Iterable[Difference], locations: Mapping[tuple[str, str], tuple[str, int]]) -> str:
    """Workflow commands of GitHub; `locations` are file and line by case and check."""
    lines = []
    for one in found:
        path, line = locations.get(one.cell[:2], ("", 1))
        kind = "warning" if one.change is Change.GONE else "error"
        title = _escape(f"{one.change}: {one.name}", value=True)
        lines.append(f"::{kind} file={_escape(path, value=True)},line={line},title={title}::{_escape(one.summary)}")
    return "\n".join(lines)


def _escape(text: str, *, value: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if value else text
