"""`pt2bugs run`: the matrix. Runs what the journal does not answer yet, then derives the tables."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pt2bugs.bisect.deciding import deciding
from pt2bugs.case.cells import Cell, CellName
from pt2bugs.case.model import Case
from pt2bugs.case.observation import NOT_IMPORTED, Observation, shortened, telling_line
from pt2bugs.case.versions import public_or_empty
from pt2bugs.case.vocabulary import COUNTED, EXPECTED, Outcome, Verdict, number_of
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, say, warn
from pt2bugs.commands.cost import render_cost, render_search_cost
from pt2bugs.commands.machines import run_cells
from pt2bugs.commands.options import MatrixOptions, ShardOptions, option
from pt2bugs.commands.selection import (
    MatrixPlan,
    on_this_machine,
    open_store,
    plan_matrix,
    results_of,
    run_options,
)
from pt2bugs.curate.bless import FailureIdentity, identity_of, row_of
from pt2bugs.engine.check import NOTHING_COMPILED
from pt2bugs.envs.releases import at_hand
from pt2bugs.errors import InputError
from pt2bugs.files import append_text
from pt2bugs.report.annotations import Measured, run_annotations, run_summary
from pt2bugs.results.folder import Results, results_folder
from pt2bugs.results.history import Histories
from pt2bugs.results.journal import Record
from pt2bugs.results.line import cell_key, version_key
from pt2bugs.run.plan import RunOptions, Target, Work, line_of, may_be_here, owed

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
    ("pt2bugs run pytorch_172073 --torch minors --bisect", "a new case: only the releases that decide"),
    ("pt2bugs run pytorch_172073 --torch minors --bisect --dry-run", "with which releases that begins, and at most"),
    ("pt2bugs run --torch minors --shard 3/10", "the third of ten parts, for a CI machine"),
)


@dataclass(frozen=True, kw_only=True)
class Options(MatrixOptions, ShardOptions):
    """Options of `run`."""

    capability: str = option(
        "--capability",
        default="",
        choices=("default", "avx2", "avx512"),
        help="limit the CPU's vector instructions (ATEN_CPU_CAPABILITY of the cells); asks for --results",
    )
    dry_run: bool = option(
        "--dry-run", default=False, help="say which cells and environments it would take, run nothing"
    )
    bisect: bool = option(
        "--bisect", default=False, help="run only the releases that decide: the ends, then halfway between"
    )
    json: bool = option("--json", default=False, help="print the lines of the selected cells as JSON")
    annotations: str = option(
        "--annotations",
        default="",
        choices=("github",),
        help="print what is not as expected as workflow commands, and write the summary of the job",
    )
    summary: Path | None = option(
        "--summary",
        parse=Path,
        metavar="FILE",
        help="append a summary in Markdown (default with --annotations: the file that GITHUB_STEP_SUMMARY names)",
    )


def run(options: Options) -> int:
    """Plan, measure, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    planned = plan(options)
    _tell_smaller_builds(options, planned.work)
    if options.dry_run:
        return _render_cost(options, planned)
    planned = measure(options, planned)
    return render(options, planned, query(planned))


def _render_cost(options: Options, planned: Planned) -> int:
    work, lines = planned.work, planned.newest.lines()
    if options.bisect:
        if first := next(deciding(planned.meant, planned.newest, _identity), []):
            return render_search_cost(options, first, work, lines, as_json=options.json)
        work = []
    return render_cost(options, work, lines, as_json=options.json)


@dataclass(frozen=True)
class Planned:
    """All that is meant, and the work that the journal does not answer yet."""

    matrix: MatrixPlan
    meant: Sequence[Work]
    work: list[Work]
    results: Results
    newest: Histories

    @property
    def cells(self) -> int:
        """The number of cells that are meant."""
        return sum(len(part.cells) for part in self.meant)


@dataclass(frozen=True)
class Answers:
    """The lines of the cells that have one, and those of them that are not as expected."""

    lines: Sequence[Record]
    unexpected: Sequence[Record]


def plan(options: Options) -> Planned:
    """Return the cells to run: the selection, or the shard of it, but for what the journal answers.

    Args:
        options: of the command.

    Raises:
        InputError: an option is wrong.
        NothingSelected: the selection is empty.
    """
    matrix = plan_matrix(options)
    if options.bisect and (options.rerun or options.shard):
        raise InputError("--bisect decides by what it has seen; leave out --rerun and --shard")
    if options.capability:
        matrix = _with_capability(matrix, options)
    meant = on_this_machine(_part(matrix, options), options.device, options.cluster)
    results = results_of(options, options.backend)
    newest = results.load(matrix.corpus, warn)
    work = list(meant) if options.rerun else owed(meant, newest.lines())
    planned = Planned(matrix, meant, work, results, newest)
    to_run = sum(len(part.cells) for part in work)
    say(
        f"{number_of(planned.cells, 'cell')} in {number_of(len(meant), 'environment')}: "
        f"{planned.cells - to_run} answered by the journal, {to_run} to run ({COUNTED})"
    )
    return planned


