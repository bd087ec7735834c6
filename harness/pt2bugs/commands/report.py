"""`pt2bugs report`: a static site that opens from the file system."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.backends.measured import measured_backends
from pt2bugs.commands import OK
from pt2bugs.commands.console import say, warn
from pt2bugs.commands.options import add_lines, folder
from pt2bugs.commands.selection import ShownOptions, load_histories, select_cases
from pt2bugs.errors import NothingSelected
from pt2bugs.report.render import render, write_site
from pt2bugs.report.site import Site
from pt2bugs.results.folder import open_results

EXAMPLES = (
    ("pt2bugs report -o site", "the page; open site/index.html"),
    ("pt2bugs report -o site --component inductor --torch '>=2.9'", "the page of one component and the newer releases"),
)


@dataclass(frozen=True, kw_only=True)
class Options(ShownOptions):
    """What the command takes."""

    output: Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lines(parser, "checks that have this verdict in one of the releases")
    parser.add_argument("-o", "--output", type=folder, required=True, metavar="DIR", help="write the pages there")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    rows = load_histories(options, corpus, cases, warn)
    if not rows:
        raise NothingSelected(
            f"nothing to report: {open_results(options.results).folder} has no results of the selected cases"
        )
    measured = measured_backends(open_results(options.results), corpus, cases, warn)
    backends = [one for one in measured if not options.backend or one.name in options.backend]
    site = Site(cases, rows, backends)
    write_site(options.output, render(site))
    if site.mixed_builds:
        warn(site.mixed_builds)
    say(
        f"{options.output / 'index.html'}: {len(site.bugs)} bugs and {len(site.guards)} guards, "
        f"{len(rows)} checks x {len(site.releases)} torch releases"
        + (f", {len(site.backends)} backends" if site.backends else "")
    )
    return OK
