"""What the selection of a command means: cases, cells, and the lines that the results have of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pt2bugs.case.corpus import Selection, load_cases
from pt2bugs.case.model import Case
from pt2bugs.commands.console import warn
from pt2bugs.commands.options import ResultsOptions, SelectionOptions
from pt2bugs.errors import InputError, NothingSelected

if TYPE_CHECKING:
    from pt2bugs.case.cells import Cell
    from pt2bugs.report.history import History
    from pt2bugs.results.matrix import CellKey, Results
    from pt2bugs.results.record import Record


@dataclass(frozen=True, kw_only=True)
class LinesOptions(SelectionOptions, ResultsOptions):
    """Which lines of which results folder are meant."""


def corpus_roots(asked: Sequence[Path]) -> list[Path]:
    """The folders of the corpus: those asked for, else `cases` here, else the installed one.

    Raises:
        InputError: one asked for does not exist.
    """
    for path in asked:
        if not path.exists():
            raise InputError(f"--cases {path}: there is no such file or folder")
    if asked:
        return list(asked)
    here = Path("cases")
    if here.is_dir():
        return [here]
    package = Path(__file__).resolve().parent.parent
    installed = package / "_corpus" / "cases"
    return [installed if installed.is_dir() else package.parent.parent / "cases"]


def select_cases(options: SelectionOptions) -> tuple[list[Case], list[Case]]:
    """The whole corpus, and what of it the options select (devices and backends left aside).

    Raises:
        CaseError: a file of the corpus breaks the contract.
        InputError: a pattern matches no case id.
        NothingSelected: the filters together leave nothing.
    """
    corpus = load_cases(corpus_roots(options.cases), warn)
    for pattern in options.patterns:
        if not any(Selection((pattern,)).matches(case) for case in corpus):
            close = difflib.get_close_matches(pattern, [case.id for case in corpus], n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InputError(f"no case {pattern!r}{hint}; `pt2bugs list` shows all")
    chosen = corpus
    for name, selection in {
        "CASE": Selection(patterns=tuple(options.patterns)),
        "--component": Selection(components=tuple(options.component)),
        "--symptom": Selection(symptoms=tuple(options.symptom)),
        "--label": Selection(labels=tuple(options.label)),
    }.items():
        before = chosen
        chosen = [case for case in chosen if selection.matches(case)]
        if before and not chosen:
            raise NothingSelected(f"nothing selected: {name} leaves none of {len(before)} cases")
    if not chosen:
        raise NothingSelected("nothing selected: the corpus is empty")
    return corpus, chosen


def select_cells(options: SelectionOptions, cases: Sequence[Case]) -> list[Cell]:
    """The cells of the selected cases on the devices and backends asked for.

    Raises:
        NothingSelected: no selected check runs there.
    """
    from pt2bugs.backends.reach import on_its_device, special_reaches
    from pt2bugs.case.cells import cells_of

    devices, backends = tuple(options.device), tuple(options.backend)
    cells = on_its_device(
        (cell for case in cases for cell in cells_of(case, devices, backends)), special_reaches(backends)
    )
    if not cells:
        words = " ".join([*(f"--device {d}" for d in devices), *(f"--backend {b}" for b in backends)])
        raise NothingSelected(f"nothing selected: no check of the selected cases runs on {words}")
    return cells


def results_folder() -> Path:
    """The folder of results here; where there is none, and the wheel brought one, that is read instead."""
    here = Path("results")
    installed = Path(__file__).resolve().parent.parent / "_corpus" / "results"
    return here if here.is_dir() or not installed.is_dir() else installed


def open_results(options: ResultsOptions, backends: Sequence[str] = ()) -> Results:
    """The results folder; with `backends`, also what it has of cells on them that no header names."""
    from pt2bugs.results.matrix import Results

    return Results(options.results or results_folder(), backends)


def load_lines(
    options: LinesOptions, corpus: Sequence[Case], cases: Sequence[Case], warn: Callable[[str], None]
) -> dict[CellKey, Record]:
    """The lines that the results folder has of these cases of the corpus, on the devices and backends asked for.

    Raises:
        JournalError: a journal cannot be read.
    """
    return select_lines(options, open_results(options, options.backend).load(corpus, warn).lines(), cases)


def select_lines(
    options: SelectionOptions, lines: Mapping[CellKey, Record], cases: Sequence[Case]
) -> dict[CellKey, Record]:
    """Those of these cases, on the devices and backends asked for."""
    names = {case.id for case in cases}
    return {
        key: record
        for key, record in lines.items()
        if key.case in names
        and (not options.device or key.device in options.device)
        and (not options.backend or key.backend in options.backend)
    }


def load_histories(
    options: LinesOptions, corpus: Sequence[Case], cases: Sequence[Case], warn: Callable[[str], None]
) -> list[History]:
    """The rows of the matrix of these cases of the corpus, with what each release says.

    Raises:
        JournalError: a journal cannot be read.
    """
    from pt2bugs.bisect.evidence import Evidence
    from pt2bugs.report.history import histories

    evidence = Evidence.load(open_results(options, options.backend), corpus, warn)
    return histories(select_lines(options, evidence.newest.lines(), cases), evidence)
