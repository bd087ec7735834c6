"""`pt2bugs report`: a static site that opens from the file system."""

from __future__ import annotations

import argparse
from pathlib import Path

from pt2bugs.commands import OK
from pt2bugs.commands.common import add_results, add_selection, load_histories, say, select_cases, warn
from pt2bugs.errors import NothingSelected
from pt2bugs.report.site import Site, render, write_site


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="write the pages there")


def run(arguments: argparse.Namespace) -> int:
    corpus, cases = select_cases(arguments)
    rows = load_histories(arguments, corpus, cases, warn)
    if not rows:
        raise NothingSelected(f"nothing to report: {arguments.results} has no results of the selected cases")
    site = Site(cases, rows)
    write_site(arguments.output, render(site))
    say(f"{arguments.output / 'index.html'}: {len(rows)} checks x {len(site.releases)} torch releases")
    return OK
