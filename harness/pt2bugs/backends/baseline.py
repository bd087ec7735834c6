"""A baseline: the failures that are known, so that only what is new, different or gone needs attention.

It is a file of accepted failures (`pt2bugs.bisect.accepted` has the format), with one entry for each cell that fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path

from pt2bugs.bisect.accepted import Accepted, accepted_text, entry_for, find_accepted
from pt2bugs.case.cells import CellName
from pt2bugs.case.failure import Failure
from pt2bugs.case.versions import public_or_empty
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.files import write_text
from pt2bugs.results.journal import Record


class Change(str, Enum):
    """The ways in which a cell differs from the baseline."""

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
        return str(self.cell)

    def as_dict(self) -> dict[str, str]:
        """Return the difference for machines."""
        return {
            "change": str(self.change),
            **self.cell._asdict(),
            "seen": self.failure.summary if self.failure else "pass",
            "known": str(self.known.identity) if self.known else "",
            "reason": self.known.reason if self.known else "",
        }

    @property
    def summary(self) -> str:
        """The difference on one line."""
        seen = self.failure.summary if self.failure else "pass"
        if self.known is None:
            return seen
        if self.change is Change.EXPIRED:
            return f"{seen} (accepted until {self.known.until})"
        return f"{seen} (known: {self.known.identity})"


def differences(baseline: Sequence[Accepted], records: Mapping[CellName, Record], today: date) -> list[Difference]:
    """Return the cells that are not as the baseline has them; cells that gave no answer are left out.

    Args:
        baseline: the known failures.
        records: the line of each cell.
        today: decides which entries have ended.
    """
    changes = []
    for cell, record in sorted(records.items()):
        failure = Failure.of(record)
        if failure is None:
            continue
        about = _about(baseline, cell, record)
        covering = find_accepted(about, cell, record)
        if covering is None:
            change = Change.DIFFERENT if about else Change.NEW
            changes.append(Difference(change, cell, about[0] if about else None, failure))
        elif covering.has_ended(today):
            changes.append(Difference(Change.EXPIRED, cell, covering, failure))
    changes += [Difference(Change.GONE, cell, entry, None) for entry, cell in _gone(baseline, records)]
    order = list(Change)
    return sorted(changes, key=lambda difference: order.index(difference.change))


def _about(baseline: Iterable[Accepted], cell: CellName, record: Record) -> list[Accepted]:
    torch = public_or_empty(record["torch"]) or "0"
    return [entry for entry in baseline if entry.speaks_of(cell, torch)]


def _gone(baseline: Iterable[Accepted], records: Mapping[CellName, Record]) -> list[tuple[Accepted, CellName]]:
    """Return the entries of which every cell that gave an answer passes, each with the first of these cells."""
    gone = []
    for entry in baseline:
        about = [cell for cell, record in sorted(records.items()) if _about([entry], cell, record)]
        passing = [cell for cell in about if records[cell]["outcome"] == Outcome.PASS]
        if passing and not any(Failure.of(records[cell]) for cell in about):
            gone.append((entry, passing[0]))
    return gone


def updated(baseline: Sequence[Accepted], records: Mapping[CellName, Record]) -> list[Accepted]:
    """Return the baseline with what was seen. Entries that still cover a failure stay, with reason and end date.

    Entries of cells that gave no answer or were not run stay, too.

    Args:
        baseline: the known failures.
        records: the line of each cell.
    """
    gone = {id(entry) for entry, _ in _gone(baseline, records)}
    failing = {cell: record for cell, record in records.items() if Failure.of(record)}
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

    Args:
        path: the file.
        entries: the known failures.

    Raises:
        FileError: it cannot be written.
    """

    def cell_order(entry: Accepted) -> tuple[str, ...]:
        return entry.case, *(part or "" for part in (entry.bug.check, entry.bug.device, entry.bug.backend))

    text = "# Known failures, written by `pt2bugs backend NAME --baseline FILE --update-baseline`.\n"
    text += "# `reason`, and `until = 2026-12-31`, the last day on which an entry counts, are yours to add.\n\n"
    write_text(path, text + accepted_text(sorted(entries, key=cell_order)))


def as_text(differences: Iterable[Difference]) -> str:
    """Return one line for each difference.

    Args:
        differences: as `differences` returns them.
    """
    return "\n".join(f"{difference.change}: {difference.name}  {difference.summary}" for difference in differences)
