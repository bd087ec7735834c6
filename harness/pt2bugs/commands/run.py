"""`pt2bugs run`: the matrix. Runs what the journal does not answer yet, then derives the tables."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pt2bugs.case.observation import telling_line
from pt2bugs.case.words import EXPECTED, Verdict
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import cut, print_json, say, warn
from pt2bugs.commands.options import (
    ResultsOptions,
    RunningOptions,
    SelectionOptions,
    add_results,
    add_run,
    add_selection,
)
from pt2bugs.commands.selection import open_results, results_folder, select_cases, select_cells
from pt2bugs.commands.targets import in_interpreter, open_store, releases_for, run_options, targets_for
from pt2bugs.envs.releases import FORMS
from pt2bugs.envs.size import format_size
from pt2bugs.errors import InputError
from pt2bugs.results.matrix import CellKey
from pt2bugs.results.record import Record
from pt2bugs.run.estimate import estimate
from pt2bugs.run.interpreter import named_interpreter, running_interpreter
from pt2bugs.run.progress import progress_of_cells
from pt2bugs.run.runner import Runner
from pt2bugs.run.schedule import Target, Work, belongs, line_of, missing

EXAMPLES = (
    ("pt2bugs run", "all checks on the torch of this Python"),
    (
        "pt2bugs run pytorch_163640 --torch 2.9.1 --torch latest",
        "one case on two releases, each in an environment of its own",
    ),
    (
        "pt2bugs run --torch minors --dry-run",
        "what the whole matrix would cost: cells, environments, gigabytes, minutes",
    ),
    (
        "pt2bugs run --torch 2.13.0 --capability default --threads 2 --results plain",
        "without vector instructions, with two threads; `pt2bugs diff results plain` says what differs",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, ResultsOptions, RunningOptions):
    """What the command takes."""

    torch: Sequence[str] = ()
    python_exe: Path | None = None
    capability: str = ""
    rerun: bool = False
    dry_run: bool = False
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
        help="the releases, each written as " + FORMS.replace("%", "%%") + "; default: the torch of this Python",
    )
    parser.add_argument(
        "--python-exe",
        type=Path,
        metavar="PATH",
        help="measure the torch of this interpreter, which needs nothing else; asks for --results",
    )
    parser.add_argument(
        "--capability",
        choices=("default", "avx2", "avx512"),
        default="",
        help="limit the CPU's vector instructions: ATEN_CPU_CAPABILITY of the cells; asks for --results",
    )
    parser.add_argument("--rerun", action="store_true", help="run also what the journal answers")
    parser.add_argument(
        "--dry-run", action="store_true", help="say which cells and environments it would take, run nothing"
    )
    parser.add_argument("--json", action="store_true", help="print the lines of the selected cells as JSON")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    cells = select_cells(options, cases)
    targets = _targets(options)
    if options.capability:
        targets = [replace(target, build=_limited(options, target)) for target in targets]
    results = open_results(options, options.backend)
    newest = results.load(corpus, warn)
    work = missing(targets, cells, newest.lines(), rerun=options.rerun)
    asked = [(target, cell) for target in targets for cell in cells if belongs(cell, target)]
    owed = sum(len(one.cells) for one in work)
    say(
        f"{len(asked)} cells in {len(targets)} environments: {len(asked) - owed} answered by the journal, {owed} to run"
    )
    if options.dry_run:
        return _tell_cost(options, work, newest.lines())
    with progress_of_cells() as progress:
        how = replace(run_options(options), capability=options.capability)
        Runner(results, open_store(options), how, progress, record=newest.add).run(work)
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
        titles = {case.id: case for case in cases}
        for record in unexpected:
            print(cut(describe(record)))
            case = titles[record["case"]]
            print(cut(f"  {case.title}  {case.issue}"))
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


def _tell_cost(options: Options, work: Sequence[Work], lines: Mapping[CellKey, Record]) -> int:
    """What a run would cost, instead of it."""
    cost = estimate(work, open_store(options), lines, run_options(options).jobs)
    if options.json:
        facts = {"cells": cost.cells, "bytes": cost.disk, "seconds": round(cost.seconds)}
        print_json({**facts, "made": list(map(str, cost.made)), "to_install": list(map(str, cost.unmade))})
        return OK
    for one in work:
        how = "to be installed" if one.target.key in cost.unmade else "is there"
        print(f"{one.target!s:24}  {len(one.cells):5} cells  environment {how}")
    say(
        f"would run {cost.cells} cells in {len(work)} environments, {len(cost.unmade)} of them to be installed: "
        f"about {format_size(cost.disk)} and {max(1, round(cost.seconds / 60))} minutes"
    )
    return OK


def _limited(options: Options, target: Target) -> str:
    """What tells lines of a limited CPU from those that stand for the release."""
    threads = f" threads={options.threads}" if options.threads > 1 else ""
    return f"{target.build or target.key.torch} capability={options.capability}{threads}"


def _targets(options: Options) -> list[Target]:
    if options.capability and (options.results is None or options.results.resolve() == results_folder().resolve()):
        words = "does not stand for a release; name a folder of its own for its results, with --results"
        raise InputError(f"--capability {options.capability}: {words}")
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
    first = telling_line(record["message"])
    name = f"{record['case']}::{record['check']}[{record['device']}-{record['backend']}]"
    return f"torch {record['torch']} {name}: {record['verdict']} ({record['outcome']}) {first[:160]}".rstrip()
