"""Step 5: a smaller program with the same failure at the same layer.

The reducer is pysource-minimize, which takes away and simplifies nodes of the syntax tree. What it asks of each
candidate is answered by the engine: the same identity on the rung that fails first, and a pass on the rung below.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pt2bugs.case.words import Outcome
from pt2bugs.curate.review import lines_of_code
from pt2bugs.engine.client import EngineError
from pt2bugs.files import write_text
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.ladder import BELOW, EXPORTS, LAYERS, Ladder
from pt2bugs.triage.program import Program
from pt2bugs.triage.program_parts import without_empty_names, without_handlers, without_idle_statements, without_main
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.trial import Laboratory, Trial


@dataclass(frozen=True)
class Minimized:
    """The smallest program found. `tries` candidates were run; `why_not` says what kept or cut it off."""

    source: str
    lines_before: int
    lines_after: int
    tries: int = 0
    why_not: str = ""


class _Spent(Exception):
    """The budget of the reduction is over."""


class Interesting:
    """Whether a candidate has the failure, the same one and at the same layer."""

    def __init__(self, lab: Laboratory, folder: Path, found: Reproduction, ladder: Ladder) -> None:
        self._lab, self._found = lab, found
        self._path = folder / "candidate.py"
        self._at, self._below = _redirects(ladder)
        self._timeout_s = max(10.0, min(120.0, 4 * found.trial.seconds))
        self.identity = found.identity
        self.tries = 0

    def __call__(self, source: str) -> bool:
        """The answer for one candidate.

        Raises:
            EngineError: the engine cannot be started.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(source, "candidate", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return False
        self.tries += 1
        write_text(self._path, source)
        trial = self._run(self._at)
        if not self._is_same(trial):
            return False
        if not set(trial.backends) <= set(self._found.trial.backends) and not self._is_same(self._run({})):
            # The rung puts its backend in the place of any other, one that there is not among them.
            return False
        if self._below is None:
            return True
        below = self._run(self._below)
        return below.outcome is Outcome.PASS and not below.is_caught

    def _run(self, redirect: dict[str, Any]) -> Trial:
        return self._lab.run(self._path, redirect, timeout_s=self._timeout_s)

    def _is_same(self, trial: Trial) -> bool:
        """As `Identity.is_same`, but lines move while a program shrinks, and an assertion's words are the program's."""
        found = trial.identity
        one, other = (_without_line(identity) for identity in (found, self.identity))
        if one.outcome is Outcome.RAISE and not one.says_the_same(other):
            return False
        return one.is_same(other) and trial.is_caught == self._found.trial.is_caught


def _without_line(identity: Identity) -> Identity:
    return Identity(identity.outcome, identity.error_type, identity.message, identity.frame, identity.signal)


def _redirects(ladder: Ladder) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The redirection on which a candidate must fail, and the one on which it must pass."""
    first = ladder.first_failing
    at: dict[str, Any] = {}
    if first in LAYERS[1:]:
        at = {"backend": first}
    elif first in EXPORTS:
        at = dict(EXPORTS[first])
    below = BELOW.get(ladder.below, {"backend": ladder.below})
    return at, dict(below) if ladder.below else None


def minimize(
    lab: Laboratory,
    program: Program,
    found: Reproduction,
    ladder: Ladder,
    folder: Path,
    budget: Budget,
    log: Callable[[str], None],
) -> Minimized:
    """Reduce the program as far as the budget goes; what was reached at its end counts.

    Raises:
        EngineError: the engine cannot be started.
    """
    before = lines_of_code(program.source)
    if found.oracle.reference is not None:
        return Minimized(program.source, before, before, why_not="what it prints is compared: every line counts")
    try:
        from pysource_minimize import minimize as reduce
    except ImportError:
        reason = "pysource-minimize is not installed: pip install 'pt2bugs[triage]'"
        return Minimized(program.source, before, before, why_not=reason)
    asks = Interesting(lab, folder, found, ladder)
    best = program.source
    size = len(ast.unparse(ast.parse(best)))

    def check(source: str) -> bool:
        nonlocal best, size
        if budget.is_over:
            raise _Spent
        if not asks(source):
            return False
        if len(source) <= size:
            best, size = source, len(source)
            log(f"minimize: {lines_of_code(best)} of {before} lines, {asks.tries} programs tried")
        return True

    why_not = ""
    try:
        if not check(ast.unparse(ast.parse(program.source)) + "\n"):
            return Minimized(
                program.source, before, before, asks.tries, "without its comments it does not fail in the same way"
            )
        reduce(best, check, retries=0)
    except _Spent:
        why_not = "its share of the budget was spent"
    except EngineError:
        raise
    except Exception as error:
        why_not = f"the reducer gave up: {type(error).__name__}"
    for tidied in (without_idle_statements, without_empty_names, without_main):
        if (tidy := tidied(best)) != best and asks(tidy):
            best = tidy
    return Minimized(best, before, lines_of_code(best), asks.tries, why_not)


def uncaught(lab: Laboratory, program: Program, found: Reproduction, folder: Path) -> Program | None:
    """The program without its handlers, if the failure that it caught then leaves it.

    Raises:
        EngineError: the engine cannot be started.
    """
    path = folder / f"{program.name}.py"
    write_text(path, without_handlers(program.source))
    trial = lab.run(path)
    if trial.outcome is Outcome.PASS or not _without_line(trial.identity).is_same(_without_line(found.identity)):
        return None
    return Program(path, path.read_text(encoding="utf-8"))
