"""Step 3: the class of a failure in the words of a header's `symptom`, its component, and what upstream would call it.

The tables below are the mapping that docs/evaluation/triage.md publishes. The first row that fits decides.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from pt2bugs.case.vocabulary import Outcome
from pt2bugs.match.wording import is_comparison
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.ladder import (
    CROSSREF,
    FUNCTIONALIZE,
    LAYERS,
    NO_AOT_INDUCTOR,
    NO_DECOMPOSITION,
    TORCHS_COMPILERS,
    Ladder,
)
from pt2bugs.triage.program import Program, expects_exception, raises
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.runner import RunResult
from pt2bugs.triage.statements import stated

_OPERATOR = re.compile(r"\b((?:torch\.ops\.)?(?:aten|prims|prim|inductor|quantized)(?:\.|::)\w+(?:\.\w+)?)\b")
_MISMATCH = re.compile(r"output of (?P<operator>\S+) on .*mismatched tensor metadata[^:]*: (?P<what>.*)")
"""The message of torch's CrossRefFakeMode; `statements.toml` has the differences that do not count."""
_LOWERED = re.compile(r"^lowerings, [^:]*: (?!getitem)(_*[a-z]\w*?)(?:_(?:default|tensor|scalar))?(?:_\d+)?$")
"""A lowering, as torch's bisector names it: by a node, whose name is that of its operator with a number."""

FRAMES = (
    (re.compile(r"torch/_subclasses/"), "fake-tensor"),
    (
        re.compile(r"torch/fx/experimental/(symbolic_shapes|sym_node|recording)|torch/utils/_sympy/"),
        "dynamic-shapes",
    ),
    (re.compile(r"torch/_higher_order_ops/|torch/_dynamo/variables/higher_order_ops"), "higher-order-ops"),
    (re.compile(r"torch/_library/|torch/library\.py|torch/_custom_op"), "custom-op"),
    (re.compile(r"torch/(_export|export)/"), "export"),
    (re.compile(r"torch/_refs/|torch/_decomp/|torch/_prims/|torch/_meta_registrations"), "fake-tensor"),
    (re.compile(r"torch/_functorch/_aot_autograd/functional_utils|torch/_subclasses/functional_tensor"), "aotautograd"),
    (re.compile(r"torch/_functorch/(aot_autograd|_aot_autograd|partitioners)"), "aotautograd"),
    (re.compile(r"torch/_functorch/"), "functorch"),
    (re.compile(r"torch/_inductor/decomposition"), "decomposition"),
    (re.compile(r"torch/_inductor/"), "inductor"),
    (re.compile(r"torch/ao/|torch/_quantized"), "quantization"),
    (re.compile(r"torch/_dynamo/"), "dynamo"),
    (re.compile(r"torch/fx/"), "fx"),
)
"""Components of torch frames, by path."""
_RUNG_COMPONENT = {
    "eager": "dynamo",
    "aot_eager": "aotautograd",
    "aot_eager_decomp_partition": "decomposition",
    "inductor": "inductor",
    "export": "export",
    "export_strict": "export",
    "export_non_strict": "export",
    "as_written": "inductor",
}
_SHARED = frozenset({"fake-tensor", "dynamic-shapes", "higher-order-ops", "custom-op"})
_REFINING = {
    "eager": _SHARED,
    "aot_eager": _SHARED | {"functorch"},
    "aot_eager_decomp_partition": _SHARED,
    "inductor": _SHARED,
}
"""Components that a frame can name, by first failing rung: those that the layer shares with others."""
_ENTRY_COMPONENT = (
    ("functionalize", "functionalization"),
    ("aot", "aotautograd"),
    ("aot-inductor", "aot-inductor"),
    ("make_fx", "fx"),
    ("fake-tensor", "fake-tensor"),
    ("fx", "fx"),
)
LABELS = {
    "dynamo": "module: dynamo",
    "aotautograd": "module: aotdispatch",
    "functionalization": "module: functionalization",
    "fake-tensor": "module: fakeTensor",
    "dynamic-shapes": "module: dynamic shapes",
    "decomposition": "module: decompositions",
    "inductor": "module: inductor",
    "export": "oncall: export",
    "functorch": "module: functorch",
    "fx": "module: fx",
    "higher-order-ops": "module: higher order operators",
    "custom-op": "module: custom-operators",
    "aot-inductor": "module: aotinductor",
    "quantization": "oncall: quantization",
}
SYMPTOM_LABELS = {
    "graph-break": "module: graph breaks",
    "recompilation": "module: recompilations",
    "wrong-result": "module: correctness (silent)",
    "crash": "module: crash",
    "memory": "module: memory usage",
    "triton": "upstream triton",
    "missing-error": "module: error checking",
}


