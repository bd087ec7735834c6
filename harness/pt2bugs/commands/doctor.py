"""`pt2bugs doctor`: checks that this machine can run the suite, and names the remedy for each obstacle."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pt2bugs.case.corpus import corpus_roots, load_cases
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, warn
from pt2bugs.commands.options import option
from pt2bugs.envs.machine import Finding, findings
from pt2bugs.errors import Pt2bugsError, first_line
from pt2bugs.results.folder import open_all_results
from pt2bugs.results.journal import all_journals

EXAMPLES = (("pt2bugs doctor", "compiler, namespaces, uv, Pythons, disk, GPU, variables: each with its remedy"),)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `doctor`."""

    json: bool = option("--json", default=False, help="print what was found as JSON")


def run(options: Options) -> int:
    """Query, render. Return the exit code.

    Args:
        options: of the command.
    """
    return render(options, query())


def query() -> list[Finding]:
    """Return what this machine has, and whether the results fit the corpus."""
    return [*findings(os.environ), results_finding()]


def results_finding() -> Finding:
    """Return whether the results have journals that can all be read, and whether each line belongs to a known case."""
    results = open_all_results(None)
    problems: list[str] = []
    try:
        orphans = sorted(results.load(load_cases(corpus_roots([])), problems.append).orphans)
    except Pt2bugsError as error:
        return Finding("results", False, first_line(error), "fix what it names")
    for problem in problems:
        warn(problem)
    if problems:
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        return Finding("results", None, problems[0] + more, "until then no table has what is meant")
    if not all_journals(results.folder):
        return Finding("results", None, f"{results.folder}: has no journal", "`pt2bugs run` measures cells")
    if not orphans:
        return Finding("results", True, f"{results.folder}: every line has its case")
    names = ", ".join(orphans[:5]) + (f" and {len(orphans) - 5} more" if len(orphans) > 5 else "")
    seen = f"{results.folder}: lines of cases that do not exist: {names}"
    return Finding("results", None, seen, "no table has these lines; bring the cases back, or leave it so")


def render(options: Options, seen: Sequence[Finding]) -> int:
    """Print the findings, each with its remedy. Return the exit code.

    Args:
        options: of the command.
        seen: the findings.
    """
    if options.json:
        print_json([asdict(finding) for finding in seen])
    else:
        for finding in seen:
            mark = {True: "ok", False: "MISSING", None: "-"}[finding.is_fine]
            print(fit(f"{mark:7}  {finding.name:12}  {finding.seen}", 23))
            if finding.remedy:
                print(fit(f"{'':23}{finding.remedy}", 23))
    return UNEXPECTED if any(finding.is_fine is False for finding in seen) else OK
