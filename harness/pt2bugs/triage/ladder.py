"""The same program with every `torch.compile` in it sent to one layer after the other.

The first rung that shows the same failure names the layer (`Climber.climb`). For a wrong result two settings of
Inductor come next, which tell rounding and random numbers from a wrong kernel (`Climber.ask_settings`). Variants of the
first failing rung narrow it further (`Climber.narrow`), last torch's own bisector (`Climber.bisect`). A rung whose
answer nothing depends on any more is not run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from packaging.version import Version
from pt2bugs.case.observation import Observation, telling_line
from pt2bugs.case.versions import public
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.triage.identity import Identity, is_repeated, is_repeated_verbatim
from pt2bugs.triage.program import Program, expects_exception
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.runner import PROGRAM_NAME, ProgramRunner, RunResult

LAYERS = ("none", "eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
"""The layers. Each does what the one before it does, and one thing more."""
EXPORTS: Mapping[str, Mapping[str, Any]] = {
    "export_non_strict": {"strict": False},
    "export_strict": {"strict": True},
}
NO_EXPORT: Mapping[str, Mapping[str, Any]] = {"no_export": {"backend": "none", "export": "none"}}
"""Below the rungs of export: every module runs once, as it is, where it would be exported."""
NO_AOT_INDUCTOR = "no_aot_inductor"
BELOW: Mapping[str, Mapping[str, Any]] = {**NO_EXPORT, NO_AOT_INDUCTOR: {"aot_inductor": "none"}}
"""The rung below Inductor where it compiles ahead of time: the exported program runs instead of the package."""
_INDUCTOR = "torch._inductor.config."
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "dynamic_false": {"dynamic": False},
    "dynamic_true": {"dynamic": True},
    "fullgraph": {"fullgraph": True},
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
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    # Torch's own bisector asks for these two, too.
    "emulate_precision_casts": {"backend": "inductor", "config": {f"{_INDUCTOR}emulate_precision_casts": True}},
    "fallback_random": {"backend": "inductor", "config": {f"{_INDUCTOR}fallback_random": True}},
}
DEFAULT_MODE = "mode_default"
INSIDE_INDUCTOR: Mapping[str, Mapping[str, Any]] = {
    DEFAULT_MODE: {"backend": "inductor", "mode": "default"},
    "no_fusion": {"backend": "inductor", "config": {f"{_INDUCTOR}max_fusion_size": 1}},
    "no_vectorization": {"backend": "inductor", "config": {f"{_INDUCTOR}cpp.simdlen": 1}},
    "no_pattern_matcher": {"backend": "inductor", "config": {f"{_INDUCTOR}pattern_matcher": False}},
    "cpp_wrapper": {"backend": "inductor", "config": {f"{_INDUCTOR}cpp_wrapper": True}},
}
_OF_EXPORT = re.compile(r'File "[^"]*torch/_?export/')
"""A line of a traceback in torch.export."""
SUBSYSTEMS = {
    "aot_eager_decomp_partition": ("decomposition",),
    "inductor": ("pre_grad_passes", "joint_graph_passes", "post_grad_passes", "lowerings"),
}
"""The subsystems that torch's own CompilerBisector can apply in part."""
BISECTOR_SINCE = Version("2.6")
_ALL = 10**6
MAX_REPEATS = 10
BUDGET_PART = 0.5


