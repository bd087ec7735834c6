"""`pt2bugs report`: a static site that opens from the file system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path

from pt2bugs.backends.measured import measured_backends
from pt2bugs.case.model import Case
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import ShownOptions, folder, option
from pt2bugs.commands.selection import load_histories, nothing_measured, results_of, select_cases, select_rows
from pt2bugs.report.render import render as as_html
from pt2bugs.report.render import write_site
from pt2bugs.report.site import Site

EXAMPLES = (
    ("pt2bugs report -o site", "the page; open site/index.html"),
    ("pt2bugs report -o site --component inductor --torch '>=2.9'", "the page of one component and the newer releases"),
)


@dataclass(frozen=True, kw_only=True)
class Options(ShownOptions):
    """Options of `report`."""

    output: Path = option("-o", "--output", default=MISSING, parse=folder, metavar="DIR", help="write the pages there")
    json: bool = option("--json", default=False, help="print what the pages show as JSON: counts and releases")


def run(options: Options) -> int:
    """Select, query, render. Return the exit code."""
    corpus, cases = select_cases(options)
    return render(options, query(options, corpus, cases))


def query(options: Options, corpus: Sequence[Case], cases: Sequence[Case]) -> Site:
    """Return what the pages show of the selected cases.

    Args:
        corpus: all cases.
        cases: the selected ones.

    Raises:
        NothingSelected: the results have no line of them.
    """
    histories = load_histories(options, corpus, cases)
    rows = histories.rows(select_rows(options, histories, cases))
    if not rows:
        raise nothing_measured(options, "report")
    measured = measured_backends(results_of(options), corpus, cases, warn)
    return Site(
        cases, rows, [backend for backend in measured if not options.backend or backend.name in options.backend]
    )


def render(options: Options, site: Site) -> int:
    """Write the pages. Return the exit code.

    Args:
        site: what they show.
    """
    page = options.output / "index.html"
    write_site(options.output, as_html(site))
    if site.mixed_builds:
        warn(site.mixed_builds)
    counts = {"bugs": len(site.bugs), "guards": len(site.guards), "checks": len(site.histories)}
    if options.json:
        backends = [backend.name for backend in site.backends]
        print_json({"page": str(page), **counts, "releases": site.releases, "backends": backends})
    say(
        f"{page}: {counts['bugs']} bugs and {counts['guards']} guards, "
        f"{counts['checks']} checks x {len(site.releases)} torch releases"
        + (f", {len(site.backends)} backends" if site.backends else "")
    )
    return OK
