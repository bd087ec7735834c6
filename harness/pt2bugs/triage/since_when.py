"""Step 6: on which releases the program fails, by the search that `bisect` uses; and what an upgrade changes for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from packaging.version import Version
from pt2bugs.bisect.search import Search, choose
from pt2bugs.case.failure import Level
from pt2bugs.case.observation import telling_line
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.client import EngineError
from pt2bugs.errors import Pt2bugsError, first_line
from pt2bugs.results.history import State, Transition
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.program import Program
from pt2bugs.triage.reproduce import Oracle, comparing, first_difference, refuse
from pt2bugs.triage.runner import Runners, RunResult

SLOWER = 3.0
"""A release on which the program takes so many times as long is told as slower."""
_LEAST_RUN_S = 20.0
"""Least seconds of a run: a compile that takes longer would pass for a hang."""
_MIN_SLOW_S = 2.0
"""Seconds. Shorter runs are mostly start-up: none of them is called slower."""


@dataclass(frozen=True)
class Answer:
    """The answer of one release. `problem` says why there is none, empty otherwise."""

    release: str
    result: RunResult | None
    identity: Identity
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        if self.result is None:
            return {"outcome": str(Outcome.ERROR), "error_type": "", "message": self.problem, "seconds": None}
        return {
            "outcome": str(self.identity.outcome),
            "error_type": self.identity.error_type,
            "message": telling_line(self.identity.message)[:300],
            "seconds": round(self.result.seconds, 1),
        }


@dataclass
class Releases:
    """The answers of all releases, oldest first, and where they change. `about` is what is searched for."""

    names: Sequence[str]
    answers: dict[str, Answer] = field(default_factory=dict)
    transitions: list[Transition[str]] = field(default_factory=list)
    about: str = ""
    bad: list[str] = field(default_factory=list)
    changes: dict[str, str] = field(default_factory=dict)
    """The change against the oldest release, of each on which it passes and changes."""
    varies: str = ""
    """The lines that differ from run to run on one release; then no text is compared."""

    @property
    def introduced(self) -> Transition[str] | None:
        return next((change for change in self.transitions if change.introduced), None)

    @property
    def fixed(self) -> Transition[str] | None:
        return next((change for change in reversed(self.transitions) if not change.introduced), None)

    @property
    def specifier(self) -> str:
        """The releases that have it, as a header says it: no further than they were measured."""
        if not self.bad:
            return ""
        first, fixed = self.introduced.after if self.introduced else self.bad[0], self.fixed
        if fixed is None:
            return f">={first}"
        if not fixed.unprobed and not fixed.between and _is_next(fixed.before, fixed.after):
            return f">={first},<{fixed.after}"
        return f"=={first}" if first == fixed.before else f">={first},<={fixed.before}"

    def sentences(self) -> list[str]:
        """Return since when and until when, in words."""
        if not self.answers:
            return []
        told = []
        for step in self.transitions:
            gaps = f" (not asked between them: {', '.join(step.unprobed)})" if step.unprobed else ""
            gaps += f" (cannot say: {', '.join(step.between)})" if step.between else ""
            change = self.changes.get(step.after, "")
            what = change[:1].upper() + change[1:] or self.about
            if step.introduced:
                told.append(f"{what} since torch {step.after}; torch {step.before} does not{gaps}.")
            elif self.changes:
                told.append(f"As at first from torch {step.after} on; torch {step.before} does not{gaps}.")
            else:
                told.append(f"Fixed in torch {step.after}; torch {step.before} still has it{gaps}.")
        if not self.transitions and self.bad:
            every = f"every release that can say, {self.bad[0]} to {self.bad[-1]}"
            told.append(f"{self.about} on {every if self.bad[1:] else f'torch {self.bad[0]}; no other can say'}.")
        if not self.bad:
            told += self._all_pass()
        if self.varies:
            told.append(f"What it prints differs from run to run ({self.varies}), so it was not compared.")
        return told

    def _all_pass(self) -> list[str]:
        """Return what was compared where it passes everywhere, and which releases gave no answer."""
        trials = {name: answer.result for name, answer in self.answers.items() if answer.result is not None}
        ran = [name for name in self.names if name in trials]
        told = []
        if ran:
            seconds = sorted(trials[name].seconds for name in ran)
            prints = (
                "prints the same text on each" if any(result.stdout for result in trials.values()) else "prints nothing"
            )
            prints = "prints another text in each run" if self.varies else prints
            same = f", {prints}, and takes {seconds[0]:.1f} to {seconds[-1]:.1f} s" if len(ran) > 1 else ""
            told.append(f"It passes on torch {', '.join(ran)}{same}.")
        for name in self.names:
            if name not in trials:
                why = self.answers[name].problem if name in self.answers else "the budget was spent"
                told.append(f"Torch {name} gave no answer: {why}.")
        return told

    def as_json(self) -> dict[str, Any]:
        return {
            name: {**self.answers[name].as_json(), "change": self.changes.get(name, "")}
            for name in self.names
            if name in self.answers
        }


def _is_next(before: str, after: str) -> bool:
    """Return whether no minor release stands between two releases."""
    old, new = Version(before), Version(after)
    return old.major == new.major and new.minor - old.minor <= 1


def since_when(
    program: Program,
    names: Sequence[str],
    runners: Runners,
    budget: Budget,
    log: Callable[[str], None],
    *,
    compare_output: bool = False,
) -> Releases:
    """Search the releases for where the program changes.

    The failure of the newest release that fails is searched for. If none fails, that is another output, or three times
    the time of the oldest release.

    Args:
        program: the program.
        names: of the releases, oldest first.
        runners: run it on each.
        budget: of this step; making environments is not counted.
        log: told of each release.
        compare_output: whether what it prints is compared with what it prints without the compiler.
    """
    releases = Releases(list(names))
    counts_caught = True

    def probe(name: str) -> Answer:
        if name not in releases.answers:
            log(f"torch {name}")
            asked = ask(name)
            releases.answers[name] = asked if counts_caught else _own(asked)
        return releases.answers[name]

    def ask(name: str) -> Answer:
        return _ask(program, name, runners, budget, compare_output=compare_output)

    ends = [names[-1], names[0]] if len(names) > 1 else list(names)
    failing = next((answer for name in ends if (answer := probe(name)).identity.is_failure), None)
    if failing is None:
        for name in names:
            if not budget.is_over:
                failing = failing or (answer if (answer := probe(name)).identity.is_failure else None)
    search: Search[str] = Search(list(names))
    if failing is not None and failing.result is not None and not failing.result.is_caught:
        releases.answers = {name: _own(answer) for name, answer in releases.answers.items()}
        counts_caught = False
    state_of = _by_failure(failing) if failing is not None else _by_change(releases, names, ask)
    releases.about = "It fails so" if failing is not None else "It runs otherwise"
    for name, answer in releases.answers.items():
        search.states[name] = state_of(answer)
    while not budget.is_over and (chosen := choose([search])):
        for name in chosen:
            search.states[name] = state_of(probe(name))
    releases.transitions = search.transitions()
    releases.bad = [name for name in names if search.states.get(name) is State.BUG]
    return releases


def _ask(program: Program, name: str, runners: Runners, budget: Budget, *, compare_output: bool) -> Answer:
    nothing = Identity(Outcome.ERROR)
    if budget.is_over:
        return Answer(name, None, nothing, "the budget was spent")
    try:
        with runners.on(name, budget) as runner:
            allowed = budget.cap(runners.timeout_s)
            if allowed < min(runners.timeout_s, _LEAST_RUN_S):
                return Answer(name, None, nothing, "the budget was spent")
            result = runner.run(program.path, stdout=True)
            if result.outcome is Outcome.TIMEOUT and allowed < runners.timeout_s:
                # It was cut off by the budget: that is no evidence of a hang.
                return Answer(name, None, nothing, "the budget was spent while it ran")
            refuse(program, result, runner)
            oracle = Oracle()
            if compare_output and result.outcome is Outcome.PASS:
                oracle, _ = comparing(runner, program, result, oracle)
    except (EngineError, Pt2bugsError) as error:
        return Answer(name, None, nothing, first_line(error))
    return Answer(name, result, oracle.identity(result))


def _own(answer: Answer) -> Answer:
    """Return the answer without what the program caught: if it fails by itself on some release, that alone counts."""
    if answer.result is None or not answer.result.is_caught:
        return answer
    return Answer(answer.release, answer.result, answer.result.own_identity)


def _by_failure(failing: Answer) -> Callable[[Answer], State]:
    wanted = failing.identity.failure

    def state(answer: Answer) -> State:
        if answer.result is None:
            return State.UNKNOWN
        if not answer.identity.is_failure:
            return State.NO_BUG
        # TYPE: between releases exceptions move from module to module, and their words are rewritten.
        is_same = answer.identity.failure is not None and answer.identity.failure.same(wanted, Level.TYPE)
        return State.BUG if is_same else State.UNKNOWN

    return state


def _by_change(releases: Releases, names: Sequence[str], ask: Callable[[str], Answer]) -> Callable[[Answer], State]:
    """Return a judge of releases against the oldest that ran: another output, or three times as long in two runs."""
    first: Mapping[str, Answer] = {name: releases.answers[name] for name in names if name in releases.answers}
    base = next((answer.result for answer in first.values() if answer.result is not None), None)

    def state(answer: Answer) -> State:
        if answer.result is None or base is None:
            return State.UNKNOWN
        change = change_of(base, answer.result, text=not releases.varies)
        again = ask(answer.release).result if change else None
        if again is not None and again.outcome is Outcome.PASS:
            if again.stdout != answer.result.stdout:
                releases.varies = first_difference(answer.result.stdout, again.stdout)
                releases.changes.clear()
            better = min(again, answer.result, key=lambda result: result.seconds)
            releases.answers[answer.release] = replace(answer, result=better)
            change = change_of(base, better, text=not releases.varies)
        if change:
            releases.changes[answer.release] = change
        return State.BUG if change else State.NO_BUG

    return state


def change_of(base: RunResult, other: RunResult, *, text: bool = True) -> str:
    """Return what a release does otherwise than another on which the program passes, too; empty if nothing.

    Args:
        base: the run on the older release.
        other: that on the newer.
        text: whether what it prints is compared.
    """
    if text and base.stdout != other.stdout:
        return f"it prints another text ({first_difference(base.stdout, other.stdout)})"
    if other.seconds > max(_MIN_SLOW_S, SLOWER * base.seconds):
        return f"it takes {other.seconds:.1f} s, {other.seconds / max(base.seconds, 0.01):.1f} times as long"
    return ""
