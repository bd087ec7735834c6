"""Brings a script into the shape of a check's body: one straight run, without options and without a `main`.

What is changed says the same: a `main` that is called once stands where it was called, options have their defaults, a
function under ``@torch.compile`` gets a name for each of its two forms, a printed comparison in a loop is an assertion.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
import symtable
from collections.abc import Iterable, Iterator, Sequence

_OPTIONS = frozenset({"args", "opt", "opts", "options", "flags"})
_COMPARES = frozenset({"allclose", "equal", "isclose", "all"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def straightened(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a script as one run."""
    found = list(_of_test_methods(_unguarded(statements)))
    for _ in range(3):
        found = without_main(found)
    if any(isinstance(one, ast.Import) and one.names[0].name == "argparse" for one in found):
        options = _Options(found)
        found = [options.visit(one) for one in found]
    found = _both_forms(found)
    return [ast.fix_missing_locations(_Judged().visit(one)) if _is_block(one) else one for one in found]


def is_compile(node: ast.AST) -> bool:
    """Whether a callee is `torch.compile`."""
    return ast.unparse(node) in ("torch.compile", "compile") if isinstance(node, (ast.Attribute, ast.Name)) else False


def free_names(node: ast.stmt | ast.Module) -> set[str]:
    """The names that a definition takes from around it."""
    found = set()
    tables = [symtable.symtable(ast.unparse(node), "script", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        is_module = table.get_type() == "module"
        found |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced() and (symbol.is_global() or (is_module and not symbol.is_assigned()))
        }
    return found


def undefined_names(statements: Sequence[ast.stmt]) -> list[str]:
    """The names that a script uses and nothing in it, nor Python, defines; sorted. None where it imports all (*)."""
    if any(isinstance(one, ast.ImportFrom) and one.names[0].name == "*" for one in statements):
        return []
    source = "\n".join(ast.unparse(ast.fix_missing_locations(one)) for one in statements)
    top = symtable.symtable(source, "script", "exec")
    made = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    made |= {child.get_name() for child in top.get_children()} | set(global_names(statements)) | {"device", "backend"}
    used: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        used |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced() and (symbol.is_global() or table is top)
        }
    return sorted(name for name in used - made if name not in vars(builtins) and not re.fullmatch(r"__\w+__", name))


def global_names(statements: Sequence[ast.stmt]) -> list[str]:
    """The names that functions of the script declare global, sorted."""
    return sorted(
        {name for one in statements for node in ast.walk(one) if isinstance(node, ast.Global) for name in node.names}
    )


def shown_by(statement: ast.stmt) -> list[ast.expr] | None:
    """What a print statement shows; None for another statement."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Name) and call.func.id == "print":
            shown: list[ast.expr] = []
            for value in call.args:
                if isinstance(value, ast.JoinedStr):
                    shown += [one.value for one in value.values if isinstance(one, ast.FormattedValue)]
                else:
                    shown.append(value)
            return shown
    return None


def is_comparison(value: ast.expr) -> bool:
    """Whether an expression says whether things are equal."""
    call = value.func.attr if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else ""
    return call in _COMPARES or (
        isinstance(value, ast.Compare) and not isinstance(value.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))
    )


def _is_block(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.For, ast.While, ast.If, ast.With))


def _unguarded(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, those under ``if __name__ == "__main__"`` among them."""
    for statement in statements:
        if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
            yield from statement.body
        else:
            yield statement


