"""`pt2bugs report`: a static site that opens from the file system."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.commands import OK
from pt2bugs.commands.console import say, warn
from pt2bugs.commands.options import add_results, add_selection
from pt2bugs.commands.selection import LinesOptions, load_histories, select_cases
from pt2bugs.errors import NothingSelected
from pt2bugs.report.site import Site, render, write_site


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions):
    """What the command takes."""

    output: Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="write the pages there")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    rows = load_histories(options, corpus, cases, warn)
    if not rows:
        raise NothingSelected(f"nothing to report: {options.results} has no results of the selected cases")
    site = Site(cases, rows)
    write_site(options.output, render(site))
    say(f"{options.output / 'index.html'}: {len(rows)} checks x {len(site.releases)} torch releases")
    return OK
