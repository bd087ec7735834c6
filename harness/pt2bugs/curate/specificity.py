"""Specificity of a bug entry: it takes no failure for its own but the one that it documents.

It is tried on failures that nobody saw, of its outcome and type, on its own failures with other values, and on the real
failures of other cases. An entry that takes one of them says too little: the next failure of that type would count as
documented.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pt2bugs.case.failure import documents
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.patterns import PatternTimeout
from pt2bugs.case.vocabulary import Outcome, Verdict
from pt2bugs.results.history import History

_DIFFERENCES = (
    "Tensor-likes are not close!\n\nMismatched elements: 1009 / 3011 (33.5%)\n"
    "Greatest absolute difference: 0.07130113 at index (1013, 17) (up to 1e-05 allowed)\n"
    "Greatest relative difference: 0.01710037 at index (1019, 19) (up to 1.3e-06 allowed)",
    "Tensor-likes are not close!\n\nMismatched elements: 3011 / 3011 (100.0%)\n"
    "Greatest absolute difference: nan at index (1013,) (up to 1e-05 allowed)\n"
    "Greatest relative difference: nan at index (1013,) (up to 1.3e-06 allowed)",
    "Tensor-likes are not equal!\n\nMismatched elements: 1009 / 3011 (33.5%)\n"
    "Greatest absolute difference: 70113 at index (1013,)\nGreatest relative difference: inf at index (1013,)",
    "Scalars are not close!\n\nExpected 1013.0713 but got -1019.0317.\n"
    "Absolute difference: 2032.103 (up to 1e-05 allowed)\nRelative difference: 2.0058 (up to 1.3e-06 allowed)",
    "Scalars are not equal!\n\nExpected 1013 but got -1019.\nAbsolute difference: 2032\nRelative difference: 2.0059",
    "Tensor-likes are not close!\n\nMismatched elements: 1 / 3011 (0.0%)\n"
    "Greatest absolute difference: inf at index (0,) (up to 1e-05 allowed)\n"
    "Greatest relative difference: inf at index (0, 0) (up to 1.3e-06 allowed)",
    "Booleans mismatch: True is not False",
    "Booleans mismatch: False is not True",
    "None mismatch: None is not <object object at 0x7f0000000000>",
    "Object comparison failed: <object object at 0x7f0000000000> != <object object at 0x7f0000000010>",
    "The length of the sequences mismatch: 1009 != 1013",
    "The values for attribute 'shape' do not match: torch.Size([1009, 1013]) != torch.Size([1019]).",
    "The values for attribute 'dtype' do not match: torch.quint8 != torch.complex32.",
    "The values for attribute 'device' do not match: xla:7 != hpu:5.",
    "The values for attribute 'layout' do not match: torch.sparse_bsr != torch._mkldnn.",
    "The values for attribute 'stride()' do not match: (1009, 1013) != (1019, 1021).",
    "The values for attribute 'is_quantized' do not match: True != False.",
)
"""Messages of `torch.testing.assert_close` about values that no case computes."""

_TEXTS = (
    "something else went wrong",
    "list index out of range",
    "tuple index out of range",
    "maximum recursion depth exceeded",
    "pop from empty list",
    "not enough values to unpack (expected 2, got 1)",
    "'something_else'",
    "name 'something_else' is not defined",
    "'NoneType' object is not iterable",
    "'NoneType' object is not callable",
    "'NoneType' object is not subscriptable",
    "'NoneType' object has no attribute 'something_else'",
    "'Tensor' object has no attribute 'something_else'",
    "something_else() got an unexpected keyword argument 'another'",
    "unsupported operand type(s) for +: 'NoneType' and 'int'",
    "JIT compilation failed with the following error: something else",
)
"""Messages that Python, or a library, has for many failures."""

_ADVICE = (
    "\n\nSet TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug "
    'to PyTorch). For even more developer context, set TORCH_LOGS="+dynamo"\n\n\nYou can suppress this exception and '
    "fall back to eager by setting:\n    import torch._dynamo\n    torch._dynamo.config.suppress_errors = True\n"
)
_WRAPPERS = (
    "{}",
    "backend='{backend}' raised:\nRuntimeError: {}",
    "backend='{backend}' raised:\nAssertionError: {}",
    "backend='{backend}' raised:\nLoweringException: RuntimeError: {}\n  target: aten.something_else.default\n"
    "  args[0]: TensorBox(StorageBox(InputBuffer(name='arg0_1', layout=FixedLayout('cpu', torch.int8, size=[1009]))))",
    "backend='{backend}' raised:\nCppCompileError: C++ compile error\n\nCommand:\ng++ something_else.cpp -shared -fPIC "
    "-O3 -o something_else.so\n\nOutput:\nsomething_else.cpp:1009:13: error: {}",
    "RuntimeError: {}",
    "AssertionError: {}",
    "{}\n  Explanation: Dynamo does not know how to trace something else.\n  Hint: Avoid something else.\n\n"
    "  Developer debug context: something else\n\n For more details about this graph break, please visit: "
    "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb9999.html",
    "Failed running call_function <built-in function something_else>(*(FakeTensor(..., size=(1009,)),), **{{}}):\n{}",
    "Dynamo failed to run FX node with fake tensors: call_function <built-in function something_else>(*(), **{{}}): "
    "got RuntimeError('{}')",
)
"""Texts that layers of the compiler put around the words of a failure."""

_FRAMES = [
    f"torch/{place}"
    for place in (
        "something/else.py:1009 something_else",
        "_dynamo/convert_frame.py:1009 _compile_inner",
        "_dynamo/eval_frame.py:1009 _fn",
        "_dynamo/output_graph.py:1009 _call_user_compiler",
        "_dynamo/symbolic_convert.py:1009 run",
        "_dynamo/symbolic_convert.py:1009 step",
        "_functorch/aot_autograd.py:1009 aot_module_simplified",
        "_inductor/compile_fx.py:1009 compile_fx_inner",
        "_inductor/codecache.py:1009 load",
        "_inductor/cpp_builder.py:1009 _run_compile_cmd",
        "_ops.py:1009 __call__",
        "nn/modules/module.py:1009 _call_impl",
    )
]
"""Frames that most compiled programs pass through."""


Foreign = tuple[str, Observation]
"""A failure that was seen, after the id of its case."""
FailureKind = tuple[Outcome, str]
"""Outcome and exception type."""


@dataclass(frozen=True)
class OtherFailure:
    """A failure that is not the documented one. `what` says in which way it is another."""

    what: str
    seen: Observation


def other_failures(case: Case, bug: Bug) -> Iterator[OtherFailure]:
    """Yield failures that nobody saw, of the outcome, type and signal that the entry documents.

    Args:
        case: the case of the entry.
        bug: the entry.
    """
    for what, message in _messages(case, bug):
        yield OtherFailure(what, _failure(bug, message=message))
    if bug.outcome in (Outcome.CRASH, Outcome.TIMEOUT, Outcome.OOM):
        yield OtherFailure(f"any {_named(bug)}", _failure(bug, message=_died(bug), output=_stack(case)))


def _messages(case: Case, bug: Bug) -> Iterator[tuple[str, str]]:
    if bug.outcome not in (Outcome.WRONG, Outcome.RAISE):
        return
    backend = bug.backend or case.backends[0]
    yield "an empty message", ""
    for text in _DIFFERENCES:
        yield "another difference of assert_close", text
    for wrapper in _WRAPPERS:
        for text in _TEXTS:
            yield "another message", wrapper.format(text, backend=backend)
    if bug.outcome is Outcome.RAISE:
        yield "any failure there, as it prints lines of the program itself", _with_own_lines(case)
    yield "the advice that Dynamo ends every failure with", f"something else went wrong{_ADVICE}"


def _failure(bug: Bug, *, message: str, output: str = "") -> Observation:
    innermost, *others = _FRAMES
    return Observation(
        bug.outcome,
        error_type=(bug.error or "").removeprefix("builtins."),
        message=message,
        frame=innermost,
        frames=others,
        signal=bug.signal or ("SIGSEGV" if bug.outcome is Outcome.CRASH else ""),
        output_tail=output,
    )


def _died(bug: Bug) -> str:
    if bug.outcome is Outcome.TIMEOUT:
        return "still running after its timeout of 1009 s"
    if bug.outcome is Outcome.OOM:
        return "over its limit of 1009 MiB; killed"
    return f"died by {bug.signal or 'SIGSEGV'}"


def _named(bug: Bug) -> str:
    return f"other {bug.outcome} by {bug.signal}" if bug.signal else f"other {bug.outcome}"


def _program(case: Case) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Return the lines of the file, and of each function its name, first and last line."""
    text = case.path.read_text(encoding="utf-8-sig")
    functions = [
        (node.name, node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return text.split("\n"), functions


def _with_own_lines(case: Case) -> str:
    """Return a message that ends in the stack of the program, as Dynamo's do, with every line of every function."""
    lines, functions = _program(case)
    stack = [
        f'   File "{case.path.name}", line {number}, in {name}\n    {lines[number - 1].strip()}'
        for name, first, last in functions
        for number in range(first + 1, last + 1)
        if lines[number - 1].strip()
    ]
    return "something else went wrong\n\nfrom user code:\n" + "\n".join(stack)


def _stack(case: Case) -> str:
    """Return what Python's fault handler prints when a check dies somewhere else."""
    _, functions = _program(case)
    own = [f'  File "{case.path.name}", line {last} in {name}' for name, _, last in functions]
    frames = []
    for frame in _FRAMES:
        place, _, name = frame.partition(" ")
        path, _, line = place.partition(":")
        frames.append(f'  File "{path}", line {line} in {name}')
    # Generated code stands in most stacks; only as their innermost frame does it say where the crash was.
    generated = '  File "<cell>/inductor/ab/cab.py", line 1009 in call'
    head = ["Fatal Python error: Aborted", "", "Current thread 0x0000000000000000 (most recent call first):", frames[0]]
    return "\n".join([*head, generated, *frames[1:], *own, ""])


def failures_seen(rows: Iterable[History]) -> dict[FailureKind, list[Foreign]]:
    """Return the documented failures that the journal holds, each once, by outcome and exception type.

    Args:
        rows: the histories of the corpus.
    """
    failures: dict[tuple[str, ...], Foreign] = {}
    for row in rows:
        name = row.cell.case.id
        findings = row.findings.values() if row.cell.backend in row.cell.case.backends else ()
        for record in (record for finding in findings for record in (finding.record, *finding.others)):
            if record["verdict"] == Verdict.XFAIL:
                seen = Observation.from_dict(record)
                failures.setdefault((name, seen.message, seen.all_frames, seen.output_tail), (name, seen))
    kinds: dict[FailureKind, list[Foreign]] = {}
    for name, seen in failures.values():
        kinds.setdefault((seen.outcome, seen.error_type), []).append((name, seen))
    return kinds


def with_other_values(seen: Observation) -> Observation | None:
    """Return a wrong result with other values in its message; None where the message holds none.

    Args:
        seen: a wrong result.
    """
    message = _VALUE.sub(_another_value, seen.message)
    return replace(seen, message=message) if message != seen.message else None


_VALUE = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*[A-Za-z_])|\b(?:True|False|nan|inf)\b")
"""A number that is no part of a name, or a word that stands for a value."""


def _another_value(match: re.Match[str]) -> str:
    words = {"True": "False", "False": "True", "nan": "71.013", "inf": "71.013"}
    return words.get(match[0]) or ("71.013" if "." in match[0] else "71013")


def identity_problem(case: Case, bug: Bug, own: Iterable[Observation] = (), others: Iterable[Foreign] = ()) -> str:
    """Return why the entry's identity says too little; empty if it says enough.

    Args:
        case: the case of the entry.
        bug: the entry.
        own: failures of the case that were seen.
        others: failures of other cases that were seen, with the ids of these cases.
    """
    try:
        other = next((failure for failure in other_failures(case, bug) if documents(bug, failure.seen)), None)
        if other is None and bug.outcome is Outcome.WRONG:
            changed = (with_other_values(seen) for seen in own if documents(bug, seen))
            other = next(
                (OtherFailure("other values", seen) for seen in changed if seen and documents(bug, seen)), None
            )
        if other is None and not bug.blocked:
            foreign = next((name for name, seen in others if documents(bug, seen)), "")
            if foreign:
                telling = "tell them apart, as by `frame`, or name it in same-fix"
                return f"the entry would also accept the failure of {foreign}; {telling}"
    except PatternTimeout:
        return "its pattern takes too long; rewrite it without repetitions inside repetitions"
    if other is None:
        return ""
    if other.what == "other values":
        remedy = "put the values into the pattern"
    elif bug.outcome in (Outcome.CRASH, Outcome.TIMEOUT, Outcome.OOM):
        remedy = "name what it printed (output) or where it stood (frame)"
    elif other.what == "another difference of assert_close":
        remedy = "let the check say what it compared: assert actual == expected, f'... {actual}, not {expected}'"
    else:
        remedy = "append the constant part of the message, or name the innermost frame"
    return f"the entry would also accept {other.what} ({other.seen.summary[:80]}); {remedy}"
