"""The only answer to "where does this bug live?": journal and header as the states of each release.

A history is a row of the matrix (check x device x backend x extras, with the versions that `extras` pin) at one Python.
Where no Python is asked for, a release shows the newest one that gave an answer there. `compare`, `bisect`, `news`,
`match`, `check` and all pages are queries over histories.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, Generic, TypeVar

from packaging.version import Version
from pt2bugs.case.cells import Cell
from pt2bugs.case.expectation import apart_from, elsewhere, expected_bug, is_available, judge, shows_there
from pt2bugs.case.failure import Failure, Level, documents, normalize
from pt2bugs.case.model import Case
from pt2bugs.case.observation import Observation, telling_line
from pt2bugs.case.patterns import PatternTimeout
from pt2bugs.case.private import private_extras
from pt2bugs.case.vocabulary import EXTRAS, TORCH_BACKENDS, Outcome, Verdict
from pt2bugs.results.journal import Record
from pt2bugs.results.line import (
    CellKey,
    MatrixRow,
    cell_key,
    is_complete,
    matrix_value,
    ranks_of,
    sorted_keys,
    version_key,
    where_of,
)

V = TypeVar("V")

FLAKY_REPEATS = 5
"""Runs of a flaky check in each release."""
CONFIDENCE = 0.95
"""Least confidence with which a flaky check counts as clean where it was not seen to fail."""


class State(str, Enum):
    """The answer of a release about a check."""

    BUG = "bug"
    NO_BUG = "no bug"
    UNKNOWN = "cannot say"

    __str__ = str.__str__


@dataclass(frozen=True)
class Transition(Generic[V]):
    """A change of a check somewhere after `before` and not later than `after`.

    `between` are the versions between them that cannot say; `unprobed` those not probed yet.
    """

    before: V
    after: V
    introduced: bool
    between: tuple[V, ...] = ()
    unprobed: tuple[V, ...] = ()


def transitions_of(versions: Sequence[V], states: Mapping[V, State]) -> list[Transition[V]]:
    """Return every change between two decided neighbours, oldest first.

    Args:
        versions: in order, oldest first.
        states: what is known; a version without a state was not probed.
    """
    decided = [i for i, version in enumerate(versions) if states.get(version, State.UNKNOWN) is not State.UNKNOWN]
    transitions = []
    for low, high in pairwise(decided):
        before, after = versions[low], versions[high]
        if states[before] is not states[after]:
            inside = versions[low + 1 : high]
            between = tuple(version for version in inside if version in states)
            unprobed = tuple(version for version in inside if version not in states)
            transitions.append(Transition(before, after, states[after] is State.BUG, between, unprobed))
    return transitions


@dataclass(frozen=True)
class Interval:
    """An unbroken run of releases that show something, from `first` to `last`; those that cannot say are left out.

    `introduced_after` is the release before it that does not (None: it is there from the first measured one),
    `fixed_in` the first one after it (None: it is there in the newest).
    """

    first: str
    last: str
    introduced_after: str | None = None
    fixed_in: str | None = None

    def __str__(self) -> str:
        born = f"introduced after {self.introduced_after}" if self.introduced_after else "there from the first"
        gone = f"fixed in {self.fixed_in}" if self.fixed_in else "not fixed yet"
        return f"{self.first} to {self.last}: {born}, {gone}"

    @property
    def specifier(self) -> str:
        """The interval as a header has it; a bound is a minor release where that tells the two neighbours apart."""
        low = [f">={_bound(self.introduced_after, self.first)}"] if self.introduced_after else []
        return ",".join([*low, *([f"<{_bound(self.last, self.fixed_in)}"] if self.fixed_in else [])])


def _bound(before: str, after: str) -> str:
    minor = ".".join(after.split(".")[:2])
    return minor if Version(before) < Version(minor) else after


def intervals_of(releases: Sequence[str], shows: Callable[[str], bool]) -> list[Interval]:
    """Return the unbroken runs of releases that show something.

    Args:
        releases: those that can say, in version order.
        shows: asked of each.
    """
    runs = [(here, list(run)) for here, run in groupby(releases, key=shows)]
    return [
        Interval(
            run[0],
            run[-1],
            runs[number - 1][1][-1] if number else None,
            runs[number + 1][1][0] if number + 1 < len(runs) else None,
        )
        for number, (here, run) in enumerate(runs)
        if here
    ]


def seen_state(case: Case, record: Record) -> State:
    """Return whether one run showed the bug.

    The documented failure is the bug also in a release where the header does not expect it, since the header may be
    wrong; passing is no bug also where one is expected. Everything else cannot say: another failure, a skip, a broken
    environment, a limitation that keeps the check from its bug.

    Args:
        case: the case as it is now.
        record: a line of it.
    """
    seen, where = Observation.from_dict(record), where_of(record)
    if seen.outcome is Outcome.PASS and not elsewhere(case, record["check"], where):
        return State.NO_BUG
    bug = expected_bug(case, record["check"], where)
    if bug is not None and not shows_there(bug, where):
        return State.UNKNOWN
    try:
        if bug is not None and bug.blocked and documents(bug, seen):
            return State.UNKNOWN
        documented = (bug for bug in case.bugs if not bug.blocked and bug.check in (None, record["check"]))
        return State.BUG if any(documents(bug, seen) for bug in documented) else State.UNKNOWN
    except PatternTimeout:
        return State.UNKNOWN


@dataclass(frozen=True)
class Finding:
    """A release's newest line and what it means. Of all its `runs` (errors aside) `sightings` showed the bug.

    `is_flaky` if the case says so, or repeats disagreed. `others` are the lines of further Pythons.
    """

    record: Record
    state: State
    runs: int
    sightings: int
    is_flaky: bool
    others: tuple[Record, ...] = ()

    @property
    def verdict(self) -> str:
        """The verdict by today's header."""
        return self.record["verdict"]

    @property
    def value(self) -> str:
        """The cell as `matrix.csv` has it."""
        return matrix_value(self.record["verdict"], self.record["outcome"])

    @property
    def suffices(self) -> bool:
        """True if the cell needs no further run. Not seen once, a flaky bug may still be there."""
        is_enough = not self.is_flaky or self.state is not State.NO_BUG or self.runs >= FLAKY_REPEATS
        return is_complete(self.record) and is_enough

    @property
    def summary(self) -> str:
        """One line: what was seen."""
        if self.is_flaky:
            return f"the bug in {self.sightings} of {self.runs} runs"
        return Observation.from_dict(self.record).summary


