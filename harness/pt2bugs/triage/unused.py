"""Whole functions and classes that a smaller program does not need, found before their statements are tried."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

_BLOCKS = ("body", "orelse", "finalbody")
_CALLED_BY_TORCH = frozenset({"forward"})
"""Methods that are used although no program names them."""


def without_calls(source: str, check: Callable[[str], bool]) -> str:
    """Return the program with calls of its own functions and modules made one of their arguments, as a check allows.

    What nothing uses after that goes with the call.

    Args:
        source: of the program.
        check: says whether a candidate will do.
    """
    return place_by_place(
        source, lambda text: [_with_an_argument(text, call) for call in _own_calls(ast.parse(text))], check
    )


def place_by_place(
    source: str, candidates: Callable[[str], Sequence[Iterator[str]]], check: Callable[[str], bool]
) -> str:
    """Return the program changed at one place after another, each into the first candidate that a check allows.

    Args:
        source: of the program.
        candidates: for each place of a program where it could be changed, the programs to try.
        check: says whether a candidate will do.
    """
    position = 0
    while position < len(places := candidates(source)):
        smaller = next((text for text in places[position] if check(text)), None)
        if smaller is None:
            position += 1
        else:
            source = smaller
    return source


def _with_an_argument(source: str, call: ast.Call) -> Iterator[str]:
    """Yield the program with each argument of a call in its place."""
    for argument in call.args:
        if not isinstance(argument, ast.Starred):
            yield without_unused(ast.unparse(_Replaced(call, argument).visit(ast.parse(source))))


def _own_calls(tree: ast.Module) -> list[ast.Call]:
    """Return the calls of what a program defines or holds as an attribute, the last line first, outer before inner."""
    defined = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}

    def is_own(function: ast.expr) -> bool:
        if isinstance(function, ast.Attribute):
            return isinstance(function.value, ast.Name) and function.value.id == "self"
        return isinstance(function, ast.Name) and function.id in defined

    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args and is_own(node.func)]
    return sorted(calls, key=lambda call: (-call.lineno, call.col_offset))


class _Replaced(ast.NodeTransformer):
    """Puts an argument in the place of a call, in another tree of the same text."""

    def __init__(self, call: ast.Call, argument: ast.expr) -> None:
        self._place, self._argument = _place(call), argument

    def visit_Call(self, node: ast.Call) -> ast.AST:
        return self._argument if _place(node) == self._place else self.generic_visit(node)


def _place(node: ast.expr) -> tuple[int, int, int | None, int | None]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def without_unused(source: str) -> str:
    """Return the program without functions, classes, methods, attributes, names and imports that nothing reads.

    A call whose result nothing reads stays: it may be what fails.

    Args:
        source: of the program.
    """
    tree = ast.parse(source)
    while _drop_unused(tree):
        pass
    return ast.unparse(tree) + "\n"


def _drop_unused(tree: ast.Module) -> bool:
    """Take away what nothing reads. Return whether there was any, as others may be unused without it."""
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    names |= {name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    attributes = {
        node.attr for node in nodes if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Store)
    }
    attributes |= {node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg}
    has_shrunk = False
    for node in nodes:
        for name in _BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                read = names | attributes if isinstance(node, ast.ClassDef) else names
                kept = [
                    _call_alone(statement, read) for statement in block if not _is_unused(statement, read, attributes)
                ]
                has_shrunk |= kept != block
                setattr(node, name, kept or ([] if name == "orelse" or node is tree else [ast.Pass()]))
    return has_shrunk


def _call_alone(statement: ast.stmt, read: set[str]) -> ast.stmt:
    """Return a statement, or the call alone where it gives the result to a name that nothing reads."""
    if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
        return statement
    is_unread = all(isinstance(target, ast.Name) and target.id not in read for target in _targets(statement))
    return ast.Expr(statement.value) if is_unread else statement


def _is_unused(statement: ast.stmt, read: set[str], attributes: set[str]) -> bool:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        is_called = statement.name.startswith("__") or statement.name in _CALLED_BY_TORCH
        # Another decorator than this may keep what it is given.
        is_plain = all("dataclass" in ast.unparse(decorator) for decorator in statement.decorator_list)
        return not is_called and is_plain and statement.name not in read
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        statement.names = [alias for alias in statement.names if _bound(alias) in read | {"*"}] or statement.names
        return all(_bound(alias) not in read | {"*"} for alias in statement.names)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = list(_targets(statement))
        is_attribute = all(isinstance(target, ast.Attribute) for target in targets)
        calls = statement.value is not None and any(isinstance(node, ast.Call) for node in ast.walk(statement.value))
        return (is_attribute or not calls) and all(
            target.attr not in attributes
            if isinstance(target, ast.Attribute)
            else isinstance(target, ast.Name) and target.id not in read
            for target in targets
        )
    return False


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _targets(statement: ast.Assign | ast.AnnAssign) -> Iterator[ast.expr]:
    """Yield the single targets of an assignment, those within a tuple among them."""
    waiting = list(statement.targets) if isinstance(statement, ast.Assign) else [statement.target]
    while waiting:
        target = waiting.pop()
        if isinstance(target, (ast.Tuple, ast.List)):
            waiting += target.elts
        else:
            yield target
