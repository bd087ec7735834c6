"""Makes a check of a script: its statements become the body of a `test_*` function, with an oracle.

Devices and backends that the script names become the parameters of the check. What the script asserts or compares is
the oracle; a printed comparison becomes an assertion; a compiled call that nothing looks at is compared with eager.
Where none of that can be done a marked line says so: nothing is invented.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, field

from pt2bugs.curate.marks import MARK
from pt2bugs.curate.script_shape import free_names, global_names, is_comparison, is_compile, shown_by, straightened
from pt2bugs.errors import InputError

_CUDA = re.compile(r"^cuda(?::0)?$")
_RANDOM = frozenset(
    {"rand", "randn", "randint", "rand_like", "randn_like", "randperm", "normal", "bernoulli", "Linear"}
)


@dataclass
class Draft:
    """The program of a case that is being made: source text, and what the header is to say of it."""

    imports: list[str] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    doc: str = ""
    parameters: tuple[str, ...] = ()
    backends: tuple[str, ...] = ("inductor",)
    devices: tuple[str, ...] = ("cpu",)
    compiles: bool = True

    def program(self, check: str) -> str:
        """The text below the docstring."""
        given = {"device": self.devices[0], "backend": self.backends[0]}
        arguments = ", ".join(f'"{given[name]}"' for name in self.parameters)
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(self.body)).strip("\n")
        body = "\n".join(f"    {line}" if line else "" for line in text.split("\n"))
        typed = ", ".join(f"{name}: str" for name in self.parameters)
        parts = ["\n".join(self.imports), *self.definitions, f"def {check}({typed}) -> None:\n{body}"]
        parts.append(f'if __name__ == "__main__":\n    {check}({arguments})')
        return double_quoted("\n\n\n".join(part for part in parts if part) + "\n")


def double_quoted(source: str) -> str:
    """The program with its strings in double quotes, as formatters write them, where that escapes nothing."""
    lines = source.split("\n")
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(source).readline))):
        (row, start), (end_row, end) = token.start, token.end
        found = re.fullmatch(r"(\w*)'([^'\"\\\\]*)'", token.string) if token.type == tokenize.STRING else None
        if found and row == end_row:
            lines[row - 1] = f'{lines[row - 1][:start]}{found[1]}"{found[2]}"{lines[row - 1][end:]}'
    return "\n".join(lines)


def draft_of(source: str, name: str) -> Draft:
    """The check of a script.

    Raises:
        InputError: it is not Python.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise InputError(f"{name}{line}: is not Python: {getattr(error, 'msg', error)}") from None
    draft = Draft(doc=ast.get_docstring(tree) or _first_comment(source))
    statements = straightened(tree.body[1:] if ast.get_docstring(tree) is not None else tree.body)
    shared = global_names(statements)
    targets = _Targets(statements)
    draft.backends, draft.devices, draft.compiles = targets.backends, targets.devices, targets.compiles
    statements = [targets.visit(statement) for statement in statements]
    draft.parameters = targets.parameters
    imports = [one for one in statements if isinstance(one, (ast.Import, ast.ImportFrom))]
    rest = [one for one in statements if not isinstance(one, (ast.Import, ast.ImportFrom))]
    outside = _definitions(rest, shared)
    draft.imports = sorted(
        {ast.unparse(one) for one in imports},
        key=lambda line: (not line.startswith("from __future__"), "torch" in line, line.startswith("from "), line),
    )
    body = [one for one in rest if one not in outside]
    if shared:
        draft.body.append(f"global {', '.join(shared)}")
    if _uses(body, _RANDOM) and not _uses(rest, frozenset({"manual_seed"})):
        draft.body.append("torch.manual_seed(0)")
    draft.body += _with_oracle(body, rest)
    if any("copy.deepcopy(" in line for line in draft.body) and "import copy" not in draft.imports:
        draft.imports.insert(0, "import copy")
    draft.imports = [*(line for line in draft.imports if "torch" not in line), *_torch_last(draft.imports)]
    draft.definitions = [ast.unparse(one) for one in outside]
    return draft


def _torch_last(imports: Sequence[str]) -> list[str]:
    found = [line for line in imports if "torch" in line]
    return ["", *found] if len(found) < len(imports) else found


def _first_comment(source: str) -> str:
    lines = [line.strip() for line in source.strip().split("\n")]
    return lines[0].lstrip("# ").strip() if lines and re.match(r"#(?!!)\s*\w", lines[0]) else ""


def _definitions(statements: Sequence[ast.stmt], shared: Sequence[str]) -> list[ast.FunctionDef | ast.ClassDef]:
    """Functions and classes that can stand outside the check: they use nothing that is made in it."""
    defined = [s for s in statements if isinstance(s, (ast.FunctionDef, ast.ClassDef))]
    inside = {name for s in statements if s not in defined for name in _bound(s)} | {"backend", "device"}
    inside -= set(shared)
    outside: list[ast.FunctionDef | ast.ClassDef] = list(defined)
    while True:
        kept = [one for one in outside if not free_names(one) & inside]
        if len(kept) == len(outside):
            return kept
        inside |= {one.name for one in outside if one not in kept}
        outside = kept