@dataclass(frozen=True)
class Step:
    """One rung: what was seen there, and whether it is the failure that is triaged."""

    rung: str
    identity: Identity
    same: bool
    result: RunResult | None = None

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

    `pass_` is the subsystem of Inductor, and the application in it, that torch's bisector names.
    """

    steps: list[Step] = field(default_factory=list)
    first_failing: str = ""
    below: str = ""
    pass_: str = ""
    is_plain_in_other_words: bool = False
    """The program fails at the same line without the compiler, in other words."""

    def step(self, rung: str) -> Step | None:
        """Return the step of a rung; None if it was not tried.

        Args:
            rung: its name.
        """
        return next((step for step in self.steps if step.rung == rung), None)

    def heals(self, rung: str) -> bool:
        """Return whether the program passes on a rung.

        Args:
            rung: its name.
        """
        step = self.step(rung)
        return step is not None and step.identity.outcome is Outcome.PASS

    def shows(self, rung: str) -> bool:
        """Return whether the failure shows on a rung.

        Args:
            rung: its name.
        """
        step = self.step(rung)
        return step is not None and step.same

    @property
    def fails_otherwise(self) -> Step | None:
        """The lowest rung of the compiler that fails, but not in this way, below the first that does."""
        for step in self.steps if self.first_failing else ():
            if step.rung == self.first_failing or step.rung not in LAYERS:
                return None
            if step.rung != "none" and step.identity.is_failure:
                return step
        return None


Log = Callable[[str], None]


class Climber:
    """Climbs the ladder with one program.

    Args:
        runner: runs programs.
        program: the program.
        reproduction: its failure.
        log: told of each rung.
        ladder: of the program that this one was made of; rungs are added to it.

    Attributes:
        is_cut_short: whether its share of the budget ended before a rung was tried.
    """

    def __init__(
        self,
        runner: ProgramRunner,
        program: Program,
        reproduction: Reproduction,
        log: Log,
        ladder: Ladder | None = None,
    ) -> None:
        self._runner, self._program, self._reproduction, self._log = runner, program, reproduction, log
        self._budget = runner.budget.share(BUDGET_PART)
        self.is_cut_short = False
        self.ladder = ladder if ladder is not None else Ladder()

    def climb(self) -> Ladder:
        """Try the layers, as far as the budget goes.

        Raises:
            EngineError: the engine cannot be started.
        """
        ladder, entered = self.ladder, self._reproduction.result.entered
        if "compile" not in entered and "export" in entered:
            for rung in LAYERS:
                self._skip(rung, "the program compiles nothing, it exports")
            if "aot-inductor" not in entered or not self._climb_aot_inductor():
                self._climb_exports()
            return ladder
        if "compile" not in entered and "export" not in entered:
            return self._without_compile()
        none = self._try("none", {"backend": "none"}, exact=True)
        layers = list(LAYERS[1:])
        # Dynamo meets a mistake of the program while it traces it: what the layers above it refuse is no mistake.
        is_alike = not none.same and not self._wants_refusal and self._fails_at_the_same_line(none)
        if is_alike and self._try(layers[0], {"backend": layers.pop(0)}).same:
            self.ladder.steps[0] = none = replace(none, same=True)
            self.ladder.is_plain_in_other_words = True
        if none.same and not self._wants_refusal:
            for rung in layers:
                self._skip(rung, "it fails without torch.compile")
            if "export" in entered:
                self._climb_exports()
            ladder.first_failing = ladder.first_failing or "none"
            return ladder
        if "export" in entered and _OF_EXPORT.search(self._reproduction.result.text):
            for rung in layers:
                self._skip(rung, "the exception comes out of an export")
            self._climb_exports()
            return ladder
        for rung in layers:
            if not self._is_as_written(rung):
                self._try(rung, {"backend": rung})
        ladder.first_failing = self._first_failing()
        self._own_backend()
        layers = [step.rung for step in ladder.steps if step.rung in LAYERS]
        if ladder.first_failing in layers:
            below = layers[: layers.index(ladder.first_failing)]
            ladder.below = next((rung for rung in reversed(below) if ladder.heals(rung)), "")
        return ladder

    def _is_as_written(self, rung: str) -> bool:
        """Return whether the program asks for that backend alone; the rung is then the reproduction, and is not run."""
        reproduction = self._reproduction
        result = reproduction.result
        if result.backends != (rung,) or reproduction.failed < reproduction.runs:
            return False
        self.ladder.steps.append(Step(rung, reproduction.identity, same=True, result=result))
        return True

    def _fails_at_the_same_line(self, none: Step) -> bool:
        """Return whether the program raises without the compiler at the line where it does with it, in other words.

        Dynamo runs the program on fake tensors, and says in its own words what the operator refuses. The line is the
        innermost of the program; Dynamo quotes it below "from user code".
        """
        reproduction, plain = self._reproduction, none.result
        if plain is None or not plain.lines or {reproduction.outcome, plain.outcome} != {Outcome.RAISE}:
            return False
        name = re.escape(PROGRAM_NAME)
        text = reproduction.identity.message.partition("from user code")[2]
        quoted = [int(number) for number in re.findall(rf'File "[^"]*{name}", line (\d+)', text)]
        innermost = quoted[-1] if quoted else reproduction.result.lines[-1] if reproduction.result.lines else 0
        return plain.lines[-1] == innermost

    def _first_failing(self) -> str:
        """Return the first layer that shows the failure; empty if none does, or if the budget left one out below it.

        If no layer refuses what should be refused, all fail by the same assertion. The result that the program gets
        instead is then the failure, and a layer that gives another result is not to blame.
        """
        steps = self.ladder.steps
        same = [step for step in steps if step.rung in LAYERS[1:] and step.same]
        exact = [step for step in same if is_repeated_verbatim(step.identity, self._reproduction.identity)]
        if self._wants_refusal and exact:
            steps[:] = [replace(step, same=False) if step in same and step not in exact else step for step in steps]
            same = exact
        if not same or any(step.result is None for step in steps[: steps.index(same[0])]):
            return ""
        return same[0].rung

    @property
    def _wants_refusal(self) -> bool:
        """True where the program fails because nothing refuses what it does: without the compiler nothing can."""
        reproduction = self._reproduction
        return reproduction.outcome is Outcome.WRONG and expects_exception(
            self._program.source, reproduction.identity.line
        )

    def _without_compile(self) -> Ladder:
        """Return the ladder of a program that only traces (make_fx, fake tensors, functionalize).

        It has no layer above. One that calls AOTAutograd by itself fails there, unless it fails without it, too.
        """
        reproduction = self._reproduction
        if "aot" in reproduction.result.entered and not self._try("none", {"backend": "none"}, exact=True).same:
            for rung in LAYERS[1:]:
                if rung == "aot_eager":
                    self.ladder.steps.append(Step(rung, reproduction.identity, same=True, result=reproduction.result))
                else:
                    self._skip(rung, "the program calls AOTAutograd by itself")
            self.ladder.first_failing = "aot_eager"
            self.ladder.below = "none" if self.ladder.heals("none") else ""
            return self.ladder
        self.ladder.steps.clear()
        for rung in LAYERS[1:]:
            self._skip(rung, "the program compiles nothing")
        step = Step("none", self._reproduction.identity, same=True, result=self._reproduction.result)
        self.ladder.steps.insert(0, step)
        self.ladder.first_failing = "none"
        return self.ladder

    def _climb_aot_inductor(self) -> bool:
        """Return whether the exported program passes, and AOTInductor's package of it does not."""
        self._try(NO_AOT_INDUCTOR, BELOW[NO_AOT_INDUCTOR])
        if not self.ladder.heals(NO_AOT_INDUCTOR):
            return False
        self.ladder.first_failing, self.ladder.below = LAYERS[-1], NO_AOT_INDUCTOR
        at = next(index for index, step in enumerate(self.ladder.steps) if step.rung == LAYERS[-1])
        self.ladder.steps[at] = Step(
            LAYERS[-1], self._reproduction.identity, same=True, result=self._reproduction.result
        )
        return True

    def _climb_exports(self) -> None:
        for rung, redirect in NO_EXPORT.items():
            # The module is not what an export gives back, so a comparison may fail there for reasons of its own.
            if self._try(rung, redirect, exact=True).same and self._reproduction.outcome is not Outcome.WRONG:
                self.ladder.first_failing = "none"
                return
            self.ladder.below = rung if self.ladder.heals(rung) else ""
        for rung, redirect in EXPORTS.items():
            step = self._try(rung, redirect)
            if step.same and self.ladder.first_failing in ("", "none"):
                self.ladder.first_failing = rung
        if not self.ladder.first_failing and not self.is_cut_short:
            # Neither setting alone: the program may need both, as one that exports twice.
            self.ladder.steps.append(
                Step("export", self._reproduction.identity, same=True, result=self._reproduction.result)
            )
            self.ladder.first_failing = "export"

    def _own_backend(self) -> None:
        """Add the backend that the program names as a rung, where none of the layers shows the failure."""
        own = [name for name in self._reproduction.result.backends if name not in LAYERS]
        if (
            self.is_cut_short
            or self.ladder.first_failing
            or (not own and "inductor" not in self._reproduction.result.backends)
        ):
            return
        rung = own[0] if own else "as_written"
        self.ladder.steps.append(Step(rung, self._reproduction.identity, same=True, result=self._reproduction.result))
        self.ladder.first_failing = rung

    def ask_settings(self) -> None:
        """Try the settings of Inductor that tell a wrong kernel from rounding and from random numbers.

        Raises:
            EngineError: the engine cannot be started.
        """
        first = self.ladder.first_failing
        if first not in LAYERS[-2:]:
            return
        for rung, redirect in SETTINGS.items():
            # Decompositions draw random numbers as well; only Inductor fuses operators.
            if (first == LAYERS[-1] or rung == "fallback_random") and self._try(rung, redirect).identity.outcome is (
                Outcome.PASS
            ):
                return

    def narrow(self, *, is_named: bool = False, inside: bool = True) -> None:
        """Try variants of the first failing rung.

        Args:
            is_named: whether a torch frame names the component already, so that no variant is needed for that.
            inside: whether Inductor's own settings are tried; no class depends on them.

        Raises:
            EngineError: the engine cannot be started.
        """
        first = self.ladder.first_failing
        compiles = "compile" in self._reproduction.result.entered
        if first in ("", "none") or not compiles or self.ladder.heals(NO_AOT_INDUCTOR):
            return
        backend = {"backend": first} if first in LAYERS else {}
        rungs: dict[str, Mapping[str, Any]] = {}
        if first == "aot_eager" and not is_named:
            rungs |= {FUNCTIONALIZE: {"backend": FUNCTIONALIZE}}
        if first in LAYERS and not is_named:
            rungs |= FAKE_TENSORS
        if first == "aot_eager":
            own = self._reproduction.result.own_compilers
            rungs |= {rung: given for rung, given in INSIDE_AOT.items() if own or rung != TORCHS_COMPILERS}
        if first == "inductor" and inside:
            names_mode = "mode" in self._program.source
            rungs |= {rung: given for rung, given in INSIDE_INDUCTOR.items() if names_mode or rung != DEFAULT_MODE}
        # With sizes that are not dynamic it may pass; whether those are to blame the other setting tells.
        if self._try("dynamic_false", {**backend, **SHAPES["dynamic_false"]}).identity.outcome is Outcome.PASS:
            self._try("dynamic_true", {**backend, **SHAPES["dynamic_true"]})
        if self._reproduction.result.breaks:
            self._try("fullgraph", {**backend, **SHAPES["fullgraph"]})
        for rung, redirect in rungs.items():
            self._try(rung, {**backend, **redirect})

    def climb_without_decomposition(self, operator: str) -> None:
        """Try the suspect's own kernel, where Inductor or its decompositions are the first to fail.

        Args:
            operator: as ``aten.mm`` or ``aten.mm.default``; empty if nothing names one.
        """
        if self.ladder.first_failing not in LAYERS[-2:]:
            return
        if not operator:
            self._skip(NO_DECOMPOSITION, "nothing names an operator")
            return
        self._try(NO_DECOMPOSITION, {"backend": self.ladder.first_failing, "no_decomposition": [operator]})

    def bisect(self) -> None:
        """Name the subsystem of Inductor and its application, where torch has a bisector and one of them makes it.

        Torch applies a subsystem up to a number that a variable holds; the smallest number at which the failure shows
        is that of the application which makes it.

        Raises:
            EngineError: the engine cannot be started.
        """
        ladder, torch = self.ladder, public(self._runner.torch)
        subsystems = SUBSYSTEMS.get(ladder.first_failing, ())
        if subsystems and Version(torch) >= BISECTOR_SINCE:
            ladder.pass_ = next(filter(None, map(self._application, subsystems)), "")

    def _application(self, subsystem: str) -> str:
        """Return the application of a subsystem that makes the failure; empty if it is none of its."""
        if self._runner.budget.is_over:
            return ""
        self._log(f"torch's bisector: {subsystem}")
        without, result = self._bisected(subsystem, -1)
        if without or result.outcome is not Outcome.PASS:
            return ""
        with_all, result = self._bisected(subsystem, _ALL)
        count = result.applied.get(subsystem, 0)
        low, high = -1, count - 1
        if not with_all or high < 0:
            return ""
        while high - low > 1 and not self._runner.budget.is_over:
            middle = (low + high) // 2
            low, high = (low, middle) if self._bisected(subsystem, middle)[0] else (middle, high)
        _, last = self._bisected(subsystem, high)
        return f"{subsystem}, application {high + 1} of {count}" + (f": {last.disabled}" if last.disabled else "")

    def _bisected(self, subsystem: str, limit: int) -> tuple[bool, RunResult]:
        """Return whether the failure shows with so many applications of a subsystem, and the run."""
        env = {
            "TORCH_BISECT_BACKEND": self.ladder.first_failing,
            "TORCH_BISECT_SUBSYSTEM": subsystem,
            "TORCH_BISECT_MAX": str(limit),
        }
        reproduction = self._reproduction
        stdout = reproduction.oracle.reference is not None
        result = self._runner.run(self._program.path, {"bisect": limit}, env=env, stdout=stdout)
        return is_repeated(reproduction.oracle.identity(result), reproduction.identity), result

    def _skip(self, rung: str, why: str) -> None:
        self.ladder.steps.append(Step(rung, Identity.of(Observation(Outcome.SKIP, message=why)), same=False))

    def _try(self, rung: str, redirect: Mapping[str, Any], *, exact: bool = False) -> Step:
        if self._budget.is_over:
            self.is_cut_short = True
            self._skip(rung, "its share of the budget was spent")
            return self.ladder.steps[-1]
        self._log(f"ladder: {rung}")
        reproduction = self._reproduction
        for _ in range(self._repeats()):
            result = self._runner.run(
                self._program.path,
                redirect,
                stdout=reproduction.oracle.reference is not None,
                timeout_s=self._timeout_s,
            )
            identity = reproduction.oracle.identity(result)
            if result.absent:
                identity = Identity.of(Observation(Outcome.SKIP, message=f"this torch has no {result.absent[0]}"))
            repeats = is_repeated_verbatim if exact else is_repeated
            same = repeats(identity, reproduction.identity)
            same = same and not self._is_plain(identity)
            if same or self._budget.is_over:
                break
        step = Step(rung, identity, same=same, result=result)
        self.ladder.steps.append(step)
        return step

    def _is_plain(self, identity: Identity) -> bool:
        """Return whether a failure is, to the last digit, the other one that shows without the compiler."""
        none = self.ladder.step("none")
        return none is not None and not none.same and is_repeated_verbatim(identity, none.identity)

    @property
    def _timeout_s(self) -> float | None:
        """The limit of one rung; of a program that hangs, ten times what it takes without the compiler."""
        none = self.ladder.step("none")
        if self._reproduction.outcome is not Outcome.TIMEOUT or none is None or none.result is None:
            return None
        return min(self._runner.timeout_s, max(20.0, 10 * none.result.seconds))

    def _repeats(self) -> int:
        """Return the number of runs after which a flaky failure would have shown, at 95 %."""
        rate = self._reproduction.failed / self._reproduction.runs
        if rate >= 1:
            return 1
        return min(MAX_REPEATS, math.ceil(math.log(0.05) / math.log(1 - rate))) if rate > 0 else 1
