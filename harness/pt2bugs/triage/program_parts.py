"""Puts a program into one function: imports, definitions and constants stay outside, the rest goes in."""

from __future__ import annotations

import ast
import io
import re
import symtable
import tokenize
from dataclasses import dataclass

from pt2bugs.curate.script_shape import without_main as straight

_MADE_UP = re.compile(r"unique_name_\d+")
"""What pysource-minimize calls a target that it cannot take away."""


@dataclass(frozen=True)
class Parts:
    """`top` is the text that stays at module level, `body` the statements of the function, not indented."""

    top: str
    body: str
    names: tuple[str, ...]

    def function(self, opening: str, indent: str = "    ") -> str:
        """A function with the body; its names stay those of the module, as functions outside it use them."""
        lines = [opening]
        if self.names:
            lines.append(f"    global {', '.join(self.names)}")
        lines.append(indented(self.body, "    "))
        return indented("\n".join(lines), indent[4:]) if len(indent) > 4 else "\n".join(lines)


def split(source: str) -> Parts:
    """Split a program at its first statement that does something.

    What is under ``if __name__ == "__main__"`` runs like the rest. Imports stay outside wherever they stand: a star
    import may not be in a function.
    """
    tree = ast.parse(source)
    lines = source.splitlines()
    nodes = list(tree.body)
    doc = ast.get_docstring(tree, clean=False)
    if doc is not None:
        nodes = nodes[1:]
    at = next((index for index, node in enumerate(nodes) if not _is_quiet(node)), len(nodes))
    top, body = nodes[:at], nodes[at:]
    inner: list[str] = []
    outer = [_text(lines, node) for node in top]
    bound: list[str] = []
    for node in body:
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            outer.append(_text(lines, node))
        elif isinstance(node, ast.If) and _is_main_guard(node.test):
            inner += [_dedented(lines, one) for one in node.body]
            bound += [name for one in node.body for name in _bound(one)]
        else:
            inner.append(_text(lines, node))
            bound += _bound(node)
    shared = _used_in_functions(source)
    return Parts(
        _joined(outer), "\n".join(inner) or "pass", tuple(name for name in dict.fromkeys(bound) if name in shared)
    )


def _used_in_functions(source: str) -> set[str]:
    """The names that functions and classes of a program use; all, where it looks names up at run time."""
    table = symtable.symtable(source, "program", "exec")
    everything = {symbol.get_name() for symbol in table.get_symbols()}
    if everything & {"globals", "eval", "exec", "vars"}:
        return everything
    names: set[str] = set()
    todo = table.get_children()
    while todo:
        inner = todo.pop()
        names |= {symbol.get_name() for symbol in inner.get_symbols() if symbol.is_global()}
        todo += inner.get_children()
    return everything if names & {"globals", "eval", "exec", "vars"} else names


def _joined(statements: list[str]) -> str:
    """Statements of a module, with blank lines around functions and classes."""
    text = ""
    spaced = False
    for statement in statements:
        block = statement.startswith(("def ", "class ", "@", "async def "))
        text += "" if not text else "\n\n\n" if block or spaced else "\n"
        text, spaced = text + statement, block
    return text


