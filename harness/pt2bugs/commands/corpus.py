"""`pt2bugs corpus`: the corpus as a Markdown page."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.corpus import corpus_roots
from pt2bugs.commands import OK
from pt2bugs.commands.console import warn
from pt2bugs.commands.options import add_lines, file
from pt2bugs.commands.selection import ShownOptions, load_histories, select_cases
from pt2bugs.files import write_text
from pt2bugs.report.corpus import corpus_page

EXAMPLES = (("pt2bugs corpus -o docs/corpus.md", "the page of this repository"),)


@dataclass(frozen=True, kw_only=True)
class Options(ShownOptions):
    """What the command takes."""

    output: Path | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lines(parser, "checks that have this verdict in one of the releases")
    parser.add_argument("-o", "--output", type=file, metavar="FILE", help="write there instead of stdout")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    rows = load_histories(options, corpus, cases, warn)
    page = corpus_page(cases, rows, corpus_roots(options.cases))
    if options.output is None:
        sys.stdout.write(page)
    else:
        write_text(options.output, page)
    return OK
