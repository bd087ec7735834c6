"""The program that is triaged: a script, or the file of a case."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.header import find_block
from pt2bugs.curate.script import parse_program
from pt2bugs.errors import InputError

MAX_BYTES = 2_000_000


class CannotRun(InputError):
    """The program cannot be run here: a syntax error, a missing module, no GPU, a question to the user."""


@dataclass(frozen=True)
class Program:
    """A program on disk. `source` is its text."""

    path: Path
    source: str

    @property
    def name(self) -> str:
        return self.path.stem


def load_program(path: Path) -> Program:
    """Read a program, or the code cells of a notebook, and see that it is Python.

    Args:
        path: of the script, or of the notebook.

    Raises:
        CannotRun: it is not there, not text, or not Python.
    """
    if not path.is_file():
        raise CannotRun(f"{path}: there is no such file")
    if path.stat().st_size > MAX_BYTES:
        raise CannotRun(f"{path}: has more than {MAX_BYTES:,} bytes; give it the program alone")
    try:
        # An editor of Windows may have put a byte order mark before it, which Python passes over.
        source = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotRun(f"{path}: is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise CannotRun(f"{path}: cannot be read: {error.strerror}") from None
    if path.suffix == ".ipynb":
        source = code_of_notebook(path, source)
        path = path.with_suffix(".py")
    try:
        parse_program(source, str(path))
    except InputError as error:
        raise CannotRun(str(error)) from None
    return Program(path.resolve(), source)


_MAGIC = re.compile(r"^\s*([%!?].*|.*\?\s*)$")
"""A line that only IPython reads."""


def code_of_notebook(path: Path, text: str) -> str:
    """Return the code cells of a notebook as a program; lines and cells for IPython alone become comments.

    Args:
        path: of the notebook.
        text: its JSON.

    Raises:
        CannotRun: it is not a notebook, or has no code.
    """
    try:
        notebook = json.loads(text)
        cells = notebook["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CannotRun(f"{path}: is not a notebook of format 4; save it anew, or its code as a script") from None
    if not any(cell.strip() for cell in code):
        raise CannotRun(f"{path}: has no code cell")
    return "\n\n".join(_python_of_cell(cell) for cell in code) + "\n"


def _python_of_cell(cell: str) -> str:
    is_for_ipython = cell.lstrip().startswith("%%")
    lines = cell.splitlines()
    return "\n".join(f"# {line}" if is_for_ipython or _MAGIC.match(line) else line for line in lines)


def with_modules(source: str, folder: Path) -> str:
    """Return a program with the modules beside it in its own text, so that it can be handed over alone.

    It is returned as it is where that cannot be done: a module is used as an object, or two bind one name.

    Args:
        source: of the program.
        folder: that it stands in.
    """
    modules: dict[str, ast.Module] = {}
    try:
        tree = ast.parse(source)
        _inline(tree, folder, modules, ())
    except (_NotInlinedError, SyntaxError, UnicodeDecodeError, RecursionError):
        return source
    if not modules:
        return source
    bound = [name for part in (*modules.values(), tree) for name in {*_bound(part)}]
    if len(bound) != len(set(bound)):
        return source
    imports = [ast.unparse(node) for part in (*modules.values(), tree) for node in part.body if _is_import(node)]
    future = [line for line in imports if "__future__" in line]
    bodies = ["\n\n".join(ast.unparse(node) for node in part.body if not _is_import(node)) for part in modules.values()]
    rest = "\n".join(ast.unparse(node) for node in tree.body if not _is_import(node))
    return "\n".join([*dict.fromkeys([*future, *imports]), "", *bodies, "", rest]) + "\n"


class _NotInlinedError(Exception):
    """A module beside the program is used in a way that its text cannot stand for."""


def _inline(tree: ast.Module, folder: Path, modules: dict[str, ast.Module], above: tuple[str, ...]) -> None:
    """Take the imports of modules of a folder from a tree, and put the modules into a table, the innermost first."""
    objects: dict[str, str] = {}
    for node in [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        own = [name for name in names if _module_file(folder, name) is not None]
        if not own and not (isinstance(node, ast.ImportFrom) and node.level):
            continue
        is_renamed = any(alias.asname for alias in node.names) and isinstance(node, ast.ImportFrom)
        if node not in tree.body or len(own) != len(names) or is_renamed or set(own) & set(above):
            raise _NotInlinedError
        for name in own:
            if name not in modules:
                inner = ast.parse((_module_file(folder, name) or folder).read_text(encoding="utf-8-sig"))
                _inline(inner, folder, modules, (*above, name))
                modules[name] = inner
        if isinstance(node, ast.Import):
            objects |= {alias.asname or alias.name: alias.name for alias in node.names}
        tree.body.remove(node)
    _Unqualified(objects).visit(tree)
    if any(isinstance(node, ast.Name) and node.id in objects for node in ast.walk(tree)):
        raise _NotInlinedError


def _module_file(folder: Path, name: str) -> Path | None:
    path = folder.joinpath(*name.split(".")).with_suffix(".py") if name else folder
    # Unlike `Path.is_file` it answers for a name of any length.
    return path if os.path.isfile(path) else None  # noqa: PTH113


class _Unqualified(ast.NodeTransformer):
    """Makes `module.name` a `name`."""

    def __init__(self, objects: dict[str, str]) -> None:
        self._objects = objects

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if ast.unparse(node.value) in self._objects and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Name(node.attr, ast.Load()), node)
        self.generic_visit(node)
        return node


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield the names that the body of a module binds, but by imports."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif not _is_import(node):
            yield from (
                part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            )


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def expects_exception(source: str, line: int) -> bool:
    """Return whether a statement is reached only if an exception that the program expects does not come.

    It stands in the ``else`` of a ``try``, or after one whose handlers all leave; or it asserts what a function of the
    program returns, and that returns ``True`` for an exception alone.

    Args:
        source: of the program.
        line: of the statement.
    """
    tree = ast.parse(source)
    if _asserts_an_exception(tree, line):
        return True
    for node in ast.walk(tree):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            for index, statement in enumerate(block if isinstance(block, list) else ()):
                while isinstance(statement, (ast.With, ast.AsyncWith)):
                    statement = statement.body[-1]
                if not isinstance(statement, ast.Try) or not statement.handlers:
                    continue
                leave = all(isinstance(handler.body[-1], _LEAVING) for handler in statement.handlers)
                unreached = [*statement.orelse, *(block[index + 1 :] if leave and isinstance(block, list) else ())]
                if any(
                    isinstance(other, (ast.Raise, ast.Assert)) and other.lineno <= line <= (other.end_lineno or line)
                    for other in unreached
                ):
                    return True
    return False


def raises(source: str, line: int) -> bool:
    """Return whether a line ends the program on purpose: by ``raise``, or by ``exit`` with a text or a status.

    That is then the program's own judgement of a result, as an assertion is.

    Args:
        source: of the program.
        line: that the exception left.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Raise, ast.Expr)) and node.lineno <= line <= (node.end_lineno or line):
            call = node.value if isinstance(node, ast.Expr) else None
            if call is None or (isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in _EXITS):
                return True
    return False


