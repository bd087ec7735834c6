"""The kind of value that a function returns, as far as its text says."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_GIVE_TRUTH = frozenset({"allclose", "bool", "callable", "equal", "hasattr", "isinstance", "issubclass"})
"""Functions and methods that give a Python bool, besides those that begin with ``is_``."""
_PLAIN_CALLS = frozenset({"dim", "element_size", "item", "len", "ndimension", "numel", "size", "stride"})
_PLAIN_ATTRIBUTES = frozenset({"device", "dtype", "layout", "ndim", "shape"})
"""Calls and attributes that give a Python value of a tensor: comparing two of them gives a bool, not a tensor."""


def gives_nothing(function: ast.FunctionDef) -> bool:
    """Return whether a function returns and yields nothing.

    Args:
        function: its definition.
    """
    return not any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in _own_nodes(function)) and not any(
        _returned(function)
    )


def gives_truth(function: ast.FunctionDef) -> bool:
    """Return whether everything that a function returns is a Python bool.

    Args:
        function: its definition.
    """
    values = list(_returned(function))
    return bool(values) and all(_is_truth(value, function) for value in values)


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in _own_nodes(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of definitions in it."""
    inner = {
        node
        for definition in ast.walk(function)
        if isinstance(definition, (ast.FunctionDef, ast.ClassDef, ast.Lambda)) and definition is not function
        for node in ast.walk(definition)
    }
    return (node for node in ast.walk(function) if node not in inner)


def _is_truth(value: ast.expr, function: ast.FunctionDef) -> bool:
    if isinstance(value, ast.Name):
        return _is_bound_to_truths(value.id, function)
    if isinstance(value, ast.Compare):
        if all(isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for operator in value.ops):
            return True
        return all(_is_plain(side) for side in (value.left, *value.comparators))
    if isinstance(value, ast.BoolOp):
        return all(_is_truth(part, function) for part in value.values)
    if isinstance(value, ast.IfExp):
        return _is_truth(value.body, function) and _is_truth(value.orelse, function)
    if isinstance(value, ast.Call):
        name = _last_name(value.func)
        return name in _GIVE_TRUTH or name.startswith("is_")
    is_negation = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    return is_negation or (isinstance(value, ast.Constant) and isinstance(value.value, bool))


def _is_bound_to_truths(name: str, function: ast.FunctionDef) -> bool:
    nodes = list(_own_nodes(function))
    stores = [node for node in nodes if isinstance(node, ast.Name) and node.id == name and not _is_read(node)]
    values = [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == name for target in node.targets)
    ]
    is_chained = any(isinstance(part, ast.Name) and part.id == name for value in values for part in ast.walk(value))
    if not values or len(values) != len(stores) or is_chained:
        return False
    return all(_is_truth(value, function) for value in values)


def _is_read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _is_plain(value: ast.expr) -> bool:
    if isinstance(value, (ast.Tuple, ast.List)):
        return all(map(_is_plain, value.elts))
    if isinstance(value, ast.Subscript):
        return _is_plain(value.value)
    if isinstance(value, ast.Call):
        return _last_name(value.func) in _PLAIN_CALLS or _last_name(value.func) == "Size"
    if isinstance(value, ast.Attribute):
        return value.attr in _PLAIN_ATTRIBUTES or ast.unparse(value.value) == "torch"
    return isinstance(value, ast.Constant)


def _last_name(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]