def appearance(record: Record) -> tuple[str, ...]:
    """Return what a reader sees of a line; neighbouring releases with the same are one stretch.

    Args:
        record: the line.
    """
    # MESSAGE: a reader sees the telling line. What is no failure has no fingerprint, but a reason.
    failure = Failure.of(record)
    identity = failure.fingerprint(Level.MESSAGE) if failure else normalize(telling_line(record["message"]))
    return record["verdict"], record["outcome"], record["error_type"], identity


def sighting_rate(buggy: Iterable[Finding]) -> float:
    """Return a conservative estimate of how often the bug shows: sightings / (runs + 1).

    Args:
        buggy: findings of releases that have it.
    """
    findings = list(buggy)
    return sum(finding.sightings for finding in findings) / (sum(finding.runs for finding in findings) + 1)


def clean_confidence(buggy: Iterable[Finding], clean: Finding) -> float:
    """Return how sure it is that there is no bug where it was not seen.

    Args:
        buggy: findings of releases that have it.
        clean: the finding where it was not seen. Were it there, and seen as often, this is the chance that these runs
            had shown it.
    """
    return float(1 - (1 - sighting_rate(buggy)) ** clean.runs)


@dataclass(frozen=True)
class History:
    """A row of the matrix, and the finding of each release that was measured, in version order."""

    cell: Cell
    extras: str
    findings: Mapping[str, Finding]

    @property
    def row(self) -> MatrixRow:
        """The name of the row in the matrix."""
        return MatrixRow(*self.cell.key, self.extras)

    @property
    def anchor(self) -> str:
        """A name of the row within the page of its case."""
        name = "-".join(part for part in (*self.cell.key[1:], self.extras) if part)
        return re.sub(r"[^\w.+-]", "_", name)

    @property
    def is_own(self) -> bool:
        """True if it is about a backend that the header names, with no package beside torch but those it comes with.

        `compare A B` asks for these rows, and so does every page that counts what a release breaks. The environments
        of the corpus's own extras stand apart.
        """
        packages = set(self.extras.split("+")) - {"", *EXTRAS, *private_extras()}
        comes_along = bool(packages) and self.cell.backend not in TORCH_BACKENDS
        return self.cell.backend in self.cell.case.backends and (not self.extras or comes_along)

    @property
    def releases(self) -> list[str]:
        """The releases that were measured, in version order."""
        return list(self.findings)

    def finding(self, release: str) -> Finding | None:
        """Return what a release showed; None if it was not measured.

        Args:
            release: a public version.
        """
        return self.findings.get(release)

    def state(self, release: str) -> State:
        """Return what a release says; UNKNOWN if it was not measured.

        Args:
            release: a public version.
        """
        return self.findings[release].state if release in self.findings else State.UNKNOWN

    @cached_property
    def states(self) -> dict[str, State]:
        """The state of each release that was measured."""
        return {release: finding.state for release, finding in self.findings.items()}

    @property
    def decided(self) -> list[str]:
        """The releases that have the bug or do not, in version order."""
        return [release for release, state in self.states.items() if state is not State.UNKNOWN]

    def showing(self, state: State) -> list[str]:
        """Return the releases in a state, in version order.

        Args:
            state: which one.
        """
        return [release for release in self.findings if self.states[release] is state]

    @cached_property
    def transitions(self) -> list[Transition[str]]:
        """The changes between decided neighbours, oldest first."""
        return transitions_of(self.releases, self.states)

    @cached_property
    def intervals(self) -> list[Interval]:
        """The unbroken runs of releases that have the bug, oldest first."""
        return intervals_of(self.decided, lambda release: self.states[release] is State.BUG)

    @property
    def is_flaky(self) -> bool:
        """True if the case says so, or repeats disagreed in some release."""
        return self.cell.case.flaky or any(finding.is_flaky for finding in self.findings.values())

    def confidence(self, transition: Transition[str]) -> float | None:
        """Return how sure it is that the clean side of a transition has no bug; None if the check is not flaky.

        Args:
            transition: one of `transitions`.
        """
        if not self.is_flaky:
            return None
        buggy = [finding for finding in self.findings.values() if finding.state is State.BUG]
        return clean_confidence(buggy, self.findings[transition.before if transition.introduced else transition.after])