def _is_quiet(node: ast.stmt) -> bool:
    """Whether a statement only imports, defines or names a constant."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return not node.decorator_list
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return isinstance(node.value, ast.Constant)
    return False


def _is_main_guard(test: ast.expr) -> bool:
    return "__name__" in ast.unparse(test) and "__main__" in ast.unparse(test)


def _text(lines: list[str], node: ast.stmt) -> str:
    start = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return "\n".join(lines[start - 1 : node.end_lineno])


def _dedented(lines: list[str], node: ast.stmt) -> str:
    text, first = _text(lines, node), lines[node.lineno - 1]
    width = len(first) - len(first.lstrip())
    inside = _lines_inside_strings("if True:\n" + text if width else text)
    shift = 1 if width else 0
    return "\n".join(
        line if index + 1 + shift in inside else line[width:] for index, line in enumerate(text.splitlines())
    )


def indented(text: str, prefix: str) -> str:
    """The statements, indented; the inside of strings that span lines stays as it is."""
    inside = _lines_inside_strings(text)
    return "\n".join(
        line if number in inside or not line.strip() else prefix + line
        for number, line in enumerate(text.splitlines(), 1)
    )


def _lines_inside_strings(text: str) -> set[int]:
    """Numbers, from 1, of the lines that begin inside a string."""
    inside: set[int] = set()
    start = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = tokenize.tok_name[token.type]
            if name == "FSTRING_START":  # Python 3.12 and newer
                start = token.start[0]
            elif name == "FSTRING_END":
                inside.update(range(start + 1, token.end[0] + 1))
            elif token.type == tokenize.STRING:
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, IndentationError):
        pass
    return inside


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement of a module binds in the module."""
    names: list[str] = []
    todo: list[ast.AST] = [node]
    while todo:
        one = todo.pop(0)
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(one.name)
            todo += one.decorator_list
            continue
        if isinstance(one, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        if isinstance(one, (ast.Import, ast.ImportFrom)):
            names += [alias.asname or alias.name.partition(".")[0] for alias in one.names]
        if isinstance(one, ast.Name) and isinstance(one.ctx, (ast.Store, ast.Del)):
            names.append(one.id)
        if isinstance(one, ast.ExceptHandler) and one.name:
            names.append(one.name)
        todo += ast.iter_child_nodes(one)
    return names


class _Unguarded(ast.NodeTransformer):
    def visit_Try(self, node: ast.Try) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not node.handlers:
            return node
        if node.finalbody:
            node.handlers = []
            node.body, node.orelse = [*node.body, *node.orelse], []
            return node
        return [*node.body, *node.orelse]

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        kept = [item for item in node.items if "suppress" not in ast.unparse(item.context_expr)]
        if not kept:
            return node.body
        node.items = kept
        return node


def without_handlers(source: str) -> str:
    """The program with nothing that catches exceptions, so that they leave it."""
    return ast.unparse(ast.fix_missing_locations(_Unguarded().visit(ast.parse(source)))) + "\n"


def without_idle_statements(source: str) -> str:
    """The program without statements that are a constant or a name alone, which a reducer leaves where a call was."""
    return ast.unparse(ast.fix_missing_locations(_Busy().visit(ast.parse(source)))) + "\n"


def without_empty_names(source: str) -> str:
    """The program without the targets that a reducer made up and nothing reads; `_` where one must stand."""
    tree = ast.parse(source)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and _MADE_UP.fullmatch(node.id)]
    read = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
    for node in names:
        if node.id not in read:
            node.id = "_"
    for assignment in [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]:
        if len(assignment.targets) == 1:
            _drop_unread(assignment)
    return ast.unparse(tree) + "\n"


def _drop_unread(node: ast.Assign) -> None:
    """Make ``a, _ = (b, 0)`` an ``a = b``."""
    target, value = node.targets[0], node.value
    if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)):
        return
    pairs = list(zip(target.elts, value.elts, strict=True))
    if any(isinstance(one, ast.Starred) for pair in pairs for one in pair):
        return
    kept = [pair for pair in pairs if not (_is_unread(pair[0]) and isinstance(pair[1], (ast.Constant, ast.Name)))]
    if len(kept) == 1:
        node.targets[0], node.value = kept[0]


def _is_unread(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "_"


def without_main(source: str) -> str:
    """The program with what its `main` does in place of the call."""
    tree = ast.parse(source)
    tree.body = straight(tree.body)
    return ast.unparse(tree) + "\n"


class _Busy(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                busy = [one for one in block if not _is_idle(one)]
                setattr(node, name, busy or ([ast.Pass()] if name == "body" else []))
        return node


def _is_idle(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.Name))
    )
