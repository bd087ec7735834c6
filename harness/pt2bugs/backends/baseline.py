"""A baseline: the failures that are known, so that only what is new, different or gone needs attention.

A TOML file with one `[[known]]` entry for each cell: `case`, `check`, `device`, `backend`; the identity of its failure,
`outcome`, `error`, `signal` and `message`; and for people `reason` and `until`, a date from which on it counts no more.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from pt2bugs.backends.identity import Failure, failure_of
from pt2bugs.case.words import Outcome
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.results.record import Record

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CellName = tuple[str, str, str, str]
"""Case, check, device, backend."""
_CELL = ("case", "check", "device", "backend")
_IDENTITY = ("outcome", "error", "signal", "message")


class BaselineError(InputError):
    """A baseline that cannot be read or written.

    Cause: no such file, no TOML, an entry without its cell, an unknown key.
    Remedy: the message says which entry; `--update-baseline` writes the file anew.
    """


@dataclass(frozen=True)
class Known:
    """A failure that is known, why, and the day from which on it is not accepted any more."""

    cell: CellName
    failure: Failure
    reason: str = ""
    until: date | None = None


class Change(str, Enum):
    """How a cell differs from the baseline."""

    NEW = "new"
    DIFFERENT = "different"
    EXPIRED = "expired"
    GONE = "gone"

    __str__ = str.__str__


@dataclass(frozen=True)
class Difference:
    """A cell that is not as the baseline has it."""

    change: Change
    cell: CellName
    known: Known | None
    failure: Failure | None

    @property
    def name(self) -> str:
        case, check, device, backend = self.cell
        return f"{case}::{check}[{device}-{backend}]"

    @property
    def words(self) -> str:
        """What is different, on one line."""
        seen = self.failure.words if self.failure else "pass"
        if self.known is None:
            return seen
        if self.change is Change.EXPIRED:
            return f"{seen} (accepted until {self.known.until})"
        return f"{seen} (known: {self.known.failure.words})"


def read_baseline(path: Path) -> dict[CellName, Known]:
    """The entries of a file by cell.

    Raises:
        BaselineError: it cannot be read, or an entry is not one.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BaselineError(f"--baseline {path}: there is no such file; --update-baseline writes it") from None
    except (OSError, ValueError) as error:
        raise BaselineError(f"--baseline {path}: cannot be read: {error}") from None
    entries = table.get("known", [])
    if set(table) - {"known"} or not isinstance(entries, list):
        raise BaselineError(f"--baseline {path}: it has [[known]] entries, and nothing else")
    found = {}
    for number, entry in enumerate(entries, 1):
        known = _parse(path, number, entry)
        if known.cell in found:
            raise BaselineError(f"--baseline {path}: entry {number}: a second one for {'::'.join(known.cell[:2])}")
        found[known.cell] = known
    return found


def _parse(path: Path, number: int, entry: Any) -> Known:
    where = f"--baseline {path}: entry {number}"
    if not isinstance(entry, dict):
        raise BaselineError(f"{where}: is no table")
    if unknown := sorted(set(entry) - {*_CELL, *_IDENTITY, "reason", "until"}):
        raise BaselineError(f"{where}: unknown key {unknown[0]!r}")
    for key in (*_CELL, "outcome"):
        if not entry.get(key):
            raise BaselineError(f"{where}: has no {key!r}")
    for key in (*_CELL, *_IDENTITY, "reason"):
        if not isinstance(entry.get(key, ""), str):
            raise BaselineError(f"{where}: {key} must be a string")
    if entry["outcome"] not in {str(one) for one in Outcome}:
        raise BaselineError(f"{where}: unknown outcome {entry['outcome']!r}")
    until = entry.get("until")
    if until is not None and (not isinstance(until, date) or isinstance(until, datetime)):
        raise BaselineError(f"{where}: until must be a date, such as 2026-12-31 without quotes")
    case, check, device, backend = (entry[key] for key in _CELL)
    failure = Failure(**{key: entry.get(key, "") for key in _IDENTITY})
    return Known((case, check, device, backend), failure, entry.get("reason", ""), until)


