"""The corpus for Python programs: its cases, what was measured of them, and the run of one cell (docs/api.md)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.corpus import corpus_roots
from pt2bugs.case.corpus import load_cases as _load_cases
from pt2bugs.case.model import Case
from pt2bugs.case.named import cases_named
from pt2bugs.case.words import Outcome, Verdict
from pt2bugs.errors import InputError
from pt2bugs.results.folder import open_results

if TYPE_CHECKING:
    import pandas as pd

    from pt2bugs.results.record import Record

Warn = Callable[[str], None]
TEXT_COLUMNS = (
    "case", "check", "device", "backend", "extras", "torch", "python",
    "outcome", "verdict", "error_type", "message", "signal",
)  # fmt: skip
"""Columns of `load_cells` that are texts; ``graphs`` is a nullable whole number."""


def load_cases(folder: str | PathLike[str] | None = None, *, warn: Warn = lambda _: None) -> list[Case]:
    """Every case of the corpus, sorted by id. No case file is imported.

    Args:
        folder: another corpus, or one case file. Default: `cases` in the current folder, else what was installed.
        warn: told of files that look like cases and are left out.

    Raises:
        CaseError: files break the contract. It names every problem of every file.
        InputError: there is no such folder.
    """
    return _load_cases(corpus_roots([Path(folder)] if folder is not None else []), warn)


def load_cells(
    results: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    *,
    warn: Warn = lambda _: None,
) -> pd.DataFrame:
    """What was measured: a row for every cell, with its newest line in the journal and its verdict by today's headers.

    The rows and columns are those of `results/cells.csv`. All columns but ``graphs`` have the dtype ``string``, with an
    empty text where there is nothing to say; ``graphs`` is ``Int64``, missing where no graph was counted. ``torch`` and
    ``python`` are versions, to be compared by `packaging.version.Version`. A cell that was never measured has no row.

    Args:
        results: another folder of results. Default: `results` in the current folder, else what was installed.
        folder: of the cases, as for `load_cases`.
        warn: told of journal lines that are left out.

    Raises:
        CaseError: a case file breaks the contract.
        InputError: there is no such folder.
        JournalError: a journal cannot be read, or is of a newer schema.
    """
    from pt2bugs.results.tables import cells_table

    if results is not None and not Path(results).is_dir():
        raise InputError(f"{Path(results)}: there is no such folder of results")
    opened = open_results(Path(results) if results is not None else None)
    table = cells_table(opened.load(load_cases(folder, warn=warn), warn).lines())
    return table.astype(dict.fromkeys(TEXT_COLUMNS, "string"))


@dataclass(frozen=True)
class CellResult:
    """What one run of one cell showed, and what it means.

    Args:
        torch: the version that was actually imported; `python` that of its interpreter. Empty if torch did not import.
        outcome: what was seen; `verdict` is that against what the case expects, `reason` a sentence that says why.
        error_type: dotted type of the exception; built-in ones bare.
        frame: the innermost torch frame, as ``torch/path.py:LINE function``; `frames` are the next ones outwards.
        graphs: how many Dynamo captured; None where that is not known.
        duration_s: seconds of the check's body; `peak_rss_mb` is in MiB.
        output_tail: the end of what the cell printed.
    """

    case: str
    check: str
    device: str
    backend: str
    torch: str
    python: str
    outcome: Outcome
    verdict: Verdict
    reason: str
    error_type: str
    message: str
    frame: str
    frames: tuple[str, ...]
    signal: str
    graphs: int | None
    duration_s: float
    peak_rss_mb: float
    output_tail: str

    @classmethod
    def _of(cls, record: Record, reason: str) -> CellResult:
        texts = ("case", "check", "device", "backend", "torch", "python", "error_type", "message", "frame", "signal")
        return cls(
            **{key: record[key] for key in texts},  # type: ignore[literal-required]
            outcome=Outcome(record["outcome"]),
            verdict=Verdict(record["verdict"]),
            reason=reason,
            frames=tuple(record.get("frames", ())),
            graphs=record["graphs"],
            duration_s=record["duration_s"],
            peak_rss_mb=record["peak_rss_mb"],
            output_tail=record["output_tail"],
        )


def run_cell(
    case: str | Case,
    check: str = "",
    *,
    device: str = "cpu",
    backend: str = "",
    python: str | PathLike[str] | None = None,
    threads: int = 1,
) -> CellResult:
    """Run one cell in a child process, as `pt2bugs run` does. Nothing is written to a journal.

    Args:
        case: a case, or what names one: its id, its issue's number or address, its path.
        check: needed where the case has several.
        backend: default: the first that the header names.
        python: another interpreter, of which only torch is asked for. Default: the running one.
        threads: of torch in the cell.

    Raises:
        InputError: there is no such case, check or cell.
        EnvironmentFailure: the interpreter does not start, or has no torch.
    """
    from pt2bugs.engine.client import Engine, EngineSettings
    from pt2bugs.run.measurement import MeasureOptions, Measuring, new_run_id

    cell = _cell(_case(case), check, device, backend)
    interpreter, extras = _interpreter(python)
    targets = ((cell.device, cell.backend),)
    engine = Engine(EngineSettings(python=interpreter, threads=threads, targets=targets))
    options = MeasureOptions(run_id=new_run_id(), threads=threads, extras=extras)
    with closing(engine), closing(engine.open()) as worker:
        (measured,) = Measuring(engine, options).measure(cell, worker)
    return CellResult._of(measured.record, measured.judgement.reason)


def _case(case: str | Case) -> Case:
    if isinstance(case, Case):
        return case
    path = Path(case)
    named = cases_named(str(case), _load_cases([path] if path.is_file() else corpus_roots([])))
    if len(named) != 1:
        raise InputError(f"{case}: names {len(named)} cases, {', '.join(one.id for one in named[:3])}; name one")
    return named[0]


def _cell(case: Case, check: str, device: str, backend: str) -> Cell:
    names = [one.name for one in case.checks]
    if not check and len(names) > 1:
        raise InputError(f"{case.id} has {len(names)} checks: name one of {', '.join(names)}")
    cells = cells_of(case, (device,), (backend,) if backend else case.backends[:1])
    found = [cell for cell in cells if cell.check.name == (check or names[0])]
    if not found:
        given = f"{check or names[0]}[{device}-{backend or case.backends[0]}]"
        where = f"checks {', '.join(names)}; devices {', '.join(case.devices)}; backends {', '.join(case.backends)}"
        raise InputError(f"{case.id} has no cell {given}: {where}")
    return found[0]


def _interpreter(python: str | PathLike[str] | None) -> tuple[Path, tuple[str, ...]]:
    """The interpreter, and the extras that are installed there."""
    import sys

    from pt2bugs.envs.extras import installed_extras
    from pt2bugs.run.interpreter import named_interpreter

    if python is None:
        return Path(sys.executable), installed_extras()
    return Path(python), named_interpreter(Path(python)).key.extras
