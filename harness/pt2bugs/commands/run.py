"""`pt2bugs run`: the matrix. Runs what the journal does not answer yet, then derives the tables."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pt2bugs.case.model import Case
from pt2bugs.case.observation import telling_line
from pt2bugs.case.words import EXPECTED, Verdict
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.asked import Asked, MatrixOptions, add_matrix, asked, on_this_machine
from pt2bugs.commands.console import cut, print_json, say, warn
from pt2bugs.commands.machines import machines
from pt2bugs.commands.selection import open_results, results_folder
from pt2bugs.commands.targets import open_store, run_options
from pt2bugs.engine.check import NOTHING_COMPILED
from pt2bugs.envs.size import format_size
from pt2bugs.errors import InputError
from pt2bugs.files import append_text
from pt2bugs.report.github import workflow_commands
from pt2bugs.report.summary import Measured, run_summary
from pt2bugs.results.matrix import CellKey
from pt2bugs.results.record import Record
from pt2bugs.run.estimate import estimate
from pt2bugs.run.progress import progress_of_cells
from pt2bugs.run.schedule import Target, Work, line_of, owed
from pt2bugs.run.shards import ShardName

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
    ("pt2bugs run --torch minors --shard 3/10", "the third of ten parts, for a CI machine"),
)


@dataclass(frozen=True, kw_only=True)
class Options(MatrixOptions):
    """What the command takes."""

    capability: str = ""
    shard: ShardName | None = None
    annotations: str = ""
    summary: Path | None = None
    dry_run: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_matrix(parser)
    group = parser.add_argument_group("on a CI (docs/ci.md)")
    group.add_argument(
        "--shard",
        type=_shard,
        metavar="K/N",
        help="the K-th of N parts of the selection; the parts are the same on every machine",
    )
    group.add_argument(
        "--annotations",
        choices=("github",),
        default="",
        help="print what is not as expected as workflow commands, and write the summary of the job",
    )
    group.add_argument(
        "--summary",
        type=Path,
        metavar="FILE",
        help="append a summary in Markdown (default with --annotations: the file that GITHUB_STEP_SUMMARY names)",
    )
    parser.add_argument(
        "--capability",
        choices=("default", "avx2", "avx512"),
        default="",
        help="limit the CPU's vector instructions: ATEN_CPU_CAPABILITY of the cells; asks for --results",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say which cells and environments it would take, run nothing"
    )
    parser.add_argument("--json", action="store_true", help="print the lines of the selected cells as JSON")


def _shard(text: str) -> ShardName:
    """A shard, for argparse."""
    try:
        return ShardName.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: Options) -> int:
    what = asked(options)
    if options.capability:
        what = _with_capability(what, options)
    work_asked = on_this_machine(_part(what, options), options.device, options.cluster)
    cells_asked = [(one.target, cell) for one in work_asked for cell in one.cells]
    results = open_results(options, options.backend)
    newest = results.load(what.corpus, warn)
    work = list(work_asked) if options.rerun else owed(work_asked, newest.lines())
    to_run = sum(len(one.cells) for one in work)
    say(
        f"{len(cells_asked)} cells in {len(work_asked)} environments: {len(cells_asked) - to_run} answered by the "
        f"journal, {to_run} to run"
    )
    if options.dry_run:
        return _tell_cost(options, work, newest.lines())
    how = replace(run_options(options), capability=options.capability)
    with machines(options, newest.lines()) as new_runner, progress_of_cells() as progress:
        new_runner(results, open_store(options), how, progress, newest.add).run(work)
    results.derive(newest)
    lines = newest.lines()
    shown = [line for target, cell in cells_asked if (line := line_of(lines, target, cell)) is not None]
    # A case may say that its bug shows only sometimes.
    flaky = {case.id for case in what.cases if case.flaky}
    unexpected = [
        record
        for record in shown
        if record["verdict"] not in EXPECTED and not (record["verdict"] == Verdict.FLAKY and record["case"] in flaky)
    ]
    if options.json:
        print_json(shown)
    else:
        titles = {case.id: case for case in what.cases}
        for record in unexpected:
            print(cut(describe(record)))
            case = titles[record["case"]]
            print(cut(f"  {case.title}  {case.issue}"))
    counts = Counter(str(record["verdict"]) for record in shown)
    say(", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())) or "no cell has an answer")
    for one in work:
        if one.failure:
            say(f"{one.target}: {one.failure}")
    if step := next_step(unexpected, what.cases):
        say(f"next: {step}")
    title = f"shard {options.shard.number}/{options.shard.count}" if options.shard else ""
    failures = {str(one.target): one.failure for one in work if one.failure}
    _tell_ci(options, what, Measured(title, shown, unexpected, len(cells_asked) - len(shown), failures))
    failed = any(one.failure for one in work) or len(shown) < len(cells_asked)
    return UNEXPECTED if failed or unexpected else OK


def next_step(unexpected: Iterable[Record], cases: Iterable[Case]) -> str:
    """What to do about cases of which no bug is documented yet; empty if there are none."""
    fresh = {case.id for case in cases if not case.bugs and not case.guard}
    found = [record for record in unexpected if record["case"] in fresh]
    # An error is no answer: the entries would say that the bug is wherever nothing was compiled.
    idle = sorted({r["case"] for r in found if r["message"] == NOTHING_COMPILED})
    if idle:
        return f"make the check compile something on every release, then pt2bugs run {' '.join(idle)} again"
    failing = sorted({r["case"] for r in found if r["verdict"] == Verdict.FAIL})
    return f"pt2bugs bless {' '.join(failing)}" if failing else ""


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


def _with_capability(what: Asked, options: Options) -> Asked:
    """What was asked for, on a limited CPU: its lines do not stand for a release."""
    if options.results is None or options.results.resolve() == results_folder().resolve():
        problem = "does not stand for a release; name a folder of its own for its results, with --results"
        raise InputError(f"--capability {options.capability}: {problem}")
    threads = f" threads={options.threads}" if options.threads > 1 else ""

    def limited(target: Target) -> Target:
        build = f"{target.build or target.key.torch} capability={options.capability}{threads}"
        return replace(target, build=build)

    return replace(what, work=[replace(one, target=limited(one.target)) for one in what.work])


def _part(what: Asked, options: Options) -> Sequence[Work]:
    """All that was asked for, or the shard of it."""
    if options.shard is None:
        return what.work
    division = what.divided(options, options.shard.count)
    say(f"shard {division.name(options.shard.number)}: {_counted(division.shard(options.shard))} of the selection")
    return division.shard(options.shard)


def _counted(work: Sequence[Work]) -> str:
    return f"{sum(len(one.cells) for one in work)} cells in {len(work)} environments"


def _tell_ci(options: Options, what: Asked, measured: Measured) -> None:
    """Annotations on stdout, or on stderr where stdout is data; the summary where it is asked for."""
    if options.annotations:
        root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
        cases = {case.id: case for case in what.corpus}
        for line in workflow_commands(measured.unexpected, measured.failures, cases, root):
            print(line, file=sys.stderr if options.json else sys.stdout, flush=True)
    named = os.environ.get("GITHUB_STEP_SUMMARY") if options.annotations else None
    path = options.summary or (Path(named) if named else None)
    if path is not None:
        append_text(path, run_summary(measured, {case.id: case for case in what.corpus}))


def describe(record: Record) -> str:
    """A journal line on one line of text."""
    first = telling_line(record["message"])
    name = f"{record['case']}::{record['check']}[{record['device']}-{record['backend']}]"
    return f"torch {record['torch']} {name}: {record['verdict']} ({record['outcome']}) {first[:160]}".rstrip()
