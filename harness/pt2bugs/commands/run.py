"""`pt2bugs run`: the matrix. Runs what the journal does not answer yet, then derives the tables."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.words import EXPECTED, Verdict
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
from pt2bugs.commands.targets import in_interpreter, package_sources, releases_for, run_options, targets_for
from pt2bugs.envs.store import Store
from pt2bugs.errors import InputError
from pt2bugs.results.record import Record
from pt2bugs.run.interpreter import named_interpreter, running_interpreter
from pt2bugs.run.progress import progress_of_cells
from pt2bugs.run.runner import Runner
from pt2bugs.run.schedule import Target, belongs, line_of, missing


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, ResultsOptions, RunningOptions):
    """What the command takes."""

    torch: Sequence[str] = ()
    python_exe: Path | None = None
    rerun: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    add_run(parser)
    parser.add_argument(
        "--torch",
        action="append",
        default=[],
        metavar="SPEC",
        help='releases: 2.9.1, ">=2.6,<2.10", minors (newest of each 2.x), all; default: the current torch',
    )
    parser.add_argument(
        "--python-exe",
        type=Path,
        metavar="PATH",
        help="measure the torch of this interpreter, which needs nothing else; asks for --results",
    )
    parser.add_argument("--rerun", action="store_true", help="run also what the journal answers")
    parser.add_argument("--json", action="store_true", help="print the lines of the selected cells as JSON")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    cells = select_cells(options, cases)
    targets = _targets(options)
    results = open_results(options, options.backend)
    newest = results.load(corpus, warn)
    work = missing(targets, cells, newest.lines(), rerun=options.rerun)
    asked = [(target, cell) for target in targets for cell in cells if belongs(cell, target)]
    owed = sum(len(one.cells) for one in work)
    say(
        f"{len(asked)} cells in {len(targets)} environments: {len(asked) - owed} answered by the journal, {owed} to run"
    )
    with progress_of_cells() as progress:
        store = Store(package_sources(options))
        Runner(results, store, run_options(options), progress, record=newest.add).run(work)
    results.derive(newest)
    lines = newest.lines()
    shown = [line for target, cell in asked if (line := line_of(lines, target, cell)) is not None]
    # A case may say that its bug shows only sometimes.
    flaky = {case.id for case in cases if case.flaky}
    unexpected = [
        record
        for record in shown
        if record["verdict"] not in EXPECTED and not (record["verdict"] == Verdict.FLAKY and record["case"] in flaky)
    ]
    if options.json:
        print_json(shown)
    else:
        for record in unexpected:
            print(describe(record))
    counts = Counter(str(record["verdict"]) for record in shown)
    say(", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())) or "no cell has an answer")
    for one in work:
        if one.failure:
            say(f"{one.target}: {one.failure}")
    undocumented = sorted(
        {r["case"] for r in unexpected if r["verdict"] == Verdict.FAIL} & {c.id for c in cases if not c.bugs}
    )
    if undocumented:
        say(f"next: pt2bugs bless {' '.join(undocumented)}")
    failed = any(one.failure for one in work) or len(shown) < len(asked)
    return UNEXPECTED if failed or unexpected else OK


def _targets(options: Options) -> list[Target]:
    if options.python_exe:
        if options.torch:
            raise InputError("--python-exe names one interpreter; leave --torch out")
        if options.results is None:
            words = "name a folder for its results, with --results"
            raise InputError(f"--python-exe {options.python_exe}: is no release; {words}")
        return in_interpreter(options, named_interpreter(options.python_exe), options.backend)
    if not options.torch:
        return in_interpreter(options, running_interpreter(), options.backend)
    return targets_for(options, releases_for(options, options.torch), options.backend)


def describe(record: Record) -> str:
    """A journal line on one line of text."""
    first = (record["message"].splitlines() or [""])[0]
    name = f"{record['case']}::{record['check']}[{record['device']}-{record['backend']}]"
    return f"torch {record['torch']} {name}: {record['verdict']} ({record['outcome']}) {first[:160]}".rstrip()
