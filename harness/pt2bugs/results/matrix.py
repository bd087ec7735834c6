"""The matrix: the newest line of every cell, and the results folder that holds the journal and its tables.

Outcomes come from the journal, expectations from the case files as they are now: a verdict is derived
again whenever a table is made, so that editing a `[[tool.pt2bugs.bug]]` entry needs no new run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from packaging.version import InvalidVersion, Version
from pt2bugs.case.cells import CellName
from pt2bugs.case.expectation import Where, judge, pinned, public
from pt2bugs.case.model import Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.private import private_extras
from pt2bugs.case.vocabulary import EXTRAS, TORCH_BACKENDS, Verdict
from pt2bugs.results.journal import Record, Warn, journal_files, read_journal


class MatrixRow(NamedTuple):
    """Which row of the matrix: a cell, and what was installed beside torch."""

    case: str
    check: str
    device: str
    backend: str
    extras: str

    @property
    def cell(self) -> CellName:
        """The cell, whatever the environment."""
        return CellName(*self[:4])


class CellEnvironment(NamedTuple):
    """Which environment a line is about."""

    extras: str
    torch: str
    python: str


class CellKey(NamedTuple):
    """Which cell a line is about; `extras` are joined by ``+``, `torch` is public, `python` a minor version."""

    case: str
    check: str
    device: str
    backend: str
    extras: str
    torch: str
    python: str

    @property
    def cell(self) -> CellName:
        """The cell, whatever the environment."""
        return CellName(*self[:4])

    @property
    def row(self) -> MatrixRow:
        """Where the matrix has it."""
        return MatrixRow(*self[:5])

    @property
    def environment(self) -> CellEnvironment:
        """The environment, whatever the cell."""
        return CellEnvironment(*self[4:])


def cell_key(record: Record) -> CellKey:
    """Return which cell a journal line is about.

    Args:
        record: the line.
    """
    case, check, device, backend, extras, torch, python = _key_values(record)
    return CellKey(
        case, check, device, backend, "+".join(extras) if extras else "", public_or_empty(torch), python_minor(python)
    )


_key_values = itemgetter("case", "check", "device", "backend", "extras", "torch", "python")
_cell_values = itemgetter("case", "check", "device", "backend", "torch", "python", "case_hash")


@lru_cache(maxsize=4096)
def public_or_empty(version: str) -> str:
    """Return the public part of a version; empty for a text that is none.

    Args:
        version: of torch.
    """
    try:
        return public(version)
    except InvalidVersion:
        return ""


@lru_cache(maxsize=4096)
def version_key(version: str) -> Version:
    """Return what versions are sorted by.

    Args:
        version: empty stands before all.
    """
    return Version(version or "0")


def sorted_keys(lines: Iterable[CellKey]) -> list[CellKey]:
    """Return cells by case, check, device, backend and extras, then in version order.

    Args:
        lines: in any order.
    """
    keys = list(lines)
    # A few dozen versions among many cells: put them in order once.
    there = {version for key in keys for version in (key.torch, key.python)}
    versions = sorted(there, key=lambda text: (version_key(text), text))
    place = {version: number for number, version in enumerate(versions)}
    # The values of `key.row`, of which the sort needs no objects.
    return sorted(keys, key=lambda key: (key[:5], place[key.torch], place[key.python]))


def matrix_value(verdict: str, outcome: str) -> str:
    """Return a cell of the matrix: the verdict, and how it failed where it failed as documented.

    Args:
        verdict: of the line.
        outcome: of the line.
    """
    return f"xfail:{outcome}" if verdict == Verdict.XFAIL else verdict


@lru_cache(maxsize=4096)
def python_minor(version: str) -> str:
    """Return ``3.11`` for ``3.11.7``.

    Args:
        version: of Python.
    """
    return ".".join(version.split(".")[:2])


def is_complete(record: Record) -> bool:
    """Return whether a line closes its cell: the last repeat, and not an error of the environment.

    Args:
        record: the line.
    """
    return bool(record["repeat"] >= record["repeats"]) and record["verdict"] != Verdict.ERROR


def where_of(record: Record) -> Where:
    """Return the environment of a line, as far as expectations depend on it.

    Args:
        record: the line.
    """
    return Where(
        torch=public_or_empty(record["torch"]) or "0",
        python=record["python"] or "0",
        device=record["device"],
        backend=record["backend"],
        platform=record["platform"],
        capability=record["cpu_capability"],
        packages=pinned(record["extras"]) if record["extras"] else (),
    )


def is_own(record: Record, case: Case | None) -> bool:
    """Return whether a line is kept with the corpus's own.

    Args:
        record: of a backend that the header names, without packages that a user named, or with those that the
            backend comes with: then it is.
        case: the case; None if it has no file.
    """
    if case is None:
        return True
    is_alone = set(record["extras"]) <= {*EXTRAS, *private_extras()}
    return record["backend"] in case.backends and (is_alone or record["backend"] not in TORCH_BACKENDS)


def backend_folder(name: str) -> str:
    """Return the name of a backend as that of a folder.

    Args:
        name: may be a dotted path, or anything.
    """
    return name if re.fullmatch(r"[\w+-][\w.+-]*", name) else f"backend-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def builds_of(lines: Mapping[CellKey, Record]) -> dict[str, list[str]]:
    """Return the builds of each release, as ``+cpu`` or ``+cu126``; those from a plain index have none.

    Args:
        lines: by cell.
    """
    builds: dict[str, set[str]] = {}
    for key, record in lines.items():
        if key.torch:
            _, plus, local = record["torch"].partition("+")
            builds.setdefault(key.torch, set()).add(plus + local)
    return {release: sorted(of_release) for release, of_release in builds.items()}


def mixed_builds(builds: Mapping[str, Iterable[str]]) -> str:
    """Return a sentence if releases were measured as builds of different kinds (CPU, CUDA, ROCm), else nothing.

    A CUDA version is no kind: each release has its own.

    Args:
        builds: of each release.
    """
    kinds: dict[str, list[str]] = {}
    for release, of_release in builds.items():
        for build in of_release:
            kind = re.sub(r"[\d.]+$", "", build.removeprefix("+")) or "plain"
            kinds.setdefault({"cu": "CUDA", "cpu": "CPU", "rocm": "ROCm"}.get(kind, kind), []).append(release)
    if len(kinds) < 2:
        return ""
    few_first = sorted(kinds.items(), key=lambda item: len(item[1]))
    told = [f"{kind} builds of {', '.join(releases)}" for kind, releases in few_first[:-1]]
    return f"builds of different kinds are mixed: {'; '.join(told)}; {few_first[-1][0]} builds of the others"


_ERROR = str(Verdict.ERROR)


class Consumer(Protocol):
    """Takes the lines of a journal one by one."""

    def add(self, record: Record) -> None: ...


class _Newest:
    """The newest line of a cell: whether it closes the cell, when it began, and the record with today's verdict."""

    __slots__ = ("complete", "judged", "line", "started")

    def __init__(self) -> None:
        self.complete, self.started = False, ""
        self.line: Any = None
        self.judged: Record | None = None


