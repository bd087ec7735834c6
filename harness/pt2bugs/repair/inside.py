"""Runs in the child of a score: calls probes, and says what came out and what the compiler left behind.

Nothing is read from the counters of the torch that is scored, whose text anybody may have changed. What Dynamo compiled
is read from the entries that its native part keeps; graphs and kernels from the texts that Python itself is given to
compile, which an audit hook hears of and nobody can take back; runs of the user's own functions from a profile.

Standard library alone: it travels into every environment.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import importlib
import math
import re
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pt2bugs.engine.check import SoftTimeout, import_file, seed
from pt2bugs.engine.observe import type_name
from pt2bugs.engine.warmup import leave_alone
from pt2bugs.isolate.inside import watched

ROUNDS = (0, 1, 1)
"""Calls of a probe in one process: with the first values, with new ones, and again, when all is compiled."""
_GRAPH = "<eval_with_key>"
_LIMIT = 2_000_000
_OPERATOR = re.compile(
    r"^    [^=\n]+ = (?:(torch\.[\w.]+|operator\.\w+|\w+\.\w+)\(|\(?-?\w+ ([*+/@<>=!&|%^-]+) )", re.MULTILINE
)
_LOWERED = re.compile(r"def forward\(self, (arg\d+_1|primals_\d+)\b")
_KERNEL = re.compile(r"^\w+ = async_compile\.\w+\(", re.MULTILINE)
_EXTERN = re.compile(r"\b(torch\.ops\.\w+\.\w+(?:\.\w+)?|extern_kernels\.\w+)\(")


def run(request: Any) -> dict[str, Any]:
    """Call probes of a file, one after the other, and report what came out.

    Args:
        request: `path` and `probes` name the functions; `backend`, or nothing for a run without the compiler; `device`,
            `threads`, `timeout_s` of each.

    Returns:
        `reports`, for each probe its `rounds`, a list of `outcome` with `output`, or with `error_type` and `message`;
        and `counts`, empty without the compiler.
    """
    seed(request["device"], request["threads"])
    texts: list[tuple[str, str]] = []
    if request["backend"]:
        _listen(texts)
    names = vars(import_file(request["path"]))
    own = frozenset(_codes(_code_of(names, request["path"])))
    reports, kept = [], dict[str, Counter[types.CodeType]]()
    for name in request["probes"]:
        texts.clear()
        seed(request["device"], request["threads"])
        report = _report(names[name], own, texts, request)
        if request["backend"]:
            before, kept = kept, _entries(own)
            new = {kind: (entries - before.get(kind, Counter())).total() for kind, entries in kept.items()}
            report["counts"] |= new
        reports.append(report)
    return {"reports": reports}


def _report(
    probe: Callable[..., Any], own: frozenset[types.CodeType], texts: list[tuple[str, str]], request: Any
) -> dict[str, Any]:
    """Return what came out of a probe, and what the compiler left behind for it beside its entries."""
    backend = request["backend"]
    calls: Counter[str] = Counter()
    rounds, compiled = [], 0
    timer = SoftTimeout(request["timeout_s"])
    timer.start()
    try:
        with _counted(own, calls) if backend else contextlib.nullcontext():
            for number in ROUNDS:
                # While it compiles, the compiler runs graphs of its own.
                calls["graphs"], compiled = 0, len(texts)
                rounds.append(_round(probe, _compiler(backend), number))
    finally:
        timer.stop()
    calls["late"] = sum(_is_compiled(file, text) for file, text in texts[compiled:])
    return {"rounds": rounds, "counts": _counts(texts, calls) if backend else {}}


def _round(probe: Callable[..., Any], compiler: Callable[..., Any], number: int) -> dict[str, Any]:
    try:
        output = encode(probe(compiler, number))
    except Exception as error:
        return {"outcome": "raise", "error_type": type_name(type(error)), "message": str(error)[:2000]}
    return {"outcome": "pass", "output": output}


def _compiler(backend: str) -> Callable[..., Any]:
    """Return `torch.compile` for that backend, or what leaves a function as it is."""
    if not backend:
        return lambda function, **_: function
    import torch

    return lambda function, **options: torch.compile(function, **{"backend": backend, **options})


def _code_of(names: Mapping[str, Any], path: str) -> Iterator[types.CodeType]:
    """Yield the code objects of the functions and methods that a file itself defines."""
    for value in list(names.values()):
        members = list(vars(value).values()) if isinstance(value, type) else [value]
        for member in members:
            code = getattr(getattr(member, "__func__", member), "__code__", None)
            if isinstance(code, types.CodeType) and code.co_filename == path:
                yield code


def _codes(codes: Iterable[types.CodeType]) -> Iterator[types.CodeType]:
    """Yield code objects with those that are defined inside them."""
    for code in codes:
        yield code
        yield from _codes(const for const in code.co_consts if isinstance(const, types.CodeType))


# --- outputs ---------------------------------------------------------------------------------------------


def encode(value: Any) -> Any:
    """Return a value as JSON: tensors with their bytes, and types by their name.

    Args:
        value: of tensors, numbers, texts, and containers of these.
    """
    torch = sys.modules["torch"]
    if isinstance(value, (bool, int, str, type(None))):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, (list, tuple)):
        return {"items": [encode(item) for item in value], "type": type(value).__name__}
    if isinstance(value, dict):
        return {"items": [[str(key), encode(item)] for key, item in value.items()], "type": type(value).__name__}
    if hasattr(value, "untyped_storage"):
        plain = value.detach().as_subclass(torch.Tensor).cpu().contiguous()
        data = plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""
        return {
            "tensor": base64.b64encode(data[:_LIMIT]).decode(),
            "type": type(value).__name__,
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
            "stride": list(value.stride()),
            "requires_grad": value.requires_grad,
        }
    return {"other": type(value).__name__}


def judge(request: Any) -> dict[str, Any]:
    """Compare outputs, in the torch of the wheel as it is.

    Args:
        request: `pairs`, a list of what came out and what should have, both as `encode` makes them.

    Returns:
        `differences`, a text for each pair, empty where they agree.
    """
    return {"differences": [_difference(actual, expected) for actual, expected in request["pairs"]]}


def _difference(actual: Any, expected: Any) -> str:
    if not isinstance(actual, dict) or not isinstance(expected, dict):
        same = actual == expected and type(actual) is type(expected)
        return "" if same else f"{_told(actual)}, not {_told(expected)}"
    if actual.keys() != expected.keys() or actual.get("type") != expected.get("type"):
        return f"a {_kind(actual)}, not a {_kind(expected)}"
    if "float" in expected:
        new, old = float(actual["float"]), float(expected["float"])
        same = math.isclose(new, old, rel_tol=1e-5, abs_tol=1e-6) or (math.isnan(new) and math.isnan(old))
        return "" if same else f"{new}, not {old}"
    if "items" in expected:
        if len(actual["items"]) != len(expected["items"]):
            return f"{len(actual['items'])} items, not {len(expected['items'])}"
        pairs = zip(actual["items"], expected["items"], strict=True)
        differences = (
            _difference(new[1], old[1]) if isinstance(old, list) and new[:1] == old[:1] else _difference(new, old)
            for new, old in pairs
        )
        return next((text for text in differences if text), "")
    if "tensor" in expected:
        for name in ("dtype", "shape", "stride", "requires_grad"):
            if actual[name] != expected[name]:
                return f"{name} {actual[name]}, not {expected[name]}"
        return _value_difference(actual, expected)
    return "" if actual == expected else f"{actual}, not {expected}"


def _told(value: Any) -> str:
    """Return a value as itself, or by its kind where that is long."""
    return f"a {_kind(value)}" if isinstance(value, Mapping) else repr(value)


def _kind(value: Mapping[str, Any]) -> str:
    return str(value.get("type") or value.get("other") or next(iter(value), "nothing"))


def _value_difference(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    import torch

    def tensor(value: Mapping[str, Any]) -> Any:
        data = bytearray(base64.b64decode(value["tensor"]))
        dtype = getattr(torch, value["dtype"])
        return torch.frombuffer(data, dtype=dtype).reshape(value["shape"]) if data else torch.empty(0, dtype=dtype)

    try:
        torch.testing.assert_close(tensor(actual), tensor(expected), equal_nan=True)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return ""


# --- counts ----------------------------------------------------------------------------------------------


def _listen(texts: list[tuple[str, str]]) -> None:
    """Keep each text that Python is given to compile from now on, with its file."""

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "compile" and isinstance(arguments[0], (str, bytes)) and len(arguments[0]) < _LIMIT:
            text = arguments[0].decode(errors="replace") if isinstance(arguments[0], bytes) else arguments[0]
            if isinstance(arguments[1], str):
                texts.append((arguments[1], text))

    leave_alone(hear)
    sys.addaudithook(hear)


@contextlib.contextmanager
def _counted(own: frozenset[types.CodeType], calls: Counter[str]) -> Iterator[None]:
    """Count the calls that run the user's own code, or the code of a graph, as Python."""
    known = {id(code) for code in own}

    def called(code: types.CodeType) -> bool:
        # A compiled function has another code object of the same name.
        kind = "functions" if id(code) in known else "graphs" if code.co_filename.startswith(_GRAPH) else ""
        if kind:
            calls[kind] += 1
        return bool(kind)

    with watched(called):
        yield


