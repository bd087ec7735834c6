"""Failures that somebody accepted, each with its identity, a reason and the day on which the acceptance ends.

A TOML file with one ``[[accepted]]`` table per failure. Keys: `case`, `outcome`, `reason` and `until` (a date, the last
day) are required; `check`, `device`, `backend` and `torch` (a PEP 440 specifier set) say where, left out they mean
everywhere; `error`, `match`, `frame`, `output` and `signal` say what it looks like, as in a bug entry of a case file.
A failure that does not look like this is not the accepted one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pt2bugs.case.cells import Cell
from pt2bugs.case.expectation import has_identity
from pt2bugs.case.model import Bug
from pt2bugs.case.observation import Observation
from pt2bugs.case.patterns import PatternTimeout
from pt2bugs.case.words import FAILURES, Outcome
from pt2bugs.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class AcceptedError(InputError):
    """A file of accepted failures that breaks its format.

    Cause: an unknown key, a required one missing, an end date that is none, a pattern that does not parse.
    Remedy: the message has a line for every problem; it names the file, the entry and the key.
    """


@dataclass(frozen=True)
class Accepted:
    """One accepted failure: `bug` has its identity and where it applies, `until` is the last day."""

    case: str
    bug: Bug
    reason: str
    until: date

    def covers(self, cell: Cell, torch: str, seen: Observation) -> bool:
        """Whether this failure of the cell in that release (a public version) is the accepted one, end date aside."""
        bug = self.bug
        applies = (
            self.case == cell.case.id
            and bug.check in (None, cell.check.name)
            and bug.device in (None, cell.device)
            and bug.backend in (None, cell.backend)
            and bug.torch.contains(torch, prereleases=True)
        )
        try:
            return applies and has_identity(bug, seen)
        except PatternTimeout:
            return False

    def has_ended(self, today: date) -> bool:
        return today > self.until

    def __str__(self) -> str:
        where = "::".join(part for part in (self.case, self.bug.check) if part)
        return f"{where} ({self.bug.identity})"


def find_accepted(entries: Iterable[Accepted], cell: Cell, torch: str, seen: Observation) -> Accepted | None:
    """The entry that covers a failure; of several the one that holds longest."""
    found = [entry for entry in entries if entry.covers(cell, torch, seen)]
    return max(found, key=lambda entry: entry.until, default=None)


def load_accepted(path: Path) -> list[Accepted]:
    """The entries of a file.

    Raises:
        AcceptedError: it cannot be read, or breaks the format.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
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
        found = list(_problems(table))
        problems += [f"entry {number}: {problem}" for problem in found]
        if not found:
            entries.append(_entry(table))
    if problems:
        raise AcceptedError("\n".join(f"{path}: {problem}" for problem in problems))
    return entries


def accepted_text(entries: Sequence[Accepted]) -> str:
    """A file of these entries, which `load_accepted` reads."""
    parts = []
    for entry in entries:
        bug = entry.bug
        table: dict[str, str | None] = {
            "case": entry.case,
            "check": bug.check,
            "device": bug.device,
            "backend": bug.backend,
            "torch": str(bug.torch) or None,
            "outcome": str(bug.outcome),
            **{key: getattr(bug, key) for key in _IDENTITY},
            "reason": entry.reason,
        }
        lines = [f"{key} = {_toml(value)}" for key, value in table.items() if value is not None]
        parts.append("\n".join(["[[accepted]]", *lines, f"until = {entry.until.isoformat()}\n"]))
    return "\n".join(parts)


_IDENTITY = ("error", "match", "frame", "output", "signal")
_WHERE = ("check", "device", "backend", "torch")
_REQUIRED = ("case", "outcome", "reason")


def _toml(text: str) -> str:
    escaped = "".join(f"\\{c}" if c in '"\\' else c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
    return f'"{escaped}"'


def _problems(table: dict[str, Any]) -> Iterable[str]:
    for key, value in table.items():
        if key not in (*_REQUIRED, *_WHERE, *_IDENTITY, "until"):
            known = ", ".join((*_REQUIRED, "until", *_WHERE, *_IDENTITY))
            yield f"unknown key {key!r}; there are {known}"
        elif key != "until" and not (isinstance(value, str) and value.strip()):
            yield f"{key} must be a text"
    for key in (*_REQUIRED, "until"):
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
                re.compile(table[key])
            except (re.error, OverflowError, RecursionError) as error:
                yield f"{key} is not a regular expression: {error}"
    if isinstance(table.get("torch"), str):
        try:
            SpecifierSet(table["torch"])
        except InvalidSpecifier:
            yield f'torch = {table["torch"][:80]!r} is not a PEP 440 specifier set; write for example ">=2.4,<2.9"'


def _entry(table: dict[str, Any]) -> Accepted:
    where: dict[str, Any] = {key: table.get(key) for key in ("check", "device", "backend", *_IDENTITY)}
    bug = replace(Bug(Outcome(table["outcome"]), torch=SpecifierSet(table.get("torch", ""))), **where)
    return Accepted(table["case"], bug, table["reason"], table["until"])