def measure(options: Options, planned: Planned) -> Planned:
    """Run the work into the journal, and derive the tables. Return what was meant, as far as it was asked for.

    Args:
        options: of the command.
        planned: the work. Where an environment fails, it says so afterwards.
    """
    how = replace(run_options(options), capability=options.capability)
    ran: list[Work] = []

    def batches() -> Iterator[tuple[list[Work], RunOptions]]:
        for work in deciding(planned.meant, planned.newest, _identity) if options.bisect else [planned.work]:
            yield work, how
            ran.extend(work)

    run_cells(options, open_store(options), planned.results, planned.newest, batches())
    planned.results.derive(planned.newest)
    if not options.bisect:
        return planned
    lines, seen = planned.newest.lines(), {(part.target.key, cell.key) for part in ran for cell in part.cells}
    meant = [
        Work(target, [cell for cell in part.cells if (target.key, cell.key) in seen or line_of(lines, target, cell)])
        for part in planned.meant
        for target in [part.target]
    ]
    narrowed = replace(planned, meant=meant, work=ran)
    _tell_search(planned, narrowed)
    return narrowed


def _tell_search(planned: Planned, narrowed: Planned) -> None:
    """Say what a search left out, and why."""
    if foreign := _not_imported(query(narrowed).lines):
        say(f"--bisect: no more was run of a file that a release cannot import: {', '.join(foreign)}")
        return
    lines = planned.newest.lines()
    answered: dict[tuple[CellName, Sequence[str]], list[str]] = {}
    silent: dict[str, None] = {}
    for part in narrowed.meant:
        for cell in part.cells:
            record = line_of(lines, part.target, cell)
            if record is None or record["outcome"] == Outcome.ERROR:
                silent[str(part.target)] = None
            else:
                answered.setdefault((cell.key, part.target.key.extras), []).append(part.target.key.torch)
    left_out = {(part.target.key, cell.key) for part in planned.meant for cell in part.cells}
    left_out -= {(part.target.key, cell.key) for part in narrowed.meant for cell in part.cells}
    between = 0
    for key, cell_name in left_out:
        releases = sorted([*answered.get((cell_name, key.extras), []), key.torch], key=version_key)
        between += key.torch not in (releases[0], releases[-1])
    if between:
        say(f"--bisect: not run, since the releases on both sides answer alike: {number_of(between, 'cell')}")
    if beyond := len(left_out) - between:
        say(f"--bisect: not run, since no release on one side has an answer: {number_of(beyond, 'cell')}")
    if silent:
        say(f"--bisect: an error is no answer, and the same command tries again: {', '.join(silent)}")


def _tell_smaller_builds(options: Options, work: Sequence[Work]) -> None:
    """Say how to get builds for the CPU, where others would be installed that this machine cannot use."""
    if options.torch_backend or options.index or may_be_here("cuda"):
        return
    store = open_store(options)
    in_folders = at_hand(store.source)
    keys = [part.target.key for part in work if part.target.python is None]
    if any(store.find(key) is None and key.torch not in in_folders for key in keys):
        say("builds for the CPU are a sixth of the size, where PyTorch's own index can be reached: --torch-backend cpu")


def _identity(cell: Cell, record: Record) -> FailureIdentity:
    """Return what `bless` would write of a failure: each wording gets an entry, which ends somewhere."""
    return identity_of(cell.case, row_of(record), Observation.from_dict(record))


def query(planned: Planned) -> Answers:
    """Return what the journal says of all cells that are meant.

    Args:
        planned: what is meant.
    """
    newest = planned.newest.lines()
    cells = [(part.target, cell) for part in planned.meant for cell in part.cells]
    lines = [line for target, cell in cells if (line := line_of(newest, target, cell)) is not None]
    # A case may say that its bug shows only sometimes.
    flaky = {case.id for case in planned.matrix.cases if case.flaky}
    unexpected = [
        record
        for record in lines
        if record["verdict"] not in EXPECTED and not (record["verdict"] == Verdict.FLAKY and record["case"] in flaky)
    ]
    return Answers(lines, unexpected)