def _counts(texts: Iterable[tuple[str, str]], calls: Mapping[str, int]) -> dict[str, Any]:
    """Return what the compiler left behind, beside its entries.

    Returns:
        `operators` that Dynamo captured with how often, `graphs` that AOTAutograd made, `kernels`, `fallbacks` by name,
        `functions` and `graph_calls` run as Python, and the texts that were compiled `late`, when everything had been
        before.
    """
    captured: Counter[str] = Counter()
    kernels = 0
    lowered: set[str] = set()
    fallbacks: Counter[str] = Counter()
    # The text of a graph is compiled under a new number each time that somebody asks for it.
    for text, file in {text: file for file, text in texts}.items():
        if file.startswith(_GRAPH):
            # Dynamo names the inputs of a graph after where they come from, AOTAutograd by number.
            if re.search(r"def forward\(self[^)]*\b(L_|G_|s\d)", text) or "def forward(self):" in text:
                captured.update(call or sign for call, sign in _OPERATOR.findall(text))
            elif _LOWERED.search(text):
                lowered.add(text)
        elif "async_compile" in text:
            kernels += len(_KERNEL.findall(text))
            fallbacks.update(_EXTERN.findall(text))
    return {
        "functions": calls["functions"], "graph_calls": calls["graphs"], "late": calls["late"],
        "operators": captured, "graphs": len(lowered), "kernels": kernels, "fallbacks": fallbacks,
    }  # fmt: skip


