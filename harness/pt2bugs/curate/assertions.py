"""Messages for assertions: `check` refuses a bug entry whose message other failures have, too."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection

_TOLERANCES: dict[str, dict[str, float]] = {"allclose": {"rtol": 1e-05, "atol": 1e-08}, "equal": {"rtol": 0, "atol": 0}}
"""The methods of tensors that compare, with their tolerances as `torch.testing.assert_close` takes them."""
_OPTIONS = ("rtol", "atol", "equal_nan")
_OTHERS = ("np", "numpy", "math")
"""Modules with functions of these names that take other things than tensors."""
_ASSERT_CLOSE = "torch.testing.assert_close"


def with_messages(text: str, taken: Collection[str]) -> str:
    """Return statements whose assertions say what they saw; the same text if all do.

    Args:
        text: the statements. Definitions in them stay as they are.
        taken: the names that the program uses.
    """
    tree = ast.parse(text)
    messages = _Messages(taken)
    tree = messages.visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) if messages.written else text


class _Messages(ast.NodeTransformer):
    """Writes the messages of assertions that have none."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = taken
        self.written = 0

    def visit_Assert(self, node: ast.Assert) -> ast.stmt | list[ast.stmt]:
        if node.msg is not None:
            return node
        self.written += 1
        condition = textwrap.shorten(ast.unparse(node.test), 90, placeholder="...")
        if call := _assert_close(node.test):
            return ast.Expr(call)
        bound = self._with_sides_bound(node.test)
        if bound is None:
            return ast.Assert(node.test, ast.Constant(f"{condition} is false"))
        bindings, comparison = bound
        sides = [side for side in (comparison.left, *comparison.comparators) if not isinstance(side, ast.Constant)]
        parts: list[ast.expr] = [ast.Constant(f"{condition} is false: ")]
        for side in sides:
            parts += [ast.FormattedValue(side, -1), ast.Constant(" and ")]
        return [*bindings, ast.Assert(comparison, ast.JoinedStr(parts[:-1]))]

    def _with_sides_bound(self, test: ast.expr) -> tuple[list[ast.stmt], ast.Compare] | None:
        """Return a comparison of two sides that are called once, below the names of what they gave.

        None for another condition, and where those names are taken.
        """
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        bindings: list[ast.stmt] = []
        sides: list[ast.expr] = []
        for name, side in (("actual", test.left), ("expected", test.comparators[0])):
            if not any(isinstance(node, ast.Call) for node in ast.walk(side)):
                sides.append(side)
                continue
            if name in self._taken:
                return None
            bindings.append(ast.Assign([ast.Name(name, ast.Store())], side))
            sides.append(ast.Name(name, ast.Load()))
        return bindings, ast.Compare(sides[0], test.ops, sides[1:])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


def _assert_close(test: ast.expr) -> ast.Call | None:
    """Return the call of `assert_close` that asks what `allclose` or `equal` of two tensors asks; None for others."""
    if not (isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr in _TOLERANCES):
        return None
    owner = ast.unparse(test.func.value)
    values = test.args if owner == "torch" else [test.func.value, *test.args]
    options: dict[str | None, ast.expr] = dict(zip(_OPTIONS, values[2:], strict=False))
    options |= {word.arg: word.value for word in test.keywords}
    is_other = owner in _OTHERS or any(isinstance(value, ast.Starred) for value in values)
    if is_other or len(values) < 2 or not set(options) <= set(_OPTIONS):
        return None
    keywords = {name: ast.Constant(value) for name, value in _TOLERANCES[test.func.attr].items()} | options
    return ast.Call(
        ast.parse(_ASSERT_CLOSE, mode="eval").body,
        values[:2],
        [ast.keyword(name, value) for name, value in keywords.items()],
    )
