"""The one way from a script to a check: its statements become the body of a ``test_*`` function.

`script_to_check` keeps a program as it is, or also judges it. Judging gives it an oracle: what the script asserts
stays, a printed comparison becomes an assertion, a compiled call whose result nothing looks at is compared with
eager's. Where none of that can be done a placeholder says so: nothing is invented.
"""

from __future__ import annotations

import ast
import builtins
import copy
import io
import re
import symtable
import sys
import textwrap
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeGuard

from pt2bugs.curate.assertions import with_messages
from pt2bugs.curate.placeholders import PLACEHOLDER
from pt2bugs.curate.returns import gives_nothing, gives_truth
from pt2bugs.errors import InputError

MAX_DEPTH = 200
"""Levels of a syntax tree, each of which takes several of the interpreter's own to be written out. A sum of so many
terms has them."""


@dataclass(frozen=True)
class CheckSource:
    """Source text of a check, and what a header is to say of it.

    `top` stays at module level, `body` holds the statements of the function without indentation, `shared` the names
    that the function declares global.
    """

    top: str
    body: str
    shared: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    doc: str = ""
    backends: tuple[str, ...] = ("inductor",)
    devices: tuple[str, ...] = ("cpu",)
    compiles: bool = True

    def function(self, name: str, *, method: bool = False) -> str:
        """Return the text of the function.

        Args:
            name: the name of the function.
            method: give it a `self`, and no annotations.
        """
        parameters = "self" if method else ", ".join(f"{parameter}: str" for parameter in self.parameters)
        shared = [f"    global {', '.join(self.shared)}"] if self.shared else []
        opening = f"def {name}({parameters}){'' if method else ' -> None'}:"
        return "\n".join([opening, *shared, indented(self.body)])

    def program(self, name: str) -> str:
        """Return the text below the docstring of a case file: imports, definitions, the check, a main block.

        Args:
            name: the name of the check.

        Raises:
            InputError: what was made of the script is not Python.
        """
        values = {"device": self.devices[0], "backend": self.backends[0]}
        arguments = ", ".join(f'"{values[parameter]}"' for parameter in self.parameters)
        main = f'if __name__ == "__main__":\n    {name}({arguments})'
        text = "\n\n\n".join(part for part in (self.top, self.function(name), main) if part) + "\n"
        parse_program(text, name)
        return text


def script_to_check(source: str, name: str, *, judge: bool = True) -> CheckSource:
    """Return the check of a script.

    Args:
        source: the text of the script; one to be judged may be indented as a whole.
        name: the name of the script, for messages.
        judge: give the check an oracle, and its backends and devices as parameters. Otherwise the check does what the
            program does, in the program's own words.

    Raises:
        InputError: the script is not Python.
    """
    if not judge:
        return _unchanged_check(source, parse_program(source, name))
    source = textwrap.dedent(source)
    return _judged_check(source, parse_program(source, name))


