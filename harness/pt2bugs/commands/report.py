"""`pt2bugs report`: a static site that opens from the file system."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from pt2bugs.backends.measured import measured_backends
from pt2bugs.case.vocabulary import COUNTED, number_of
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import ShownOptions, folder, option
from pt2bugs.commands.selection import SelectedResults, results_of, select_results
from pt2bugs.isolate import fixes
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
    """Select, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    return render(options, query(options, select_results(options)))


def query(options: Options, selected: SelectedResults) -> Site:
    """Return what the pages show.

    Args:
        options: of the command.
        selected: the cases and their lines.

    Raises:
        NothingSelected: there is no line to show.
    """
    if not selected.lines:
        raise selected.nothing_to("report")
    results = results_of(options)
    measured = measured_backends(results, selected.corpus, selected.cases, warn)
    backends = [backend for backend in measured if not options.backend or backend.name in options.backend]
    return Site(selected.cases, selected.rows, backends, list(fixes.load(results.folder)))


def render(options: Options, site: Site) -> int:
    """Write the pages. Return the exit code.

    Args:
        options: of the command.
        site: what they show.
    """
    page = options.output / "index.html"
    write_site(options.output, as_html(site))
    if site.mixed_builds:
        warn(site.mixed_builds)
    counts = {"bugs": len(site.bugs), "guards": len(site.guards), "checks": len(site.checks)}
    if options.json:
        backends = [backend.name for backend in site.backends]
        print_json({"page": str(page), **counts, "releases": site.releases, "backends": backends})
    say(
        f"{page}: {number_of(counts['bugs'], 'bug')} and {number_of(counts['guards'], 'guard')}, "
        f"{number_of(counts['checks'], 'check')} x {len(site.releases)} torch releases"
        + (f", {number_of(len(site.backends), 'backend')}" if site.backends else "")
        + f" ({COUNTED})"
    )
    return OK