def _is_compiled(file: str, text: str) -> bool:
    return file.startswith(_GRAPH) or "async_compile" in text


def _entries(own: frozenset[types.CodeType]) -> dict[str, Counter[types.CodeType]]:
    """Count what Dynamo's native part keeps for each code object.

    Returns:
        The `frames` that were compiled, their `entries`, one for every compilation, and their `breaks`.
    """
    try:
        module: Any = importlib.import_module("torch._C._dynamo.eval_frame")
        entries_of = module._debug_get_cache_entry_list
    except (ImportError, AttributeError):
        return {}
    gc.unfreeze()
    functions = (function for function in gc.get_objects() if type(function) is types.FunctionType)
    # By identity: to hash a code object takes longer than to ask for its entries, and two that are equal may have some.
    known = {id(code): code for code in (*own, *(function.__code__ for function in functions))}
    counts = {kind: Counter[types.CodeType]() for kind in ("frames", "entries", "breaks")}
    todo = list(known.values())
    while todo:
        code = todo.pop()
        for number, entry in enumerate(entries_of(code)):
            resumes = [name for name in entry.code.co_names if name.startswith("__resume_at_")]
            inner = [part for part in _codes([entry.code]) if part.co_name.startswith("torch_dynamo_resume_in_")]
            counts["frames"][code] += number == 0
            counts["entries"][code] += 1
            counts["breaks"][code] += len(resumes) + len(inner)
            new = {id(part): part for part in inner if id(part) not in known}
            known |= new
            todo += new.values()
    return counts
