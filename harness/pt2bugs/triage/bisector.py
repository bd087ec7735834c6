"""Drives torch's own CompilerBisector inside Inductor: which subsystem, and which application of it.

Torch applies a subsystem up to a number that a variable holds; the smallest number at which the failure shows is the
application that makes it. Torch 2.6 and newer.
"""

from __future__ import annotations

from collections.abc import Callable

from packaging.version import Version
from pt2bugs.case.expectation import public
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.triage.identity import is_repeated
from pt2bugs.triage.ladder import Ladder
from pt2bugs.triage.program import Program
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.runner import ProgramRunner, RunResult

SUBSYSTEMS = {
    "aot_eager_decomp_partition": ("decomposition",),
    "inductor": ("pre_grad_passes", "joint_graph_passes", "post_grad_passes", "lowerings"),
}
SINCE = Version("2.6")
_ALL = 10**6


def narrow(
    lab: ProgramRunner, program: Program, found: Reproduction, ladder: Ladder, log: Callable[[str], None]
) -> None:
    """Name the subsystem and its application in `ladder`, or say there why it cannot be named.

    Raises:
        EngineError: the engine cannot be started.
    """
    subsystems = SUBSYSTEMS.get(ladder.first_failing)
    if subsystems is None:
        is_named = bool(ladder.first_failing)
        ladder.why_no_pass = (
            "the failure is not inside Inductor" if is_named else "no rung of the ladder shows the failure"
        )
        return
    if Version(public(lab.torch)) < SINCE:
        ladder.why_no_pass = f"torch {public(lab.torch)} has no bisector; {SINCE} and newer have one"
        return

    def run(subsystem: str, limit: int) -> tuple[bool, RunResult]:
        env = {
            "TORCH_BISECT_BACKEND": ladder.first_failing,
            "TORCH_BISECT_SUBSYSTEM": subsystem,
            "TORCH_BISECT_MAX": str(limit),
        }
        trial = lab.run(program.path, {"bisect": limit}, env=env, stdout=found.oracle.reference is not None)
        return is_repeated(found.oracle.identity(trial), found.identity), trial

    for subsystem in subsystems:
        if lab.budget.is_over:
            ladder.why_no_pass = "the budget was spent"
            return
        log(f"torch's bisector: {subsystem}")
        without, trial = run(subsystem, -1)
        if without or trial.outcome is not Outcome.PASS:
            continue
        with_all, trial = run(subsystem, _ALL)
        low, high = -1, trial.applied.get(subsystem, 0) - 1
        if not with_all or high < 0:
            continue
        while high - low > 1 and not lab.budget.is_over:
            middle = (low + high) // 2
            shows, _ = run(subsystem, middle)
            low, high = (low, middle) if shows else (middle, high)
        _, last = run(subsystem, high)
        count = trial.applied.get(subsystem, 0)
        ladder.pass_ = f"{subsystem}, application {high + 1} of {count}" + (
            f": {last.disabled}" if last.disabled else ""
        )
        return
    ladder.why_no_pass = f"no subsystem of it ({', '.join(subsystems)}) makes the failure go away when it is left out"
