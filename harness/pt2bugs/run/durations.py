"""The committed durations: how long each check takes, in a file that runs do not change.

The journal would be a better source and a moving one: shards of one selection must divide it alike on every machine,
whatever each has measured already. `pt2bugs plan --update-durations` writes the file anew from the journal.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from pt2bugs.case.cells import Cell
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.run.estimate import CELL_S

NAME = "durations.csv"
"""Its name in the folder of results."""

_COLUMNS = ["case", "check", "device", "backend", "seconds"]

CellName = tuple[str, str, str, str]
"""Case, check, device, backend."""


class Durations:
    """Expected seconds of a cell; of one that the file does not know the median of all."""

    def __init__(self, known: Mapping[CellName, float]) -> None:
        self._known = known
        self._usual = median(known.values()) if known else CELL_S

    def of(self, cell: Cell) -> float:
        return self._known.get(cell.key, self._usual)


def read_durations(path: Path) -> Durations:
    """The durations of a file; without the file each cell is taken to last the same.

    Raises:
        InputError: a line of the file is none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Durations({})
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    known: dict[CellName, float] = {}
    rows = csv.reader(io.StringIO(text))
    for number, row in enumerate(rows, 1):
        if number == 1 and row == _COLUMNS:
            continue
        try:
            case, check, device, backend, seconds = row
            known[case, check, device, backend] = value = float(seconds)
            if not 0 <= value < float("inf"):
                raise ValueError(value)  # noqa: TRY301
        except ValueError:
            problem = f"is no line of {','.join(_COLUMNS)}; `pt2bugs plan --update-durations` writes the file anew"
            raise InputError(f"{path}:{number}: {problem}") from None
    return Durations(known)


def write_durations(path: Path, known: Mapping[CellName, float]) -> None:
    """Write them sorted, with two digits that count: small changes of a machine leave the file as it is.

    Raises:
        FileError: the file cannot be written; the one that was there stays.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    # Below a tenth of a second the fork and the exit of a cell are what lasts.
    writer.writerows([*name, f"{float(f'{max(seconds, 0.1):.2g}'):g}"] for name, seconds in sorted(known.items()))
    write_text(path, text.getvalue())