_EXITS = ("exit", "quit")
_LEAVING = (ast.Return, ast.Continue, ast.Break)


def _asserts_an_exception(tree: ast.Module, line: int) -> bool:
    """Return whether the assertion of a line is ``assert f(...)``, and ``f`` returns ``True`` in its handlers alone."""
    called = {
        node.test.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
        and node.lineno <= line <= (node.end_lineno or line)
        and isinstance(node.test, ast.Call)
        and isinstance(node.test.func, ast.Name)
    }
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in called]
    for function in functions:
        handlers = [node for node in ast.walk(function) if isinstance(node, ast.ExceptHandler)]
        caught = {id(node) for handler in handlers for node in ast.walk(handler) if _returns(node, True)}
        if caught and caught == {id(node) for node in ast.walk(function) if _returns(node, True)}:
            return any(_returns(node, False) for node in ast.walk(function))
    return False


def _returns(node: ast.AST, value: bool) -> bool:
    """Return whether a statement returns a constant."""
    return isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and node.value.value is value


def is_unused(source: str, module: str) -> bool:
    """Return whether a program imports a module and uses nothing of it.

    Args:
        source: of the program.
        module: its name.
    """
    return without_import(source, module) is not None


def without_import(source: str, module: str) -> str | None:
    """Return a program without its imports of a module, its lines where they were; None if it uses what they bring.

    Args:
        source: of the program.
        module: its name.
    """
    tree = ast.parse(source)
    top = module.partition(".")[0]
    lines = source.splitlines(keepends=True)
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import) and any(alias.name.partition(".")[0] == top for alias in node.names):
            kept = [alias for alias in node.names if alias.name.partition(".")[0] != top]
            gone = [alias for alias in node.names if alias not in kept]
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == top:
            kept, gone = [], node.names
        else:
            continue
        names |= {alias.asname or alias.name.partition(".")[0] for alias in gone}
        text = f"import {', '.join(ast.unparse(alias) for alias in kept)}" if kept else "pass"
        end = node.end_lineno or node.lineno
        lines[node.lineno - 1 : end] = [f"{text}\n", *["\n"] * (end - node.lineno)]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return "".join(lines) if names and "*" not in names and not names & used else None


def without_header(source: str) -> str:
    """Return a program without its inline script metadata, if it has any.

    Args:
        source: of the program.
    """
    block = find_block(source)
    return block.program.lstrip("\n") if block is not None else source
