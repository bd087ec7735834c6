"""Areas of the compiler that a corpus should cover, and the cases that each has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pt2bugs.case.model import Case
from pt2bugs.case.script_block import decode, find_block

ENOUGH = 3
"""Cases of an area; fewer are said."""


@dataclass(frozen=True)
class Area:
    """An area: a case belongs to it by a label, its component, its symptom, or what its program uses."""

    name: str
    labels: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    uses: str = ""
    also_uses: str = ""

    def has(self, case: Case, program: str) -> bool:
        """Whether the case belongs to it; `program` is its file without the header and the docstring."""
        return (
            bool(set(self.labels) & set(case.labels))
            or case.component in self.components
            or case.symptom in self.symptoms
            or bool(self.uses and re.search(self.uses, program) and re.search(self.also_uses, program))
        )


AREAS = (
    Area("custom operators", ("custom-op",), ("custom-op",), uses=r"torch\.library|custom_op\("),
    Area("autograd.Function", ("autograd-function",), uses=r"autograd\.Function\b"),
    Area(
        "autograd.Function under torch.func", uses=r"autograd\.Function\b",
        also_uses=r"torch\.func\b|\b(vmap|jvp|vjp|jacrev|jacfwd|hessian)\(",
    ),
    Area(
        "control flow (cond, while_loop, scan, map)", ("control-flow",),
        uses=r"torch\.cond\(|while_loop\(|\bscan\(|control_flow|higher_order\.map|associative_scan\(",
    ),
    Area("flex attention", ("flex-attention",), uses=r"flex_attention"),
    Area("AOTInductor", ("aot-inductor",), ("aot-inductor",), uses=r"aoti?_compile|aot_load|aoti_"),
    Area("caches", ("cache",), uses=r"fx_graph_cache|autograd_cache|_cache_artifacts|fresh_\w*cache|codecache"),
    Area("freezing", ("freezing",), uses=r"freezing"),
    Area("quantization", ("quantization",), ("quantization",), uses=r"torch\.ao\b|quantiz|qint|quint"),
    Area("numpy interoperation", ("numpy",), uses=r"\bnumpy\b|\bnp\."),
    Area("jagged and nested tensors", ("jagged",), uses=r"nested|jagged"),
    Area("checkpointing", ("checkpoint",), uses=r"utils\.checkpoint|\bcheckpoint\("),
    Area("compiled autograd", ("compiled-autograd",), uses=r"compiled_autograd"),
    Area("cudagraphs", ("cudagraphs",), uses=r"cudagraph|reduce-overhead|CUDAGraph"),
    Area("optimizers", ("optimizer",), uses=r"torch\.optim\b|\boptim\."),
    Area(
        "context managers", ("context-manager",),
        uses=r"contextmanager|__enter__|set_grad_enabled|autocast|inference_mode|saved_tensors_hooks|ExitStack",
    ),
    Area("iterators and generators", ("iterator", "generator"), uses=r"\byield\b|itertools|__next__|\bnext\("),
    Area("hooks", ("hook",), uses=r"register_\w*hook|saved_tensors_hooks"),
    Area("complex numbers", ("complex",), uses=r"\bcomplex(32|64|128)?\b|\bcfloat\b|view_as_complex"),
    Area("mark_dynamic", ("mark-dynamic",), uses=r"mark_(dynamic|static|unbacked)|maybe_mark_dynamic"),
    Area("recompilations", ("recompilation",), symptoms=("recompilation",)),
    Area("distributed tensors, fake process groups", ("distributed",), uses=r"torch\.distributed|DTensor|FakeStore"),
    Area("crashes", symptoms=("crash",)),
    Area("hangs", symptoms=("hang",)),
    Area("memory", symptoms=("memory",)),
    Area("Triton", ("triton",), symptoms=("triton",), uses=r"\btriton\b"),
)  # fmt: skip


def program_of(case: Case) -> str:
    """The text of the file without its header and its docstring."""
    text = decode(case.path.read_bytes())
    block = find_block(text)
    program = block.program if block else text
    return re.sub(r'\A\s*(""".*?"""|\'\'\'.*?\'\'\')', "", program, flags=re.DOTALL)


def cases_by_area(cases: Sequence[Case]) -> list[tuple[Area, list[Case]]]:
    """The cases of each area; one case may be of several, or of none."""
    programs = {case.id: program_of(case) for case in cases}
    return [(area, [case for case in cases if area.has(case, programs[case.id])]) for area in AREAS]
