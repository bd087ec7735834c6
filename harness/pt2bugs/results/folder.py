"""Which results folder is read where the user names none. Light to import: `list` asks it without pandas or msgspec."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pt2bugs.results.matrix import Results


def results_folder() -> Path:
    """The folder of results here; where there is none, and the wheel brought one, that is read instead."""
    here = Path("results")
    installed = Path(__file__).resolve().parent.parent / "_corpus" / "results"
    return here if here.is_dir() or not installed.is_dir() else installed


def open_results(named: Path | None, backends: Sequence[str] = ()) -> Results:
    """The results folder that was named, else `results_folder`; with `backends`, also its cells on those that no
    header names."""
    from pt2bugs.results.matrix import Results

    return Results(named or results_folder(), backends)
