"""The answer to "is this known?": the matches of every traceback, with what to do about each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version
from pt2bugs.bisect.evidence import Evidence
from pt2bugs.bisect.search import State
from pt2bugs.case.cells import Cell
from pt2bugs.case.corpus import find_case_files, load_cases
from pt2bugs.case.model import Case
from pt2bugs.case.words import FAILURES, Outcome
from pt2bugs.errors import InputError
from pt2bugs.remembered import remembered
from pt2bugs.results.journal import Warn, journal_files, read_journal
from pt2bugs.results.matrix import MatrixRow, Results
from pt2bugs.results.record import Record
from pt2bugs.triage.match import Match, Matcher
from pt2bugs.triage.signature_table import digest, read_table, table_path, write_table
from pt2bugs.triage.signatures import Signatures
from pt2bugs.triage.traceback_text import Failure, find_failures


@dataclass(frozen=True)
class Life:
    """The first release that has a bug, and the first one after the last that has it; empty where there is none."""

    introduced: str = ""
    fixed: str = ""
    newest: str = ""


@dataclass(frozen=True)
class Recognized:
    """A traceback of the input and the known bugs that it may be, best first."""

    failure: Failure
    matches: Sequence[Match]

    @property
    def is_known(self) -> bool:
        return any(match.is_known for match in self.matches)


class KnownBugs:
    """The headers, and the failures that the journal has of them: read once and asked often.

    Args:
        history: gives all lines of a case, for where its bug begins and ends.
    """

    def __init__(self, signatures: Signatures, history: Callable[[Case], Iterable[Record]] = lambda _: ()) -> None:
        self.signatures = signatures
        self._history = history
        self._lives: dict[str, Life] = {}

    @classmethod
    def load(cls, results: Results, roots: Sequence[Path], warn: Warn) -> KnownBugs:
        """The known bugs of a corpus by the journal of a results folder, or by the table that was made of both.

        Raises:
            CaseError: a file of the corpus breaks the contract.
            JournalError: a journal cannot be read.
        """
        cases, files = _files(results, roots, warn)
        if not files:
            warn(
                f"{results.folder}: has no journal; failures are compared with what headers document alone, "
                "not with messages that were seen (--results names another folder)"
            )

        def history(case: Case) -> Iterable[Record]:
            name = f'"{case.id}"'.encode()
            lines = read_journal(files, lambda _: None, lambda line: name in line or _CELL not in line)
            return (record for record in lines if record["case"] == case.id)

        signatures = read_table(table_path(results.folder), digest(roots, cases, files), roots, cases)
        if signatures is None:
            names = [*roots, results.journal_folder]
            signatures = remembered("signatures", names, [*cases, *files], lambda: _judged(cases, files, warn))
        return cls(signatures, history)

    def recognize(self, text: str, torch: str = "") -> list[Recognized]:
        """What every failure of a text is; nothing if the text has no failure."""
        matcher = Matcher(self.signatures, torch)
        return [Recognized(failure, matcher.match(failure)) for failure in find_failures(text)]

    def life(self, case: Case) -> Life:
        """Where a bug begins and ends: as measured, else by its header."""
        if case.id not in self._lives:
            self._lives[case.id] = _measured(case, self._history(case)) or _documented(case)
        return self._lives[case.id]

    def as_dict(self, match: Match, torch: str = "") -> dict[str, Any]:
        """A match as the JSON of `pt2bugs match` has it."""
        case, life = match.case, self.life(match.case)
        return {
            "case": case.id,
            "issue": case.issue,
            "title": case.title,
            "kind": match.kind,
            "score": match.score,
            "introduced": life.introduced,
            "fixed": life.fixed,
            "fix": case.fix,
            "advice": advice(match, life, torch),
            "reproduce": f"uv run {case.path.as_posix()}",
        }


def update_table(results: Results, roots: Sequence[Path], warn: Warn) -> Path:
    """Write the table of signatures of a results folder anew.

    Raises:
        CaseError: a file of the corpus breaks the contract.
        JournalError: a journal cannot be read.
        InputError: it has lines that say nothing: who asks the table would never hear of them.
        FileError: the table cannot be written.
    """
    cases, files = _files(results, roots, warn)
    of = digest(roots, cases, files)
    signatures, is_whole = _judged(cases, files, warn)
    path = table_path(results.folder)
    if not is_whole:
        raise InputError(f"{path}: not written: lines of the journal are left out; mend or remove them first")
    write_table(path, of, signatures, roots)
    return path


def _files(results: Results, roots: Sequence[Path], warn: Warn) -> tuple[list[Path], list[Path]]:
    return list(find_case_files(roots, warn)), journal_files(results.journal_folder, warn)


def _judged(cases: Sequence[Path], files: Sequence[Path], warn: Warn) -> tuple[Signatures, bool]:
    """The signatures by the lines of the journal, and whether every line could be read."""
    problems: list[str] = []
    signatures = Signatures(load_cases(cases), read_journal(files, problems.append, _may_fail))
    for problem in problems:
        warn(problem)
    return signatures, not problems


_CELL = b'"outcome": '
_PASSED = tuple(f'"outcome": "{outcome}"'.encode() for outcome in Outcome if outcome not in FAILURES)


def _may_fail(line: bytes) -> bool:
    """Whether a line of the journal can be one of a failure. Within a text its quotes would be escaped."""
    return not any(passed in line for passed in _PASSED)


def advice(match: Match, life: Life, torch: str = "") -> str:
    """What to do, in a sentence or two; what fits comes first, which tells several matches apart."""
    parts = [f"fits: {match.why}"]
    if "by-design" in match.case.labels:
        parts.append("torch means it so: see the issue")
    elif not match.is_known:
        parts.append("similar only: compare it with the reproducer")
    elif life.fixed and torch and Version(torch) >= Version(life.fixed):
        parts.append(f"fixed in torch {life.fixed}, and you are on {torch}: it may be back, see `pt2bugs bisect`")
    elif life.fixed:
        here = f"you are on {torch}: " if torch else ""
        parts.append(f"{here}upgrade to torch {life.fixed} or newer")
    elif life.newest:
        parts.append(f"not fixed up to torch {life.newest}, the newest measured: see the issue")
    else:
        parts.append("no release is known that fixes it: see the issue")
    if not life.fixed and life.introduced and "by-design" not in match.case.labels:
        parts.append(f"releases before {life.introduced} do not have it")
    return "; ".join(parts)


def _measured(case: Case, records: Iterable[Record]) -> Life | None:
    """From the journal; None if no release showed the bug."""
    evidence = Evidence([case])
    for record in records:
        evidence.add(record)
    releases = sorted({key.torch for key in evidence.newest.lines() if key.torch}, key=Version)
    rows: dict[MatrixRow, dict[str, State]] = {}
    for key in evidence.newest.lines():
        if key.torch and any(check.name == key.check for check in case.checks):
            cell = Cell(case, case.check(key.check), key.device, key.backend)
            found = evidence.find(cell, key.torch, key.extras.split("+") if key.extras else ())
            if found is not None and found.state is not State.UNKNOWN:
                rows.setdefault(key.row, {})[key.torch] = found.state
    lives = []
    for states in rows.values():
        decided = [release for release in releases if release in states]
        buggy = [release for release in decided if states[release] is State.BUG]
        if buggy:
            after = decided[decided.index(buggy[-1]) + 1 :]
            lives.append((buggy[0] if buggy[0] != decided[0] else "", after[0] if after else ""))
    if not lives:
        return None
    introduced = "" if any(not one for one, _ in lives) else min((one for one, _ in lives), key=Version)
    fixed = "" if any(not one for _, one in lives) else max((one for _, one in lives), key=Version)
    return Life(introduced, fixed, releases[-1])


def _documented(case: Case) -> Life:
    """From the entries of the header."""
    entries = [str(bug.torch) for bug in case.bugs if not bug.blocked]
    lows = [re.search(r">=?\s*([\d.]+)", text) for text in entries]
    highs = [re.search(r"<\s*([\d.]+)", text) for text in entries]
    introduced = min((low[1] for low in lows if low), key=Version) if all(lows) and lows else ""
    fixed = max((high[1] for high in highs if high), key=Version) if all(highs) and highs else ""
    return Life(introduced, fixed)
