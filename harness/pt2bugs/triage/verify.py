"""Step 8: runs what a triage handed over on a build with a fix, and shows what else the fix changes."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pt2bugs.case.cells import cells_of
from pt2bugs.case.corpus import load_cases
from pt2bugs.case.failure import Level
from pt2bugs.case.vocabulary import EXPECTED, Outcome
from pt2bugs.curate.script import parse_program
from pt2bugs.engine.client import Engine, EngineSettings
from pt2bugs.errors import InputError
from pt2bugs.run.measurement import MeasureOptions, Measuring, new_run_id
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.reproducer import shows_failure
from pt2bugs.triage.runner import ProgramRunner, RunResult
from pt2bugs.triage.workflow import MINIMAL, PROGRAM, RESULT

FIXED, NOT_FIXED, OTHERWISE, UNKNOWN = "fixed", "not fixed", "fails otherwise", "cannot say"


@dataclass(frozen=True)
class Verdict:
    """The answer of one of the handed-over files: one of the four words above."""

    name: str
    answer: str
    message: str = ""


@dataclass
class Verification:
    """The answers of a build: of the program, the case and the unit test, and of the neighbours.

    Attributes:
        torch: the version of the build.
        verdicts: of the files.
        neighbours: how many cells of the component were run.
        neighbours_not_run: how many were not, because the budget was spent.
        changed: those whose verdict is unexpected.
    """

    torch: str
    verdicts: list[Verdict] = field(default_factory=list)
    neighbours: int = 0
    neighbours_not_run: int = 0
    changed: list[dict[str, str]] = field(default_factory=list)

    @property
    def is_fixed(self) -> bool:
        return bool(self.verdicts) and all(verdict.answer == FIXED for verdict in self.verdicts)

    def as_json(self) -> dict[str, Any]:
        return {
            "torch": self.torch,
            "fixed": self.is_fixed,
            "files": [asdict(verdict) for verdict in self.verdicts],
            "neighbours": self.neighbours,
            "neighbours_not_run": self.neighbours_not_run,
            "changed": self.changed,
        }


def verify(
    folder: Path,
    python: Path,
    cases: Sequence[Path],
    log: Callable[[str], None],
    *,
    minutes: float = 15.0,
    timeout_s: float = 120.0,
    argv: Sequence[str] = (),
) -> Verification:
    """Run the files of a triage with the interpreter of a build, then all cases of the same component.

    Args:
        folder: that the triage wrote.
        python: the interpreter.
        cases: folders of the corpus.
        log: told of each step.
        minutes: for all of it.
        timeout_s: of one run.
        argv: arguments of the program.

    Raises:
        InputError: the folder is not one that triage wrote.
        EngineError: the interpreter cannot be used.
    """
    result = _load(folder)
    identity = Identity(
        Outcome(result["outcome"]),
        result["identity"]["error_type"],
        result["identity"]["message"],
        result["identity"]["frame"],
        result["identity"]["signal"],
    )
    budget = Budget(minutes)
    with ProgramRunner(python, budget, timeout_s, argv) as runner:
        verification = Verification(runner.torch)
        for name, run in _files(folder):
            if budget.is_over:
                verification.verdicts.append(Verdict(name, UNKNOWN, "the budget was spent"))
                continue
            log(f"verify: {name}")
            ran = run(runner)
            if ran.outcome is Outcome.TIMEOUT and budget.is_over:
                verification.verdicts.append(Verdict(name, UNKNOWN, "the budget was spent while it ran"))
                continue
            verification.verdicts.append(_judge(name, ran, identity))
    if component := result["component"]:
        _neighbours(verification, component, python, cases, budget, log)
    return verification


def _load(folder: Path) -> dict[str, Any]:
    path = folder / RESULT
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        Outcome(data["outcome"])
        return dict(data)
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder}: holds no {RESULT} of a triage; run `pt2bugs triage SCRIPT -o DIR` first") from None


def _files(folder: Path) -> list[tuple[str, Callable[[ProgramRunner], RunResult]]]:
    program = next((path for name in (MINIMAL, PROGRAM) if (path := folder / name).exists()), None)
    files: list[tuple[str, Callable[[ProgramRunner], RunResult]]] = []
    if program is not None:
        files.append((program.name, lambda runner: runner.run(program)))
    case = folder / "case.py"
    if case.exists():
        check = _check_of(case)
        files.append((case.name, lambda runner: runner.run(case, check=check)))
    test = next(iter(sorted(folder.glob("test_*.py"))), None)
    if test is not None:
        files.append((test.name, lambda runner: runner.run(test, unit_test=True)))
    return files


def _check_of(case: Path) -> str:
    tree = parse_program(case.read_text(encoding="utf-8"), str(case))
    functions = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return next((name for name in functions if name.startswith("test_")), "")


def _judge(name: str, result: RunResult, identity: Identity) -> Verdict:
    seen = result.identity
    message = seen.headline[:200]
    if seen.outcome is Outcome.ERROR:
        return Verdict(name, UNKNOWN, message)
    if not seen.is_failure:
        return Verdict(name, FIXED)
    # TYPE: this is another build of torch, and may be another release.
    same = shows_failure(seen, identity, Level.TYPE)
    return Verdict(name, NOT_FIXED if same else OTHERWISE, message)


def _neighbours(
    verification: Verification,
    component: str,
    python: Path,
    roots: Sequence[Path],
    budget: Budget,
    log: Callable[[str], None],
) -> None:
    """Run the cases of the component as the matrix does, and note those whose verdict is not as documented."""
    cases = [case for case in load_cases(roots, lambda _: None) if case.component == component and not case.extra]
    cells = [cell for case in cases for cell in cells_of(case)]
    targets = tuple({(cell.device, cell.backend) for cell in cells})
    engine = Engine(EngineSettings(python=python, targets=targets))
    with closing(engine), closing(engine.open()) as worker:
        measuring = Measuring(engine, MeasureOptions(run_id=new_run_id()))
        for number, cell in enumerate(cells, 1):
            if budget.is_over:
                verification.neighbours_not_run = len(cells) - number + 1
                return
            log(f"verify: neighbour {number} of {len(cells)}, {cell.case.id}")
            for measured in measuring.measure(cell, worker):
                if measured.final:
                    verification.neighbours += 1
                    if measured.judgement.verdict not in EXPECTED:
                        verification.changed.append(
                            {
                                "case": cell.case.id,
                                "check": cell.check.name,
                                "backend": cell.backend,
                                "verdict": str(measured.judgement.verdict),
                                "message": measured.observation.summary[:200],
                            }
                        )