def _bound(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _uses(statements: Sequence[ast.AST], names: frozenset[str]) -> bool:
    return any(
        isinstance(one, ast.Attribute) and one.attr in names for statement in statements for one in ast.walk(statement)
    )


# --- devices and backends -----------------------------------------------------------------------------


class _Targets(ast.NodeTransformer):
    """Puts the parameters of a check in place of the devices and backends that a script names."""

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        nodes = [node for statement in statements for node in ast.walk(statement)]
        named = {
            keyword.value.value
            for node in nodes
            if isinstance(node, ast.Call) and is_compile(node.func)
            for keyword in node.keywords
            if keyword.arg == "backend" and isinstance(keyword.value, ast.Constant)
        }
        calls = [node for node in nodes if isinstance(node, ast.Call) and is_compile(node.func)]
        bare = [
            one for one in nodes if isinstance(one, ast.FunctionDef) and any(is_compile(d) for d in one.decorator_list)
        ]
        own = any(
            keyword.arg == "backend" and not isinstance(keyword.value, ast.Constant)
            for node in calls
            for keyword in node.keywords
        )
        if any(not any(keyword.arg == "backend" for keyword in node.keywords) for node in calls) or bare:
            named.add("inductor")
        self.compiles = bool(calls or bare)
        # Several backends in one script: it compares them, and says itself which.
        self._one_backend = len(named) == 1 and not own
        self.backends: tuple[str, ...] = (str(next(iter(named))),) if self._one_backend else ("inductor",)
        is_cuda = any(
            (isinstance(node, ast.Constant) and isinstance(node.value, str) and _CUDA.match(node.value))
            or (isinstance(node, ast.Attribute) and node.attr == "cuda" and ast.unparse(node) != "torch.cuda")
            for node in nodes
        )
        self.devices: tuple[str, ...] = ("cpu", "cuda") if is_cuda else ("cpu",)
        self._parameters: set[str] = set()
        self._compiled: dict[str, str] = {}

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(name for name in ("device", "backend") if name in self._parameters)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and _CUDA.match(node.value):
            return self._parameter("device", node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if self._one_backend:
            node.decorator_list = [
                ast.copy_location(ast.Call(one, [], [self._backend(one)]), one) if is_compile(one) else one
                for one in node.decorator_list
            ]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda" and not node.keywords:
            if ast.unparse(node.func.value) != "torch":
                to = ast.Attribute(node.func.value, "to", ast.Load())
                return ast.copy_location(ast.Call(to, [self._parameter("device", node)], []), node)
        elif is_compile(node.func) and self._one_backend:
            kept = [keyword for keyword in node.keywords if keyword.arg != "backend"]
            node.keywords = [self._backend(node), *kept]
        return node

    def _backend(self, at: ast.AST) -> ast.keyword:
        return ast.keyword("backend", self._parameter("backend", at))

    def _parameter(self, name: str, at: ast.AST) -> ast.Name:
        self._parameters.add(name)
        return ast.copy_location(ast.Name(name, ast.Load()), at)


# --- the oracle ---------------------------------------------------------------------------------------


def _with_oracle(statements: Sequence[ast.stmt], whole: Sequence[ast.stmt]) -> list[str]:
    """The body of a check: the statements, with what was printed as an oracle where that can be."""
    # Where functions change what they share, eager's run would change what the compiled one sees.
    may_compare = not global_names(whole)
    originals = _compiled_names(statements) if may_compare else {}
    judged = [value for statement in statements for value in shown_by(statement) or [] if is_comparison(value)]
    has_oracle = bool(judged) or any(_checks(statement) for statement in statements)
    lines: list[str] = []
    printed: dict[str, str] = {}
    objects = _programs(statements)
    for statement in statements:
        if _swallows(statement):
            lines.append(f"# {MARK}: the script catches what is raised here; let it out if it is the bug")
            lines.append(_text(statement))
        elif (shown := shown_by(statement)) is not None:
            for value in shown:
                told = f"assert {_text(value)}" if is_comparison(value) else ""
                told = told or (may_compare and _pair(value, originals, printed)) or ""
                if told:
                    lines.append(told)
                    has_oracle = True
                elif not has_oracle and not isinstance(value, ast.Constant) and not _is_seen(value, objects):
                    printed[ast.unparse(value)] = ast.unparse(value)
        elif not has_oracle and may_compare and (compared := _against_eager(statement, originals, statements)):
            lines += compared
            has_oracle = True
        else:
            lines.append(_text(statement))
    if not has_oracle and may_compare and (pair := _both_results(statements, originals)):
        lines.append(f"torch.testing.assert_close({pair[0]}, {pair[1]})")
        has_oracle = True
    if not has_oracle and printed:
        lines += [f"# {MARK}: what is right here? the script printed it: {text}" for text in printed]
        lines += [text for text in printed if "(" in text]
    return lines or ["pass"]


def _text(node: ast.AST) -> str:
    ast.fix_missing_locations(node)
    text = ast.unparse(node)
    return f"\n{text}\n" if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else text


def _checks(statement: ast.stmt) -> bool:
    """Whether a statement, wherever it runs, judges: asserts, compares, raises."""
    return any(
        isinstance(node, (ast.Assert, ast.Raise))
        or (isinstance(node, ast.Call) and "assert" in ast.unparse(node.func).rpartition(".")[2].lower())
        for node in ast.walk(statement)
    )


def _swallows(statement: ast.stmt) -> bool:
    """Whether a statement catches everything, and nothing in it judges."""
    return (
        isinstance(statement, ast.Try)
        and not _checks(statement)
        and any(
            handler.type is None or ast.unparse(handler.type) in ("Exception", "BaseException")
            for handler in statement.handlers
        )
    )


def _compiled_names(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """By the name of a compiled function, that of the function it was made of."""
    found = {}
    for statement in statements:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and statement.value.args:
            call, target = statement.value, statement.targets[0]
            made = call.args[0]
            if is_compile(call.func) and isinstance(target, ast.Name) and isinstance(made, (ast.Name, ast.Attribute)):
                found[target.id] = ast.unparse(made)
    return {name: original for name, original in found.items() if name != original}


def _call_of_compiled(value: ast.expr, originals: dict[str, str]) -> tuple[str, ast.Call] | None:
    """The original function and the call, where an expression calls a compiled function."""
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Name) and value.func.id in originals:
            return originals[value.func.id], value
        made = value.func
        if isinstance(made, ast.Call) and is_compile(made.func) and made.args and isinstance(made.args[0], ast.Name):
            return made.args[0].id, value
    return None


def _pair(value: ast.expr, originals: dict[str, str], printed: dict[str, str]) -> str:
    """The comparison of two printed calls, one of the compiled function and one of the original."""
    found = _call_of_compiled(value, originals)
    if found is None or _uses([found[1]], _RANDOM):
        return ""
    arguments = ", ".join(ast.unparse(one) for one in (*found[1].args, *found[1].keywords))
    eager = printed.pop(f"{found[0]}({arguments})", f"{found[0]}({arguments})")
    return f"torch.testing.assert_close({_text(value)}, {eager})"


def _both_results(statements: Sequence[ast.stmt], originals: dict[str, str]) -> tuple[str, str] | None:
    """The names of the compiled result and of eager's, where the script has made both of the same arguments."""
    made = [node for one in statements for node in ast.walk(one) if isinstance(node, ast.Assign)]
    results = {ast.unparse(node.value): node.targets[0].id for node in made if isinstance(node.targets[0], ast.Name)}
    for node in made:
        found = _call_of_compiled(node.value, originals)
        if found and isinstance(node.targets[0], ast.Name):
            arguments = ", ".join(ast.unparse(one) for one in (*found[1].args, *found[1].keywords))
            if eager := results.get(f"{found[0]}({arguments})"):
                return node.targets[0].id, eager
    return None


def _is_seen(value: ast.expr, objects: set[str]) -> bool:
    return isinstance(value, ast.Name) and value.id in objects


def _programs(statements: Sequence[ast.stmt]) -> set[str]:
    """The names of compiled functions and exported programs: that they are printed says nothing of what is right."""
    return {
        target.id
        for one in statements
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
        for target in one.targets
        if isinstance(target, ast.Name)
        and (is_compile(one.value.func) or ast.unparse(one.value.func).rpartition(".")[2].startswith("export"))
    }


def _against_eager(statement: ast.stmt, originals: dict[str, str], statements: Sequence[ast.stmt]) -> list[str]:
    """A compiled call that stands alone, with eager's answer beside it; empty for another statement."""
    if not isinstance(statement, (ast.Expr, ast.Assign)):
        return []
    found = _call_of_compiled(statement.value, originals)
    if found is None:
        return []
    name = ""
    if isinstance(statement, ast.Assign):
        if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
            return []
        name = statement.targets[0].id
    original, call = found
    needs_grad = any("requires_grad" in ast.unparse(one) or "backward" in ast.unparse(one) for one in statements)
    given = [ast.unparse(one) for one in call.args] + [ast.unparse(one) for one in call.keywords]
    if not needs_grad:
        # What the function writes into its arguments must not reach the other call.
        given = [f"copy.deepcopy({one})" for one in map(ast.unparse, call.args)]
        given += [f"{one.arg}=copy.deepcopy({ast.unparse(one.value)})" for one in call.keywords]
    actual = name or "actual"
    return [
        f"expected = {original}({', '.join(given)})",
        f"{actual} = {_text(call)}",
        f"torch.testing.assert_close({actual}, expected)",
    ]
