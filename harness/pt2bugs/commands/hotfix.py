"""`pt2bugs hotfix`: a proved fix as a patch for a wheel that one must stay on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from pt2bugs.case.cells import cells_of
from pt2bugs.case.model import Case
from pt2bugs.case.selectors import cases_named
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import say
from pt2bugs.commands.options import EnvironmentOptions, ResultsOptions, file, option
from pt2bugs.commands.selection import load_histories, open_environments
from pt2bugs.engine.folders import cache_home
from pt2bugs.envs.in_use import Environments
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.isolate import fixes
from pt2bugs.isolate.isolation import Isolation, Isolator
from pt2bugs.isolate.question import Question, check_of, neighbours_of
from pt2bugs.isolate.trials import Check, opened
from pt2bugs.isolate.units import Wheels
from pt2bugs.results.folder import open_results
from pt2bugs.results.history import Histories
from pt2bugs.run.measurement import default_jobs

EXAMPLES = (
    ("pt2bugs hotfix pytorch_183771 --torch 2.12.1 -o fix.patch", "the proved fix, proved again on that release"),
)


@dataclass(frozen=True, kw_only=True)
class Options(ResultsOptions, EnvironmentOptions):
    """Options of `hotfix`."""

    case: str = option("CASE", default=MISSING, help="the id of a case, or the number of its issue")
    torch: str = option("--torch", default=None, required=True, metavar="RELEASE", help="the release to stay on")
    output: Path | None = option(
        "-o", "--output", parse=file, metavar="FILE", help="write the patch there, not to stdout"
    )


def run(options: Options) -> int:
    """Select, plan, measure, render. Return the exit code.

    Args:
        options: of the command.
    """
    with open_environments(options) as environments:
        selected = select(options)
        release = environments.release(options.torch)
        known, question = plan(selected, release)
        neighbours = neighbours_of(selected.case, selected.histories, release, question.result.device)
        measure(environments, question, _units(known, release), neighbours)
    return render(options, question.result)


@dataclass(frozen=True)
class Selected:
    """The case and its proved fixes, and what the journal says of the corpus."""

    case: Case
    proved: Sequence[Mapping[str, Any]]
    histories: Histories


def select(options: Options) -> Selected:
    """Return the case and its proved fixes.

    Args:
        options: of the command.

    Raises:
        InputError: the word does not mean one case, or it has no proved fix.
    """
    histories = load_histories((), options.results, options.python)
    cases = cases_named(options.case, histories.cases.values())
    if len(cases) != 1:
        raise InputError(f"{options.case}: means {len(cases)} cases, and a hotfix is for one")
    case, folder = cases[0], open_results(options.results).folder
    proved = [
        fix for fix in fixes.of_case(folder, case.id) if fix["evidence"] == "proved" and fix["direction"] == "fixed"
    ]
    if not proved:
        raise InputError(f"{case.id}: has no proved fix in {folder / fixes.FOLDER}: see `pt2bugs isolate {case.id}`")
    return Selected(case, proved, histories)


def plan(selected: Selected, release: str) -> tuple[Mapping[str, Any], Question]:
    """Return the fix to try, the one proved on that release or the newest, and the question whether it does there.

    Args:
        selected: the case and its proved fixes.
        release: to stay on.

    Raises:
        InputError: the release needs no fix.
    """
    case = selected.case
    known = max(selected.proved, key=lambda fix: (fix["bad"] == release, Version(fix["good"])))
    if Version(release) >= Version(known["good"]):
        raise InputError(f"torch {release} needs no hotfix: {case.id} is fixed in {known['good']}")
    cell = next(
        cell for cell in cells_of(case, (known["device"],), (known["backend"],)) if cell.check.name == known["check"]
    )
    return known, Question(Isolation(*cell.key, release, known["good"], "fixed"), check_of(cell), case)


def measure(
    environments: Environments, question: Question, units: Sequence[Mapping[str, Any]], neighbours: Sequence[Check]
) -> None:
    """Prove the fix on the release; the answer is the result of the question.

    Args:
        environments: make the two releases.
        question: what is asked.
        units: of the fix.
        neighbours: checks that must stay green.
    """
    with opened(environments.of(*question.pair), cache_home() / "isolate") as (bad, good):
        wheels = Wheels(bad.environment.torch, good.environment.torch)
        isolator = Isolator(
            question.result,
            question.check,
            bad,
            good,
            wheels,
            budget_s=0.0,
            neighbours=neighbours,
            jobs=default_jobs(),
            say=say,
        )
        isolator.prove(units, question.is_documented)


def _units(known: Mapping[str, Any], release: str) -> list[dict[str, Any]]:
    """Return the units to prove: as they were minimized on that release, else whole: their hunks differ there."""
    units: list[dict[str, Any]] = [dict(unit) for unit in known["units"]]
    return units if known["bad"] == release else [{**unit, "hunks": None} for unit in units]


def render(options: Options, result: Isolation) -> int:
    """Print the patch, or why there is none. Return the exit code.

    Args:
        options: of the command.
        result: of the proof.
    """
    if result.evidence != "proved":
        say(f"pt2bugs: no hotfix of {result.case} for torch {result.bad}: {result.reason}")
        return UNEXPECTED
    if options.output is not None:
        write_text(options.output, result.patch)
    else:
        print(result.patch, end="")
    name = shlex.quote(str(options.output or "fix.patch"))
    (green, runs), (stayed, met) = result.red_to_green, result.stayed_green
    say(
        f"proved on torch {result.bad} ({result.builds[0] or 'no local version'}): green in {green} of {runs} runs; "
        f"where torch {result.good} takes it back the same failure is there again; {stayed} of {met} other checks "
        "that execute it stay green"
    )
    say("no installation was changed; to try it on a copy of yours:")
    say(
        "  d=$(mktemp -d) && cp -r \"$(python -c 'import os, torch; print(os.path.dirname(torch.__file__))')\" $d "
        f"&& patch -d $d -p1 < {name} && PYTHONPATH=$d python SCRIPT"
    )
    return OK