def parse_program(source: str, name: str) -> ast.Module:
    """Return the syntax tree of a program.

    Args:
        source: the text of the program.
        name: its name, for messages.

    Raises:
        InputError: the text is not Python, or nested so deep that its tree cannot be written out again.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            ast.unparse(tree)
            # Sees names that are global too late, as the compiler does.
            symtable.symtable(source, name, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise InputError(f"{name}{line}: is not Python: {getattr(error, 'msg', error)}") from None
    level: list[ast.AST] = [tree]
    depth = 0
    while level := [child for node in level for child in ast.iter_child_nodes(node)]:
        depth += 1
        if depth > MAX_DEPTH:
            line = next((f":{node.lineno}" for node in level if isinstance(node, (ast.expr, ast.stmt))), "")
            raise InputError(f"{name}{line}: is nested more than {MAX_DEPTH} deep; give intermediate results names")
    return tree


def lines_of_code(text: str) -> int:
    """Return the number of lines that hold code: no comment, no blank, no string that stands alone (a docstring).

    Args:
        text: the text of a program.
    """
    rows: set[int] = set()
    fresh = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            fresh = True
        elif token.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
            continue
        else:
            if not (fresh and token.type == tokenize.STRING):
                rows.update(range(token.start[0], token.end[0] + 1))
            fresh = False
    return len(rows)


# --- text of statements -------------------------------------------------------------------------------


def indented(text: str, prefix: str = "    ") -> str:
    """Return statements with a prefix before each line; the inside of strings that span lines stays as it is.

    Args:
        text: the statements.
        prefix: the indentation to add.
    """
    inside = _lines_inside_strings(text)
    return "\n".join(
        line if number in inside or not line.strip() else prefix + line
        for number, line in enumerate(text.split("\n"), 1)
    )


def _lines_inside_strings(text: str) -> set[int]:
    """Return the numbers, from 1, of the lines that begin inside a string."""
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


def _text(node: ast.AST) -> str:
    ast.fix_missing_locations(node)
    text = ast.unparse(node)
    return f"\n{text}\n" if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else text


# --- a check that does what the program does ----------------------------------------------------------


def _unchanged_check(source: str, tree: ast.Module) -> CheckSource:
    """Split a program at its first statement that does something.

    What is under ``if __name__ == "__main__"`` runs like the rest. Imports stay outside wherever they stand: a star
    import may not be in a function.
    """
    lines = source.split("\n")
    nodes = tree.body[1:] if ast.get_docstring(tree, clean=False) is not None else tree.body
    start = next((index for index, node in enumerate(nodes) if not _is_quiet(node)), len(nodes))
    top = [_source_of(lines, node) for node in nodes[:start]]
    body: list[str] = []
    bound: list[str] = []
    for node in nodes[start:]:
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            top.append(_source_of(lines, node))
            continue
        for statement in node.body if _is_main_block(node) else [node]:
            body.append(_source_of(lines, statement))
            bound += _names_bound_by(statement)
    used = _used_in_functions(source)
    shared = tuple(name for name in dict.fromkeys(bound) if name in used)
    return CheckSource(_module_text(top), "\n".join(body) or "pass", shared, doc=ast.get_docstring(tree) or "")


def _is_quiet(node: ast.stmt) -> bool:
    """Return whether a statement only imports, defines or names a constant."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return not node.decorator_list
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _is_main_block(node: ast.stmt) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _source_of(lines: list[str], node: ast.stmt) -> str:
    """Return the source of a statement without its indentation."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    text = "\n".join(lines[first - 1 : node.end_lineno])
    width = len(lines[first - 1]) - len(lines[first - 1].lstrip())
    if not width:
        return text
    # The line before gives the block that the tokenizer needs to see the indentation.
    inside = _lines_inside_strings("if True:\n" + text)
    return "\n".join(line if number in inside else line[width:] for number, line in enumerate(text.split("\n"), 2))


def _module_text(statements: Sequence[str]) -> str:
    """Return statements of a module, with blank lines around functions and classes."""
    text = ""
    after_block = False
    for statement in statements:
        is_block = statement.startswith(("def ", "class ", "@", "async def "))
        text += "" if not text else "\n\n\n" if is_block or after_block else "\n"
        text, after_block = text + statement, is_block
    return text


def _used_in_functions(source: str) -> set[str]:
    """Return the names that functions and classes of a program use; all, where it looks names up at run time."""
    table = symtable.symtable(source, "program", "exec")
    everything = {symbol.get_name() for symbol in table.get_symbols()}
    if everything & {"globals", "eval", "exec", "vars"}:
        return everything
    names: set[str] = set()
    tables = table.get_children()
    while tables:
        inner = tables.pop()
        names |= {symbol.get_name() for symbol in inner.get_symbols() if symbol.is_global()}
        tables += inner.get_children()
    return everything if names & {"globals", "eval", "exec", "vars"} else names


def _names_bound_by(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of a module binds in the module."""
    names: list[str] = []
    nodes: list[ast.AST] = [statement]
    while nodes:
        node = nodes.pop(0)
        if isinstance(node, _DEFINITIONS):
            names.append(node.name)
            nodes += node.decorator_list
            continue
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names += [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            names.append(node.id)
        if isinstance(node, ast.ExceptHandler) and node.name:
            names.append(node.name)
        nodes += ast.iter_child_nodes(node)
    return names


# --- a check with an oracle ---------------------------------------------------------------------------

_MODULES = (
    "collections", "contextlib", "copy", "dataclasses", "functools", "itertools", "math", "operator", "os", "random",
    "sys", "types", "typing", "warnings",
)  # fmt: skip
_USUAL_IMPORTS = {
    "torch": "import torch",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "Tensor": "from torch import Tensor",
    "Dim": "from torch.export import Dim",
    "dynamo": "import torch._dynamo as dynamo",
    "fx": "import torch.fx as fx",
    **{name: f"import {name}" for name in _MODULES},
    **{
        name: f"from typing import {name}" for name in ("Any", "Callable", "Dict", "List", "Optional", "Tuple", "Union")
    },
}
"""The import that gives a name its usual meaning, for a script that was copied without its imports."""
_RANDOM = frozenset(
    {
        "rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "randperm", "normal", "bernoulli",
        "multinomial", "dropout", "Dropout", "normal_", "uniform_", "bernoulli_", "Linear", "Conv1d", "Conv2d",
        "Embedding", "LSTM", "GRU", "TransformerEncoderLayer", "MultiheadAttention",
    }
)  # fmt: skip
_COMPARES = frozenset({"allclose", "equal", "isclose", "all"})
_OPTIONS = frozenset({"args", "opt", "opts", "options", "flags"})
_CUDA = re.compile(r"^cuda(?::0)?$")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = (ast.For, ast.While, ast.If, ast.With)


def _judged_check(source: str, tree: ast.Module) -> CheckSource:
    statements = _straightened(tree.body[1:] if ast.get_docstring(tree) is not None else tree.body)
    shared = _global_names(statements)
    targets = _Targets(statements)
    statements = [targets.visit(statement) for statement in statements]
    imports = [statement for statement in statements if isinstance(statement, (ast.Import, ast.ImportFrom))]
    rest = [statement for statement in statements if not isinstance(statement, (ast.Import, ast.ImportFrom))]
    outside = _definitions(rest, shared)
    missing = _undefined_names([*statements, *imports])
    body = [statement for statement in rest if statement not in outside]
    lines = [
        f"# {PLACEHOLDER}: the script does not say what {name} is" for name in missing if name not in _USUAL_IMPORTS
    ]
    if _draws(body) and not any("manual_seed" in ast.unparse(statement) for statement in rest):
        lines.append("torch.manual_seed(0)")
    lines += _with_oracle(body, rest)
    needed = {ast.unparse(node) for node in imports} | {
        _USUAL_IMPORTS[name] for name in missing if name in _USUAL_IMPORTS
    }
    if any("copy.deepcopy(" in line for line in lines):
        needed.add("import copy")
    definitions = [ast.unparse(definition) for definition in outside]
    lines = _without_unused(lines, {*shared, *_names_in(definitions)})
    taken = _names_in([*definitions, *lines])
    lines = [line if line.startswith("#") else with_messages(line, taken) for line in lines]
    top = "\n\n\n".join([_import_text(filter(None, (_used_part(line, taken) for line in needed))), *definitions])
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return CheckSource(
        top.strip("\n"),
        text,
        tuple(shared),
        targets.parameters,
        ast.get_docstring(tree) or _first_comment(source),
        targets.backends,
        targets.devices,
        targets.compiles,
    )


_LOOKS_UP = frozenset({"eval", "exec", "globals", "locals", "vars"})
"""Functions that read names which no text shows."""


def _names_in(texts: Iterable[str]) -> set[str]:
    """Return the names that statements read or write; of a comment, its words."""
    names: set[str] = set()
    for text in texts:
        if text.startswith("#"):
            names |= set(re.findall(r"\w+", text))
        else:
            names |= {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return names


def _without_unused(lines: Sequence[str], used: Set[str]) -> list[str]:
    """Return the lines of a check without names that nothing reads; what they were bound to is still computed.

    Args:
        lines: a statement or a comment each.
        used: the names that are used outside.
    """
    while True:
        stored = [{name} if (name := _bound_name(line)) else set() for line in lines]
        read = [_names_in([line]) - names for line, names in zip(lines, stored, strict=True)]
        kept = set(used).union(*read)
        if kept & _LOOKS_UP:
            return list(lines)
        new = [_value_of(line) if names - kept else line for line, names in zip(lines, stored, strict=True)]
        if new == list(lines):
            return new
        lines = [line for line in new if line]


def _bound_name(line: str) -> str:
    """Return the name that an assignment binds and does not read; empty for another statement."""
    body = ast.parse(line).body
    if len(body) != 1 or not isinstance(body[0], ast.Assign) or len(body[0].targets) != 1:
        return ""
    (target,) = body[0].targets
    return (
        target.id if isinstance(target, ast.Name) and target.id not in _names_in([ast.unparse(body[0].value)]) else ""
    )


def _value_of(line: str) -> str:
    """Return the right side of an assignment, as a statement; empty if it does nothing."""
    (statement,) = ast.parse(line).body
    assert isinstance(statement, ast.Assign)
    return "" if isinstance(statement.value, (ast.Constant, ast.Name, ast.Lambda)) else ast.unparse(statement.value)


def _used_part(line: str, used: Set[str]) -> str:
    """Return an import with those of its names that are used; one of a package that may do more stays whole."""
    (statement,) = ast.parse(line).body
    assert isinstance(statement, (ast.Import, ast.ImportFrom))
    package = (getattr(statement, "module", None) or statement.names[0].name).partition(".")[0]
    if package not in (*sys.stdlib_module_names, "torch", "numpy") or package == "__future__" or used & _LOOKS_UP:
        return line
    names = {alias.asname or alias.name.partition(".")[0]: alias for alias in statement.names}
    statement.names = [alias for name, alias in names.items() if name in (*used, "torch", "*")]
    return ast.unparse(statement) if statement.names else ""


def _import_text(lines: Iterable[str]) -> str:
    """Return imports sorted in two groups, those of torch last."""
    order = sorted(lines, key=lambda line: (not line.startswith("from __future__"), line.startswith("from "), line))
    groups = ([line for line in order if "torch" not in line], [line for line in order if "torch" in line])
    return "\n\n".join("\n".join(group) for group in groups if group)


def _first_comment(source: str) -> str:
    lines = [line.strip() for line in source.strip().split("\n")]
    return lines[0].lstrip("# ").strip() if lines and re.match(r"#(?!!)\s*\w", lines[0]) else ""


def _definitions(statements: Sequence[ast.stmt], shared: Sequence[str]) -> list[ast.FunctionDef | ast.ClassDef]:
    """Return the functions and classes that can stand outside the check: they use nothing that is made in it."""
    outside = [statement for statement in statements if isinstance(statement, (ast.FunctionDef, ast.ClassDef))]
    inside = {name for statement in statements if statement not in outside for name in _stored_names(statement)}
    inside = (inside | {"backend", "device"}) - set(shared)
    while True:
        kept = [definition for definition in outside if not _free_names(definition) & inside]
        if len(kept) == len(outside):
            return kept
        inside |= {definition.name for definition in outside if definition not in kept}
        outside = kept


# --- names --------------------------------------------------------------------------------------------


def _stored_names(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}


def _tables(source: str) -> Iterator[symtable.SymbolTable]:
    tables = [symtable.symtable(source, "script", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        yield table


def _free_names(node: ast.stmt | ast.Module) -> set[str]:
    """Return the names that a definition takes from around it."""
    return {
        symbol.get_name()
        for table in _tables(ast.unparse(node))
        for symbol in table.get_symbols()
        if symbol.is_referenced()
        and (symbol.is_global() or (table.get_type() == "module" and not symbol.is_assigned()))
    }


def _undefined_names(statements: Sequence[ast.stmt]) -> list[str]:
    """Return the names, sorted, that a script uses and nothing in it, nor Python, defines; none after ``import *``."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in statements):
        return []
    top, *inner = _tables("\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in statements))
    made = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    made |= {child.get_name() for child in top.get_children()} | set(_global_names(statements)) | {"device", "backend"}
    used = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    used |= {
        symbol.get_name()
        for table in inner
        for symbol in table.get_symbols()
        if symbol.is_referenced() and symbol.is_global()
    }
    return sorted(name for name in used - made if name not in vars(builtins) and not re.fullmatch(r"__\w+__", name))


def _global_names(statements: Sequence[ast.stmt]) -> list[str]:
    """Return the names that functions of the script declare global, sorted."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    return sorted({name for node in nodes if isinstance(node, ast.Global) for name in node.names})


def _is_compile(node: ast.AST) -> bool:
    return isinstance(node, (ast.Attribute, ast.Name)) and ast.unparse(node) in ("torch.compile", "compile")


# --- one straight run ---------------------------------------------------------------------------------


def _straightened(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a script as one run that does the same.

    A `main` stands where it was called, options have their defaults, a function under ``@torch.compile`` gets a name
    for each of its two forms, a printed comparison in a loop is an assertion.
    """
    run = [inner for node in statements for inner in (node.body if _is_main_block(node) else [node])]
    run = [inner for node in run for inner in _of_test_method(node)]
    for _ in range(3):
        run = inline_main(run)
    if any(isinstance(node, ast.Import) and node.names[0].name == "argparse" for node in run):
        options = _Options(run)
        run = [options.visit(node) for node in run]
    run = _both_forms(run)
    return [ast.fix_missing_locations(_Judged().visit(node)) if isinstance(node, _BLOCKS) else node for node in run]


def inline_main(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements with the body of a function in place of its only call, where it takes and gives nothing.

    Args:
        statements: those of a module.
    """
    for at, statement in enumerate(statements):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args and not call.keywords):
            continue
        name = call.func.id
        function = next((node for node in statements if isinstance(node, ast.FunctionDef) and node.name == name), None)
        rest = [node for node in statements if node is not function]
        if function is None or not _can_be_inlined(function, [node for node in rest if node is not statement]):
            continue
        body = function.body[1:] if ast.get_docstring(function) is not None else function.body
        return [*(node for node in statements[:at] if node is not function), *body, *statements[at + 1 :]]
    return statements


def _can_be_inlined(function: ast.FunctionDef, rest: Sequence[ast.stmt]) -> bool:
    arguments = function.args
    takes = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    inner = {node for statement in function.body if isinstance(statement, _DEFINITIONS) for node in ast.walk(statement)}
    gives = (ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)
    used = {node.id for statement in rest for node in ast.walk(statement) if isinstance(node, ast.Name)}
    plain = [statement for statement in rest if not isinstance(statement, _DEFINITIONS)]
    used_at_top = {node.id for statement in plain for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return (
        not any(takes)
        and not function.decorator_list
        and function.name not in used
        and not _stored_names(function) & used_at_top
        and not any(isinstance(node, gives) and node not in inner for node in ast.walk(function))
    )


def _of_test_method(statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements of a test method of `unittest` in place of the method and its class."""
    methods = [statement]
    if isinstance(statement, ast.ClassDef) and any("TestCase" in ast.unparse(base) for base in statement.bases):
        methods = list(statement.body)
    if len(methods) != 1 or not _is_test_method(methods[0]):
        return [statement]
    body: list[ast.stmt] = _Unittest().visit(copy.deepcopy(methods[0])).body
    return [statement] if "self" in _free_names(ast.Module(body, [])) else body


def _is_test_method(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.FunctionDef)
        and node.name.startswith("test")
        and [argument.arg for argument in node.args.args] == ["self"]
    )


class _Unittest(ast.NodeTransformer):
    """Puts plain assertions in place of those of `unittest`."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args):
            return node
        if not (isinstance(call.func.value, ast.Name) and call.func.value.id == "self"):
            return node
        templates = {"assertTrue": "assert {0}", "assertFalse": "assert not ({0})"}
        if len(call.args) > 1:
            templates["assertEqual"] = "torch.testing.assert_close({0}, {1})"
        template = templates.get(call.func.attr)
        if template is None:
            return node
        (statement,) = ast.parse(template.format(*map(ast.unparse, call.args))).body
        return ast.copy_location(statement, node)


class _Options(ast.NodeTransformer):
    """Gives the options of a command line their defaults; device and backend become those that a check takes."""

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        self._backend = "inductor"
        for node in (node for statement in statements for node in ast.walk(statement)):
            if isinstance(node, ast.Call) and any(getattr(value, "value", "") == "--backend" for value in node.args):
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
            defaults = {"device": "cuda", "backend": self._backend}
            if node.attr in defaults:
                return ast.copy_location(ast.Constant(defaults[node.attr]), node)
        return node


def _both_forms(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return functions under ``@torch.compile`` without it, each followed by its compiled form under its own name."""
    run: list[ast.stmt] = []
    renamed: dict[str, str] = {}
    for statement in statements:
        run.append(statement)
        if not isinstance(statement, ast.FunctionDef) or len(statement.decorator_list) != 1:
            continue
        (decorator,) = statement.decorator_list
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        others = [other for other in statements if isinstance(other, _DEFINITIONS) and other is not statement]
        is_used = any(statement.name in _free_names(other) for other in others)
        calls_itself = any(isinstance(node, ast.Name) and node.id == statement.name for node in ast.walk(statement))
        if not _is_compile(callee) or is_used or calls_itself:
            continue
        plain = copy.copy(statement)
        plain.decorator_list = []
        renamed[statement.name] = f"compiled_{statement.name}"
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
        call = ast.Call(callee, [ast.Name(statement.name, ast.Load())], keywords)
        assigned = ast.Assign([ast.Name(renamed[statement.name], ast.Store())], call)
        run[-1:] = [plain, ast.fix_missing_locations(ast.copy_location(assigned, statement))]
    names, made = _Renamed(renamed), set(renamed.values())
    return [
        statement if isinstance(statement, _DEFINITIONS) or _stored_names(statement) & made else names.visit(statement)
        for statement in run
    ]


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
        comparisons = [value for value in _printed_by(node) or [] if _is_comparison(value)]
        return [ast.copy_location(ast.Assert(value, None), node) for value in comparisons] if comparisons else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node


# --- devices and backends -----------------------------------------------------------------------------


class _Targets(ast.NodeTransformer):
    """Puts the parameters of a check in place of the devices and backends that a script names."""

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        nodes = [node for statement in statements for node in ast.walk(statement)]
        calls = [node for node in nodes if isinstance(node, ast.Call) and _is_compile(node.func)]
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        decorated = any(_is_compile(decorator) for function in functions for decorator in function.decorator_list)
        given = [[keyword.value for keyword in call.keywords if keyword.arg == "backend"] for call in calls]
        named = {value.value for values in given for value in values if isinstance(value, ast.Constant)}
        has_own = any(not isinstance(value, ast.Constant) for values in given for value in values)
        if decorated or not all(given):
            named.add("inductor")
        # A script with several backends compares them, and says itself which.
        self._single_backend = len(named) == 1 and not has_own
        self._parameters: set[str] = set()
        self.compiles = bool(calls or decorated)
        self.backends: tuple[str, ...] = (str(next(iter(named))),) if self._single_backend else ("inductor",)
        is_cuda = any(
            (isinstance(node, ast.Constant) and isinstance(node.value, str) and _CUDA.match(node.value))
            or (isinstance(node, ast.Attribute) and node.attr == "cuda" and ast.unparse(node) != "torch.cuda")
            for node in nodes
        )
        self.devices: tuple[str, ...] = ("cpu", "cuda") if is_cuda else ("cpu",)

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(name for name in ("device", "backend") if name in self._parameters)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and _CUDA.match(node.value):
            return self._parameter("device", node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if self._single_backend:
            node.decorator_list = [
                ast.copy_location(ast.Call(decorator, [], [self._backend(decorator)]), decorator)
                if _is_compile(decorator)
                else decorator
                for decorator in node.decorator_list
            ]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda" and not node.keywords:
            if ast.unparse(node.func.value) != "torch":
                to = ast.Attribute(node.func.value, "to", ast.Load())
                return ast.copy_location(ast.Call(to, [self._parameter("device", node)], []), node)
        elif _is_compile(node.func) and self._single_backend:
            kept = [keyword for keyword in node.keywords if keyword.arg != "backend"]
            node.keywords = [self._backend(node), *kept]
        return node

    def _backend(self, at: ast.AST) -> ast.keyword:
        return ast.keyword("backend", self._parameter("backend", at))

    def _parameter(self, name: str, at: ast.AST) -> ast.Name:
        self._parameters.add(name)
        return ast.copy_location(ast.Name(name, ast.Load()), at)


# --- the oracle ---------------------------------------------------------------------------------------


def _draws(statements: Sequence[ast.AST]) -> bool:
    """Return whether statements draw random numbers."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    return any(isinstance(node, ast.Attribute) and node.attr in _RANDOM for node in nodes)


def _printed_by(statement: ast.stmt) -> list[ast.expr] | None:
    """Return what a print statement shows; None for another statement."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"):
        return None
    printed: list[ast.expr] = []
    for value in call.args:
        if isinstance(value, ast.JoinedStr):
            printed += [part.value for part in value.values if isinstance(part, ast.FormattedValue)]
        else:
            printed.append(value)
    return printed


def _is_comparison(value: ast.expr) -> bool:
    """Return whether an expression says whether things are equal."""
    if isinstance(value, ast.Compare):
        return not isinstance(value.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _COMPARES


@dataclass(frozen=True)
class _Printed:
    """An expression that the script printed, which may turn out to be judged elsewhere."""

    text: str


def _with_oracle(statements: Sequence[ast.stmt], whole: Sequence[ast.stmt]) -> list[str]:
    """Return the lines of a check: the statements, with what was printed as an oracle where that can be.

    Args:
        statements: those of the check.
        whole: these and the definitions outside the check.
    """
    # Where functions change what they share, eager's run would change what the compiled one sees.
    may_compare = not _global_names(whole)
    originals = _compiled_names(statements) if may_compare else {}
    functions = {node.name: node for node in whole if isinstance(node, ast.FunctionDef)}
    has_oracle = any(_judges(statement) for statement in statements) or any(
        _is_comparison(value) for statement in statements for value in _printed_by(statement) or []
    )
    is_eagers = False
    lines: list[str | _Printed] = []
    printed: dict[str, str] = {}
    programs = _compiled_objects(statements)
    for statement in statements:
        values = _printed_by(statement)
        if _swallows(statement):
            lines.append(f"# {PLACEHOLDER}: the script catches what is raised here; let it out if it is the bug")
            lines.append(_text(statement))
        elif values is not None:
            for value in values:
                assertion = f"assert {_text(value)}" if _is_comparison(value) else ""
                if may_compare and not assertion:
                    assertion = _comparison_of_calls(value, originals, functions, printed)
                if assertion:
                    lines.append(assertion)
                    has_oracle = True
                elif not (has_oracle or isinstance(value, ast.Constant) or getattr(value, "id", None) in programs):
                    printed[ast.unparse(value)] = ast.unparse(value)
                    lines.append(_Printed(ast.unparse(value)))
        elif (
            (is_eagers or not has_oracle)
            and may_compare
            and (compared := _against_eager(statement, originals, functions, statements))
        ):
            lines += compared
            has_oracle = is_eagers = True
        else:
            lines.append(_text(statement))
    if not has_oracle and may_compare and (pair := _both_results(statements, originals)):
        lines.append(f"torch.testing.assert_close({pair[0]}, {pair[1]})")
        has_oracle = True
    if not has_oracle and not printed and any(_prints_within(statement) for statement in statements):
        lines.append(f"# {PLACEHOLDER}: what is right here? the script prints it in a block")
    return list(_resolved(lines, {} if has_oracle else printed)) or ["pass"]


def _resolved(lines: Sequence[str | _Printed], unjudged: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines, with a placeholder where something was printed that nothing judges."""
    for line in lines:
        if isinstance(line, str):
            yield line
        elif line.text in unjudged:
            yield f"# {PLACEHOLDER}: what is right here? the script printed it: {line.text}"
            if "(" in line.text:
                yield line.text


def _prints_within(statement: ast.stmt) -> bool:
    return isinstance(statement, (*_BLOCKS, ast.Try)) and any(
        _printed_by(node) for node in ast.walk(statement) if isinstance(node, ast.stmt)
    )


def _judges(statement: ast.stmt) -> bool:
    """Return whether a statement, wherever it runs, asserts, compares or raises."""
    return any(
        isinstance(node, (ast.Assert, ast.Raise))
        or (isinstance(node, ast.Call) and "assert" in ast.unparse(node.func).rpartition(".")[2].lower())
        for node in ast.walk(statement)
    )


def _swallows(statement: ast.stmt) -> bool:
    """Return whether a statement catches everything, and nothing in it judges."""
    return (
        isinstance(statement, ast.Try)
        and not _judges(statement)
        and any(
            handler.type is None or ast.unparse(handler.type) in ("Exception", "BaseException")
            for handler in statement.handlers
        )
    )


def _compiled_names(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """Return by the name of a compiled function that of the function it was made of."""
    names = {}
    for statement in statements:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and statement.value.args:
            call, target = statement.value, statement.targets[0]
            made = call.args[0]
            if _is_compile(call.func) and isinstance(target, ast.Name) and isinstance(made, (ast.Name, ast.Attribute)):
                names[target.id] = ast.unparse(made)
    return {name: original for name, original in names.items() if name != original}


def _call_of_compiled(value: ast.expr, originals: dict[str, str]) -> tuple[str, ast.Call] | None:
    """Return the original function and the call, where an expression calls a compiled function."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Name) and value.func.id in originals:
            return originals[value.func.id], value
        made = value.func
        if isinstance(made, ast.Call) and _is_compile(made.func) and made.args and isinstance(made.args[0], ast.Name):
            return made.args[0].id, value
    return None


def _arguments(call: ast.Call) -> str:
    return ", ".join(ast.unparse(value) for value in (*call.args, *call.keywords))


def _comparison_of_calls(
    value: ast.expr,
    originals: dict[str, str],
    functions: Mapping[str, ast.FunctionDef],
    printed: dict[str, str],
) -> str:
    """Return the comparison of two printed calls, one of the compiled function and one of the original."""
    compiled = _call_of_compiled(value, originals)
    if compiled is None or _draws([compiled[1]]):
        return ""
    eager = f"{compiled[0]}({_arguments(compiled[1])})"
    eager = printed.pop(eager, eager)
    function = functions.get(compiled[0])
    if function is not None and gives_truth(function):
        return f"assert {_text(value)} == {eager}"
    return f"torch.testing.assert_close({_text(value)}, {eager})"


def _both_results(statements: Sequence[ast.stmt], originals: dict[str, str]) -> tuple[str, str] | None:
    """Return the names of the compiled result and of eager's, where the script has made both of the same arguments."""
    made = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Assign)]
    results = {ast.unparse(node.value): node.targets[0].id for node in made if isinstance(node.targets[0], ast.Name)}
    for node in made:
        compiled = _call_of_compiled(node.value, originals)
        if (
            compiled
            and isinstance(node.targets[0], ast.Name)
            and (eager := results.get(f"{compiled[0]}({_arguments(compiled[1])})"))
        ):
            return node.targets[0].id, eager
    return None


def _compiled_objects(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the names of compiled functions and exported programs: to print them says nothing of what is right."""
    return {
        target.id
        for statement in statements
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
        for target in statement.targets
        if isinstance(target, ast.Name)
        and (
            _is_compile(statement.value.func)
            or ast.unparse(statement.value.func).rpartition(".")[2].startswith("export")
        )
    }


def _against_eager(
    statement: ast.stmt,
    originals: dict[str, str],
    functions: Mapping[str, ast.FunctionDef],
    statements: Sequence[ast.stmt],
) -> list[str]:
    """Return a compiled call that stands alone, with eager's answer beside it; nothing for another statement."""
    if not isinstance(statement, (ast.Expr, ast.Assign)):
        return []
    compiled = _call_of_compiled(statement.value, originals)
    if compiled is None:
        return []
    actual = "actual"
    if isinstance(statement, ast.Assign):
        if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
            return []
        actual = statement.targets[0].id
    original, call = compiled
    function = functions.get(original)
    needs_grad = any("requires_grad" in (text := ast.unparse(node)) or "backward" in text for node in statements)
    arguments = [ast.unparse(value) for value in (*call.args, *call.keywords)]
    if not needs_grad:
        # What the function writes into its arguments must not reach the other call.
        arguments = [_made_anew(value) for value in call.args]
        arguments += [f"{keyword.arg}={_made_anew(keyword.value)}" for keyword in call.keywords]
    seed = ["torch.manual_seed(0)"] if function is not None and _draws([function]) else []
    if function is not None and gives_nothing(function) and call.args and not call.keywords:
        if needs_grad:
            return [_text(call), f"# {PLACEHOLDER}: {original} gives nothing; compare what it changes with eager's"]
        return [
            f"expected, actual = [{', '.join(arguments)}], [{_arguments(call)}]",
            *seed,
            f"{original}(*expected)",
            *seed,
            f"{_text(call.func)}(*actual)",
            "torch.testing.assert_close(actual, expected)",
        ]
    return [
        *seed,
        f"expected = {original}({', '.join(arguments)})",
        *seed,
        f"{actual} = {_text(call)}",
        # The words of `assert_close` for two bools are those of any bug.
        f"assert {actual} == expected, {_told(call, actual)}"
        if function is not None and gives_truth(function)
        else f"torch.testing.assert_close({actual}, expected)",
    ]


def _told(call: ast.Call, actual: str) -> str:
    """Return a message that says what a compiled call gave, and what eager gave."""
    values = [ast.Constant(f"{_text(call)} is "), ast.Name(actual), ast.Constant(", not "), ast.Name("expected")]
    parts = [value if isinstance(value, ast.Constant) else ast.FormattedValue(value, -1) for value in values]
    return ast.unparse(ast.JoinedStr([*parts]))


def _made_anew(value: ast.expr) -> str:
    """Return an argument for another call, which shares nothing with that of the first."""
    text = ast.unparse(value)
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    is_made_here = names <= {"torch"} and not _draws([value])
    return text if is_made_here else f"copy.deepcopy({text})"