@dataclass(frozen=True)
class Life:
    """One documented bug over the releases, all its checks together.

    It is open in a release in which a check shows it. `introduced` and `fixed` are the releases that a check changed
    in; a bug that comes back has several of each. `since` is the first release that has it, empty where a check has it
    from the first measured one; `until` the first one without it, empty where a check has it to the newest.
    """

    case: Case
    open_in: Sequence[str] = ()
    introduced: Sequence[str] = ()
    fixed: Sequence[str] = ()
    is_open: bool = False
    intervals: Sequence[Interval] = ()
    since: str = ""
    until: str = ""
    newest: str = ""

    @classmethod
    def of(cls, rows: Iterable[History]) -> Life:
        """Return the life of a case.

        Args:
            rows: the histories of its checks; at least one.
        """
        rows = list(rows)
        releases = in_version_order({release for row in rows for release in row.findings})
        open_in = [release for release in releases if any(row.state(release) is State.BUG for row in rows)]
        changes = {(change.after, change.introduced) for row in rows for change in row.transitions}
        last = [row.decided[-1] for row in rows if row.decided]
        buggy = [row.intervals for row in rows if row.intervals]
        firsts = {intervals[0].first if intervals[0].introduced_after else "" for intervals in buggy}
        ends = {intervals[-1].fixed_in or "" for intervals in buggy}
        return cls(
            rows[0].cell.case,
            open_in,
            in_version_order(release for release, introduced in changes if introduced),
            in_version_order(release for release, introduced in changes if not introduced),
            max(last, key=version_key, default="") in open_in,
            sorted(
                {interval for intervals in buggy for interval in intervals},
                key=lambda interval: (version_key(interval.first), str(interval)),
            ),
            "" if "" in firsts else min(firsts, key=version_key, default=""),
            "" if "" in ends else max(ends, key=version_key, default=""),
            releases[-1] if releases else "",
        )

    @property
    def summary(self) -> str:
        """One line: where it was seen."""
        if not self.open_in:
            return "not seen in these releases"
        count = len(self.open_in)
        span = self.open_in[0] if count == 1 else f"{self.open_in[0]} to {self.open_in[-1]}"
        end = "still open" if self.is_open else f"fixed in {self.fixed[-1]}" if self.fixed else "not seen since"
        return f"{span} ({count} release{'s' if count > 1 else ''}), {end}"

    @property
    def sentence(self) -> str:
        """Every interval, as measured: ``2.5.1 to 2.9.1: there from the first, fixed in 2.10.0``."""
        return "; ".join(map(str, self.intervals)) or "passes wherever measured"


