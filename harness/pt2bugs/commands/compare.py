"""`pt2bugs compare A B`: what a move from release A to B fixes and breaks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pt2bugs.bisect.accepted import load_accepted
from pt2bugs.bisect.compare import UNSURE_SHARE, Change, Comparison, Difference
from pt2bugs.bisect.compare_text import as_markdown, as_text
from pt2bugs.bisect.evidence import FLAKY_REPEATS, Evidence
from pt2bugs.case.cells import Cell
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import cut, print_json, say, warn
from pt2bugs.commands.machines import machines
from pt2bugs.commands.options import (
    ResultsOptions,
    RunningOptions,
    SelectionOptions,
    add_results,
    add_run,
    add_selection,
)
from pt2bugs.commands.selection import open_results, select_cases, select_cells
from pt2bugs.commands.targets import one_shape, open_store, package_sources, run_options, targets_for, tell_newest
from pt2bugs.envs.releases import Release, ReleaseError, known_releases, one_release, one_release_request
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.results.matrix import Results
from pt2bugs.run.progress import progress_of_cells
from pt2bugs.run.schedule import Target, Work, belongs

EXAMPLES = (
    ("pt2bugs compare 2.9.1 2.13", "what is broken, what is fixed, worst first; 2.13 is its newest patch"),
    ("pt2bugs compare 2.9.1 latest --offline --markdown", "from the journal alone, to paste into a pull request"),
    ("pt2bugs compare 2.9.1 2.13 --allow accepted.toml", "in CI: exit 1 only for what nobody accepted"),
)


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, ResultsOptions, RunningOptions):
    """What the command takes."""

    before: str
    after: str
    offline: bool = False
    all: bool = False
    allow: Path | None = None
    markdown: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    forms = "2.9.1 (that release), 2.9 (its newest patch) or latest"
    parser.add_argument("before", metavar="A", help=f"the release to come from: {forms}")
    parser.add_argument("after", metavar="B", help="the release to go to, written the same way")
    add_selection(parser)
    add_results(parser)
    add_run(parser)
    parser.add_argument("--offline", action="store_true", help="answer from the journal alone, run nothing")
    parser.add_argument(
        "--all",
        action="store_true",
        help="list also what passes in both, and what was seen of each check",
    )
    parser.add_argument(
        "--allow",
        "--baseline",
        type=Path,
        metavar="FILE",
        help="accepted failures: a TOML file of [[accepted]] entries, each with a reason and an end date; "
        "that of `backend --baseline` is one",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--markdown", action="store_true", help="print it for an issue or a pull request")
    how.add_argument("--json", action="store_true", help="print the differences as JSON")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    shape = one_shape(options, options.backend)
    extras = shape.key.extras
    entries = load_accepted(options.allow) if options.allow else []
    cells = [cell for cell in select_cells(options, cases) if belongs(cell, shape)]
    if not cells:
        raise NothingSelected("nothing selected: the selected cases need an extra; name it with --extra")
    cells = _without_unmeasured(options, cells)
    results = open_results(options, options.backend)
    evidence = Evidence.load(results, corpus, warn, options.python)
    before, after = releases = _releases(options, results, evidence, cells)
    failed = False
    if not options.offline:
        failed = _run_missing(options, results, evidence, releases, cells)
        results.derive(evidence.newest)
    differences = [
        Difference(cell, evidence.find(cell, str(before), extras), evidence.find(cell, str(after), extras))
        for cell in cells
    ]
    comparison = Comparison(str(before), str(after), differences, entries)
    _print(comparison, options)
    return UNEXPECTED if failed or comparison.is_unanswered or comparison.of(Change.BROKEN) else OK


def _without_unmeasured(options: Options, cells: list[Cell]) -> list[Cell]:
    """Offline, drop the cells of GPU cases that nobody has measured: the journal cannot answer them. Say how many."""
    if not options.offline or options.device:
        return cells
    measured = [cell for cell in cells if not cell.case.unmeasured]
    if len(measured) < len(cells):
        say(f"left aside: {len(cells) - len(measured)} checks for a GPU that were never measured")
    return measured


def _releases(options: Options, results: Results, evidence: Evidence, cells: Sequence[Cell]) -> tuple[Release, Release]:
    """The two releases meant: of those that the journal has, or else of those that the package index has."""
    specs = (options.before, options.after)
    for spec in specs:
        one_release_request(spec)
    if options.offline:
        known = [Release(version, ()) for version in evidence.releases(cells)]
    else:
        known = known_releases(package_sources(options), warn)
    found = []
    for spec in specs:
        try:
            found.append(one_release(spec, known))
        except ReleaseError:
            if not options.offline:
                raise
            message = (
                f"the journal in {results.journal_folder} has no answer for torch {spec}; without --offline it is run"
            )
            raise InputError(message) from None
    before, after = found
    if before == after:
        raise InputError(f"compare {' '.join(specs)}: both are torch {before}; name two different releases")
    tell_newest(specs, known)
    return before, after


def _print(comparison: Comparison, options: Options) -> None:
    if options.json:
        print_json([_as_dict(comparison, one) for one in comparison.differences])
    elif options.markdown:
        print(as_markdown(comparison, everything=options.all))
    else:
        print(as_text(comparison, everything=options.all, cut=cut))
    for entry in comparison.needless:
        warn(f"{options.allow}: {entry}: covers nothing here; remove it")
    endless = [entry for entry in comparison.accepted.values() if not (entry.reason and entry.until)]
    if endless:
        warn(f"{options.allow}: {len(endless)} of the entries in use have no reason or no end date")
    for one, entry in comparison.ended.items():
        warn(f"{options.allow}: {one.cell.case.id}::{one.cell.name} was accepted until {entry.until}: decide anew")
    say(f"torch {comparison.before} -> {comparison.after}: {comparison.counts}")
    if comparison.is_unanswered:
        unsure, there = comparison.unsure
        is_owed = any(one.before is None or one.after is None for one in comparison.of(Change.UNSURE))
        remedy = "; without --offline what was not run is run" if options.offline and is_owed else ""
        say(f"cannot say for {unsure} of {there} checks, more than {UNSURE_SHARE:.0%}{remedy}")


def _as_dict(comparison: Comparison, one: Difference) -> dict[str, Any]:
    entry = comparison.accepted.get(one)
    told = {"reason": entry.reason, "until": entry.until.isoformat() if entry.until else None} if entry else None
    return {**one.as_dict(), "accepted": told}


def _run_missing(
    options: Options,
    results: Results,
    evidence: Evidence,
    releases: Sequence[Release],
    cells: Sequence[Cell],
) -> bool:
    """Run what the journal does not answer; whether an environment failed."""
    targets = targets_for(options, releases, options.backend)
    how, store = run_options(options), open_store(options)
    steady = [cell for cell in cells if not cell.case.flaky]
    flaky = [cell for cell in cells if cell.case.flaky]
    failed = False
    with machines(options, evidence.newest.lines()) as new_runner:
        for group, repeat in ((steady, how.repeat), (flaky, max(how.repeat, FLAKY_REPEATS))):
            work = [Work(target, owed) for target in targets if (owed := _owed(evidence, target, group))]
            for one in work:
                say(f"{one.target}: {len(one.cells)} of {len(group)} cells to run")
            if work:
                with progress_of_cells() as progress:
                    new_runner(results, store, replace(how, repeat=repeat), progress, evidence.add).run(work)
                failed = failed or any(one.failure for one in work)
    return failed


def _owed(evidence: Evidence, target: Target, cells: Sequence[Cell]) -> list[Cell]:
    found = ((cell, evidence.find(cell, target.key.torch, target.key.extras)) for cell in cells)
    return [cell for cell, finding in found if finding is None or not finding.suffices]
