"""Accepted failures: one file format for `compare --allow` and for `backend --baseline`.

A TOML file with one ``[[accepted]]`` table per failure. Keys: `case` and `outcome` are required; `check`, `device`,
`backend` and `torch` (a PEP 440 specifier set) say where, left out they mean everywhere; `error`, `match`, `frame`,
`output` and `signal` say what it looks like, as in a bug entry of a case file, and `message` is the telling line
of the message with ``N`` for every number, `backend-frame` the innermost frame outside torch of a hang or a crash, both
as `--update-baseline` writes them. `reason` says why; `until` (a date) is the
last day, and an entry without it counts for ever. A failure that does not look like this is not the accepted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import tomlkit
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pt2bugs.case.cells import CellName
from pt2bugs.case.failure import Failure, documents
from pt2bugs.case.model import Bug
from pt2bugs.case.observation import Observation, without_line
from pt2bugs.case.patterns import NOT_A_PATTERN, PatternTimeout, compiled
from pt2bugs.case.stack_dump import frame_outside_torch
from pt2bugs.case.toml import parse_toml
from pt2bugs.case.versions import public_or_empty
from pt2bugs.case.vocabulary import FAILURES, Outcome
from pt2bugs.errors import InputError
from pt2bugs.results.journal import Record


class AcceptedError(InputError):
    """A file of accepted failures that cannot be read, or that breaks its format.

    Cause: no such file, an unknown key, a required one missing, an end date that is no date, a pattern that does not
    parse.
    Remedy: the message has a line for every problem; it names the file, the entry and the key.
    """


@dataclass(frozen=True)
class Accepted:
    """One accepted failure: `bug` has its identity and where it applies, `until` is the last day (None: for ever).

    `message` is the telling line without numbers, as `Failure` has it; `backend_frame` file and function of the
    innermost frame outside torch. Either may be empty, which stands for any.
    """

    case: str
    bug: Bug
    reason: str = ""
    until: date | None = None
    message: str = ""
    backend_frame: str = ""

    def speaks_of(self, cell: CellName, torch: str) -> bool:
        """Return whether it is about a cell in a release, whatever was seen there.

        Args:
            cell: which one.
            torch: a public version.
        """
        bug = self.bug
        pairs = zip((self.case, bug.check, bug.device, bug.backend), cell, strict=True)
        return all(named in (None, there) for named, there in pairs) and bug.torch.contains(torch, prereleases=True)

    def covers(self, cell: CellName, record: Record) -> bool:
        """Return whether the line of a cell shows the accepted failure, end date aside.

        Args:
            cell: which one.
            record: its line.
        """
        if not self.speaks_of(cell, public_or_empty(record["torch"]) or "0"):
            return False
        failure = Failure.of(record)
        if failure is None or (self.message and self.message != failure.message):
            return False
        if self.backend_frame not in ("", _backend_frame(record)):
            return False
        bug = self.bug
        if bug.error is not None and bug.error in (failure.error, record["error_type"].rpartition(".")[2]):
            # Written bare, or the exception inside one that only says which backend raised it.
            bug = replace(bug, error=None)
        try:
            return documents(bug, Observation.from_dict(record))
        except PatternTimeout:
            return False

    def has_ended(self, today: date) -> bool:
        """Return whether the failure is no longer accepted.

        Args:
            today: the day on which that is asked.
        """
        return self.until is not None and today > self.until

    @property
    def identity(self) -> str:
        """The documented identity and the message, on one line."""
        told = f"{self.bug.identity}: {self.message}" if self.message else self.bug.identity
        return f"{told} in {self.backend_frame}" if self.backend_frame else told

    @property
    def summary(self) -> str:
        """Until when it is accepted, and why."""
        end = f"until {self.until}" if self.until else "for ever"
        return f"{end}: {self.reason}" if self.reason else f"{end}, no reason given"

    def __str__(self) -> str:
        where = "::".join(part for part in (self.case, self.bug.check) if part)
        return f"{where} ({self.identity})"


def current_day() -> date:
    """Return the day by which end dates are judged, in UTC: the same on every machine."""
    return datetime.now(timezone.utc).date()


def find_accepted(entries: Iterable[Accepted], cell: CellName, record: Record) -> Accepted | None:
    """Return the entry that covers a failure; of several the one that holds longest.

    Args:
        entries: of a file.
        cell: that failed.
        record: its line.
    """
    covering = [entry for entry in entries if entry.covers(cell, record)]
    return max(covering, key=lambda entry: entry.until or date.max, default=None)


def entry_for(cell: CellName, record: Record, reason: str = "") -> Accepted:
    """Return an entry for exactly this failure of that cell, in every release.

    Args:
        cell: that failed.
        record: its line.
        reason: why it is accepted.

    Raises:
        ValueError: the line shows no failure.
    """
    failure = Failure.of(record)
    if failure is None:
        raise ValueError(f"{cell.case}::{cell.check} did not fail")
    case, check, device, backend = cell
    bug = Bug(Outcome(failure.outcome), check=check, device=device, backend=backend)
    bug = replace(bug, error=failure.error or None, signal=failure.signal or None)
    return Accepted(case, bug, reason, message=failure.message, backend_frame=_backend_frame(record))


def _backend_frame(record: Record) -> str:
    return without_line(frame_outside_torch(record["output_tail"], record["case"]))


def load_accepted(path: Path) -> list[Accepted]:
    """Return the entries of a file.

    Args:
        path: of the file.

    Raises:
        AcceptedError: it cannot be read, or breaks the format.
    """
    try:
        data = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AcceptedError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise AcceptedError(f"{path}: is not TOML: {error}") from None
    tables = data.get("accepted", [])
    problems = [f"unknown key {key!r}; there is [[accepted]]" for key in data if key != "accepted"]
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise AcceptedError(f"{path}: accepted must be written as [[accepted]] entries")
    entries = []
    for number, table in enumerate(tables, 1):
        wrong = list(_problems(table))
        problems += [f"entry {number}: {problem}" for problem in wrong]
        if not wrong:
            entries.append(_entry(table))
    if problems:
        raise AcceptedError("\n".join(f"{path}: {problem}" for problem in problems))
    return entries


def accepted_text(entries: Sequence[Accepted]) -> str:
    """Return a file of these entries, which `load_accepted` reads.

    Args:
        entries: the entries in their order.
    """
    tables = []
    for entry in entries:
        bug = entry.bug
        table = {
            "case": entry.case,
            "check": bug.check,
            "device": bug.device,
            "backend": bug.backend,
            "torch": str(bug.torch) or None,
            "outcome": str(bug.outcome),
            **{key: getattr(bug, key) for key in _IDENTITY},
            "message": entry.message or None,
            "backend-frame": entry.backend_frame or None,
            "reason": entry.reason or None,
        }
        # A lone surrogate, which a line of the journal can hold, has no UTF-8.
        texts = {key: text.encode("utf-8", "replace").decode() for key, text in table.items() if text is not None}
        tables.append({**texts, "until": entry.until} if entry.until else texts)
    return tomlkit.dumps({"accepted": tables}) if tables else ""


_IDENTITY = ("error", "match", "frame", "output", "signal")
_WHERE = ("check", "device", "backend", "torch")
_REQUIRED = ("case", "outcome")
_KEYS = (*_REQUIRED, *_WHERE, *_IDENTITY, "message", "backend-frame", "reason", "until")


def _problems(table: dict[str, Any]) -> Iterable[str]:
    for key, value in table.items():
        if key not in _KEYS:
            yield f"unknown key {key!r}; there are {', '.join(_KEYS)}"
        elif key != "until" and not (isinstance(value, str) and value.strip()):
            yield f"{key} must be a text"
    for key in _REQUIRED:
        if key not in table:
            yield f"needs {key!r}"
    outcome, until = table.get("outcome"), table.get("until")
    if isinstance(outcome, str) and outcome.strip() and outcome not in FAILURES:
        yield f"unknown outcome {outcome!r}: one of {', '.join(sorted(FAILURES))}"
    if until is not None and (not isinstance(until, date) or isinstance(until, datetime)):
        yield f"until must be a date such as 2027-01-31, without quotes, not {str(until)[:40]!r}"
    for key in ("match", "frame", "output"):
        if isinstance(table.get(key), str):
            try:
                compiled(table[key])
            except NOT_A_PATTERN as error:
                yield f"{key} is not a regular expression: {error}"
    if isinstance(table.get("torch"), str):
        try:
            SpecifierSet(table["torch"])
        except InvalidSpecifier:
            yield f'torch = {table["torch"][:80]!r} is not a PEP 440 specifier set; write for example ">=2.4,<2.9"'


def _entry(table: dict[str, Any]) -> Accepted:
    where: dict[str, Any] = {key: table.get(key) for key in ("check", "device", "backend", *_IDENTITY)}
    bug = replace(Bug(Outcome(table["outcome"]), torch=SpecifierSet(table.get("torch", ""))), **where)
    told = {"message": table.get("message", ""), "backend_frame": table.get("backend-frame", "")}
    return Accepted(table["case"], bug, table.get("reason", ""), table.get("until"), **told)
