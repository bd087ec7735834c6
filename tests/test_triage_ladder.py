"""Step 2: which rungs are tried, with a runner that answers from a table and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.ladder import (
    CROSSREF,
    DEFAULT_MODE,
    FUNCTIONALIZE,
    INSIDE_INDUCTOR,
    LAYERS,
    NO_DECOMPOSITION,
    Climber,
    Ladder,
)
from pt2bugs.triage.program import Program
from pt2bugs.triage.reproduce import Oracle, Reproduction
from pt2bugs.triage.runner import ProgramRunner, RunResult

FAILS = Observation(Outcome.RAISE, "RuntimeError", "no")
WRONG = Observation(Outcome.WRONG, "AssertionError", "Tensor-likes are not close!")
ALWAYS = (*LAYERS, "dynamic_false")


@dataclass
class TableRunner:
    """Passes below a layer and fails from it on. `asked` are the redirections of all runs."""

    first: str
    heals: tuple[str, ...] = ()
    fails: Observation = field(default_factory=lambda: FAILS)
    budget: Budget = field(default_factory=lambda: Budget(5))
    timeout_s: float = 60.0
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    def run(self, _: Path, redirect: Mapping[str, Any], **__: Any) -> RunResult:
        self.asked.append(redirect)
        backend = redirect.get("backend", "none")
        at_or_above = backend in LAYERS and LAYERS.index(backend) >= LAYERS.index(self.first)
        fails = at_or_above and not any(name in self.heals for name in redirect.get("config", {}))
        return RunResult(self.fails if fails else Observation(Outcome.PASS), entered=("compile",))


def climbed(runner: TableRunner, *, source: str = "pass\n", breaks: int = 0, is_named: bool = False) -> Ladder:
    result = RunResult(FAILS, entered=("compile",), backends=("inductor",), breaks=breaks)
    reproduction = Reproduction(result, result.identity, 1, 1, Oracle())
    climber = Climber(cast(ProgramRunner, runner), Program(Path("p.py"), source), reproduction, lambda _: None)
    climber.climb()
    climber.narrow(is_named=is_named)
    return climber.ladder


@pytest.mark.parametrize(
    ("first", "further"),
    [
        ("eager", (CROSSREF,)),
        ("aot_eager", (FUNCTIONALIZE, CROSSREF, NO_DECOMPOSITION)),
        ("aot_eager_decomp_partition", (CROSSREF,)),
        ("inductor", (CROSSREF, *(rung for rung in INSIDE_INDUCTOR if rung != DEFAULT_MODE))),
    ],
)
def test_what_is_tried_where_a_layer_is_the_first_to_fail(first: str, further: tuple[str, ...]) -> None:
    runner = TableRunner(first)
    ladder = climbed(runner)
    assert (ladder.first_failing, ladder.below) == (first, LAYERS[LAYERS.index(first) - 1])
    assert tuple(step.rung for step in ladder.steps) == (*ALWAYS, *further)
    assert {"backend": "none", "crossref": True} in runner.asked, "fake tensors are compared where nothing is compiled"


def test_layer_that_the_program_asks_for_is_its_reproduction() -> None:
    runner = TableRunner("inductor")
    ladder = climbed(runner)
    assert ladder.first_failing == "inductor"
    assert {"backend": "inductor"} not in runner.asked


@pytest.mark.parametrize(("first", "is_plain"), [("eager", True), ("aot_eager", False)])
def test_mistake_of_the_program_shows_where_dynamo_alone_compiles(first: str, is_plain: bool) -> None:
    """It raises without the compiler, too, there and in other words. A layer above Dynamo may refuse more."""

    @dataclass
    class SlowStart(TableRunner):
        def run(self, _: Path, redirect: Mapping[str, Any], **options: Any) -> RunResult:
            if redirect.get("backend") != "none":
                return super().run(Path(), redirect, **options)
            return RunResult(Observation(Outcome.RAISE, "TypeError", "other"), entered=("compile",), lines=(3,))

    result = RunResult(FAILS, entered=("compile",), backends=("inductor",), lines=(3,))
    reproduction = Reproduction(result, result.identity, 1, 1, Oracle())
    runner = cast(ProgramRunner, SlowStart(first))
    climber = Climber(runner, Program(Path("p.py"), "pass\n"), reproduction, lambda _: None)
    assert climber.climb().first_failing == ("none" if is_plain else first)
    assert climber.ladder.is_plain_in_other_words is is_plain


def test_nothing_more_is_tried_where_the_compiler_is_not_needed() -> None:
    runner = TableRunner("none")
    ladder = climbed(runner)
    assert ladder.first_failing == "none"
    assert len(runner.asked) == 1
    assert [step.identity.outcome for step in ladder.steps[1:]] == [Outcome.SKIP] * 4


def test_a_rung_that_can_tell_nothing_is_not_run() -> None:
    """A frame names the component: no rung is needed for that. Where no graph breaks, `fullgraph` changes nothing."""
    assert tuple(step.rung for step in climbed(TableRunner("eager"), is_named=True).steps) == ALWAYS
    broken = climbed(TableRunner("eager"), breaks=1, is_named=True)
    assert tuple(step.rung for step in broken.steps) == (*ALWAYS, "fullgraph")
    named = climbed(TableRunner("inductor"), source="torch.compile(f, mode='max-autotune')\n")
    assert DEFAULT_MODE in [step.rung for step in named.steps]


EMULATE, FALLBACK = (f"torch._inductor.config.{name}" for name in ("emulate_precision_casts", "fallback_random"))


@pytest.mark.parametrize(
    ("first", "fails", "heals", "asked"),
    [
        ("inductor", WRONG, (), [EMULATE, FALLBACK]),
        ("inductor", WRONG, (EMULATE,), [EMULATE]),
        ("aot_eager_decomp_partition", WRONG, (FALLBACK,), [FALLBACK]),
        ("aot_eager", WRONG, (), []),
    ],
)
def test_settings_that_tell_a_bug_from_rounding_come_first(
    first: str, fails: Observation, heals: tuple[str, ...], asked: list[str]
) -> None:
    """Of a wrong result, before anything else is tried on the first failing rung."""
    runner = TableRunner(first, heals, fails)
    result = RunResult(fails, entered=("compile",), backends=("inductor",))
    reproduction = Reproduction(result, result.identity, 1, 1, Oracle())
    climber = Climber(cast(ProgramRunner, runner), Program(Path("p.py"), "pass\n"), reproduction, lambda _: None)
    climber.climb()
    climber.ask_settings()
    assert [name for redirect in runner.asked for name in redirect.get("config", {})] == asked
