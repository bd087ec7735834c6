"""A results folder: which is read where the user names none, its journals, and the tables derived from them.

Light to import: `list` asks it without pandas or msgspec.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pt2bugs.case.corpus import brought
from pt2bugs.files import listed

if TYPE_CHECKING:
    from pt2bugs.case.model import Case
    from pt2bugs.results.history import Histories
    from pt2bugs.results.journal import Record, Warn
    from pt2bugs.results.line import CellKey


def results_folder() -> Path:
    """Return the folder of results that belongs to the corpus which is read where none is named.

    That is `results` here beside the results or `cases` here; elsewhere what came with the package, or stands in its
    clone.
    """
    here, there = Path("results"), brought("results")
    return here if here.is_dir() or Path("cases").is_dir() or not there.is_dir() else there


def open_results(named: Path | None, backends: Sequence[str] = (), copy: Path | None = None) -> Results:
    """Return the results folder that was named, else `results_folder`.

    Args:
        named: by the user.
        backends: those whose own cells are read, too, though no header names them.
        copy: another folder, which gets the lines of a run as well.
    """
    return Results(named or results_folder(), backends, copy)


def open_all_results(named: Path | None) -> Results:
    """Return the results folder as `open_results`, with the own cells of every backend that has a folder there.

    Args:
        named: by the user.
    """
    results = open_results(named)
    return open_results(results.folder, results.backend_folders())


def backend_folder(name: str) -> str:
    """Return the name of a backend as that of a folder.

    Args:
        name: may be a dotted path, or anything.
    """
    return name if re.fullmatch(r"[\w+-][\w.+-]*", name) else f"backend-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


Among = Callable[[str], bool]
"""Says of a public version whether it is asked for."""


class Consumer(Protocol):
    """Takes the lines of a journal one by one."""

    def add(self, record: Record) -> None: ...


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
        return [path.name for path in listed(self.folder / "backends", "") if (path / "journal").is_dir()]

    def journal_folder_of(self, record: Record, case: Case | None) -> Path:
        """Return where a line is kept.

        Args:
            record: the line.
            case: the case; None if it has no file.
        """
        from pt2bugs.results.line import is_own

        if is_own(record, case):
            return self.journal_folder
        return self.folder_of_backend(record["backend"]) / "journal"

    def _files(self, warn: Warn = lambda _: None) -> list[Path]:
        """Return the journals that are read, those of `backends` too."""
        from pt2bugs.results.journal import journal_files

        folders = [self.journal_folder, *(self.folder_of_backend(name) / "journal" for name in self.backends)]
        return [file for folder in folders for file in journal_files(folder, warn)]

    def releases(self) -> list[str]:
        """Return the releases that the journals to read are named by, or begin or end with, the newest first.

        Where there is a journal at all, the last is an empty one: that of journals named otherwise.
        """
        from pt2bugs.results.journal import named_release, shown_releases
        from pt2bugs.results.line import version_key

        files = self._files()
        there = {""} if files else set()
        for file in files:
            there |= {named_release(file), *shown_releases(file)}
        return sorted(there, key=version_key, reverse=True)

    def read(self, consumer: Consumer, warn: Warn, among: Among | None = None) -> None:
        """Hand over the lines of the journal.

        Args:
            consumer: takes the lines.
            warn: takes what is wrong with a line.
            among: of the releases that files are named by, those whose files are read; None for all.

        Raises:
            JournalError: a journal cannot be read, or is of a newer schema.
        """
        from pt2bugs.results.journal import named_release, read_journal, shown_releases

        files = self._files(warn)
        if among is not None:
            names = ((file, named_release(file)) for file in files)
            files = [
                file
                for file, torch in names
                if not torch or among(torch) or any(map(among, shown_releases(file) - {torch}))
            ]
        for record in read_journal(files, warn):
            consumer.add(record)

    def load(
        self, corpus: Iterable[Case], warn: Warn, python: str | None = None, among: Among | None = None
    ) -> Histories:
        """Return the histories of a corpus by the lines that are here.

        Args:
            corpus: the cases as they are now.
            warn: takes what is wrong with a line.
            python: as of `Histories`.
            among: as of `read`.

        Raises:
            JournalError: a journal cannot be read, or is of a newer schema.
        """
        from pt2bugs.results.history import Histories

        histories = Histories(corpus, python)
        self.read(histories, warn, among)
        return histories

    def derive(self, histories: Histories) -> None:
        """Write `cells.csv` and `matrix.csv` anew, each whole or not at all.

        Args:
            histories: of the corpus.

        Raises:
            FileError: a table cannot be written; the one that was there stays.
        """
        from pt2bugs.results.line import is_own
        from pt2bugs.results.tables import cells_table, matrix_table, write_csv

        parts: dict[Path, dict[CellKey, Record]] = {self.folder: {}}
        for key, record in histories.lines().items():
            own = is_own(record, histories.cases.get(key.case))
            folder = self.folder if own else self.folder_of_backend(key.backend)
            parts.setdefault(folder, {})[key] = record
        read = {self.folder, *map(self.folder_of_backend, self.backends)}
        for folder, lines in parts.items():
            if folder in read:
                cells = cells_table(lines)
                write_csv(cells, folder / "cells.csv")
                write_csv(matrix_table(cells, histories.cases.values()), folder / "matrix.csv")