class NewestLines:
    """The newest line of every cell, with its verdict by today's expectations.

    A line of an older version of a case file is stale and left out. An error of the environment, or a
    series of repeats that was cut off, counts only while the cell has nothing better.
    """

    def __init__(self, cases: Iterable[Case]) -> None:
        self.cases = {case.id: case for case in cases}
        self.orphans: set[str] = set()
        """Ids of cases that have lines and no file."""
        self._stale: set[CellKey] = set()
        """Cells of which lines were left out, as their case file has changed since."""
        self._left_out = _Newest()
        """Where lines go that are stale or orphans: one place for all, so that no more than one is kept."""
        self._found: dict[CellKey, _Newest] = {}
        self._by_values: dict[tuple[str, ...], _Newest] = {}
        """The same by the values of a line from which its cell and its age follow: those need no working out."""

    def add(self, record: Record) -> None:
        """Take a line into account.

        Args:
            record: a line of the journal.
        """
        values = (*_cell_values(record), *record["extras"])
        newest = self._by_values.get(values) or self._begin(values, record)
        complete = is_complete(record)
        if complete < newest.complete or (complete == newest.complete and record["started"] < newest.started):
            return
        newest.complete, newest.started, newest.line, newest.judged = complete, record["started"], record, None

    def _begin(self, values: tuple[str, ...], record: Record) -> _Newest:
        key = cell_key(record)
        case = self.cases.get(record["case"])
        if case is None:
            self.orphans.add(record["case"])
            newest = self._left_out
        elif record["case_hash"] != case.hash:
            self._stale.add(key)
            newest = self._left_out
        else:
            newest = self._found.setdefault(key, _Newest())
        self._by_values[values] = newest
        return newest

    @property
    def stale(self) -> set[str]:
        """Ids of cases that were edited after a cell was measured, and not measured again there since."""
        owed = {key for key in self._stale if key not in self._found}
        return {key.case for key in owed if self._is_asked_for(key)}

    def _is_asked_for(self, key: CellKey) -> bool:
        """Return whether the case still has that cell: its header may have dropped a backend, or the file a check."""
        case = self.cases[key.case]
        return key.backend in case.backends and any(check.name == key.check for check in case.checks)

    def lines(self) -> dict[CellKey, Record]:
        """Return the lines by cell."""
        return {key: newest.judged or self._judge(key, newest) for key, newest in self._found.items()}

    def _judge(self, key: CellKey, newest: _Newest) -> Record:
        newest.judged = _judge(newest.line, self.cases[key.case])
        return newest.judged


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