def differences(
    baseline: Mapping[CellName, Known], records: Mapping[CellName, Record], today: date
) -> list[Difference]:
    """Where the lines of these cells are not as the baseline has them; cells that gave no answer are left out."""
    found = []
    for cell, record in sorted(records.items()):
        known, failure = baseline.get(cell), failure_of(record)
        if failure is None:
            if known is not None and record["outcome"] == Outcome.PASS:
                found.append(Difference(Change.GONE, cell, known, None))
        elif known is None:
            found.append(Difference(Change.NEW, cell, None, failure))
        elif failure != known.failure:
            found.append(Difference(Change.DIFFERENT, cell, known, failure))
        elif not accepts(baseline, cell, record, today):
            found.append(Difference(Change.EXPIRED, cell, known, failure))
    order = list(Change)
    return sorted(found, key=lambda one: order.index(one.change))


def accepts(baseline: Mapping[CellName, Known], cell: CellName, record: Record, today: date) -> bool:
    """Whether the line shows the failure that the baseline has for its cell, and that still counts."""
    known = baseline.get(cell)
    return known is not None and failure_of(record) == known.failure and (known.until is None or today < known.until)


def updated(baseline: Mapping[CellName, Known], records: Mapping[CellName, Record]) -> dict[CellName, Known]:
    """The baseline with what was seen: reasons stay, entries of cells that gave no answer or were not run stay, too."""
    found = dict(baseline)
    for cell, record in records.items():
        failure = failure_of(record)
        if failure is not None:
            before = baseline.get(cell)
            same = before is not None and before.failure == failure
            found[cell] = before if before is not None and same else Known(cell, failure)
        elif record["outcome"] == Outcome.PASS:
            found.pop(cell, None)
    return found


def write_baseline(path: Path, entries: Iterable[Known]) -> None:
    """Write the entries, sorted by cell.

    Raises:
        BaselineError: the file cannot be written.
    """
    text = "# Known failures, written by `pt2bugs backend NAME --baseline FILE --update-baseline`.\n"
    text += "# `reason` and `until = 2026-12-31` (a day from which on an entry counts no more) are yours to add.\n"
    for known in sorted(entries, key=lambda one: one.cell):
        values = [*zip(_CELL, known.cell, strict=True), *((key, getattr(known.failure, key)) for key in _IDENTITY)]
        values.append(("reason", known.reason))
        lines = [f"{key} = {json.dumps(value, ensure_ascii=True)}" for key, value in values if value]
        if known.until:
            lines.append(f"until = {known.until.isoformat()}")
        text += "\n[[known]]\n" + "\n".join(lines) + "\n"
    try:
        write_text(path, text)
    except OSError as error:
        raise BaselineError(f"--baseline {path}: cannot be written: {error.strerror}") from None


def as_text(found: Iterable[Difference]) -> str:
    """One line for each difference."""
    return "\n".join(f"{one.change}: {one.name}  {one.words}" for one in found)


def as_markdown(found: Iterable[Difference], paths: Mapping[str, str]) -> str:
    """A table; `paths` are the addresses of the issues by case."""
    rows = ["| change | cell | seen |", "| --- | --- | --- |"]
    for one in found:
        words = one.words.replace("|", "\\|").replace("<", "&lt;")
        issue = paths.get(one.cell[0], "")
        rows.append(f"| {one.change} | [{one.name.replace('[', '(').replace(']', ')')}]({issue}) | {words} |")
    return "\n".join(rows)


def as_annotations(found: Iterable[Difference], places: Mapping[tuple[str, str], tuple[str, int]]) -> str:
    """Workflow commands of GitHub; `places` are file and line by case and check."""
    lines = []
    for one in found:
        path, line = places.get(one.cell[:2], ("", 1))
        kind = "warning" if one.change is Change.GONE else "error"
        title = _escape(f"{one.change}: {one.name}", value=True)
        lines.append(f"::{kind} file={_escape(path, value=True)},line={line},title={title}::{_escape(one.words)}")
    return "\n".join(lines)


def _escape(text: str, *, value: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if value else text
