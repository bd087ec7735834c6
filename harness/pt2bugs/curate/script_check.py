"""Makes a check of a script: its statements become the body of a `test_*` function, with an oracle.

Devices and backends that the script names become the parameters of the check. What the script asserts or compares is
the oracle; a printed comparison becomes an assertion; a compiled call that nothing looks at is compared with eager.
Where none of that can be done a marked line says so: nothing is invented.
"""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, field

from pt2bugs.curate.marks import MARK
from pt2bugs.curate.script_oracle import draws, with_oracle
from pt2bugs.curate.script_shape import free_names, global_names, is_compile, straightened, undefined_names
from pt2bugs.errors import InputError

_MODULES = (
    "collections", "contextlib", "copy", "dataclasses", "functools", "itertools", "math", "operator", "os", "random",
    "sys", "types", "typing", "warnings",
)  # fmt: skip
_USUAL = {
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
"""What the names of the community mean where a script was copied without its imports."""
_CUDA = re.compile(r"^cuda(?::0)?$")


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
    source = textwrap.dedent(source)
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
    missing = undefined_names([*statements, *imports])
    lines = {ast.unparse(one) for one in imports} | {_USUAL[name] for name in missing if name in _USUAL}
    draft.imports = sorted(
        lines,
        key=lambda line: (not line.startswith("from __future__"), "torch" in line, line.startswith("from "), line),
    )
    body = [one for one in rest if one not in outside]
    draft.body += [f"# {MARK}: the script does not say what {name} is" for name in missing if name not in _USUAL]
    if shared:
        draft.body.append(f"global {', '.join(shared)}")
    if draws(body) and not any("manual_seed" in ast.unparse(one) for one in rest):
        draft.body.append("torch.manual_seed(0)")
    draft.body += with_oracle(body, rest)
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
