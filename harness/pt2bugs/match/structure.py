"""The structure of a failure. It recognizes failures that have no words of their own, such as wrong results.

Two programs are alike if they use the same things in what is compiled. Names that torch documents as one thing are one
trait: a module and its function, a method and its form in place, the ways to swap dimensions or to fill a tensor.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from pt2bugs.case.operators import imported, operator_of

_DTYPES = frozenset(
    {
        "bfloat16", "bool", "complex64", "complex128", "float16", "float64", "half", "double", "int8", "int16", "int32",
        "int64", "long", "uint8", "float8_e4m3fn", "float8_e5m2",
    }
)  # fmt: skip
_SAME_DTYPE = {"half": "float16", "double": "float64", "long": "int64"}
_LAYOUTS = frozenset({"channels_last", "channels_last_3d", "sparse_coo", "sparse_csr", "strided", "dynamic"})
"""Names that say how values lie in memory, besides the operators that do, and that sizes are symbolic."""
_SWAPPED = frozenset({"T", "mT", "H", "mH"})
"""Attributes that are a transposed tensor."""
_SAME = {
    **dict.fromkeys(("t", "permute", "swapaxes", "swapdims", "movedim", "moveaxis", "adjoint"), "transpose"),
    # As torch._refs writes them.
    **dict.fromkeys(
        ("ones", "zeros", "oneslike", "zeroslike", "fulllike", "newones", "newzeros", "newfull"), "full"
    ),
}  # fmt: skip
_PYTHONS = "eager"
"""The rung of Dynamo alone, which runs Python: there the traits of Python count, too."""
_EVERYBODYS = frozenset(
    {"print", "super", "len", "range", "float", "str", "int", "list", "shape", "item", "tolist", "device", "dtype"}
)
"""Builtins and attributes that say nothing of a program."""


@dataclass(frozen=True)
class Structure:
    """A failure without its words: the first failing rung, the class, and the `traits` of the program."""

    rung: str
    symptom: str
    traits: frozenset[str]

    @classmethod
    def of(cls, program: str, rung: str, symptom: str) -> Structure:
        """Return the structure of a failure.

        Args:
            program: the source of what fails.
            rung: the first backend of the ladder that fails.
            symptom: the class of the failure, a word of a header.
        """
        return cls(rung, symptom, traits_of(program, rung))


def traits_of(program: str, rung: str) -> frozenset[str]:
    """Return what a program uses: operators, each with the keywords that it is given, dtypes and layouts.

    Where Dynamo is the first to fail, also builtins, what it imports but from torch, methods and attributes that are
    not its own, and special methods that it defines. What only compares results does not count.

    Args:
        program: its source; a text that is no Python has no traits.
        rung: the first backend of the ladder that fails.
    """
    try:
        tree = ast.parse(program)
    except SyntaxError:
        return frozenset()
    nodes, names = list(_walk(tree)), dict(imported(tree))
    traits = set(_operators(nodes, names))
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    traits |= {"transpose"} if used & _SWAPPED else set()
    used |= {node.arg or "" for node in nodes if isinstance(node, ast.keyword)}
    traits |= {_SAME_DTYPE.get(name, name) for name in used & _DTYPES} | (used & _LAYOUTS)
    return frozenset(traits | set(_of_python(nodes, names, traits) if rung == _PYTHONS else ()))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a program but annotations, and of an assertion only what it compiles."""
    is_comparison = isinstance(node, ast.Assert) or (
        isinstance(node, ast.Call) and ".testing." in ast.unparse(node.func)
    )
    for child in ast.walk(node) if is_comparison else ():
        if child is not node and (isinstance(child, ast.Lambda) or _compiles(child)):
            yield from _walk(child)
    if is_comparison:
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _walk(child)


def _compiles(node: ast.AST) -> bool:
    """Return whether a node is a call of `torch.compile`, or of what that gives."""
    function = node
    while isinstance(function, ast.Call):
        function = function.func
    return isinstance(node, ast.Call) and ast.unparse(function).endswith("compile")


def _operators(nodes: list[ast.AST], names: dict[str, str]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Call) and (operator := operator_of(node.func, names)):
            name = _as_one(operator)
            yield name
            yield from (f"{name}({given.arg})" for given in node.keywords if given.arg not in (None, "device"))


def _as_one(operator: str) -> str:
    """Return the one name of an operator: `nn.LayerNorm`, `F.layer_norm` and `x.layer_norm_()` are one."""
    name = operator.rpartition(".")[2].replace("_", "").lower()
    return _SAME.get(name, name)


def _of_python(nodes: list[ast.AST], names: dict[str, str], operators: set[str]) -> Iterator[str]:
    own = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        if isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store):
            own.add(node.attr if isinstance(node, ast.Attribute) else node.id)
    own |= _EVERYBODYS | _DTYPES | _SWAPPED | _LAYOUTS
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("__") and node.name != "__init__":
            yield f"def {node.name}"
        elif isinstance(node, ast.Attribute) and node.attr not in own and _as_one(node.attr) not in operators:
            yield from () if _is_torchs(node, names) else (f".{node.attr}",)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            full = names.get(node.id, "")
            is_builtin = not full and hasattr(builtins, node.id) and not node.id.startswith("__")
            if is_builtin or (full and full.partition(".")[0] != "torch"):
                yield (full or node.id).rpartition(".")[2]


def _is_torchs(node: ast.expr, names: dict[str, str]) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and names.get(node.id, "").partition(".")[0] == "torch"
