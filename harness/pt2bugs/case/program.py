"""The program of a case file: its checks, its benches and its explanation, read without importing it."""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Iterable, Iterator

from pt2bugs.case.model import Check, Problem
from pt2bugs.case.vocabulary import PARAMETERS

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


BENCH = "bench_"
"""Begin of the names of functions that are measured for speed and never judged."""


def read_program(text: str, problems: list[Problem]) -> tuple[tuple[Check, ...], tuple[Check, ...], str]:
    """Return the checks, the benches and the docstring of a program.

    Args:
        text: the program.
        problems: takes what is wrong with it.
    """
    try:
        with warnings.catch_warnings():
            # Invalid escapes and the like are for the author's own Python to tell.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        problems.append(Problem(error.lineno, f"is not Python: {error.msg}"))
        return (), (), ""
    except (ValueError, RecursionError, MemoryError) as error:
        problems.append(Problem(None, f"is not Python that can be parsed: {error or type(error).__name__}"))
        return (), (), ""
    checks, benches = (_functions(tree, text, prefix, word, problems) for prefix, word in _WORDS.items())
    if text.count("def test_") > len(checks):  # to look at every node takes as long as all of the above
        problems += _checks_that_never_run(tree)
    if not checks:
        problems.append(Problem(None, "has no check: write at least one function named test_*"))
    return checks, benches, (ast.get_docstring(tree) or "")


_WORDS = {"test_": "check", BENCH: "bench"}


def _functions(tree: ast.Module, text: str, prefix: str, word: str, problems: list[Problem]) -> tuple[Check, ...]:
    """Return the functions of the module itself whose names begin so, in their order."""
    functions: dict[str, Check] = {}
    for node in tree.body:
        if isinstance(node, _FUNCTIONS) and node.name.startswith(prefix):
            problems += [
                Problem(node.lineno, f"{word} {node.name} {problem}") for problem in _problems_of(node, text, word)
            ]
            if node.name in functions:
                problems.append(Problem(node.lineno, f"{word} {node.name} is defined twice"))
            names = tuple(argument.arg for argument in (*node.args.args, *node.args.kwonlyargs))
            functions[node.name] = Check(node.name, names, node.lineno)
    return tuple(functions.values())


def without_benches(program: str) -> str:
    """Return a program as it is without its benches, and without the blank lines before each: the part that is judged.

    Args:
        program: that can be parsed.
    """
    if f"def {BENCH}" not in program:
        return program
    lines = program.split("\n")
    for node in reversed(ast.parse(program).body):
        if isinstance(node, _FUNCTIONS) and node.name.startswith(BENCH):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
            while first and not lines[first - 1].strip():
                first -= 1
            del lines[first : node.end_lineno]
    return "\n".join(lines)


def _problems_of(node: ast.FunctionDef | ast.AsyncFunctionDef, text: str, word: str) -> Iterator[str]:
    if isinstance(node, ast.AsyncFunctionDef):
        yield "must be a plain function, not async"
    if node.args.posonlyargs:
        yield "takes a positional-only parameter; it is called with names"
    if "yield" in text and _yields(node):
        yield "holds a yield: a generator never runs; write a plain function"
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if argument.arg not in PARAMETERS:
            hint = did_you_mean(argument.arg, PARAMETERS)
            yield f"takes {argument.arg!r}; a {word} takes only the parameters {' and '.join(PARAMETERS)}{hint}"


def _checks_that_never_run(tree: ast.Module) -> Iterator[Problem]:
    """Return a problem for each ``test_*`` function in a class, another function or a block."""
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and node.name.startswith("test_") and node not in tree.body:
            yield Problem(node.lineno, f"{node.name} would never run: a check is a function of the module itself")


def _yields(function: ast.AST) -> bool:
    """Return whether the function itself is a generator; those defined inside it are left aside."""
    todo = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)
    return False


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint that ends a message about an unknown word; empty if nothing is close.

    Args:
        word: the unknown one.
        known: the words that there are.
    """
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
