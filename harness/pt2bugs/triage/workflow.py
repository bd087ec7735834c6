"""All steps of a triage, one after the other. What is there when the budget ends is kept."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pt2bugs.case.expectation import public
from pt2bugs.curate.script import lines_of_code
from pt2bugs.files import write_text
from pt2bugs.match.structure import Structure
from pt2bugs.triage.artifacts import gather
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.classify import classify, operator_of
from pt2bugs.triage.known import known_bugs
from pt2bugs.triage.ladder import Climber
from pt2bugs.triage.minimize import minimize, uncaught
from pt2bugs.triage.program import Program, without_import
from pt2bugs.triage.redact import redact_source
from pt2bugs.triage.report import Triage, report
from pt2bugs.triage.reproduce import MISSING, TIMES, Reproduction, reproduce
from pt2bugs.triage.reproducer import versions, write_reproducers
from pt2bugs.triage.runner import ProgramRunner, program_runner
from pt2bugs.triage.since_when import PythonOf, Releases, since_when
from pt2bugs.triage.verdict import NOT_A_BUG, decide, refused_argument

RESULT, REPORT, MINIMAL, PROGRAM = "triage.json", "report.md", "minimal.py", "program.py"
MINIMIZE_PART = 0.4


@dataclass(frozen=True)
class Settings:
    """Settings of a triage.

    Args:
        folder: for what it writes.
        python_of: the interpreter of a release; the empty text stands for the one at hand.
        releases: what to search, oldest first; empty: the one interpreter alone.
        cases, results: the corpus and its journal, to find known bugs in.
        skip: steps to leave out: ``minimize``, ``artifacts``.
    """

    folder: Path
    python_of: PythonOf
    cases: Sequence[Path]
    results: Path
    releases: Sequence[str] = ()
    argv: Sequence[str] = ()
    minutes: float = 15.0
    timeout_s: float = 120.0
    times: int = TIMES
    compare_output: bool = False
    drop_unused_imports: bool = False
    skip: frozenset[str] = frozenset()
    log: Callable[[str], None] = field(default=lambda _: None)
    warn: Callable[[str], None] = field(default=lambda _: None)


def triage(program: Program, settings: Settings) -> Triage:
    """Reproduce, climb, classify, gather, minimize, search, hand over.

    Args:
        program: as it was given.
        settings: of the triage.

    Raises:
        CannotRun, NeverCompiles: the program is none to be triaged.
        EngineError: the interpreter cannot be used.
    """
    budget = Budget(settings.minutes)
    releases: Releases | None = None
    release = settings.releases[0] if settings.releases else ""
    beside = program.path.parent
    with tempfile.TemporaryDirectory(prefix="pt2bugs-triage-") as work_folder:
        # A script may delete, rename or write itself: the user's own file is never run.
        program = Program(Path(work_folder) / program.path.name, program.source)
        write_text(program.path, program.source)
        dropped: list[str] = []
        if settings.drop_unused_imports:
            program, dropped = _without_unused_imports(program, beside, settings, budget)
        if len(settings.releases) > 1:
            release, releases = _search(program, settings, budget, beside)
        with program_runner(settings.python_of(release), budget, settings.timeout_s, settings.argv, beside) as lab:
            settings.log("reproduce")
            reproduction = reproduce(lab, program, settings.times, compare_output=settings.compare_output)
            result = Triage(program.name, lab.torch, reproduction, releases=releases)
            result.notes += [
                f"the import of {name}, which is not installed and not used, was left out" for name in dropped
            ]
            result.notes += [reproduction.note] if reproduction.note else []
            if reproduction.is_failure:
                _examine(lab, program, result, settings, budget)
            else:
                _write(program, program.source, result, settings.folder)
    return result


def _without_unused_imports(
    program: Program, beside: Path, settings: Settings, budget: Budget
) -> tuple[Program, list[str]]:
    """Return the program without imports that are not installed and not used, and the names of these."""
    dropped: list[str] = []
    python = settings.python_of(settings.releases[-1])
    with program_runner(python, budget, settings.timeout_s, settings.argv, beside) as lab:
        while True:
            seen = lab.run(program.path).observation
            missing = MISSING.search(seen.message) if seen.error_type == "ModuleNotFoundError" else None
            source = without_import(program.source, missing[1]) if missing else None
            if missing is None or source is None:
                return program, dropped
            dropped.append(missing[1])
            write_text(program.path, source)
            program = Program(program.path, source)


def _search(program: Program, settings: Settings, budget: Budget, beside: Path) -> tuple[str, Releases]:
    """Return the releases, and the one to triage on: the newest that fails, or the newest there is."""
    releases = since_when(
        program,
        settings.releases,
        settings.python_of,
        budget.share(0.5),
        settings.log,
        argv=settings.argv,
        timeout_s=settings.timeout_s,
        compare_output=settings.compare_output,
        beside=beside,
    )
    ran = [name for name in settings.releases if name in releases.answers and releases.answers[name].trial is not None]
    failing = [name for name in ran if releases.answers[name].identity.is_failure]
    return (failing or ran or list(settings.releases))[-1], releases


def _examine(lab: ProgramRunner, program: Program, result: Triage, settings: Settings, budget: Budget) -> None:
    reproduction, log = result.reproduction, settings.log
    if (refused := refused_argument(reproduction)) is not None:
        result.verdict = refused
        _write(program, program.source, result, settings.folder)
        return
    climber = Climber(lab, program, reproduction, log)
    result.ladder = climber.climb()
    climber.bisect()
    climber.climb_without_decomposition(operator_of(reproduction, result.ladder))
    result.classification = classify(program, reproduction, result.ladder)
    structure = Structure.of(program.source, result.ladder.first_failing, result.classification.symptom or "")
    result.known = known_bugs(reproduction, lab.torch, structure, settings.cases, settings.results, settings.warn)
    result.verdict = decide(lab, program, reproduction, result.ladder, result.classification, result.known)
    if reproduction.failed < reproduction.runs:
        result.notes.append(f"it is flaky: {reproduction.failed} of {reproduction.runs} runs fail")
    _write(program, program.source, result, settings.folder)
    if result.verdict.verdict == NOT_A_BUG:
        return
    with tempfile.TemporaryDirectory(prefix="pt2bugs-triage-") as work_folder:
        source, shown, open_ = _minimized(lab, program, result, settings, budget, Path(work_folder))
        _write(program, source, result, settings.folder)
        log("hand over: case and unit test")
        result.versions = versions(lab, Path(work_folder))
        bug_in = result.releases.specifier if result.releases is not None else ""
        result.handed = write_reproducers(
            lab,
            source,
            shown,
            result.classification,
            program.name,
            settings.folder,
            bug_in,
            passes_plain=result.ladder.heals("none") or result.ladder.heals("no_export"),
        )
        result.notes += result.handed.problems
        _write(program, source, result, settings.folder)
        _gather(lab, open_, result, settings, budget)
    if budget.is_over:
        result.notes.append(f"the budget of {settings.minutes:g} minutes was spent; what is here was found until then")
    _write(program, source, result, settings.folder)


def _gather(lab: ProgramRunner, program: Program, result: Triage, settings: Settings, budget: Budget) -> None:
    if "artifacts" not in settings.skip and result.classification is not None:
        folder = settings.folder / "artifacts"
        result.artifacts, missing = gather(
            lab, program, result.classification, result.ladder, folder, budget, settings.log
        )
        result.notes += [f"no artifact {reason}" for reason in missing]


def _minimized(
    lab: ProgramRunner, program: Program, result: Triage, settings: Settings, budget: Budget, work_folder: Path
) -> tuple[str, Reproduction, Program]:
    """Return the smallest program, its failure, and the program that it was made of.

    If the program catches the failure, it is made of one that lets it out.
    """
    reproduction, before = result.reproduction, program
    if reproduction.trial.is_caught and (open_ := uncaught(lab, program, reproduction, work_folder)) is not None:
        program = open_
        trial = lab.run(program.path)
        identity = trial.identity if trial.identity.is_failure else reproduction.identity
        reproduction = Reproduction(trial, identity, reproduction.failed, reproduction.runs, reproduction.oracle)
        result.notes.append("the program catches what the compiler raises; the minimal program lets it out")
    if "minimize" in settings.skip:
        return program.source, reproduction, program
    share = budget.share(MINIMIZE_PART)
    small = minimize(lab, program, reproduction, result.ladder, work_folder, share, settings.log)
    if before is not program:
        small = replace(small, lines_before=lines_of_code(before.source))
    result.minimized = small
    result.minimal_path = settings.folder / MINIMAL
    write_text(result.minimal_path, redact_source(small.source))
    if small.lines_after < small.lines_before and not budget.is_over:
        # What is left may ask for less: no backend, no compile beside an export.
        again = lab.run(result.minimal_path, stdout=reproduction.oracle.reference is not None)
        if again.identity.is_failure:
            reproduction = replace(reproduction, trial=again)
    return small.source, reproduction, program


def _write(program: Program, source: str, result: Triage, folder: Path) -> None:
    """Write the report as it is now; `source` is the smallest program so far."""
    write_text(folder / PROGRAM, redact_source(program.source))
    write_text(folder / REPORT, report(result, source, folder))
    data = {**result.as_json(folder), "name": result.name, "release": public(result.torch)}
    write_text(folder / RESULT, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