def render(options: Options, planned: Planned, answers: Answers) -> int:
    """Print what is not as expected, what a CI wants to know, and the next step. Return the exit code.

    Args:
        options: of the command.
        planned: what was meant.
        answers: what the journal says of it.
    """
    if options.json:
        print_json(answers.lines)
    else:
        cases = {case.id: case for case in planned.matrix.cases}
        for record in answers.unexpected:
            case = cases[record["case"]]
            print(fit(describe(record)))
            print(fit(f"  {case.title}  {case.issue}"))
    counts = Counter(str(record["verdict"]) for record in answers.lines)
    say(", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())) or "no cell has an answer")
    failures = {str(part.target): part.failure for part in planned.work if part.failure}
    for target, failure in failures.items():
        say(f"{target}: {failure}")
    if step := next_step(answers.unexpected, planned.matrix.cases):
        say(f"next: {step}")
    title = f"shard {options.shard.number}/{options.shard.count}" if options.shard else ""
    unanswered = planned.cells - len(answers.lines)
    _tell_ci(options, planned.matrix, Measured(title, answers.lines, answers.unexpected, unanswered, failures))
    return UNEXPECTED if failures or unanswered or answers.unexpected else OK


def next_step(unexpected: Iterable[Record], cases: Iterable[Case]) -> str:
    """Return what to do about cases of which no bug is documented yet; empty if there are none.

    Args:
        unexpected: lines that are not as expected.
        cases: the selected ones.
    """
    fresh = {case.id for case in cases if not case.bugs and not case.guard}
    records = [record for record in unexpected if record["case"] in fresh]
    # An error is no answer: the entries would say that the bug is wherever nothing was compiled, or imported.
    if foreign := _not_imported(records):
        releases = ", ".join(sorted(set(foreign.values()), key=version_key))
        names = " ".join(foreign)
        return f"requires-torch in the header, if torch {releases} has no such API, then pt2bugs run {names} again"
    if idle := sorted({record["case"] for record in records if record["message"] == NOTHING_COMPILED}):
        return f"make the check compile something on every release, then pt2bugs run {' '.join(idle)} again"
    failing = sorted({record["case"] for record in records if record["verdict"] == Verdict.FAIL})
    return f"pt2bugs bless {' '.join(failing)}" if failing else ""


def _not_imported(records: Iterable[Record]) -> dict[str, str]:
    """Return the newest release that cannot import the file of a case, by case."""
    foreign = [record for record in records if record["message"].startswith(NOT_IMPORTED)]
    foreign.sort(key=lambda record: (record["case"], version_key(public_or_empty(record["torch"]))))
    return {record["case"]: public_or_empty(record["torch"]) for record in foreign}


def _with_capability(matrix: MatrixPlan, options: Options) -> MatrixPlan:
    """Return the plan on a limited CPU: its lines do not stand for a release."""
    if options.results is None or options.results.resolve() == results_folder().resolve():
        problem = "does not stand for a release; name a folder of its own for its results, with --results"
        raise InputError(f"--capability {options.capability}: {problem}")
    threads = f" threads={options.threads}" if options.threads > 1 else ""

    def _limited(target: Target) -> Target:
        build = f"{target.build or target.key.torch} capability={options.capability}{threads}"
        return replace(target, build=build)

    return replace(matrix, work=[replace(part, target=_limited(part.target)) for part in matrix.work])


def _part(matrix: MatrixPlan, options: Options) -> Sequence[Work]:
    """Return all that is meant, or the shard of it."""
    if options.shard is None:
        return matrix.work
    division = matrix.divided(options, options.shard.count)
    shard = division.shard(options.shard)
    cells = sum(len(part.cells) for part in shard)
    part = f"{number_of(cells, 'cell')} in {number_of(len(shard), 'environment')}"
    say(f"shard {division.name(options.shard.number)}: {part} of the selection")
    return shard


def _tell_ci(options: Options, matrix: MatrixPlan, measured: Measured) -> None:
    """Print annotations on stdout, or on stderr where stdout is data; write the summary where it is asked for."""
    cases = {case.id: case for case in matrix.corpus}
    if options.annotations:
        root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
        for line in run_annotations(measured.unexpected, measured.failures, cases, root):
            print(line, file=sys.stderr if options.json else sys.stdout, flush=True)
    named = os.environ.get("GITHUB_STEP_SUMMARY") if options.annotations else None
    path = options.summary or (Path(named) if named else None)
    if path is not None:
        append_text(path, run_summary(measured, cases))


def describe(record: Record) -> str:
    """Return a journal line on one line of text.

    Args:
        record: the line.
    """
    first = telling_line(record["message"])
    seen = f"{record['verdict']} ({record['outcome']}) {shortened(first, 160)}"
    return f"torch {record['torch']} {cell_key(record).cell}: {seen}".rstrip()
