"""The structure of a failure. It recognizes failures that have no words of their own, such as wrong results."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from pt2bugs.case.operators import operators

_DTYPES = frozenset(
    {
        "bfloat16", "bool", "complex64", "complex128", "float16", "float64", "half", "double", "int8", "int16", "int32",
        "int64", "long", "uint8", "float8_e4m3fn", "float8_e5m2",
    }
)  # fmt: skip
_SAME_DTYPE = {"half": "float16", "double": "float64", "long": "int64"}
_LAYOUTS = frozenset(
    {"T", "mT", "H", "channels_last", "channels_last_3d", "sparse_coo", "sparse_csr", "strided", "dynamic"}
)
"""Names that say how values lie in memory, besides the operators that do, and that sizes are symbolic."""


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
        return cls(rung, symptom, traits_of(program))


def traits_of(program: str) -> frozenset[str]:
    """Return the operators, dtypes and layouts that a program names; none of a text that is no Python.

    Args:
        program: its source.
    """
    try:
        nodes = list(ast.walk(ast.parse(program)))
        called = operators(program)
    except SyntaxError:
        return frozenset()
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    names |= {node.arg or "" for node in nodes if isinstance(node, ast.keyword)}
    # `torch.sum(x)`, `x.sum()` and `x.sum_()` are one operator.
    traits = {name.rpartition(".")[2].removesuffix("_") for name in called}
    traits |= {_SAME_DTYPE.get(name, name) for name in names & _DTYPES}
    return frozenset(traits | (names & _LAYOUTS))
