"""What a run still owes, and the lines that come back: each cell gets one series of lines, whole and once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from pt2bugs.case.cells import Cell
from pt2bugs.results.matrix import Results
from pt2bugs.results.record import Record
from pt2bugs.results.writer import JournalWriter
from pt2bugs.run.runner import Progress, journal_path
from pt2bugs.run.schedule import Work


@dataclass(eq=False)
class Owed:
    """A cell that has no answer yet.

    Args:
        seconds: that it is expected to last, `longest`: that it may.
        needs: what a worker must offer; `wants`: what it should, if any does.
        sites: where it came out as an error of the environment; `losses`: how often it was running on a worker that
            was lost.
    """

    number: int
    work: Work
    cell: Cell
    seconds: float
    longest: float
    needs: frozenset[str]
    wants: frozenset[str]
    sites: set[str] = field(default_factory=set)
    losses: int = 0


@dataclass(eq=False)
class Attempt:
    """A task that was sent: its cells in the order in which they run, and the lines that came of each."""

    name: str
    seat: str
    work: Work
    owed: Sequence[Owed]
    lines: dict[int, dict[int, Record]] = field(default_factory=dict)
    errors: set[int] = field(default_factory=set)
    """Places of cells that came out as errors of the environment."""

    def receive(self, place: int, line: bytes) -> list[Record]:
        """Take a line; returns all lines of its cell if it completes them."""
        record = cast(Record, json.loads(line))
        series = self.lines.setdefault(place, {})
        if record["repeat"] in series:
            return []
        series[record["repeat"]] = record
        if len(series) < record["repeats"]:
            return []
        return [series[number] for number in sorted(series)]

    def unfinished(self, answered: Mapping[int, object]) -> list[Owed]:
        """The cells that it has not come to, or not through, in the order in which they run."""
        return [one for n, one in enumerate(self.owed) if one.number not in answered and n not in self.errors]


class Ledger:
    """Writes the lines of answered cells to the journal; a cell that is answered stays so."""

    def __init__(self, results: Results, progress: Progress, record: Callable[[Record], None]) -> None:
        self.results, self.progress = results, progress
        self._record = record
        self.answered: dict[int, bool] = {}
        self._writers: dict[Path, JournalWriter] = {}

    def write(self, owed: Owed, series: Sequence[Record]) -> None:
        """Answer a cell with a whole series of repeats; of two answers the first one stands.

        Raises:
            JournalError: the journal cannot be written.
        """
        if owed.number in self.answered:
            return
        for record in series:
            path = journal_path(self.results, owed.cell.case, owed.work.target, record)
            if path not in self._writers:
                self._writers[path] = JournalWriter(path)
            self._writers[path].append(record)
            with self.progress.lock:
                self._record(record)
        self.answered[owed.number] = True
        with self.progress.lock:
            self.progress.advance(series[-1])

    def close(self) -> None:
        while self._writers:
            self._writers.popitem()[1].close()
