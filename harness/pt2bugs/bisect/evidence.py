"""What the journal says about a check at a release. `bisect` and `compare` both judge by this alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from packaging.version import Version
from pt2bugs.bisect.search import State
from pt2bugs.case.cells import Cell
from pt2bugs.case.expectation import Where, elsewhere, expected_bug, has_identity, is_available, shows_there
from pt2bugs.case.model import Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.patterns import PatternTimeout
from pt2bugs.case.words import Outcome, Verdict
from pt2bugs.results.journal import Warn
from pt2bugs.results.matrix import CellKey, NewestLines, Results, cell_key, is_complete, where_of
from pt2bugs.results.record import Record

FLAKY_REPEATS = 5
"""Runs of a flaky check in each release."""
CONFIDENCE = 0.95
"""How sure it must be that a flaky check is clean where it was not seen to fail."""


def seen_state(case: Case, record: Record) -> State:
    """Whether one run showed the bug.

    The documented identity is the bug also in a release where the header does not expect it, since the
    header may be what is wrong; passing is no bug also where one is expected. Everything else cannot say:
    another failure, a skip, a broken environment, a limitation that keeps the check from its bug.
    """
    seen = Observation.from_dict(record)
    if seen.outcome is Outcome.PASS and not elsewhere(case, record["check"], where_of(record)):
        return State.NO_BUG
    where = where_of(record)
    bug = expected_bug(case, record["check"], where)
    if bug is not None and not shows_there(bug, where):
        return State.UNKNOWN
    try:
        if bug is not None and bug.blocked and has_identity(bug, seen):
            return State.UNKNOWN
        documented = (bug for bug in case.bugs if not bug.blocked and bug.check in (None, record["check"]))
        return State.BUG if any(has_identity(bug, seen) for bug in documented) else State.UNKNOWN
    except PatternTimeout:
        return State.UNKNOWN


@dataclass(frozen=True)
class Finding:
    """The newest line of a cell and what it means. Of all its `runs` (errors aside) `sightings` showed the
    bug; `is_flaky` if the case says so, or repeats disagreed."""

    record: Record
    state: State
    runs: int
    sightings: int
    is_flaky: bool

    @property
    def suffices(self) -> bool:
        """Whether the cell needs no further run. Not seen once, a flaky bug may still be there."""
        is_enough = not self.is_flaky or self.state is not State.NO_BUG or self.runs >= FLAKY_REPEATS
        return is_complete(self.record) and is_enough

    @property
    def summary(self) -> str:
        """One line: what was seen."""
        if self.is_flaky:
            return f"the bug in {self.sightings} of {self.runs} runs"
        return Observation.from_dict(self.record).summary


def sighting_rate(buggy: Iterable[Finding]) -> float:
    """Conservative estimate of how often the bug shows: sightings / (runs + 1)."""
    findings = list(buggy)
    return sum(finding.sightings for finding in findings) / (sum(finding.runs for finding in findings) + 1)


def clean_confidence(buggy: Iterable[Finding], clean: Finding) -> float:
    """How sure it is that there is no bug where `clean` was found.

    Were it there, and seen as often as in `buggy`, this is the chance that the clean runs had shown it.
    """
    return float(1 - (1 - sighting_rate(buggy)) ** clean.runs)


@dataclass
class _Tally:
    """What all runs of a cell showed, errors aside."""

    states: Counter[State] = field(default_factory=Counter)
    is_flaky: bool = False

    def add(self, state: State, *, is_flaky: bool) -> None:
        self.states[state] += 1
        self.is_flaky |= is_flaky


class Evidence:
    """What a journal says, by cell and release; it takes the lines one by one.

    A release counts whichever Python it was run with: the one asked for, else the newest that the journal has.
    """

    def __init__(self, corpus: Iterable[Case], python: str | None = None) -> None:
        self.python = python
        self.newest = NewestLines(corpus)
        self.cases = self.newest.cases
        self._tallies: dict[CellKey, _Tally] = {}
        self._by_release: dict[tuple[str, ...], Record] | None = None

    @classmethod
    def load(cls, results: Results, corpus: Iterable[Case], warn: Warn, python: str | None = None) -> Evidence:
        """The evidence of a results folder.

        Raises:
            JournalError: a journal cannot be read.
        """
        evidence = cls(corpus, python)
        results.read([evidence], warn)
        return evidence

    def add(self, record: Record) -> None:
        """Take a line into account."""
        self.newest.add(record)
        self._by_release = None
        case, key = self.cases.get(record["case"]), cell_key(record)
        # Without a release it is from an environment that did not even import torch.
        if case is None or record["case_hash"] != case.hash or not key.torch or record["verdict"] == Verdict.ERROR:
            return
        tally = self._tallies.setdefault(key, _Tally())
        tally.add(seen_state(case, record), is_flaky=record["verdict"] == Verdict.FLAKY)

    @property
    def _lines(self) -> dict[tuple[str, ...], Record]:
        """The line of each cell and release, whichever its Python."""
        if self._by_release is None:
            found = self.newest.lines()
            self._by_release = {
                key[:6]: found[key]
                for key in sorted(found, key=lambda key: (is_complete(found[key]), Version(key.python or "0")))
                if self.python in (None, key.python)
            }
        return self._by_release

    def find(self, cell: Cell, torch: str, extras: Sequence[str] = ()) -> Finding | None:
        """What is known about a cell in a release (a public version); None if it never ran there."""
        record = self._lines.get((*cell.key, "+".join(extras), torch))
        if record is None:
            return None
        tally = self._tallies.get(cell_key(record), _Tally())
        runs, sightings = tally.states.total(), tally.states[State.BUG]
        is_flaky = cell.case.flaky or tally.is_flaky
        state = seen_state(cell.case, record)
        if is_flaky and runs:
            # Seen once, it is there; never seen, it may still be: how sure that is depends on the runs.
            clean = tally.states[State.NO_BUG] == runs
            state = State.BUG if sightings else State.NO_BUG if clean else State.UNKNOWN
        return Finding(record, state, runs, sightings, is_flaky)

    def python_of(self, release: object) -> str:
        """The newest Python that the journal has of a release, as a minor version; empty if it has none."""
        found = [key.python for key in self.newest.lines() if key.torch == str(release) and key.python]
        return max(found, key=Version, default="")

    def releases(self, cells: Iterable[Cell]) -> list[Version]:
        """The releases that have a line of any of these cells, in order."""
        asked = {cell.key for cell in cells}
        return sorted({Version(key[5]) for key in self._lines if key[:4] in asked and key[5]})


def expects_bug(cell: Cell, torch: str, python: str) -> bool:
    """Whether the header documents the bug for the cell in that release, to be seen and not blocked.

    A backend that the header does not name is taken for one that it does.
    """
    bug = expected_bug(cell.case, cell.check.name, _where(cell, torch, python))
    return bug is not None and not bug.blocked


def cannot_say_here(cell: Cell, torch: str, python: str) -> str:
    """Why the header says that the cell cannot answer in that release; empty if it can."""
    case = cell.case
    if not is_available(case, torch):
        return f"needs torch {case.requires_torch}"
    bug = expected_bug(case, cell.check.name, _where(cell, torch, python))
    return f"blocked by another limitation, says {case.path.name}:{bug.line}" if bug and bug.blocked else ""


def _where(cell: Cell, torch: str, python: str) -> Where:
    backends = cell.case.backends
    return Where(torch, python, cell.device, cell.backend if cell.backend in backends else backends[0])
