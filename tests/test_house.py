"""Rules of the house's style that no linter has: what a public function documents, and names that say nothing.

Ruff's D401 and D417 hold the mood of a docstring and the entries of its `Args`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "harness" / "pt2bugs"
PROGRAMS = PACKAGE / "repair" / "hidden"
"""Programs of tasks, as the cases are."""


def public_functions(tree: ast.AST, *, is_class: bool = False) -> Iterator[tuple[ast.FunctionDef, bool]]:
    """Yield the documented functions and methods that another module may use, and whether each is a method."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.If, ast.Try)):
            yield from public_functions(node, is_class=is_class)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node, is_class=True)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and ast.get_docstring(node):
            yield node, is_class


def parameters(function: ast.FunctionDef, *, is_method: bool) -> list[str]:
    """The parameters that a caller gives."""
    all_of = function.args
    every = [*all_of.posonlyargs, *all_of.args, all_of.vararg, *all_of.kwonlyargs, all_of.kwarg]
    names = [argument.arg for argument in every if argument is not None]
    is_static = any("staticmethod" in ast.unparse(decorator) for decorator in function.decorator_list)
    return [name for name in names[is_method and not is_static :] if not name.startswith("_")]


def raised(node: ast.AST, caught: frozenset[str] = frozenset()) -> Iterator[str]:
    """The exceptions that the body of a function raises and does not catch itself."""
    if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
        return
    if isinstance(node, ast.Raise) and node.exc is not None:
        name = ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
        yield from {name} - caught if not {"Exception", "BaseException"} & caught else set()
    handlers = node.handlers if isinstance(node, ast.Try) else []
    names = frozenset(
        ast.unparse(kind)
        for handler in handlers
        for kind in (handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type])
        if kind is not None
    )
    for child in ast.iter_child_nodes(node):
        is_guarded = isinstance(node, ast.Try) and child in node.body
        yield from raised(child, caught | names if is_guarded else caught)


def problems(source: str) -> Iterator[str]:
    for function, is_method in public_functions(ast.parse(source)):
        text = ast.get_docstring(function) or ""
        if parameters(function, is_method=is_method) and "Args:\n" not in text:
            yield f"{function.lineno}: {function.name} has parameters and no Args"
        if any(name for statement in function.body for name in raised(statement)) and "Raises:\n" not in text:
            yield f"{function.lineno}: {function.name} raises and has no Raises"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_public_function_says_what_it_takes_and_raises(path: Path) -> None:
    assert PROGRAMS in path.parents or list(problems(path.read_text(encoding="utf-8"))) == []


SOURCE = '''
class Given:
    def method(self, value):
        """Return a value."""

    def alone(self):
        """Return nothing."""
        try:
            raise KeyError
        except KeyError:
            pass

def raises():
    """Raise."""
    try:
        raise KeyError
    except ValueError:
        pass

def _private(value):
    """Return a value."""
    raise ValueError
'''


def test_what_is_missing_is_told() -> None:
    assert list(problems(SOURCE)) == ["3: method has parameters and no Args", "13: raises raises and has no Raises"]


EMPTY_NAMES = ("one", "found")


def bindings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and name of everything that a program binds."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


SOURCES = sorted(
    path for folder in ("harness", "tests", "benchmarks", "docs") for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_name_says_what_it_stands_for(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [(line, name) for line, name in bindings(tree) if name in EMPTY_NAMES] == []


def test_every_kind_of_binding_is_seen() -> None:
    source = "one = 1\ndef found(one):\n    self.found = [one for one in ()]\nclass one: ...\n"
    assert sorted(bindings(ast.parse(source))) == [
        (1, "one"), (2, "found"), (2, "one"), (3, "found"), (3, "one"), (4, "one"),
    ]  # fmt: skip