@dataclass(frozen=True)
class Classification:
    """`symptom` and `component` are words of a header; both are None where the compiler is not at fault."""

    symptom: str | None
    component: str | None
    frame: str
    operator: str
    labels: tuple[str, ...]
    why: str


def classify(program: Program, reproduction: Reproduction, ladder: Ladder) -> Classification:
    """Return the class and the component of a failure.

    The failure itself decides, then the ladder and last the program's own words.

    Args:
        program: as it was given.
        reproduction: its failure.
        ladder: the rungs that were tried.
    """
    identity = reproduction.identity
    result = reproduction.result
    first = ladder.first_failing
    if first == "none" and (set(result.entered) <= {"compile"} or ladder.shows("no_export")):
        reason = "it fails in the same way without the compiler"
        if ladder.is_plain_in_other_words and (none := ladder.step("none")) is not None:
            reason = f"it fails at the same line without the compiler, which says: {none.identity.headline[:200]}"
        return Classification(None, None, identity.frame, operator_of(reproduction, ladder), (), reason)
    symptom, why = symptom_of(program, identity, result, ladder)
    component, because = component_of(identity, result, ladder)
    labels = tuple(
        dict.fromkeys(
            label
            for label in ("oncall: pt2", LABELS.get(component, ""), SYMPTOM_LABELS.get(symptom, ""))
            if label
        )
    )  # fmt: skip
    frame = identity.frame
    return Classification(symptom, component, frame, operator_of(reproduction, ladder), labels, f"{why}; {because}")


def symptom_of(program: Program, identity: Identity, result: RunResult, ladder: Ladder) -> tuple[str, str]:
    """Return the class, and the row of the table that decided.

    Args:
        program: as it was given.
        identity: of its failure.
        result: the run that showed it.
        ladder: the rungs that were tried.
    """
    outcome = identity.outcome
    if outcome is Outcome.CRASH:
        return "crash", f"it died by {identity.signal}" if identity.signal else "it left without a word"
    if outcome is Outcome.TIMEOUT:
        return "hang", "it does not end"
    if outcome is Outcome.OOM:
        return "memory", "it ran out of memory"
    if outcome is Outcome.RAISE and not (not identity.frame and raises(program.source, identity.line)):
        return _symptom_of_exception(identity, result, ladder)
    text = f"{identity.message}\n{_statement(program, result.lines)}"
    if not is_comparison(identity.message):
        if stated("counted-compilations", text) and (result.recompiles or result.graphs > 1):
            return "recompilation", "the program counts compilations, and Dynamo compiled again"
        if stated("counted-graphs", text) and result.recompiles:
            return "recompilation", "the program counts graphs, and Dynamo compiled again"
        if stated("memory", text):
            return "memory", "the assertion that fails is about memory"
        if (stated("counted-breaks", text) or stated("counted-graphs", text)) and result.breaks:
            return "graph-break", "the program counts graphs, and Dynamo broke one"
        handled = (step := ladder.step("none")) is not None and step.result is not None and bool(step.result.handled)
        if handled and stated("wanted-error", text):
            return "missing-error", "without the compiler an exception is raised there, with it none is"
        if expects_exception(program.source, identity.line):
            none = ladder.step("none")
            fails = none is not None and none.identity.is_failure
            either = "; without the compiler none is raised either" if fails else ""
            return "missing-error", f"the program expects an exception there, and none is raised{either}"
    return "wrong-result", "the program's own comparison fails"


def _symptom_of_exception(identity: Identity, result: RunResult, ladder: Ladder) -> tuple[str, str]:
    kind, frames = identity.error_type, f"{identity.frame}\n{result.observation.all_frames}"
    exports_only = "export" in result.entered and "compile" not in result.entered
    breaks = stated("graph-break-type", kind) or (not exports_only and stated("user-error-type", kind))
    if breaks and not ladder.heals("eager"):
        return "graph-break", f"{kind}: Dynamo cannot capture it"
    if stated("recompilation-type", kind):
        return "recompilation", f"{kind}: a limit of recompilations"
    inner = identity.message.partition("raised:")[2].strip().partition(":")[0] if "raised:" in identity.message else ""
    if stated("triton-type", kind) or stated("triton-type", inner) or "/triton/" in frames:
        return "triton", "the exception is Triton's"
    if stated("backend-failure-type", kind):
        return "backend-failure", f"{kind}: the backend raised while it compiled"
    if is_own_backend(ladder.first_failing):
        return "backend-failure", f"{kind} is raised with the backend {ladder.first_failing} alone"
    if ladder.heals(TORCHS_COMPILERS):
        return "backend-failure", f"{kind} is raised with the program's own compilers alone"
    return "internal-error", f"{kind} left the compiler or what it made"


def is_own_backend(rung: str) -> bool:
    """Return whether a rung is a backend that the program brings, none of torch's.

    Args:
        rung: its name; may be empty.
    """
    return bool(rung) and rung not in LAYERS and rung not in _RUNG_COMPONENT