def _of_test_methods(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, with what a test method of `unittest` does in place of the method and its class."""
    for one in statements:
        methods = [one]
        if isinstance(one, ast.ClassDef) and any("TestCase" in ast.unparse(base) for base in one.bases):
            methods = list(one.body)
        tests = [_Unittest().visit(copy.deepcopy(method)) for method in methods if _is_test_method(method)]
        if len(tests) == 1 and len(methods) == 1 and "self" not in free_names(ast.Module(tests[0].body, [])):
            yield from tests[0].body
        else:
            yield one


def _is_test_method(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.FunctionDef)
        and node.name.startswith("test")
        and [one.arg for one in node.args.args] == ["self"]
    )


class _Unittest(ast.NodeTransformer):
    """Puts plain assertions in place of those of `unittest`."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args):
            return node
        if not (isinstance(call.func.value, ast.Name) and call.func.value.id == "self"):
            return node
        known = {"assertTrue": "assert {0}", "assertFalse": "assert not ({0})"}
        if len(call.args) > 1:
            known["assertEqual"] = "torch.testing.assert_close({0}, {1})"
        template = known.get(call.func.attr)
        if template is None:
            return node
        (told,) = ast.parse(template.format(*map(ast.unparse, call.args))).body
        return ast.copy_location(told, node)


def without_main(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements with the body of a function in place of its only call, where it takes and gives nothing."""
    for at, statement in enumerate(statements):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args and not call.keywords):
            continue
        name = call.func.id
        function = next((one for one in statements if isinstance(one, ast.FunctionDef) and one.name == name), None)
        rest = [one for one in statements if one is not function]
        if function is None or not _can_stand_alone(function, [one for one in rest if one is not statement]):
            continue
        has_doc = ast.get_docstring(function) is not None
        body = function.body[1:] if has_doc else function.body
        return [*(one for one in statements[:at] if one is not function), *body, *statements[at + 1 :]]
    return statements


def _can_stand_alone(function: ast.FunctionDef, rest: Sequence[ast.stmt]) -> bool:
    arguments = function.args
    takes = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    inner = {node for one in function.body if isinstance(one, _DEFINITIONS) for node in ast.walk(one)}
    gives = (ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)
    bound = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    used = {node.id for one in rest for node in ast.walk(one) if isinstance(node, ast.Name)}
    top = {node.id for one in rest if not isinstance(one, _DEFINITIONS) for node in ast.walk(one)
           if isinstance(node, ast.Name)}  # fmt: skip
    return (
        not any(takes)
        and not function.decorator_list
        and function.name not in used
        and not bound & top
        and not any(isinstance(node, gives) and node not in inner for node in ast.walk(function))
    )


class _Options(ast.NodeTransformer):
    """Gives the options of a command line their defaults; device and backend become those that a check takes."""

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        self._backend = "inductor"
        for node in (node for one in statements for node in ast.walk(one)):
            if isinstance(node, ast.Call) and any(getattr(one, "value", "") == "--backend" for one in node.args):
                for keyword in node.keywords:
                    if keyword.arg == "default" and isinstance(keyword.value, ast.Constant):
                        self._backend = str(keyword.value.value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "parse_args" and not node.args:
            node.args = [ast.copy_location(ast.List([], ast.Load()), node)]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in _OPTIONS and isinstance(node.ctx, ast.Load):
            known = {"device": "cuda", "backend": self._backend}
            if node.attr in known:
                return ast.copy_location(ast.Constant(known[node.attr]), node)
        return node


def _both_forms(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Functions under ``@torch.compile`` as they are, each followed by its compiled form under a name of its own."""
    found: list[ast.stmt] = []
    renamed: dict[str, str] = {}
    for one in statements:
        found.append(one)
        if not isinstance(one, ast.FunctionDef) or len(one.decorator_list) != 1:
            continue
        (decorator,) = one.decorator_list
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        others = [other for other in statements if isinstance(other, _DEFINITIONS)]
        is_used = any(one.name in free_names(other) for other in others if other is not one)
        calls_itself = any(isinstance(node, ast.Name) and node.id == one.name for node in ast.walk(one))
        if not is_compile(callee) or is_used or calls_itself:
            continue
        plain = copy.copy(one)
        plain.decorator_list = []
        renamed[one.name] = f"compiled_{one.name}"
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
        call = ast.Call(callee, [ast.Name(one.name, ast.Load())], keywords)
        assigned = ast.Assign([ast.Name(renamed[one.name], ast.Store())], call)
        found[-1:] = [plain, ast.fix_missing_locations(ast.copy_location(assigned, one))]
    names = _Renamed(renamed)
    made = set(renamed.values())
    return [one if isinstance(one, _DEFINITIONS) or _assigns(one, made) else names.visit(one) for one in found]


def _assigns(statement: ast.stmt, names: set[str]) -> bool:
    return isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") in names


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._names:
            return ast.copy_location(ast.Name(self._names[node.id], ast.Load()), node)
        return node


class _Judged(ast.NodeTransformer):
    """Makes assertions of the comparisons that a block prints."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        told = [value for value in shown_by(node) or [] if is_comparison(value)]
        return [ast.copy_location(ast.Assert(value, None), node) for value in told] if told else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node