class Results:
    """A results folder: `journal/*.jsonl` and the tables derived from it.

    Lines of a backend that no header names are no answers about the corpus. They have a results folder of their own
    below, `backends/NAME/`, and are read only where that backend is asked for.

    Args:
        backends: those whose own folders are read, too.
        copy: another results folder, which gets the lines of a run as well.
    """

    def __init__(self, folder: Path, backends: Iterable[str] = (), copy: Path | None = None) -> None:
        self.folder = folder
        self.journal_folder = folder / "journal"
        self.backends = tuple(dict.fromkeys(backends))
        self.copy = Results(copy) if copy is not None else None

    def folder_of_backend(self, name: str) -> Path:
        """Return the results folder of the cells that are not the corpus's own.

        Args:
            name: of the backend.
        """
        return self.folder / "backends" / backend_folder(name)

    def backend_folders(self) -> list[str]:
        """Return the names of the folders that backends have here."""
        return sorted(path.parent.name for path in (self.folder / "backends").glob("*/journal") if path.is_dir())

    def journal_folder_of(self, record: Record, case: Case | None) -> Path:
        """Return where a line is kept.

        Args:
            record: the line.
            case: the case; None if it has no file.
        """
        if is_own(record, case):
            return self.journal_folder
        return self.folder_of_backend(record["backend"]) / "journal"

    def _files(self, warn: Warn) -> list[Path]:
        folders = [self.journal_folder, *(self.folder_of_backend(name) / "journal" for name in self.backends)]
        return [file for folder in folders for file in journal_files(folder, warn)]

    def read(self, consumers: Iterable[Consumer], warn: Warn) -> None:
        """Hand every line of the journal to every consumer.

        Args:
            consumers: take the lines.
            warn: takes what is wrong with a line.

        Raises:
            JournalError: a journal cannot be read, or is of a newer schema.
        """
        takers = [consumer.add for consumer in consumers]
        for record in read_journal(self._files(warn), warn):
            for take in takers:
                take(record)

    def load(self, cases: Iterable[Case], warn: Warn) -> NewestLines:
        """Return the newest line of every cell.

        Args:
            cases: the corpus.
            warn: takes what is wrong with a line.

        Raises:
            JournalError: a journal cannot be read, or is of a newer schema.
        """
        newest = NewestLines(cases)
        self.read([newest], warn)
        return newest

    def derive(self, newest: NewestLines) -> None:
        """Write `cells.csv` and `matrix.csv` anew, each whole or not at all.

        Args:
            newest: the newest lines of the corpus.

        Raises:
            FileError: a table cannot be written; the one that was there stays.
        """
        from pt2bugs.results.tables import cells_table, matrix_table, write_csv

        parts: dict[Path, dict[CellKey, Record]] = {self.folder: {}}
        for key, record in newest.lines().items():
            own = is_own(record, newest.cases.get(key.case))
            folder = self.folder if own else self.folder_of_backend(key.backend)
            parts.setdefault(folder, {})[key] = record
        read = {self.folder, *map(self.folder_of_backend, self.backends)}
        for folder, lines in parts.items():
            if folder in read:
                cells = cells_table(lines)
                write_csv(cells, folder / "cells.csv")
                write_csv(matrix_table(cells, newest.cases.values()), folder / "matrix.csv")
