"""`pt2bugs export`: data for dashboards."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import ClassVar

from pt2bugs.case.vocabulary import Verdict
from pt2bugs.commands import OK
from pt2bugs.commands.options import ShownOptions, file, option
from pt2bugs.commands.selection import select_results
from pt2bugs.errors import InputError
from pt2bugs.export import FORMATS, ExportError, Selected
from pt2bugs.export import render as in_format
from pt2bugs.files import write_bytes

EXAMPLES = (
    ("pt2bugs export --format csv -o matrix.csv", "the matrix for a spreadsheet"),
    ("pt2bugs export --format junit --torch latest", "the newest release as one JUnit suite"),
    ("pt2bugs export --format cells --verdict xpass", "the cells in which a documented bug is gone"),
)


@dataclass(frozen=True, kw_only=True)
class Options(ShownOptions):
    """Options of `export`."""

    keeps_rows: ClassVar[bool] = False

    format: str = option(
        "--format", default=MISSING, choices=FORMATS, help="of the data; csv is the matrix, cells a row for each cell"
    )
    output: Path | None = option(
        "-o", "--output", parse=file, metavar="FILE", help="write there, whole, instead of stdout"
    )
    verdict: Sequence[str] = option(
        "--verdict",
        default=(),
        choices=[str(verdict) for verdict in Verdict],
        metavar="WORD",
        help=f"cells with this verdict: {', '.join(Verdict)}",
    )


def run(options: Options) -> int:
    """Select, render. Return the exit code.

    Args:
        options: of the command.
    """
    return render(options, select(options))


def select(options: Options) -> Selected:
    """Return the lines of the selected cells.

    Args:
        options: of the command.

    Raises:
        NothingSelected: the results have none.
    """
    selected = select_results(options)
    if not selected.lines:
        raise selected.nothing_to("export")
    return Selected(selected.lines, {case.id: case for case in selected.corpus})


def render(options: Options, selected: Selected) -> int:
    """Print or write the data. Return the exit code.

    Args:
        options: of the command.
        selected: the lines, with their cases.

    Raises:
        InputError: the format cannot be written here.
    """
    try:
        data = in_format(options.format, selected)
    except ExportError as error:
        raise InputError(str(error)) from None
    if options.output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        write_bytes(options.output, data)
    return OK
