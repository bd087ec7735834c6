"""`pt2bugs isolate`: which functions' change fixed a check between two releases, or broke it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from pt2bugs.case.corpus import is_case_file
from pt2bugs.case.model import Case
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, say, warn
from pt2bugs.commands.options import EnvironmentOptions, ResultsOptions, SelectionOptions, count, file, option
from pt2bugs.commands.selection import load_histories, open_environments, package_sources, select_cases, select_cells
from pt2bugs.engine.folders import cache_home
from pt2bugs.envs.releases import known_releases, one_release
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.isolate import fixes
from pt2bugs.isolate.isolation import Isolation, Isolator
from pt2bugs.isolate.question import Question, check_of, neighbours_of, sides_of
from pt2bugs.isolate.trials import Check, Release, opened
from pt2bugs.isolate.units import Wheels
from pt2bugs.results.folder import open_results, results_folder
from pt2bugs.results.history import Histories
from pt2bugs.run.measurement import default_jobs

EXAMPLES = (
    (
        "pt2bugs isolate pytorch_154036",
        "the functions whose change fixed it, between the releases that the journal names",
    ),
    ("pt2bugs isolate train.py --from 2.12.1 --to 2.13.0", "the same for a program of your own"),
    ("pt2bugs isolate pytorch_163640 --introduced --patch broke.diff", "what broke it, as a patch between your wheels"),
)
MINUTES = 5


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, ResultsOptions, EnvironmentOptions):
    """Options of `isolate`."""

    since: str = option(
        "--from", default="", metavar="RELEASE", help="the older release (default: as the journal says)"
    )
    until: str = option("--to", default="", metavar="RELEASE", help="the newer release")
    introduced: bool = option("--introduced", default=False, help="what broke it, not what fixed it")
    minutes: int = option(
        "--minutes",
        default=MINUTES,
        parse=count,
        metavar="N",
        help=f"for the search of each check (default: {MINUTES})",
    )
    jobs: int | None = option(
        "--jobs", parse=count, metavar="N", help="runs of a check at once (default: one for each core)"
    )
    json: bool = option("--json", default=False, help="print the answers as JSON")
    patch: Path | None = option(
        "--patch", parse=file, metavar="FILE", help="write the units as a patch for the release with the bug"
    )


def run(options: Options) -> int:
    """Select, plan, measure, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    selected = select(options)
    questions = plan(options, selected)
    try:
        measure(options, questions, selected)
    finally:
        # What is known when it is stopped is not lost.
        render(options, query(questions))
    return OK if all(question.result.is_isolated for question in questions) else UNEXPECTED


# --- select --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selected:
    """The cases that were selected, or scripts; and what the journal says of the corpus."""

    cases: Sequence[Case]
    scripts: Sequence[str]
    histories: Histories


def select(options: Options) -> Selected:
    """Return the cases or the script that the options mean.

    Args:
        options: of the command.

    Raises:
        InputError: cases and scripts together, or a script without releases.
    """
    scripts = [word for word in options.patterns if _is_script(word)]
    if scripts and len(scripts) < len(options.patterns):
        raise InputError("name cases or one script, not both")
    if scripts and not (options.since and options.until):
        raise InputError(f"{scripts[0]}: of a script the releases are not known: name them with --from and --to")
    # Of any Python: what the journal has is only where to look, and each run is made again with the one asked for.
    if scripts:
        return Selected([], scripts, load_histories(options.cases, options.results))
    corpus, cases = select_cases(options)
    return Selected(cases, [], open_results(options.results).load(corpus, warn))


def _is_script(word: str) -> bool:
    path = Path(word)
    return path.suffix == ".py" and path.is_file() and not is_case_file(path, warn)


# --- plan ----------------------------------------------------------------------------------------------


def plan(options: Options, selected: Selected) -> list[Question]:
    """Return a question for each check: the two releases between which it changes.

    Args:
        options: of the command.
        selected: what was selected.

    Raises:
        InputError: the journal names no two releases, or those named are no pair.
    """
    if selected.scripts:
        questions = [_of_script(options, word) for word in selected.scripts]
    else:
        questions = _of_cases(options, selected.histories, selected.cases)
    if options.patch is not None and len(questions) != 1:
        raise InputError(f"--patch takes one check, and {len(questions)} are selected")
    return questions


def _of_script(options: Options, word: str) -> Question:
    """Return the question of a script: it runs as a whole, as `python FILE` does."""
    bad, good = _sides(options)
    path = Path(word).resolve()
    device, backend = (options.device or ("cpu",))[0], (options.backend or ("inductor",))[0]
    result = Isolation(path.stem, "script", device, backend, bad, good, _direction(options))
    return Question(result, Check(path, "", {}, device, backend, 600.0, None, compiles=False), None)