def lives_of(rows: Iterable[History]) -> list[Life]:
    """Return the life of every case of these rows, by id.

    Args:
        rows: histories, in any order.
    """
    in_order = sorted(rows, key=lambda row: row.cell.case.id)
    return [Life.of(group) for _, group in groupby(in_order, key=lambda row: row.cell.case.id)]


def along(axis: str, lines: Mapping[CellKey, Record]) -> dict[CellKey, Record]:
    """Return lines by cell, with releases that are told apart by Python, or by the version of a package.

    Args:
        axis: ``python`` makes a release ``2.9.1+py3.10``; the name of a package, ``2.13.0+toyc.1.0``: the lines that
            have it, whose rows are then without it.
        lines: the newest line of each cell.
    """
    split: dict[CellKey, Record] = {}
    for key, record in lines.items():
        version, others = apart_from(filter(None, key.extras.split("+")), axis)
        # As the local part of a version it sorts within its release.
        if axis == "python":
            point = key._replace(torch=f"{key.torch}+py{key.python}")
        elif version:
            point = key._replace(torch=f"{key.torch}+{axis}.{version}", extras="+".join(others))
        else:
            continue
        # A wheel that was built again has its version still.
        if point not in split or record["started"] > split[point]["started"]:
            split[point] = record
    return split


def in_version_order(releases: Iterable[str]) -> list[str]:
    """Return public versions in their order.

    Args:
        releases: in any order.
    """
    return sorted(releases, key=version_key)


_values = itemgetter("case", "check", "device", "backend", "torch", "python", "case_hash")
"""Keys that decide which cell a line is about, and whether it is of today's case file."""
_shown = itemgetter(
    *("outcome", "error_type", "message", "frame", "signal", "output_tail"),
    *("torch", "python", "platform", "cpu_capability"),
)
"""Keys that decide, with the frames, what a run of a cell says of its bug."""


class _Runs:
    """All runs of a cell: the line that counts, and the states of all runs, errors aside.

    Runs that show the same as the one before are counted with it; what they say of the bug is worked out once, when
    the verdict is asked for or another run shows something else.
    """

    __slots__ = ("_alike", "_case", "_states", "complete", "counts", "is_flaky", "judged", "line", "started")

    def __init__(self, case: Case | None = None, counts: bool = False) -> None:
        self._case, self.counts = case, counts
        self.complete, self.started, self.is_flaky = False, "", False
        self.line: Any = None
        self.judged: Record | None = None
        self._alike: tuple[Any, Record, int] | None = None
        self._states: Counter[State] = Counter()

    def add(self, record: Record) -> None:
        if self.counts and record["verdict"] != _ERROR:
            self._count(record)
        complete = is_complete(record)
        if complete < self.complete or (complete == self.complete and record["started"] < self.started):
            return
        self.complete, self.started, self.line, self.judged = complete, record["started"], record, None

    def _count(self, record: Record) -> None:
        self.is_flaky |= record["verdict"] == Verdict.FLAKY
        shown = (_shown(record), record.get("frames"))
        alike = self._alike
        if alike is not None and alike[0] == shown:
            self._alike = (shown, alike[1], alike[2] + 1)
            return
        self._settle()
        self._alike = (shown, record, 1)

    def _settle(self) -> None:
        if self._alike is not None and self._case is not None:
            _, record, count = self._alike
            self._states[seen_state(self._case, record)] += count
        self._alike = None

    @property
    def states(self) -> Counter[State]:
        """The number of runs with each state."""
        self._settle()
        return self._states


