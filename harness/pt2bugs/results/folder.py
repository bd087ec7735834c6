"""Which results folder is read where the user names none. Light to import: `list` asks it without pandas or msgspec."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pt2bugs.case.corpus import brought

if TYPE_CHECKING:
    from pt2bugs.results.matrix import Results


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
    from pt2bugs.results.matrix import Results

    return Results(named or results_folder(), backends, copy)
