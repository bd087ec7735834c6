"""The verdict of a triage: a bug of the compiler, a limitation that torch states, or no bug of the compiler at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pt2bugs.case.vocabulary import Outcome
from pt2bugs.triage.classify import Classification
from pt2bugs.triage.known import is_documented
from pt2bugs.triage.ladder import Climber
from pt2bugs.triage.program import Program
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.runner import ProgramRunner
from pt2bugs.triage.statements import rewrites, stated

BUG, LIMITATION, NOT_A_BUG = "bug", "limitation", "not-a-bug"
WITHOUT_COMPILER, REFUSED, ROUNDING, RANDOMNESS = (
    "fails-without-compiler", "refused-argument", "rounding", "randomness",
)  # fmt: skip
EQUAL, NEAR = "equal", "near"
"""Words for a call of a compiled function, next to the same call without the compiler: see `inside.precision`."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a failure.

    Attributes:
        verdict: ``bug``, ``limitation`` or ``not-a-bug``.
        reason: Of the last, one of the four reasons; else empty.
        why: The same in a sentence.
        hints: Rewrites that torch itself suggests.
        difference: Of a wrong result, how far the first call that is wrong is from eager's.
    """

    verdict: str
    reason: str = ""
    why: str = ""
    hints: tuple[str, ...] = ()
    difference: str = ""


def refused_argument(reproduction: Reproduction) -> Verdict | None:
    """Return the verdict on a program whose call torch refuses on purpose; None where it does not.

    Args:
        reproduction: its failure.
    """
    if reproduction.outcome is not Outcome.RAISE:
        return None
    source = stated("refused", reproduction.identity.message[:4000])
    return Verdict(NOT_A_BUG, REFUSED, f"torch refuses the call on purpose ({source})") if source else None


def decide(
    runner: ProgramRunner,
    program: Program,
    reproduction: Reproduction,
    climber: Climber,
    classification: Classification,
    known: Sequence[dict[str, Any]],
) -> Verdict | None:
    """Return the verdict on a failure; None where the budget ended before what it rests on was asked.

    Args:
        runner: Runs programs.
        program: The program as it was given.
        reproduction: Its failure.
        climber: Has tried the layers.
        classification: Its class.
        known: The known bugs that it may be, best first.

    Raises:
        EngineError: The engine cannot be started.
    """
    if classification.symptom is None:
        return Verdict(NOT_A_BUG, WITHOUT_COMPILER, classification.why)
    if (refused := refused_argument(reproduction)) is not None:
        return refused
    if is_documented(known, runner.torch):
        return Verdict(BUG, why=f"it is {known[0]['case']}, a documented bug of this release")
    if reproduction.result.refused:
        return Verdict(NOT_A_BUG, REFUSED, "the call of torch.compile itself raises, before anything is compiled")
    message = reproduction.identity.message
    if reproduction.outcome is Outcome.RAISE and (source := stated("limitation", message)):
        why = f"torch states that it does not capture this ({source})"
        return Verdict(LIMITATION, why=why, hints=rewrites(message))
    if climber.is_cut_short and not climber.ladder.first_failing:
        return None
    if classification.symptom == "wrong-result":
        return _of_a_wrong_result(runner, program, reproduction, climber)
    return Verdict(BUG, why=classification.why)


def _of_a_wrong_result(
    runner: ProgramRunner, program: Program, reproduction: Reproduction, climber: Climber
) -> Verdict | None:
    """Return whether a difference is the compiler's, or that of rounding or of random numbers; None if not asked."""
    difference = ""
    if reproduction.oracle.reference is None:
        if runner.budget.is_over:
            return None
        compared = runner.run(program.path, {"precision": True})
        difference, calls = compared.difference, compared.precision
        if NEAR in calls and set(calls) <= {EQUAL, NEAR}:
            why = "eager and compiled results are equally near to those of a run in double precision"
            return Verdict(NOT_A_BUG, ROUNDING, why, difference=difference)
    climber.ask_settings()
    if climber.ladder.heals("emulate_precision_casts"):
        return Verdict(NOT_A_BUG, ROUNDING, "it passes where fused operators round as eager does")
    if climber.ladder.heals("fallback_random"):
        return Verdict(NOT_A_BUG, RANDOMNESS, "it passes where the compiled program draws eager's random numbers")
    if climber.is_cut_short:
        return None
    why = "its result differs from that of the layer below, and not by rounding"
    return Verdict(BUG, why=why, difference=difference)


def exit_status(verdict: Verdict | None) -> int:
    """Return the exit code of a triage.

    Args:
        verdict: its verdict; None where the program does not fail.
    """
    return 4 if verdict is not None and verdict.verdict == NOT_A_BUG else 1