_ERROR = str(Verdict.ERROR)


class Histories:
    """The histories of a corpus by a journal, whose lines it takes one by one.

    The line of a cell is its newest, with its verdict by today's expectations, so that editing a `[[tool.pt2bugs.bug]]`
    entry needs no new run. A line of an older version of a case file is stale and left out. An error of the
    environment, or a series of repeats that was cut off, counts only while the cell has nothing better.

    Args:
        corpus: the cases as they are now.
        python: the only Python that counts; None for that of most answers, where the release has an answer with it.
    """

    def __init__(self, corpus: Iterable[Case], python: str | None = None) -> None:
        self.python = python
        self.cases = {case.id: case for case in corpus}
        self.orphans: set[str] = set()
        """Ids of cases that have lines and no file. No table and no page has these lines."""
        self._stale: set[CellKey] = set()
        self._left_out = _Runs()
        """Where lines go that are stale or orphans: one place for all, so that no more than one is kept."""
        self._runs: dict[CellKey, _Runs] = {}
        self._by_values: dict[tuple[str, ...], _Runs] = {}
        """The same by the values of a line from which its cell and its age follow: those need no working out."""
        self._ranks: dict[str, tuple[int, Version]] = {}
        self._view: tuple[dict[CellKey, Record], dict[MatrixRow, dict[str, list[CellKey]]]] | None = None

    def add(self, record: Record) -> None:
        """Take a line into account.

        Args:
            record: a line of the journal, or of a run that goes on.
        """
        self._view = None
        values = (*_values(record), *record["extras"])
        (self._by_values.get(values) or self._begin(values, record)).add(record)

    def _begin(self, values: tuple[str, ...], record: Record) -> _Runs:
        key, case = cell_key(record), self.cases.get(record["case"])
        if case is None:
            self.orphans.add(record["case"])
            runs = self._left_out
        elif not _is_current(record["case_hash"], case, key.torch):
            self._stale.add(key)
            runs = self._left_out
        else:
            # Without a release it is from an environment that did not even import torch.
            runs = self._runs.setdefault(key, _Runs(case, bool(key.torch)))
        self._by_values[values] = runs
        return runs

    def lines(self) -> dict[CellKey, Record]:
        """Return the newest line of every cell of the corpus, with today's verdict."""
        return self._look()[0]

    @property
    def stale(self) -> set[CellKey]:
        """Cells that were measured before their case was edited, and not again since."""
        return {key for key in self._stale if key.torch and key not in self._runs and self._is_asked_for(key)}

    def _is_asked_for(self, key: CellKey) -> bool:
        """Return whether the case still has that cell: a backend, a release or a check may be gone."""
        case = self.cases[key.case]
        named = key.backend in case.backends and any(check.name == key.check for check in case.checks)
        return named and is_available(case, key.torch)

    def of(self, cell: Cell, extras: Sequence[str] = ()) -> History:
        """Return the history of a cell; without findings if it was never measured.

        Args:
            cell: a check on a device with a backend.
            extras: what was installed beside torch.
        """
        row = MatrixRow(*cell.key, "+".join(extras))
        return self._history(cell, row.extras, self._look()[1].get(row, {}))

    def rows(self, lines: Iterable[CellKey] | None = None) -> list[History]:
        """Return the histories in the order of the matrix.

        Args:
            lines: the cells that count; None for all.
        """
        by_row = self._look()[1] if lines is None else _by_row(lines, self.python)
        rows = []
        for row, keys in by_row.items():
            case = self.cases.get(row.case)
            check = next((check for check in case.checks if check.name == row.check), None) if case else None
            if case is not None and check is not None:
                rows.append(self._history(Cell(case, check, row.device, row.backend), row.extras, keys))
        return rows

    def python_of(self, release: object) -> str:
        """Return the usual Python of those that a release was measured with, a minor version; empty if it was not.

        Args:
            release: a public version.
        """
        pythons = [key.python for key in self.lines() if key.torch == str(release) and key.python]
        return max(pythons, key=self._rank, default="")

    def releases(self, cells: Iterable[Cell]) -> list[Version]:
        """Return the releases that have a line of any of these cells, in order.

        Args:
            cells: what was asked for.
        """
        named = {cell.key for cell in cells}
        return sorted({Version(torch) for row, keys in self._look()[1].items() if row.cell in named for torch in keys})

    def versions(self, package: str, cells: Iterable[Cell], torch: str) -> list[Version]:
        """Return the versions of a package that have a line of any of these cells in a release, in order.

        Args:
            package: installed by version beside torch; one from a wheel stands for no version.
            cells: what was asked for.
            torch: a public version.
        """
        named = {cell.key for cell in cells}
        there = set()
        for row, keys in self._look()[1].items():
            if row.cell in named and torch in keys:
                words = [word for word in row.extras.split("+") if "==" in word]
                there.add(apart_from(words, package)[0])
        return sorted(map(Version, there - {""}))

    def _look(self) -> tuple[dict[CellKey, Record], dict[MatrixRow, dict[str, list[CellKey]]]]:
        """Return the newest lines, and the cells by row and release; both stand until the next line is taken."""
        if self._view is None:
            lines = {key: self._judged(key, runs) for key, runs in self._runs.items()}
            self._view = lines, _by_row(lines, self.python)
            self._ranks = ranks_of(key.python for key, line in lines.items() if is_complete(line))
        return self._view

    def _rank(self, python: str) -> tuple[int, Version]:
        self._look()
        return self._ranks.get(python, (0, Version(python or "0")))

    def _judged(self, key: CellKey, runs: _Runs) -> Record:
        if runs.judged is None:
            runs.judged = _judge(runs.line, self.cases[key.case])
        return runs.judged

    def _history(self, cell: Cell, extras: str, keys: Mapping[str, Sequence[CellKey]]) -> History:
        return History(cell, extras, dict(self._findings(cell, keys)))

    def _findings(self, cell: Cell, keys: Mapping[str, Sequence[CellKey]]) -> Iterator[tuple[str, Finding]]:
        lines = self.lines()
        for release, of_release in keys.items():
            shown = max(of_release, key=lambda key: (is_complete(lines[key]), self._rank(key.python)))
            others = tuple(lines[key] for key in of_release if key != shown)
            yield release, self._finding(cell, shown, lines[shown], others)

    def _finding(self, cell: Cell, key: CellKey, record: Record, others: tuple[Record, ...]) -> Finding:
        all_runs = self._runs[key]
        states = all_runs.states
        runs, sightings = states.total(), states[State.BUG]
        is_flaky = cell.case.flaky or all_runs.is_flaky
        state = seen_state(cell.case, record)
        if is_flaky and runs:
            # Seen once, it is there; never seen, it may still be: how sure that is depends on the runs.
            clean = states[State.NO_BUG] == runs
            state = State.BUG if sightings else State.NO_BUG if clean else State.UNKNOWN
        return Finding(record, state, runs, sightings, is_flaky, others)


