"""`pt2bugs compare A B`: what a move from release A to B fixes and breaks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from packaging.version import InvalidVersion, Version

from pt2bugs.backends.baseline import accepts, read_baseline
from pt2bugs.bisect.compare import Change, Difference
from pt2bugs.bisect.evidence import FLAKY_REPEATS, Evidence
from pt2bugs.case.cells import Cell
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import (
    ResultsOptions,
    RunningOptions,
    SelectionOptions,
    add_results,
    add_run,
    add_selection,
)
from pt2bugs.commands.selection import open_results, select_cases, select_cells
from pt2bugs.commands.targets import one_shape, package_sources, run_options, targets_for
from pt2bugs.envs.releases import known_releases
from pt2bugs.envs.store import Store
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.results.matrix import Results
from pt2bugs.run.progress import progress_of_cells
from pt2bugs.run.runner import Runner
from pt2bugs.run.schedule import Target, Work, belongs


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, ResultsOptions, RunningOptions):
    """What the command takes."""

    before: str
    after: str
    offline: bool = False
    baseline: Path | None = None
    all: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help="the release to come from, such as 2.9.1")
    parser.add_argument("after", metavar="B", help="the release to go to")
    add_selection(parser)
    add_results(parser)
    add_run(parser)
    parser.add_argument("--offline", action="store_true", help="answer from the journal alone, run nothing")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="failures of B that are known and accepted")
    parser.add_argument("--all", action="store_true", help="list also the checks that pass in both")
    parser.add_argument("--json", action="store_true", help="print the differences as JSON")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    shape = one_shape(options, options.backend)
    extras = shape.key.extras
    baseline = read_baseline(options.baseline) if options.baseline else {}
    versions = [_version(options.before), _version(options.after)]
    if versions[0] == versions[1]:
        raise InputError(f"compare {versions[0]} {versions[1]}: name two different releases")
    cells = [cell for cell in select_cells(options, cases) if belongs(cell, shape)]
    if not cells:
        raise NothingSelected("nothing selected: the selected cases need an extra; name it with --extra")
    results = open_results(options, options.backend)
    evidence = Evidence.load(results, corpus, warn, options.python)
    failed = False
    if options.offline:
        there = evidence.releases(cells)
        for version in versions:
            if Version(version) not in there:
                raise InputError(
                    f"the journal in {results.journal_folder} has no answer for torch {version}; "
                    "without --offline it is run"
                )
    else:
        failed = _run_missing(options, results, evidence, versions, cells)
        results.derive(evidence.newest)
    before, after = versions
    differences = [
        Difference(cell, evidence.find(cell, before, extras), evidence.find(cell, after, extras)) for cell in cells
    ]
    if options.json:
        print_json([difference.as_dict() for difference in differences])
    else:
        _print(differences, before, after, everything=options.all)
    counts = [f"{n} {change}" for change in Change if (n := sum(one.change is change for one in differences))]
    say(f"torch {before} -> {after}: {', '.join(counts)}")
    today = datetime.now(timezone.utc).date()
    broken = [one for one in differences if one.change is Change.BROKEN and one.after is not None]
    known = [one for one in broken if one.after and accepts(baseline, one.cell.key, one.after.record, today)]
    if known:
        say(f"{options.baseline}: accepts {len(known)} of the {len(broken)} that break")
    return UNEXPECTED if failed or len(known) < len(broken) else OK


def _version(text: str) -> str:
    try:
        return Version(text).public
    except InvalidVersion:
        raise InputError(f"{text}: not a release; write for example: pt2bugs compare 2.9.1 2.13.0") from None


def _run_missing(
    options: Options,
    results: Results,
    evidence: Evidence,
    versions: Sequence[str],
    cells: Sequence[Cell],
) -> bool:
    """Run what the journal does not answer; whether an environment failed."""
    known = {str(release): release for release in known_releases(package_sources(options), warn)}
    for version in versions:
        if version not in known:
            raise InputError(f"{version}: the package index has no such torch release for this platform")
    targets = targets_for(options, [known[version] for version in versions], options.backend)
    how, store = run_options(options), Store(package_sources(options))
    steady = [cell for cell in cells if not cell.case.flaky]
    flaky = [cell for cell in cells if cell.case.flaky]
    failed = False
    for group, repeat in ((steady, how.repeat), (flaky, max(how.repeat, FLAKY_REPEATS))):
        work = [Work(target, owed) for target in targets if (owed := _owed(evidence, target, group))]
        for one in work:
            say(f"{one.target}: {len(one.cells)} of {len(group)} cells to run")
        if work:
            with progress_of_cells() as progress:
                runner = Runner(results, store, replace(how, repeat=repeat), progress, record=evidence.add)
                runner.run(work)
            failed = failed or any(one.failure for one in work)
    return failed


def _owed(evidence: Evidence, target: Target, cells: Sequence[Cell]) -> list[Cell]:
    found = ((cell, evidence.find(cell, target.key.torch, target.key.extras)) for cell in cells)
    return [cell for cell, finding in found if finding is None or not finding.suffices]


def _print(differences: Sequence[Difference], before: str, after: str, *, everything: bool) -> None:
    """Grouped by what becomes of the checks, worst first; fit to paste into an issue."""
    print(f"torch {before} -> {after}")
    for change in Change:
        group = [one for one in differences if one.change is change]
        if not group or (change is Change.FINE and not everything):
            continue
        print(f"\n{change} ({len(group)})")
        for one in group:
            why = (one.why.splitlines() or [""])[0]
            print(f"  {one.cell.case.id}::{one.cell.name}  {why[:200]}")