def _direction(options: Options) -> str:
    return "introduced" if options.introduced else "fixed"


def _sides(options: Options) -> tuple[str, str]:
    """Return the releases that were named: with and without the bug."""
    releases = known_releases(package_sources(options), warn)
    older, newer = (str(one_release(text, releases)) for text in (options.since, options.until))
    if Version(older) >= Version(newer):
        raise InputError(f"--from {older} --to {newer}: the first must be the older one")
    return (newer, older) if options.introduced else (older, newer)


def _of_cases(options: Options, histories: Histories, cases: Sequence[Case]) -> list[Question]:
    """Return a question for each check: on the first of its backends where the journal has the transition."""
    if bool(options.since) != bool(options.until):
        raise InputError("--from and --to go together")
    named = _sides(options) if options.since else None
    questions: dict[tuple[str, str], Question] = {}
    for cell in select_cells(options, cases):
        if cell.case.guard or (cell.key.case, cell.key.check) in questions:
            continue
        pair = named or sides_of(histories.of(cell), introduced=options.introduced)
        if pair is None:
            continue
        pull_request = cell.case.fix if "/pull/" in cell.case.fix and not options.introduced else ""
        result = Isolation(*cell.key, *pair, direction=_direction(options), evidence="cited", pull_request=pull_request)
        questions[cell.key.case, cell.key.check] = Question(result, check_of(cell), cell.case)
    if not questions:
        what = "broken" if options.introduced else "fixed"
        names = ", ".join(case.id for case in cases[:3])
        raise InputError(
            f"{names}: the journal names no two releases between which it was {what}: see `pt2bugs bisect`"
        )
    return list(questions.values())


# --- measure -------------------------------------------------------------------------------------------


def measure(options: Options, questions: Sequence[Question], selected: Selected) -> None:
    """Isolate each question, by pair of releases.

    Args:
        options: of the command.
        questions: each takes its answer in `result`.
        selected: has the checks that must stay green.

    Raises:
        IsolationError: the only question cannot be asked.
        EnvironmentFailure: an environment cannot be made.
    """
    pairs: dict[tuple[str, str], list[Question]] = {}
    for question in questions:
        pairs.setdefault(question.pair, []).append(question)
    for pair, group in pairs.items():
        with (
            open_environments(options) as environments,
            opened(environments.of(*pair), cache_home() / "isolate") as sides,
        ):
            bad, good = (side.environment.torch for side in sides)
            wheels = Wheels(bad, good)
            for question in group:
                _isolate(options, question, sides, wheels, selected, several=len(questions) > 1)


def _isolate(
    options: Options,
    question: Question,
    sides: Sequence[Release],
    wheels: Wheels,
    selected: Selected,
    *,
    several: bool,
) -> None:
    result = question.result
    prefix = f"{result.case} {result.check}: " if several else ""
    isolator = Isolator(
        result,
        question.check,
        sides[0],
        sides[1],
        wheels,
        budget_s=60.0 * options.minutes,
        neighbours=neighbours_of(question.case, selected.histories, result.bad, result.device),
        jobs=options.jobs or default_jobs(),
        say=lambda text: say(f"{prefix}{text}"),
    )
    try:
        isolator.run(question.is_documented)
    except InputError as error:
        if not several:
            raise
        # Of many questions one that cannot be asked is no reason to leave the others.
        result.reason = str(error)
    finally:
        # Also of a search that was stopped: what it had found until then.
        if question.case is not None and result.evidence != "cited":
            fixes.save(options.results or results_folder(), [result.as_dict()])
    if several:
        say(f"{prefix}{result.summary}")


# --- query, render -------------------------------------------------------------------------------------


def query(questions: Sequence[Question]) -> list[Isolation]:
    """Return the answers to the questions that were asked.

    Args:
        questions: after `measure`, which may have been stopped.
    """
    return [question.result for question in questions if question.result.trials or question.result.reason]


def render(options: Options, known: Sequence[Isolation]) -> None:
    """Print the answers, and write the patch that was asked for.

    Args:
        options: of the command.
        known: the answers.
    """
    if options.patch is not None and known and known[0].patch:
        write_text(options.patch, known[0].patch)
    if options.json:
        print_json({"schema": fixes.SCHEMA, "isolations": [result.as_dict() for result in known]})
        return
    for result in known:
        verb = "broken" if result.direction == "introduced" else "fixed"
        # A script names its backend itself.
        where = f" {result.check} [{result.device}-{result.backend}]" if result.check != "script" else ""
        print(fit(f"{result.case}{where}: {verb} between {_window(result)}"))
        print(fit(f"  {result.summary}"))


def _window(result: Isolation) -> str:
    older, newer = sorted((result.bad, result.good), key=Version)
    return f"{older} and {newer}"