def _by_row(lines: Iterable[CellKey], python: str | None) -> dict[MatrixRow, dict[str, list[CellKey]]]:
    """Return the cells by row and release, both in the order of the matrix."""
    rows: dict[MatrixRow, dict[str, list[CellKey]]] = {}
    for key in sorted_keys(key for key in lines if key.torch and python in (None, key.python)):
        rows.setdefault(key.row, {}).setdefault(key.torch, []).append(key)
    return rows


def _is_current(digest: str, case: Case, torch: str) -> bool:
    """Return whether a line with that hash says what the case shows today on a release.

    A `requires-torch` that came later rules releases out, and changes nothing on the others (118260).

    Args:
        digest: the hash of the case when it was measured.
        case: as its file is now.
        torch: a public version; may be empty.
    """
    return digest == case.hash or (digest == case.unrestricted_hash and bool(torch) and is_available(case, torch))


def _judge(record: Record, case: Case) -> Record:
    if record["verdict"] in (Verdict.FLAKY, Verdict.ERROR) or not record["torch"]:
        return record
    if all(check.name != record["check"] for check in case.checks):
        return record
    verdict = str(judge(case, record["check"], where_of(record), Observation.from_dict(record)).verdict)
    if verdict == record["verdict"]:
        return record
    changed = record.copy()
    changed["verdict"] = verdict
    return changed
