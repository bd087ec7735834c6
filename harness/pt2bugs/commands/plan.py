"""`pt2bugs plan`: how a selection is divided into shards, for a CI that starts a machine for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pt2bugs.case.vocabulary import COUNTED, number_of
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, row_of, say, warn
from pt2bugs.commands.options import MatrixOptions, count, option
from pt2bugs.commands.selection import (
    MatrixPlan,
    durations_file,
    durations_for,
    on_this_machine,
    open_store,
    plan_matrix,
    results_of,
    run_options,
    select_cases,
)
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.results.folder import open_results
from pt2bugs.run.plan import Work, mean_durations, owed
from pt2bugs.run.shards import MAX_SHARDS, SETUP_S, Division, OwedShard, write_durations

EXAMPLES = (
    ("pt2bugs plan --torch minors --shards 10", "what each of ten machines would run"),
    ("pt2bugs plan --torch minors --shards 10 --json", "the same for the matrix of a CI"),
    ("pt2bugs plan --update-durations", "write results/durations.csv anew from the journal; commit it"),
)


@dataclass(frozen=True, kw_only=True)
class Options(MatrixOptions):
    """Options of `plan`."""

    shards: int = option(
        "--shards", default=0, parse=count, metavar="N", help=f"into so many parts, at most {MAX_SHARDS}"
    )
    update_durations: bool = option(
        "--update-durations", default=False, help="write the file of durations anew from the journal, and end"
    )
    json: bool = option("--json", default=False, help="print the shards that have something to run as JSON")


def run(options: Options) -> int:
    """Plan, query, render; ``--update-durations`` writes the durations and ends. Return the exit code.

    Args:
        options: of the command.
    """
    if options.update_durations:
        return update_durations(options)
    planned = plan(options)
    return render(options, planned, query(options, planned))


@dataclass(frozen=True)
class Planned:
    """All work that is meant, what of it can be done here, and its division into shards."""

    matrix: MatrixPlan
    work: Sequence[Work]
    division: Division


def plan(options: Options) -> Planned:
    """Return the work, divided.

    Args:
        options: of the command.

    Raises:
        InputError: bad usage; releases that do not exist; a damaged file of durations.
        NothingSelected: the filters leave nothing.
    """
    if not 1 <= options.shards <= MAX_SHARDS:
        raise InputError(f"plan: say into how many parts with --shards N, at most {MAX_SHARDS}")
    matrix = plan_matrix(options)
    division = matrix.divided(options, options.shards)
    return Planned(matrix, on_this_machine(matrix.work, options.device, options.cluster), division)


def query(options: Options, planned: Planned) -> list[OwedShard]:
    """Return the shards that have something to run: what the journal does not answer.

    Args:
        options: of the command.
        planned: the work.

    Raises:
        JournalError: a journal cannot be read.
    """
    lines = results_of(options, options.backend).load(planned.matrix.corpus, warn).lines()
    seconds = durations_for(options).of
    jobs = run_options(options).jobs
    shards = []
    for number, part in enumerate(planned.division.shards, 1):
        whole = on_this_machine(part, options.device, options.cluster, lambda _: None)
        if work := list(whole if options.rerun else owed(whole, lines)):
            body = sum(seconds(cell) for part in work for cell in part.cells) / jobs
            minutes = (body + SETUP_S * len(work)) / 60
            shards.append(OwedShard(str(planned.division.name(number)), number, work, minutes))
    return shards


def render(options: Options, planned: Planned, shards: Sequence[OwedShard]) -> int:
    """Print the shards. Return the exit code.

    Args:
        options: of the command.
        planned: all work that is meant.
        shards: those that have something to run.
    """
    # What an environment takes is asked for only where a shard needs it: it may have to look at all that are here.
    size = open_store(options).cost_of_one()[0] if shards else 0
    if options.json:
        print_json([shard.as_dict(size) for shard in shards])
    elif shards:
        width = max(len(shard.name) for shard in shards)
        print(f"{'shard':{width}}  {'cells':>6}  {'minutes':>7}  {'GB':>6}  environments")
        for shard in shards:
            numbers = f"{shard.cells:6}  {shard.minutes:7.1f}  {shard.gigabytes(size):6.1f}"
            print(row_of(f"{shard.name:{width}}  {numbers}", ", ".join(shard.environments)))
    cells = sum(len(part.cells) for part in planned.work)
    to_run = sum(shard.cells for shard in shards)
    say(
        f"{number_of(cells, 'cell')} in {number_of(len(planned.work), 'environment')}, divided into "
        f"{number_of(options.shards, 'shard')} ({planned.division.digest}): "
        f"{cells - to_run} answered by the journal, {to_run} to run in {number_of(len(shards), 'shard')} ({COUNTED})"
    )
    return OK


def update_durations(options: Options) -> int:
    """Write the file of durations anew from the journal. Return the exit code.

    Args:
        options: of the command.

    Raises:
        NothingSelected: the results have nothing of this corpus.
        FileError: the file cannot be written.
    """
    corpus, _ = select_cases(options)
    results = open_results(options.results)
    known = mean_durations(results.load(corpus, warn).lines())
    if not known:
        raise NothingSelected(f"no durations: {results.folder} has no results of this corpus")
    path = options.durations or results.folder / durations_file(options).name
    write_durations(path, known)
    say(f"{path}: the durations of {len(known)} checks")
    return OK
