"""`pt2bugs export`: data for dashboards."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pt2bugs.commands import OK
from pt2bugs.commands.common import add_results, add_selection, load_lines, select_cases, warn
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.export import FORMATS, ExportError, Selected, render
from pt2bugs.files import write_bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument("--format", required=True, choices=FORMATS, help="csv is the matrix, cells one row per cell")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there, whole, instead of stdout")


def run(arguments: argparse.Namespace) -> int:
    corpus, cases = select_cases(arguments)
    lines = load_lines(arguments, corpus, cases, warn)
    if not lines:
        raise NothingSelected(f"nothing to export: {arguments.results} has no results of the selected cases")
    try:
        data = render(arguments.format, Selected(lines, {case.id: case for case in corpus}))
    except ExportError as error:
        raise InputError(str(error)) from None
    if arguments.output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        write_bytes(arguments.output, data)
    return OK
