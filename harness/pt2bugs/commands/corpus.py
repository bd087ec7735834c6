"""`pt2bugs corpus`: the corpus as a Markdown page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pt2bugs.commands import OK
from pt2bugs.commands.common import add_results, add_selection, corpus_roots, load_histories, select_cases, warn
from pt2bugs.files import write_text
from pt2bugs.report.corpus import corpus_page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there instead of stdout")


def run(arguments: argparse.Namespace) -> int:
    corpus, cases = select_cases(arguments)
    rows = load_histories(arguments, corpus, cases, warn)
    page = corpus_page(cases, rows, corpus_roots(arguments.cases))
    if arguments.output is None:
        sys.stdout.write(page)
    else:
        write_text(arguments.output, page)
    return OK
