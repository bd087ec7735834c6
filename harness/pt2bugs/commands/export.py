"""`pt2bugs export`: data for dashboards."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.commands import OK
from pt2bugs.commands.console import warn
from pt2bugs.commands.options import add_lines, file
from pt2bugs.commands.selection import ShownOptions, load_cells, select_cases
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.export import FORMATS, ExportError, Selected, render
from pt2bugs.files import write_bytes
from pt2bugs.results.folder import open_results

EXAMPLES = (
    ("pt2bugs export --format csv -o matrix.csv", "the matrix for a spreadsheet"),
    ("pt2bugs export --format junit --torch latest", "the newest release as one JUnit suite"),
    ("pt2bugs export --format cells --verdict xpass", "the cells in which a documented bug is gone"),
)


@dataclass(frozen=True, kw_only=True)
class Options(ShownOptions):
    """What the command takes."""

    format: str
    output: Path | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lines(parser, "cells with this verdict")
    parser.add_argument("--format", required=True, choices=FORMATS, help="csv is the matrix, cells one row per cell")
    parser.add_argument("-o", "--output", type=file, metavar="FILE", help="write there, whole, instead of stdout")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    lines = load_cells(options, corpus, cases, warn)
    if not lines:
        raise NothingSelected(
            f"nothing to export: {open_results(options.results).folder} has no results of the selected cases"
        )
    try:
        data = render(options.format, Selected(lines, {case.id: case for case in corpus}))
    except ExportError as error:
        raise InputError(str(error)) from None
    if options.output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        write_bytes(options.output, data)
    return OK
