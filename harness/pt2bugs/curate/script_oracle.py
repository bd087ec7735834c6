"""The oracle of a check that is made of a script: what it asserts, what it printed, or eager's answer.

What the script asserts or compares is the oracle; a printed comparison becomes an assertion; a compiled call that
nothing looks at is compared with eager. Where none of that can be done a marked line says so: nothing is invented.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pt2bugs.curate.marks import MARK
from pt2bugs.curate.script_shape import global_names, is_comparison, is_compile, shown_by

_RANDOM = frozenset(
    {
        "rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "randperm", "normal", "bernoulli",
        "multinomial", "dropout", "Dropout", "normal_", "uniform_", "bernoulli_", "Linear", "Conv1d", "Conv2d",
        "Embedding", "LSTM", "GRU", "TransformerEncoderLayer", "MultiheadAttention",
    }
)  # fmt: skip
_BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.Try)


def draws(statements: Sequence[ast.AST]) -> bool:
    """Whether statements draw random numbers."""
    return any(
        isinstance(one, ast.Attribute) and one.attr in _RANDOM
        for statement in statements
        for one in ast.walk(statement)
    )


@dataclass(frozen=True)
class _Shown:
    """What the script printed at a place, which may turn out to be judged elsewhere."""

    text: str


def with_oracle(statements: Sequence[ast.stmt], whole: Sequence[ast.stmt]) -> list[str]:
    """The body of a check: the statements, with what was printed as an oracle where that can be.

    Args:
        whole: the statements and the definitions outside the check.
    """
    # Where functions change what they share, eager's run would change what the compiled one sees.
    may_compare = not global_names(whole)
    originals = _compiled_names(statements) if may_compare else {}
    functions = {one.name: one for one in whole if isinstance(one, ast.FunctionDef)}
    judged = [value for statement in statements for value in shown_by(statement) or [] if is_comparison(value)]
    has_oracle = bool(judged) or any(_checks(statement) for statement in statements)
    is_eagers = False
    lines: list[str | _Shown] = []
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
                    lines.append(_Shown(ast.unparse(value)))
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
        lines.append(f"# {MARK}: what is right here? the script prints it in a block")
    return list(_resolved(lines, {} if has_oracle else printed)) or ["pass"]


def _resolved(lines: Sequence[str | _Shown], printed: Mapping[str, str]) -> Iterator[str]:
    """The lines, with a mark where something was printed that nothing judges."""
    for line in lines:
        if isinstance(line, str):
            yield line
        elif line.text in printed:
            yield f"# {MARK}: what is right here? the script printed it: {line.text}"
            if "(" in line.text:
                yield line.text


def _prints_within(statement: ast.stmt) -> bool:
    return isinstance(statement, _BLOCKS) and any(
        shown_by(node) for node in ast.walk(statement) if isinstance(node, ast.stmt)
    )


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
    if found is None or draws([found[1]]):
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


def _against_eager(
    statement: ast.stmt,
    originals: dict[str, str],
    functions: Mapping[str, ast.FunctionDef],
    statements: Sequence[ast.stmt],
) -> list[str]:
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
    function = functions.get(original)
    needs_grad = any("requires_grad" in ast.unparse(one) or "backward" in ast.unparse(one) for one in statements)
    given = [ast.unparse(one) for one in call.args] + [ast.unparse(one) for one in call.keywords]
    if not needs_grad:
        # What the function writes into its arguments must not reach the other call.
        given = [_anew(one) for one in call.args]
        given += [f"{one.arg}={_anew(one.value)}" for one in call.keywords]
    seed = ["torch.manual_seed(0)"] if function is not None and draws([function]) else []
    if function is not None and _gives_nothing(function) and call.args and not call.keywords:
        if needs_grad:
            return [_text(call), f"# {MARK}: {original} gives nothing; compare what it changes with eager's"]
        arguments = ", ".join(ast.unparse(one) for one in call.args)
        return [
            f"expected, actual = [{', '.join(given)}], [{arguments}]",
            *seed,
            f"{original}(*expected)",
            *seed,
            f"{_text(call.func)}(*actual)",
            "torch.testing.assert_close(actual, expected)",
        ]
    actual = name or "actual"
    return [
        *seed,
        f"expected = {original}({', '.join(given)})",
        *seed,
        f"{actual} = {_text(call)}",
        f"torch.testing.assert_close({actual}, expected)",
    ]


def _anew(value: ast.expr) -> str:
    """An argument for another call, which shares nothing with that of the first."""
    text = ast.unparse(value)
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    is_made_here = names <= {"torch"} and not draws([value])
    return text if is_made_here else f"copy.deepcopy({text})"


def _gives_nothing(function: ast.FunctionDef) -> bool:
    inner = {
        node
        for one in ast.walk(function)
        if isinstance(one, (ast.FunctionDef, ast.ClassDef, ast.Lambda)) and one is not function
        for node in ast.walk(one)
    }
    return not any(
        (isinstance(node, ast.Return) and node.value is not None) or isinstance(node, (ast.Yield, ast.YieldFrom))
        for node in ast.walk(function)
        if node not in inner
    )
