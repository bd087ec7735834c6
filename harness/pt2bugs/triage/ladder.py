"""Step 2: the same program with every `torch.compile` in it sent to one layer after the other.

The first rung that shows the same failure names the layer. What comes after narrows: inside Inductor, for dynamic
shapes, for functionalization, for fake tensors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pt2bugs.case.observation import Observation, telling_line
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.triage.identity import Identity, is_repeated, is_repeated_verbatim
from pt2bugs.triage.program import Program, expects_exception
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.runner import PROGRAM_NAME, ProgramRunner, RunResult

LAYERS = ("none", "eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
"""Each of them does what the one before does, and one thing more."""
EXPORTS: Mapping[str, Mapping[str, Any]] = {
    "export_non_strict": {"strict": False},
    "export_strict": {"strict": True},
}
NO_EXPORT: Mapping[str, Mapping[str, Any]] = {"no_export": {"backend": "none", "export": "none"}}
"""Below the rungs of export: every module runs once, as it is, where it would be exported."""
NO_AOT_INDUCTOR = "no_aot_inductor"
BELOW: Mapping[str, Mapping[str, Any]] = {**NO_EXPORT, NO_AOT_INDUCTOR: {"aot_inductor": "none"}}
"""Also below Inductor where it compiles ahead of time: the exported program runs instead of the package."""
_DYNAMO = "torch._dynamo.config."
_INDUCTOR = "torch._inductor.config."
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "dynamic_true": {"dynamic": True},
    "dynamic_false": {"dynamic": False},
    "fullgraph": {"fullgraph": True},
    "dynamo_disabled": {"config": {f"{_DYNAMO}disable": True}},
}
FUNCTIONALIZE, CROSSREF = "functionalize", "fake_tensor_crossref"
FAKE_TENSORS: Mapping[str, Mapping[str, Any]] = {
    # Every layer goes by what fake tensors say of results, and Inductor lays them out so.
    CROSSREF: {"backend": "none", "crossref": True},
}
NO_DECOMPOSITION, TORCHS_COMPILERS = "no_decomposition", "torchs_compilers"
INSIDE_AOT: Mapping[str, Mapping[str, Any]] = {
    # AOTAutograd's trace has decompositions of its own, which every layer above has, too.
    NO_DECOMPOSITION: {"backend": "aot_eager", "python_decompositions": False},
    # Without the compilers that the program hands to `aot_autograd`.
    TORCHS_COMPILERS: {"backend": "aot_eager", "own_compilers": False},
}
INSIDE_INDUCTOR: Mapping[str, Mapping[str, Any]] = {
    "mode_reduce_overhead": {"backend": "inductor", "mode": "reduce-overhead"},
    "mode_max_autotune": {"backend": "inductor", "mode": "max-autotune-no-cudagraphs"},
    "fallback_random": {"backend": "inductor", "config": {f"{_INDUCTOR}fallback_random": True}},
    "no_fusion": {"backend": "inductor", "config": {f"{_INDUCTOR}max_fusion_size": 1}},
    "no_vectorization": {"backend": "inductor", "config": {f"{_INDUCTOR}cpp.simdlen": 1}},
    "no_pattern_matcher": {"backend": "inductor", "config": {f"{_INDUCTOR}pattern_matcher": False}},
    "emulate_precision_casts": {"backend": "inductor", "config": {f"{_INDUCTOR}emulate_precision_casts": True}},
    "cpp_wrapper": {"backend": "inductor", "config": {f"{_INDUCTOR}cpp_wrapper": True}},
}
_OF_EXPORT = re.compile(r'File "[^"]*torch/_?export/')
"""A line of a traceback in torch.export."""
MAX_REPEATS = 10
BUDGET_PART = 0.5


@dataclass(frozen=True)
class Step:
    """One rung: what was seen there, and whether it is the failure that is triaged."""

    rung: str
    identity: Identity
    same: bool
    trial: RunResult | None = None

    def as_json(self) -> dict[str, str]:
        return {
            "rung": self.rung,
            "outcome": str(self.identity.outcome),
            "error_type": self.identity.error_type,
            "message": telling_line(self.identity.message)[:500],
        }


@dataclass
class Ladder:
    """All rungs that were tried. `first_failing` is the layer, empty if no rung shows the failure.

    `pass_` is the subsystem of Inductor, and the application in it, that torch's bisector names; `why_no_pass` says why
    it cannot.
    """

    steps: list[Step] = field(default_factory=list)
    first_failing: str = ""
    below: str = ""
    pass_: str = ""
    why_no_pass: str = ""
    is_plain_in_other_words: bool = False
    """The program fails at the same line without the compiler, in other words."""

    def step(self, rung: str) -> Step | None:
        return next((step for step in self.steps if step.rung == rung), None)

    def heals(self, rung: str) -> bool:
        """Whether the failure is gone on that rung."""
        step = self.step(rung)
        return step is not None and step.identity.outcome is Outcome.PASS

    def shows(self, rung: str) -> bool:
        step = self.step(rung)
        return step is not None and step.same

    @property
    def fails_otherwise(self) -> Step | None:
        """The lowest rung of the compiler that fails, but not in this way, below the first that does."""
        for step in self.steps:
            if step.rung == self.first_failing or step.rung not in LAYERS:
                return None
            if step.rung != "none" and step.identity.is_failure:
                return step
        return None


Log = Callable[[str], None]


class Climber:
    """Climbs the ladder with one program.

    Args:
        inside: whether Inductor's own settings are tried, where it is the first to fail; no class depends on them.
    """

    def __init__(
        self, lab: ProgramRunner, program: Program, found: Reproduction, log: Log, *, inside: bool = True
    ) -> None:
        self._lab, self._program, self._found, self._log = lab, program, found, log
        self._inside = inside
        self._budget = lab.budget.share(BUDGET_PART)
        self._is_cut_short = False
        self.ladder = Ladder()

    def climb(self) -> Ladder:
        """Try the rungs that can say something, as far as the budget goes.

        Raises:
            EngineError: the engine cannot be started.
        """
        ladder, entered = self.ladder, self._found.trial.entered
        if "compile" not in entered and "export" in entered:
            for rung in LAYERS:
                self._skip(rung, "the program compiles nothing, it exports")
            if "aot-inductor" not in entered or not self._climb_aot_inductor():
                self._climb_exports()
            return ladder
        if "compile" not in entered and "export" not in entered:
            return self._without_compile()
        none = self._try("none", {"backend": "none"}, exact=True)
        if not none.same and not self._wants_refusal and self._fails_at_the_same_line(none):
            self.ladder.steps[-1] = none = replace(none, same=True)
            self.ladder.is_plain_in_other_words = True
        if none.same and not self._wants_refusal:
            for rung in LAYERS[1:]:
                self._skip(rung, "it fails without torch.compile")
            if "export" in entered:
                self._climb_exports()
            ladder.first_failing = ladder.first_failing or "none"
            return ladder
        if "export" in entered and _OF_EXPORT.search(self._found.trial.text):
            for rung in LAYERS[1:]:
                self._skip(rung, "the exception comes out of an export")
            self._climb_exports()
            return ladder
        for rung in LAYERS[1:]:
            self._try(rung, {"backend": rung})
        ladder.first_failing = self._first_failing()
        self._own_backend()
        if ladder.first_failing:
            self._narrow()
        return ladder

    def _fails_at_the_same_line(self, none: Step) -> bool:
        """Return whether the program raises without the compiler at the line where it does with it, in other words.

        Dynamo runs the program on fake tensors, and says in its own words what the operator refuses. The line is the
        innermost of the program; Dynamo quotes it below "from user code".
        """
        found, plain = self._found, none.trial
        if plain is None or not plain.lines or {found.outcome, plain.outcome} != {Outcome.RAISE}:
            return False
        name = re.escape(PROGRAM_NAME)
        text = found.identity.message.partition("from user code")[2]
        quoted = [int(number) for number in re.findall(rf'File "[^"]*{name}", line (\d+)', text)]
        innermost = quoted[-1] if quoted else found.trial.lines[-1] if found.trial.lines else 0
        return plain.lines[-1] == innermost

    def _first_failing(self) -> str:
        """The first layer that shows the failure; empty if none does.

        Where every layer lets something through that should be refused, all fail by the same assertion. What a program
        gets instead is then the failure, and a layer that gives another result is not to blame.
        """
        steps = self.ladder.steps
        same = [step for step in steps if step.rung in LAYERS[1:] and step.same]
        exact = [step for step in same if is_repeated_verbatim(step.identity, self._found.identity)]
        if self._wants_refusal and exact:
            steps[:] = [replace(step, same=False) if step in same and step not in exact else step for step in steps]
            same = exact
        return same[0].rung if same else ""

    @property
    def _wants_refusal(self) -> bool:
        """Whether the program fails because nothing refuses what it does: without the compiler nothing can."""
        found = self._found
        return found.outcome is Outcome.WRONG and expects_exception(self._program.source, found.identity.line)

    def _without_compile(self) -> Ladder:
        """A program that only traces (make_fx, fake tensors, functionalize) has no layer above.

        One that calls AOTAutograd by itself fails at that layer, unless it fails in the same way without it.
        """
        found = self._found
        if "aot" in found.trial.entered and not self._try("none", {"backend": "none"}, exact=True).same:
            for rung in LAYERS[1:]:
                if rung == "aot_eager":
                    self.ladder.steps.append(Step(rung, found.identity, same=True, trial=found.trial))
                else:
                    self._skip(rung, "the program calls AOTAutograd by itself")
            self.ladder.first_failing = "aot_eager"
            self.ladder.below = "none" if self.ladder.heals("none") else ""
            return self.ladder
        self.ladder.steps.clear()
        for rung in LAYERS[1:]:
            self._skip(rung, "the program compiles nothing")
        step = Step("none", self._found.identity, same=True, trial=self._found.trial)
        self.ladder.steps.insert(0, step)
        self.ladder.first_failing = "none"
        return self.ladder

    def _climb_aot_inductor(self) -> bool:
        """Whether an exported program passes, and what AOTInductor makes of it does not."""
        self._try(NO_AOT_INDUCTOR, BELOW[NO_AOT_INDUCTOR])
        if not self.ladder.heals(NO_AOT_INDUCTOR):
            return False
        self.ladder.first_failing, self.ladder.below = LAYERS[-1], NO_AOT_INDUCTOR
        at = next(index for index, step in enumerate(self.ladder.steps) if step.rung == LAYERS[-1])
        self.ladder.steps[at] = Step(LAYERS[-1], self._found.identity, same=True, trial=self._found.trial)
        return True

    def _climb_exports(self) -> None:
        for rung, redirect in NO_EXPORT.items():
            # The module is not what an export gives back, so a comparison may fail there for reasons of its own.
            if self._try(rung, redirect, exact=True).same and self._found.outcome is not Outcome.WRONG:
                self.ladder.first_failing = "none"
                return
            self.ladder.below = rung if self.ladder.heals(rung) else ""
        for rung, redirect in EXPORTS.items():
            step = self._try(rung, redirect)
            if step.same and self.ladder.first_failing in ("", "none"):
                self.ladder.first_failing = rung
        self._skip("fullgraph", "an export has one graph")
        self._try("dynamo_disabled", {**EXPORTS.get(self.ladder.first_failing, {}), **SHAPES["dynamo_disabled"]})
        if not self.ladder.first_failing and not self._is_cut_short:
            # Neither setting alone: the program may need both, as one that exports twice.
            self.ladder.steps.append(Step("export", self._found.identity, same=True, trial=self._found.trial))
            self.ladder.first_failing = "export"

    def _own_backend(self) -> None:
        """The backend that the program names, where that is none of the layers."""
        own = [name for name in self._found.trial.backends if name not in LAYERS]
        if (
            self._is_cut_short
            or self.ladder.first_failing
            or (not own and "inductor" not in self._found.trial.backends)
        ):
            return
        rung = own[0] if own else "as_written"
        self.ladder.steps.append(Step(rung, self._found.identity, same=True, trial=self._found.trial))
        self.ladder.first_failing = rung

    def _narrow(self) -> None:
        ladder = self.ladder
        layers = [step.rung for step in ladder.steps if step.rung in LAYERS]
        if ladder.first_failing in layers:
            below = layers[: layers.index(ladder.first_failing)]
            ladder.below = next((rung for rung in reversed(below) if ladder.heals(rung)), "")
        rungs = {**SHAPES}
        if ladder.first_failing in ("eager", "aot_eager"):
            rungs |= {FUNCTIONALIZE: {"backend": FUNCTIONALIZE}}
        if ladder.first_failing in LAYERS[1:]:
            rungs |= FAKE_TENSORS
        if ladder.first_failing == "aot_eager":
            own = self._found.trial.own_compilers
            rungs |= {rung: one for rung, one in INSIDE_AOT.items() if own or rung != TORCHS_COMPILERS}
        if ladder.first_failing == "inductor" and self._inside:
            rungs |= INSIDE_INDUCTOR
        for rung, redirect in rungs.items():
            backend = {} if "backend" in redirect or ladder.first_failing not in LAYERS else {
                "backend": ladder.first_failing
            }  # fmt: skip
            self._try(rung, {**backend, **redirect})

    def climb_without_decomposition(self, operator: str) -> None:
        """One rung more where Inductor or its decompositions are the first to fail: without that of the suspect.

        Args:
            operator: as ``aten.mm`` or ``aten.mm.default``; empty if nothing names one.
        """
        if self.ladder.first_failing not in LAYERS[-2:]:
            return
        if not operator:
            self._skip(NO_DECOMPOSITION, "nothing names an operator")
            return
        self._try(NO_DECOMPOSITION, {"backend": self.ladder.first_failing, "no_decomposition": [operator]})

    def _skip(self, rung: str, why: str) -> None:
        self.ladder.steps.append(Step(rung, Identity.of(Observation(Outcome.SKIP, message=why)), same=False))

    def _try(self, rung: str, redirect: Mapping[str, Any], *, exact: bool = False) -> Step:
        if self._budget.is_over:
            self._is_cut_short = True
            self._skip(rung, "its share of the budget was spent")
            return self.ladder.steps[-1]
        self._log(f"ladder: {rung}")
        found = self._found
        for _ in range(self._repeats()):
            trial = self._lab.run(
                self._program.path, redirect, stdout=found.oracle.reference is not None, timeout_s=self._timeout_s
            )
            identity = found.oracle.identity(trial)
            if trial.absent:
                identity = Identity.of(Observation(Outcome.SKIP, message=f"this torch has no {trial.absent[0]}"))
            repeats = is_repeated_verbatim if exact else is_repeated
            same = repeats(identity, found.identity)
            same = same and not self._is_plain(identity)
            if same or self._budget.is_over:
                break
        step = Step(rung, identity, same=same, trial=trial)
        self.ladder.steps.append(step)
        return step

    def _is_plain(self, identity: Identity) -> bool:
        """Whether that is, to the last digit, what the program shows without the compiler, which is not the failure."""
        none = self.ladder.step("none")
        return none is not None and not none.same and is_repeated_verbatim(identity, none.identity)

    @property
    def _timeout_s(self) -> float | None:
        """Of one rung. What hangs takes all that it gets, so it gets ten times what the program takes uncompiled."""
        none = self.ladder.step("none")
        if self._found.outcome is not Outcome.TIMEOUT or none is None or none.trial is None:
            return None
        return min(self._lab.timeout_s, max(20.0, 10 * none.trial.seconds))

    def _repeats(self) -> int:
        """Runs of a rung after which a flaky failure would have shown, at 95 %."""
        rate = self._found.failed / self._found.runs
        if rate >= 1:
            return 1
        return min(MAX_REPEATS, math.ceil(math.log(0.05) / math.log(1 - rate))) if rate > 0 else 1
