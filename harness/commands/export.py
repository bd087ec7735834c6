"""`pt2bugs export`: data for dashboards."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.commands import OK
from harness.commands.common import add_results, add_selection, load_selection, warn
from harness.matrix import matrix_table, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument("--format", required=True, choices=("csv", "cells"), help="csv is the matrix")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there instead of stdout")


def run(arguments: argparse.Namespace) -> int:
    corpus, cells = load_selection(arguments, warn)
    table = cells if arguments.format == "cells" else matrix_table(cells, corpus)
    text = table.to_csv(index=False, lineterminator="\n")
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        write_text(arguments.output, text)
    return OK
