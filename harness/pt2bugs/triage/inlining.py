"""Settings and other values in the place of their names, bodies of small functions in the place of their calls."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from pt2bugs.triage.unused import place_by_place, without_unused


def with_settings(source: str, check: Callable[[str], bool]) -> str:
    """Return the program with constants where it reads settings, as a check allows; what nothing reads then goes.

    A setting is a field of a class, an attribute, a variable or an argument of the command line that is one constant.

    Args:
        source: of the program.
        check: says whether a candidate will do.
    """
    for name in _settings(ast.parse(source)):
        if (constant := _settings(ast.parse(source)).get(name)) is not None:
            smaller = without_unused(ast.unparse(_Constant(name, constant).visit(ast.parse(source))))
            source = smaller if check(smaller) else source
    return source


def _settings(tree: ast.Module) -> dict[str, ast.Constant]:
    """Return the constants that names of attributes and variables stand for: those that are bound once."""
    constants: dict[str, ast.Constant] = {}
    times: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            times[node.id if isinstance(node, ast.Name) else node.attr] += 1
        elif isinstance(node, (ast.arg, ast.FunctionDef, ast.ClassDef)):
            times[node.arg if isinstance(node, ast.arg) else node.name] += 1
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Constant):
            target: ast.expr | None = node.targets[0]
            value = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant):
            target, value = node.target, node.value
        else:
            target = None
        if isinstance(target, (ast.Name, ast.Attribute)):
            constants[target.id if isinstance(target, ast.Name) else target.attr] = value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            default = next((word.value for word in node.keywords if word.arg == "default"), None)
            flag = node.args[0] if node.args else None
            if isinstance(default, ast.Constant) and isinstance(flag, ast.Constant) and isinstance(flag.value, str):
                constants[flag.value.lstrip("-").replace("-", "_")] = default
    return {name: value for name, value in constants.items() if times[name] <= 1}


class _Constant(ast.NodeTransformer):
    """Puts a constant where a name or an attribute is read."""

    def __init__(self, name: str, constant: ast.Constant) -> None:
        self._name, self._constant = name, constant

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._constant if node.id == self._name and isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr == self._name and isinstance(node.ctx, ast.Load):
            return self._constant
        return self.generic_visit(node)


def with_one_pass(source: str, check: Callable[[str], bool]) -> str:
    """Return the program with the bodies of loops in their place, as a check allows: for one tensor, or for a zero.

    What made the items goes, where nothing else reads it.

    Args:
        source: of the program.
        check: says whether a candidate will do.
    """
    return place_by_place(source, lambda text: [_with_items(text, loop) for loop in _loops(text)[::-1]], check)


def _loops(source: str) -> list[ast.For]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.For)]


def _with_items(source: str, loop: ast.For) -> Iterator[str]:
    """Yield the program with the body of a loop in its place, for each item."""
    for item in ("torch.ones(2, 2)", "0"):
        tree = _Once(loop, item).visit(ast.parse(source))
        yield without_unused(ast.unparse(ast.fix_missing_locations(tree)))


class _Once(ast.NodeTransformer):
    """Puts the body of a loop in its place, in another tree of the same text."""

    def __init__(self, loop: ast.For, item: str) -> None:
        self._place, self._item = (loop.lineno, loop.col_offset), item

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        if (node.lineno, node.col_offset) != self._place:
            return self.generic_visit(node)
        read = {part.id for inner in node.body for part in ast.walk(inner) if isinstance(part, ast.Name)}
        names = [part.id for part in ast.walk(node.target) if isinstance(part, ast.Name) and part.id in read]
        return [*(ast.parse(f"{name} = {self._item}").body[0] for name in names), *node.body]


def with_values(source: str, check: Callable[[str], bool]) -> str:
    """Return the program with the value of a name where it is read, if that is in one place, as a check allows.

    Args:
        source: of the program.
        check: says whether a candidate will do.
    """
    for name in _read_once(ast.parse(source)):
        tree = ast.parse(source)
        value = next(
            (node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and _bound(node) == name), None
        )
        if value is not None:
            smaller = f"{ast.unparse(_Value(name, value).visit(tree))}\n"
            source = smaller if check(smaller) else source
    return source


def _read_once(tree: ast.Module) -> list[str]:
    """Return the names that are bound once, by an assignment of their own, and read once; the last one first."""
    bound: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound)[node.id] += 1
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            bound.update(node.names * 2)
    given = [_bound(node) for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    return [name for name in reversed(given) if bound[name] == read[name] == 1]


def _bound(statement: ast.Assign) -> str:
    """Return the name that an assignment binds; empty if it binds another thing, or several."""
    target = statement.targets[0]
    return target.id if len(statement.targets) == 1 and isinstance(target, ast.Name) else ""


class _Value(ast.NodeTransformer):
    """Puts a value in the place of its name."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self._name, self._value = name, value

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        return None if _bound(node) == self._name else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._value if node.id == self._name and isinstance(node.ctx, ast.Load) else node


def with_bodies(source: str, check: Callable[[str], bool]) -> str:
    """Return the program with what a function computes in the place of its calls, where that is one expression.

    Args:
        source: of the program.
        check: says whether a candidate will do.
    """
    for name in [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]:
        tree = ast.parse(source)
        function = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name), None)
        if function is None or (body := _expression(function)) is None:
            continue
        smaller = without_unused(ast.unparse(_Body(function, body).visit(tree)))
        source = smaller if check(smaller) else source
    return source


def _expression(function: ast.FunctionDef) -> ast.expr | None:
    """Return the expression that is all of a function with plain parameters; None if it has more."""
    arguments, (statement, *more) = function.args, function.body
    extra = [*arguments.posonlyargs, *arguments.kwonlyargs, *arguments.defaults, arguments.vararg, arguments.kwarg]
    if more or function.decorator_list or any(part is not None for part in extra):
        return None
    return statement.value if isinstance(statement, (ast.Return, ast.Expr)) else None


class _Body(ast.NodeTransformer):
    """Puts the expression of a function in the place of its calls."""

    def __init__(self, function: ast.FunctionDef, body: ast.expr) -> None:
        self._name, self._parameters, self._body = function.name, [arg.arg for arg in function.args.args], body

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_it = isinstance(node.func, ast.Name) and node.func.id == self._name
        if not is_it or node.keywords or len(node.args) != len(self._parameters):
            return node
        given = dict(zip(self._parameters, node.args, strict=True))
        body: ast.expr = _Given(given).visit(copy.deepcopy(self._body))
        return body


class _Given(ast.NodeTransformer):
    """Puts arguments in the place of parameters."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self._given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._given.get(node.id, node)
