"""Step 6: what the budget leaves out is told as such, and is never evidence."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.triage import runner as module
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.program import Program
from pt2bugs.triage.runner import Runners, RunResult
from pt2bugs.triage.since_when import Releases, since_when

PROGRAM = Program(Path("p.py"), "pass\n")
PASSES, FAILS = Observation(Outcome.PASS), Observation(Outcome.RAISE, "ValueError", "no")
HANGS = Observation(Outcome.TIMEOUT, message="still running after its timeout of 30 s")


@dataclass
class Clock:
    """Seconds that pass only where a test lets them."""

    now: float = field(default_factory=time.monotonic)

    def monotonic(self) -> float:
        return self.now


@dataclass
class Environments:
    """Environments that take time to make, and a program that takes time to run and ends as a table says."""

    clock: Clock
    shown: dict[str, Observation]
    install_s: float = 0.0
    run_s: float = 1.0
    runs: list[str] = field(default_factory=list)
    torch: str = "2.9.1"

    def python_of(self, name: str) -> Path:
        self.clock.now += self.install_s
        return Path(name)

    @contextlib.contextmanager
    def runner(self, python: Path, *_: Any, **__: Any) -> Iterator[Environments]:
        self.runs.append(python.name)
        yield self

    def run(self, *_: Any, **__: Any) -> RunResult:
        self.clock.now += self.run_s
        return RunResult(self.shown[self.runs[-1]], entered=("compile",), seconds=self.run_s)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("time.monotonic", clock.monotonic)
    return clock


def search(environments: Environments, monkeypatch: pytest.MonkeyPatch, budget: Budget, timeout_s: float) -> Releases:
    monkeypatch.setattr(module, "ProgramRunner", environments.runner)
    runners = Runners(environments.python_of, timeout_s)
    return since_when(PROGRAM, list(environments.shown), runners, budget, lambda _: None)


def test_installing_is_no_part_of_the_budget(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor of the whole of which this search has a share."""
    environments = Environments(clock, {"2.8.0": PASSES, "2.9.1": FAILS}, install_s=1000)
    whole = Budget(2)
    releases = search(environments, monkeypatch, whole.share(0.5), 30)
    assert releases.sentences() == ["It fails so since torch 2.9.1; torch 2.8.0 does not."]
    assert whole.left_s == pytest.approx(118, abs=1)


def test_no_run_below_a_minimum(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compile takes seconds: cut off, it would pass for a hang."""
    environments = Environments(clock, {"2.8.0": PASSES, "2.9.1": FAILS}, run_s=45)
    releases = search(environments, monkeypatch, Budget(1), 30)
    assert environments.runs.count("2.9.1") == 1
    assert releases.answers["2.8.0"].result is None
    assert releases.answers["2.8.0"].problem == "the budget was spent"
    assert releases.transitions == []
    assert releases.sentences() == ["It fails so on torch 2.9.1; no other can say."]


def test_what_has_all_of_its_time_and_does_not_end_hangs(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    environments = Environments(clock, {"2.9.1": HANGS}, run_s=40)
    (answer,) = search(environments, monkeypatch, Budget(1), 40).answers.values()
    assert answer.identity.outcome is Outcome.TIMEOUT


def test_what_the_budget_cuts_off_does_not_hang(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    environments = Environments(clock, {"2.9.1": HANGS}, run_s=30)
    (answer,) = search(environments, monkeypatch, Budget(0.5), 50).answers.values()
    assert environments.runs == ["2.9.1"]
    assert (answer.result, answer.problem) == (None, "the budget was spent while it ran")


def test_a_short_timeout_is_the_users_own(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Less than the minimum was asked for: it is run, and a hang is one."""
    environments = Environments(clock, {"2.9.1": HANGS}, run_s=2)
    (answer,) = search(environments, monkeypatch, Budget(1), 2).answers.values()
    assert answer.identity.outcome is Outcome.TIMEOUT


def test_other_words_on_another_release_are_the_same_failure(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """By TYPE: texts are rewritten from release to release. Another type cannot say."""
    reworded = Observation(Outcome.RAISE, "torch._dynamo.exc.Unsupported", "call_method zip")
    newest = Observation(Outcome.RAISE, "torch._dynamo.exc.v2.Unsupported", "Unsupported method call")
    environments = Environments(clock, {"2.7.1": FAILS, "2.8.0": reworded, "2.9.1": newest})
    releases = search(environments, monkeypatch, Budget(5), 30)
    assert releases.bad == ["2.8.0", "2.9.1"]
    assert releases.transitions == []


@pytest.mark.parametrize(
    ("shown", "specifier"),
    [
        ({"2.8.0": PASSES, "2.9.1": FAILS, "2.10.0": PASSES}, ">=2.9.1,<2.10.0"),
        ({"2.9.1": FAILS, "2.12.1": PASSES}, "==2.9.1"),
        ({"2.8.0": FAILS, "2.9.1": FAILS, "2.12.1": PASSES}, ">=2.8.0,<=2.9.1"),
        ({"2.8.0": PASSES, "2.9.1": FAILS}, ">=2.9.1"),
        ({"2.8.0": FAILS, "2.9.1": FAILS}, ">=2.8.0"),
        ({"2.8.0": PASSES, "2.9.1": PASSES}, ""),
    ],
)
def test_an_entry_says_no_more_than_was_measured(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, shown: dict[str, Observation], specifier: str
) -> None:
    assert search(Environments(clock, shown), monkeypatch, Budget(5), 30).specifier == specifier
