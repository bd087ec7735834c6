"""All steps of a triage, one after the other. What is there when the budget ends is kept.

Reproduce; climb the layers; say whose fault it is; reduce the program on the first failing rung; then variants,
torch's bisector, workarounds, releases, what is handed over and artifacts with the small program.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pt2bugs.case.failure import Level
from pt2bugs.case.versions import public
from pt2bugs.curate.script import lines_of_code
from pt2bugs.engine.client import EngineError
from pt2bugs.engine.folders import RunFolder
from pt2bugs.errors import Pt2bugsError
from pt2bugs.files import write_text
from pt2bugs.match.known import IDENTITY
from pt2bugs.match.structure import Structure
from pt2bugs.triage.artifacts import gather
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.classify import classify, is_named_by_a_frame, operator_of
from pt2bugs.triage.compilation import compilation_of
from pt2bugs.triage.known import is_documented, known_bugs, load_known
from pt2bugs.triage.ladder import Climber
from pt2bugs.triage.minimize import minimize, uncaught
from pt2bugs.triage.program import Program, with_modules, without_import
from pt2bugs.triage.report import Triage, report
from pt2bugs.triage.reproduce import MISSING, TIMES, Reproduction, reproduce
from pt2bugs.triage.reproducer import versions, write_reproducers
from pt2bugs.triage.runner import NOTHING, Access, ProgramRunner, PythonOf, Runners
from pt2bugs.triage.since_when import Releases, since_when
from pt2bugs.triage.verdict import NOT_A_BUG, decide, refused_argument
from pt2bugs.triage.workarounds import try_workarounds

RESULT, REPORT, MINIMAL, PROGRAM = "triage.json", "report.md", "minimal.py", "program.py"
VERSIONS = "versions.txt"
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
        access: what the program may reach.
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
    access: Access = NOTHING
    log: Callable[[str], None] = field(default=lambda _: None)
    warn: Callable[[str], None] = field(default=lambda _: None)


def triage(program: Program, settings: Settings) -> Triage:
    """Triage a program, and write what comes of it.

    Args:
        program: as it was given.
        settings: of the triage.

    Raises:
        CannotRun, NeverCompiles: the program is none to be triaged.
        EngineError: the interpreter cannot be used.
    """
    return _Triaging(settings, program).triage()


class _Triaging:
    """The triage of one program, which may import the modules of its folder."""

    def __init__(self, settings: Settings, program: Program) -> None:
        self._settings, self._given = settings, program
        self._budget = Budget(settings.minutes)
        beside = program.path.parent
        self._runners = Runners(settings.python_of, settings.timeout_s, settings.argv, beside, settings.access)

    def triage(self) -> Triage:
        """Return the result; the files are in the folder of the settings."""
        settings, names = self._settings, list(self._settings.releases)
        with RunFolder.create("triage") as work_folder:
            # A script may delete, rename or write itself: the user's own file is never run.
            program = Program(work_folder / self._given.path.name, self._given.source)
            write_text(program.path, program.source)
            notes: list[str] = []
            if settings.drop_unused_imports:
                program, notes = self._without_unused_imports(program)
            release, releases = names[-1] if names else "", None
            if len(names) > 1 and not self._fails_on(program, release):
                release, releases = self._search(program)
            with self._runner(release) as runner:
                settings.log("reproduce")
                reproduction = reproduce(runner, program, settings.times, compare_output=settings.compare_output)
                result = Triage(self._given.name, runner.torch, reproduction, releases=releases, notes=notes)
                result.notes += [reproduction.note] if reproduction.note else []
                if reproduction.is_failure:
                    _Examination(runner, program, result, settings, self._budget, self._since_when).examine()
                else:
                    if reproduction.result.breaks or reproduction.result.recompiles:
                        settings.log("graph breaks and recompilations")
                        result.compilation = compilation_of(runner, program, reproduction.result)
                    write(program, program.source, result, settings.folder, runner)
        return result

    def _runner(self, release: str) -> ProgramRunner:
        return self._runners.on(release, self._budget)

    def _fails_on(self, program: Program, release: str) -> bool:
        """Return whether the program fails on a release; False also where it cannot be run there."""
        try:
            with self._runner(release) as runner:
                self._settings.log(f"torch {release}")
                return reproduce(runner, program, 1, compare_output=self._settings.compare_output).is_failure
        except (EngineError, Pt2bugsError):
            return False

    def _search(self, program: Program) -> tuple[str, Releases]:
        """Return the releases, and the one to triage on: the newest that fails, or the newest there is."""
        names, releases = self._settings.releases, self._since_when(program, 0.5)
        ran = [name for name in names if name in releases.answers and releases.answers[name].result is not None]
        failing = [name for name in ran if releases.answers[name].identity.is_failure]
        return (failing or ran or list(names))[-1], releases

    def _since_when(self, program: Program, part: float = 1.0) -> Releases:
        """Return what the releases say of a program, in that part of the budget."""
        settings = self._settings
        budget, compares = self._budget.share(part), settings.compare_output
        return since_when(program, settings.releases, self._runners, budget, settings.log, compare_output=compares)

    def _without_unused_imports(self, program: Program) -> tuple[Program, list[str]]:
        """Return the program without imports that are not installed and not used, and a note for each of these."""
        notes: list[str] = []
        with self._runner(self._settings.releases[-1]) as runner:
            while True:
                seen = runner.run(program.path).observation
                missing = MISSING.search(seen.message) if seen.error_type == "ModuleNotFoundError" else None
                source = without_import(program.source, missing[1]) if missing else None
                if missing is None or source is None:
                    return program, notes
                notes.append(f"the import of {missing[1]}, which is not installed and not used, was left out")
                write_text(program.path, source)
                program = Program(program.path, source)


@dataclass
class _Examination:
    """The steps of a program that fails, on one release."""

    runner: ProgramRunner
    program: Program
    result: Triage
    settings: Settings
    budget: Budget
    since_when: Callable[[Program], Releases]

    def examine(self) -> None:
        """Fill the result, and write it after each step."""
        result, settings, log = self.result, self.settings, self.settings.log
        reproduction = result.reproduction
        if (refused := refused_argument(reproduction)) is not None:
            result.verdict = refused
            result.answered_s = (self.budget.spent_s, self.runner.cpu_s)
            self._write(self.program.source)
            return
        climber = Climber(self.runner, self.program, reproduction, log)
        result.ladder = climber.climb()
        result.classification = classify(self.program, reproduction, result.ladder)
        classification, first = result.classification, result.ladder.first_failing
        symptom = classification.symptom or ""
        documented = load_known(settings.cases, settings.results, settings.warn)
        structure = Structure.of(self.program.source, first, symptom)
        result.known = known_bugs(documented, reproduction, self.runner.torch, structure)
        result.verdict = decide(self.runner, self.program, reproduction, climber, result.classification, result.known)
        if result.verdict is None:
            result.notes.append("the budget was spent before it could be asked whether this is a bug of the compiler")
        elif result.verdict.verdict == NOT_A_BUG:
            # What is no bug is like none: only the same words may be a reader's way on.
            result.known = [match for match in result.known if match["kind"] == IDENTITY]
        if reproduction.failed < reproduction.runs:
            result.notes.append(f"it is flaky: {reproduction.failed} of {reproduction.runs} runs fail")
        result.answered_s = (self.budget.spent_s, self.runner.cpu_s)
        self._write(self.program.source)
        if result.verdict is not None and result.verdict.verdict == NOT_A_BUG:
            return
        with RunFolder.create("triage") as work_folder:
            small, shown = self._smallest(work_folder)
            if small.source != self.program.source and not is_documented(result.known, self.runner.torch):
                # What is around the failure is alike in no two programs.
                structure = Structure.of(small.source, first, symptom)
                result.known = known_bugs(documented, reproduction, self.runner.torch, structure) or result.known
            self._write(small.source)
            self._narrow(small, shown, work_folder)
            self._write(small.source)
            if result.releases is None and len(settings.releases) > 1:
                result.releases = self.since_when(small)
                if small.source != self.program.source:
                    result.releases.about = "The minimal program fails so"
            if result.verdict is not None:
                self._hand_over(small, shown, work_folder)
                self._write(small.source)
            self._gather(small)
        if self.budget.is_over:
            spent = f"the budget of {settings.minutes:g} minutes was spent"
            result.notes.append(f"{spent}; the answers are those that were there by then")
        self._write(small.source)

    def _smallest(self, folder: Path) -> tuple[Program, Reproduction]:
        """Return the smallest program with the failure, and how it fails."""
        result, runner, given = self.result, self.runner, self.program
        reproduction, program = result.reproduction, self._alone(folder)
        if reproduction.result.is_caught and (open_ := uncaught(runner, program, reproduction, folder)) is not None:
            program = open_
            reproduction = self._shown(program) or reproduction
            result.notes.append("the program catches what the compiler raises; the minimal program lets it out")
        if "minimize" in self.settings.skip:
            return program, reproduction
        share = self.budget.share(MINIMIZE_PART)
        minimized = minimize(runner, program, reproduction, result.ladder, folder, share, self.settings.log)
        result.minimized = replace(minimized, lines_before=lines_of_code(given.source))
        result.minimal_path = self.settings.folder / MINIMAL
        write_text(result.minimal_path, runner.redacted(minimized.source))
        small = Program(folder / given.path.name, minimized.source)
        write_text(small.path, small.source)
        # A smaller program may ask for less: no backend, no compile beside an export.
        shown = self._shown(small) if minimized.source != program.source and not self.budget.is_over else None
        return (small, shown) if shown is not None else (small, reproduction)

    def _shown(self, program: Program) -> Reproduction | None:
        """Return how a program made of the one that was given fails; None if it does not."""
        reproduction = self.result.reproduction
        result = self.runner.run(program.path, stdout=reproduction.oracle.reference is not None)
        identity = reproduction.oracle.identity(result)
        return replace(reproduction, result=result, identity=identity) if identity.is_failure else None

    def _alone(self, folder: Path) -> Program:
        """Return the program with the modules beside it in its own text, if it then fails in the same way."""
        program, reproduction = self.program, self.result.reproduction
        source = with_modules(program.source, self.runner.beside) if self.runner.beside is not None else program.source
        if source == program.source:
            return program
        alone = Program(folder / "alone.py", source)
        write_text(alone.path, source)
        result = self.runner.run(alone.path, stdout=reproduction.oracle.reference is not None, alone=True)
        identity = reproduction.oracle.identity(result)
        # MESSAGE: the frame is the same, but the lines of the program have moved.
        is_same = identity.failure is not None and identity.failure.same(reproduction.identity.failure, Level.MESSAGE)
        return alone if is_same and result.is_caught == reproduction.result.is_caught else program

    def _narrow(self, small: Program, shown: Reproduction, folder: Path) -> None:
        """Try variants, torch's bisector and workarounds with the small program, and classify with what they say."""
        result, log = self.result, self.settings.log
        climber = Climber(self.runner, small, shown, log, result.ladder)
        climber.narrow(is_named=is_named_by_a_frame(result.reproduction, result.ladder))
        climber.bisect()
        operator = operator_of(shown, result.ladder) or operator_of(result.reproduction, result.ladder)
        climber.climb_without_decomposition(operator)
        before = result.classification
        result.classification = classify(self.program, result.reproduction, result.ladder)
        if result.verdict is not None and before is not None and result.verdict.why == before.why:
            result.verdict = replace(result.verdict, why=result.classification.why)
        given = (self.program, result.reproduction)
        result.tried = try_workarounds(self.runner, given, (small, shown), result.ladder, operator, folder, log)

    def _hand_over(self, small: Program, shown: Reproduction, folder: Path) -> None:
        """Write the case and the unit test of the small program."""
        result, settings = self.result, self.settings
        settings.log("hand over: case and unit test")
        result.versions = versions(self.runner, folder)
        write_text(settings.folder / VERSIONS, f"{result.versions.strip()}\n")
        if result.classification is None:
            return
        result.handed = write_reproducers(
            self.runner,
            small.source,
            shown,
            result.classification,
            result.name,
            settings.folder,
            result.releases.specifier if result.releases is not None else "",
            passes_plain=result.ladder.heals("none") or result.ladder.heals("no_export"),
        )
        result.notes += result.handed.problems

    def _gather(self, small: Program) -> None:
        """Gather the logs and files of its class."""
        result = self.result
        if "artifacts" not in self.settings.skip and result.classification is not None:
            folder = self.settings.folder / "artifacts"
            result.artifacts, missing = gather(
                self.runner, small, result.classification, result.ladder, folder, self.budget, self.settings.log
            )
            result.notes += [f"no artifact {reason}" for reason in missing]

    def _write(self, source: str) -> None:
        write(self.program, source, self.result, self.settings.folder, self.runner)


def write(program: Program, source: str, result: Triage, folder: Path, runner: ProgramRunner) -> None:
    """Write the report as it is now.

    Args:
        program: as it was given.
        source: the smallest program so far.
        result: of the steps so far.
        folder: to write to.
        runner: of the runs so far.
    """
    write_text(folder / PROGRAM, runner.redacted(program.source))
    write_text(folder / REPORT, report(result, runner.redacted(source), folder))
    data = {
        **result.as_json(folder),
        "name": result.name,
        "release": public(result.torch),
        "processor_s": round(runner.cpu_s, 1),
        "answered_s": [round(seconds, 1) for seconds in result.answered_s],
    }
    write_text(folder / RESULT, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
