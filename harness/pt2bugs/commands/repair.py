"""`pt2bugs repair`: tasks of bugs whose fix is proved. It lists them, makes a folder to work in, and scores a patch."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.corpus import corpus_roots
from pt2bugs.case.model import Case
from pt2bugs.case.vocabulary import number_of
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import print_json, print_table, say
from pt2bugs.commands.options import CorpusOptions, EnvironmentOptions, ResultsOptions, folder, option
from pt2bugs.commands.selection import load_corpus, load_histories, open_environments
from pt2bugs.engine.folders import cache_home
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.isolate.question import neighbours_of
from pt2bugs.repair.patch import read_patch
from pt2bugs.repair.score import SOLVED, Score, Scorer
from pt2bugs.repair.tasks import Task, task_named, tasks_of
from pt2bugs.repair.workplace import check_is_empty, start
from pt2bugs.results.folder import open_results
from pt2bugs.results.history import Histories

EXAMPLES = (
    ("pt2bugs repair list", "the tasks: bugs whose fix is proved"),
    ("pt2bugs repair start pytorch_183771 work --show traceback", "a torch to repair, and the program that fails"),
    ("pt2bugs repair score pytorch_183771 work", "is the bug gone, and is nothing else"),
)


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions, ResultsOptions, EnvironmentOptions):
    """Options of `repair`."""

    action: str = option(
        "list|start|score",
        default="list",
        choices=("list", "start", "score"),
        help="list the tasks (the default), start one in a new folder, or score what was done there",
    )
    task: str | None = option("TASK", help="start, score: the id of a task, or the number of its issue")
    folder: Path | None = option("DIR", parse=folder, help="start, score: the folder; start wants it empty or new")
    show: str = option(
        "--show",
        default="program",
        choices=("issue", "program", "traceback"),
        help="start: what is told; program (the default) is no more than that, traceback the failure as measured",
    )
    json: bool = option("--json", default=False, help="list, score: as JSON")


def run(options: Options) -> int:
    """Select, plan, measure, render; listing selects and renders, a start makes the folder. Return the exit code.

    Args:
        options: of the command.
    """
    selected = select(options)
    if options.action == "list":
        return render_list(options, selected.tasks)
    task, place = plan(options, selected)
    if options.action == "start":
        make(options, task, place)
        return render_start(task, place)
    return render(options, measure(options, task, place))


# --- select --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selected:
    """The corpus, and its tasks."""

    corpus: Sequence[Case]
    tasks: Sequence[Task]


def select(options: Options) -> Selected:
    """Return the corpus and the tasks.

    Args:
        options: of the command.

    Raises:
        NothingSelected: no fix is proved.
    """
    corpus, results = load_corpus(corpus_roots(options.cases)), open_results(options.results)
    tasks = tasks_of(results.folder, corpus)
    if not tasks:
        raise NothingSelected(f"{results.folder}: no fix is proved there, so there is no task; see `pt2bugs isolate`")
    return Selected(corpus, tasks)


def plan(options: Options, selected: Selected) -> tuple[Task, Path]:
    """Return the task and the folder that are meant.

    Args:
        options: of the command.
        selected: the tasks.

    Raises:
        InputError: one of them is not named, or there is no such task.
    """
    if options.task is None or options.folder is None:
        raise InputError(f"repair {options.action}: takes a task and a folder")
    return task_named(options.task, selected.tasks, selected.corpus), options.folder


def _histories(options: Options) -> Histories:
    # Whatever Python the journal has: what holds in a release holds in it.
    return load_histories(options.cases, options.results)


# --- list ----------------------------------------------------------------------------------------------


def render_list(options: Options, tasks: Sequence[Task]) -> int:
    """Print the tasks. Return the exit code.

    Args:
        options: of the command.
        tasks: all of them.
    """
    if options.json:
        print_json([task.as_dict() for task in tasks])
        return OK
    print_table([_row(task) for task in tasks])
    say(number_of(len(tasks), "task"))
    return OK


def _row(task: Task) -> tuple[str, ...]:
    about = task.as_dict()
    hidden = number_of(task.twins, "hidden check") if task.can_be_scored else "cannot be scored yet"
    return task.id, f"torch {task.bad}", about["backend"], about["symptom"], hidden


# --- start ---------------------------------------------------------------------------------------------


def make(options: Options, task: Task, place: Path) -> None:
    """Make the folder of a task.

    Args:
        options: of the command.
        task: the task.
        place: new or empty.

    Raises:
        WorkplaceError: the folder is not empty.
        InputError: the journal does not have what is to be shown.
        EnvironmentFailure: the release of the task cannot be had.
    """
    check_is_empty(place)
    shown = _shown(options, task)
    with open_environments(options) as environments:
        (environment,) = environments.of(task.bad)
        start(task, environment, environment.torch, place, cache_home() / "repair" / "libraries", shown)


def render_start(task: Task, place: Path) -> int:
    """Say what to do with the folder of a task. Return the exit code.

    Args:
        task: the task.
        place: its folder.
    """
    say(f"{place}/torch is torch {task.bad}, to be changed; `cd {place} && ./python program.py` runs the program")
    say(f"then: pt2bugs repair score {task.id} {place}")
    return OK


def _shown(options: Options, task: Task) -> str:
    if options.show == "issue":
        return f"{task.case.title}\n{task.case.issue}\n"
    if options.show == "program":
        return ""
    finding = _histories(options).of(task.cell).findings.get(task.bad)
    if finding is None:
        raise InputError(f"{task.id}: the journal has no line of torch {task.bad} that shows the failure")
    record = finding.record
    frames = [record["frame"], *record.get("frames", ())]
    lines = [f"  {frame}" for frame in reversed(frames) if frame]
    return "\n".join([*lines, f"{record['error_type']}: {record['message']}\n"])


# --- score ---------------------------------------------------------------------------------------------


def measure(options: Options, task: Task, place: Path) -> Score:
    """Return the score of what was done in a folder.

    Args:
        options: of the command.
        task: the task.
        place: as `start` made it.

    Raises:
        WorkplaceError: it holds no patch that can be scored.
        ScoreError: the task cannot be scored here.
    """
    neighbours = neighbours_of(task.case, _histories(options), task.bad, task.cell.device)
    with open_environments(options) as environments:
        scorer = Scorer(task, lambda release: environments.of(release)[0], cache_home() / "isolate", say)
        with contextlib.closing(scorer):
            patch = read_patch(place, scorer.torch)
            return scorer.score(patch, neighbours)


def render(options: Options, score: Score) -> int:
    """Print a score. Return the exit code.

    Args:
        options: of the command.
        score: of a patch.
    """
    if options.json:
        print_json(score.as_dict())
    else:
        print(f"{score.task}: {score.verdict}")
        for _, reason in score.findings:
            print(f"  {reason}")
    return OK if score.verdict == SOLVED else UNEXPECTED