def component_of(identity: Identity, result: RunResult, ladder: Ladder) -> tuple[str, str]:
    """Return the component, and the row of the table that decided.

    Args:
        identity: of the failure.
        result: the run that showed it.
        ladder: the rungs that were tried.
    """
    first = ladder.first_failing
    frames = [identity.frame, *result.observation.frames] if identity.frame else []
    if first in ("none", ""):
        named = _by_frame(frames[:1])
        if named and "compile" not in result.entered:
            entry = next((component for kind, component in _ENTRY_COMPONENT if kind in result.entered), "")
            if named == "fx" or not entry or named in ("dynamic-shapes", "higher-order-ops"):
                return named, f"its innermost torch frame is {frames[0]}"
            return entry, "that is how the program enters the compiler"
        for kind, component in _ENTRY_COMPONENT:
            if kind in result.entered:
                return component, f"the program enters the compiler by {kind} alone"
        return "dynamo", "no rung shows it alone"
    if is_own_backend(first):
        return "backend", f"only the program's own backend {first} shows it"
    named = _named(first, frames)
    if ladder.heals(NO_AOT_INDUCTOR):
        return "aot-inductor", "the exported program passes, the package that AOTInductor makes of it does not"
    if ladder.heals(TORCHS_COMPILERS):
        return "backend", "AOTAutograd passes with torch's compilers, and fails with those of the program"
    if named in _REFINING.get(first, ()):
        return named, f"{first} is the first rung that fails, in {frames[0]}"
    if first == "aot_eager" and ladder.heals(NO_DECOMPOSITION):
        return "decomposition", f"{first} is the first rung that fails, and not without its Python decompositions"
    if (
        first in ("eager", "aot_eager", "inductor")
        and ladder.heals("dynamic_false")
        and not ladder.heals("dynamic_true")
    ):
        return "dynamic-shapes", f"{first} is the first rung that fails, and not with dynamic=False"
    if mismatch := metadata_mismatch(ladder):
        return "fake-tensor", f"{first} is the first rung that fails, and {mismatch}"
    if first == "aot_eager" and ladder.shows(FUNCTIONALIZE):
        return "functionalization", "it fails when graphs are only functionalized"
    return _RUNG_COMPONENT[first], f"{first} is the first rung that fails"


def is_named_by_a_frame(reproduction: Reproduction, ladder: Ladder) -> bool:
    """Return whether a torch frame names the component below the first failing layer, so that no variant is needed.

    Args:
        reproduction: the program's failure.
        ladder: the layers that were tried.
    """
    frames = [reproduction.identity.frame, *reproduction.result.observation.frames]
    return _named(ladder.first_failing, frames) in _REFINING.get(ladder.first_failing, ())


def metadata_mismatch(ladder: Ladder) -> str:
    """Return where a fake tensor differs from the real one, in words; empty if nowhere.

    Args:
        ladder: the rungs that were tried.
    """
    step = ladder.step(CROSSREF)
    mismatch = _MISMATCH.search(step.identity.message) if step is not None else None
    if mismatch is None or stated("mismatch", mismatch[0]):
        return ""
    return f"the fake tensor of {mismatch['operator']} is not as the real one: {mismatch['what'].strip()}"


def _named(first: str, frames: list[str]) -> str:
    """Return the component that the two innermost frames name, where a layer is the first to fail."""
    if first == "inductor":
        # Its arithmetic of indices is written with these, whether sizes are symbolic or not.
        frames = [frame for frame in frames if not frame.startswith("torch/utils/_sympy/")]
    return _by_frame(frames[:2])


def _by_frame(frames: list[str]) -> str:
    for frame in frames:
        for pattern, component in FRAMES:
            if pattern.match(frame):
                return component
    return ""


def _statement(program: Program, lines: tuple[int, ...]) -> str:
    """Return the text of the program's innermost statement that the exception left."""
    if not lines:
        return ""
    line = lines[-1]
    best = ""
    for node in ast.walk(ast.parse(program.source)):
        if isinstance(node, (ast.Assert, ast.Raise, ast.Expr)) and node.lineno <= line <= (node.end_lineno or line):
            best = ast.get_source_segment(program.source, node) or best
    return best


def operator_of(reproduction: Reproduction, ladder: Ladder) -> str:
    """Return the operator that torch's bisector, the failure or the traceback names; empty if none does.

    Args:
        reproduction: the program's failure.
        ladder: the rungs that were tried.
    """
    if lowered := _LOWERED.search(ladder.pass_):
        return f"aten.{lowered[1]}"
    for text in (ladder.pass_, reproduction.identity.message, reproduction.result.text):
        if match := _OPERATOR.search(text):
            return match[1].removeprefix("torch.ops.").replace("::", ".")
    return ""
