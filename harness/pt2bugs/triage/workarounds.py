"""Workarounds of a failure: each is tried, first on the small program, then on the one that was given."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pt2bugs.case.vocabulary import Outcome
from pt2bugs.files import write_text
from pt2bugs.triage.ladder import (
    EXPORTS,
    INSIDE_INDUCTOR,
    LAYERS,
    NO_DECOMPOSITION,
    SETTINGS,
    SHAPES,
    Ladder,
)
from pt2bugs.triage.program import Program
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.runner import PROGRAM_NAME, ProgramRunner, RunResult
from pt2bugs.triage.since_when import Releases

MAX_FUNCTIONS = 4
"""Functions that are kept from the compiler, one after the other."""
_RUNGS = {
    "dynamic_false": "torch.compile(..., dynamic=False)",
    "dynamic_true": "torch.compile(..., dynamic=True)",
    **{layer: f'torch.compile(..., backend="{layer}")' for layer in LAYERS[1:-1]},
    "mode_default": "torch.compile(...) without its mode and options",
    **{
        rung: f"{name} = {value}"
        for rung, redirect in {**SETTINGS, **INSIDE_INDUCTOR}.items()
        for name, value in redirect.get("config", {}).items()
    },
    **{rung: f"torch.export.export(..., strict={redirect['strict']})" for rung, redirect in EXPORTS.items()},
}
"""The rungs of the ladder that a user can have, and how each is written."""
_REDIRECTS = {**SHAPES, **SETTINGS, **INSIDE_INDUCTOR}
_SETTING = re.compile(r"\b(torch\._(?:dynamo|inductor|functorch)\.config\.[\w.]+) ?= ?(True|False|\d+)\b")
_CHECK = re.compile(r"^\s*(?:\d+\.\s+)?(torch\._check(?:_is_size)?\(.+\))\s*$", re.MULTILINE)
_UNBACKED = re.compile(r"\bu\d+\b")
"""A symbol of the compiler, which no line of the program can name."""
_DIM = re.compile(r"^\s*(\w+) = (Dim\(.+\)|\d+|\d*\*?\w+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Workaround:
    """Something that was tried. `graphs` and `breaks` are what Dynamo counted with it, None where nothing was."""

    what: str
    passes: bool
    graphs: int | None = None
    breaks: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, "passes": self.passes, "graphs": self.graphs, "breaks": self.breaks}


@dataclass(frozen=True)
class Attempt:
    """A workaround to try: a redirection of the compiler, a line of the program written otherwise, or both.

    Attributes:
        what: The same as a user writes it.
        redirect: See `inside.redirect.install`.
        rewrite: Of a program that fails, its text and its failure; None where it does not apply.
    """

    what: str
    redirect: Mapping[str, Any] = field(default_factory=dict)
    rewrite: Callable[[str, Reproduction], str | None] = lambda source, _: source


def of_releases(releases: Releases | None) -> list[Workaround]:
    """Return the releases on which the program passes.

    Args:
        releases: the answers; None if none were asked.
    """
    answers = releases.answers.items() if releases is not None else ()
    return [
        Workaround(f"torch {name}", passes=True, graphs=answer.result.graphs, breaks=answer.result.breaks)
        for name, answer in answers
        if answer.result is not None and answer.identity.outcome is Outcome.PASS
    ]


def try_workarounds(
    runner: ProgramRunner,
    given: tuple[Program, Reproduction],
    small: tuple[Program, Reproduction],
    ladder: Ladder,
    operator: str,
    folder: Path,
    log: Callable[[str], None],
) -> list[Workaround]:
    """Try what a user can do, and return it, what passes first.

    Args:
        runner: runs programs.
        given: the program as it was given, and its failure.
        small: the small program, and its failure; may be the same.
        ladder: the rungs that were tried.
        operator: the suspect, as ``aten.mm``; may be empty.
        folder: for rewritten programs.
        log: told of each.

    Raises:
        EngineError: the engine cannot be started.
    """
    tried = [
        Workaround(_RUNGS[step.rung], _passes(step.result, given[1]), step.result.graphs, step.result.breaks)
        for step in ladder.steps
        if step.rung in (*LAYERS, *EXPORTS) and step.rung in _RUNGS and step.result is not None
    ]
    for attempt in _attempts(small[0].source, small[1], ladder, operator):
        if runner.budget.is_over:
            break
        log(f"workaround: {attempt.what}")
        tried += _try(runner, attempt, given, small, folder)
    return sorted(tried, key=lambda workaround: not workaround.passes)


def _try(
    runner: ProgramRunner,
    attempt: Attempt,
    given: tuple[Program, Reproduction],
    small: tuple[Program, Reproduction],
    folder: Path,
) -> list[Workaround]:
    """Return what became of an attempt; nothing where it does not apply, or keeps all from the compiler."""
    result: list[Workaround] = []
    for program, reproduction in (small, given) if small[0].source != given[0].source else (given,):
        source = attempt.rewrite(program.source, reproduction)
        if source is None:
            return result
        path = program.path
        if source != program.source:
            path = folder / "workaround.py"
            write_text(path, source)
        ran = runner.run(path, attempt.redirect, stdout=reproduction.oracle.reference is not None)
        if ran.absent:
            return []
        passes = _passes(ran, reproduction)
        if passes and source != program.source and not ran.graphs:
            return []
        result = [Workaround(attempt.what, passes, ran.graphs, ran.breaks)]
        if not passes:
            break
    return result


def _passes(result: RunResult, reproduction: Reproduction) -> bool:
    return reproduction.oracle.identity(result).outcome is Outcome.PASS


def _attempts(source: str, reproduction: Reproduction, ladder: Ladder, operator: str) -> Iterator[Attempt]:
    """Yield what is worth a try: variants that pass, then what torch suggests, then functions left uncompiled."""
    message = reproduction.identity.message
    backend = {"backend": ladder.first_failing} if ladder.first_failing in LAYERS[1:] else {}
    for rung, redirect in _REDIRECTS.items():
        if rung in _RUNGS and ladder.heals(rung):
            yield Attempt(_RUNGS[rung], {**backend, **redirect})
    if operator and ladder.heals(NO_DECOMPOSITION) and ladder.first_failing in LAYERS[-2:]:
        what = f"torch._inductor.decomposition.decompositions without {operator}"
        yield Attempt(what, {"no_decomposition": [operator]})
    for name, value in dict.fromkeys(_SETTING.findall(message)):
        yield Attempt(f"{name} = {value}", {"config": {name: ast.literal_eval(value)}})
    for line in dict.fromkeys(_CHECK.findall(message)):
        if not _UNBACKED.search(line):
            yield Attempt(f"{line} before the line that fails", rewrite=_with_line(line))
    _, _, fixes = message.partition("Suggested fixes:")
    dims: dict[str, str] = dict(_DIM.findall(fixes))
    if dims:
        what = ", ".join(f"{name} = {value}" for name, value in dims.items())
        yield Attempt(what, rewrite=lambda text, _: with_dims(text, dims))
    if "compile" in reproduction.result.entered:
        fullgraph = {"fullgraph": False} if re.search(r"fullgraph\s*=\s*True", source) else {}
        without = ", without fullgraph=True" if fullgraph else ""
        for name in suspects(source, reproduction)[:MAX_FUNCTIONS]:
            what = f"@torch.compiler.disable on {name}{without}"
            yield Attempt(what, fullgraph, _not_compiling(name))


def _user_lines(reproduction: Reproduction) -> list[int]:
    """Return the lines of the program that the failure names, the innermost first."""
    text = reproduction.identity.message.partition("from user code")[2]
    quoted = re.findall(rf'File "[^"]*{re.escape(PROGRAM_NAME)}", line (\d+)', text)
    return [int(number) for number in reversed(quoted)] or list(reversed(reproduction.result.lines))


def suspects(source: str, reproduction: Reproduction) -> list[str]:
    """Return the functions of a program that may be kept from the compiler, the likeliest first.

    Args:
        source: of the program.
        reproduction: its failure, which may name lines.
    """
    functions = dict(_functions(ast.parse(source)))
    compiled = {
        argument.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("compile")
        for argument in node.args[:1]
        if isinstance(argument, ast.Name)
    }
    compiled |= {
        name
        for name, node in functions.items()
        if any(ast.unparse(decorator).partition("(")[0].endswith("compile") for decorator in node.decorator_list)
    }
    named = [
        name
        for line in _user_lines(reproduction)
        for name, node in sorted(functions.items(), key=lambda item: -item[1].lineno)
        if node.lineno <= line <= (node.end_lineno or line)
    ]
    return [
        name for name in dict.fromkeys([*named, *functions]) if name not in compiled and not name.endswith("__init__")
    ]


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions and methods of a program with their names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{part.name}", part) for part in node.body if isinstance(part, ast.FunctionDef))


def without_compiling(source: str, name: str) -> str | None:
    """Return the program with one function kept from the compiler; None if it has none of that name.

    Args:
        source: of the program.
        name: of the function, as ``f`` or ``Class.f``.
    """
    function = dict(_functions(ast.parse(source))).get(name)
    if function is None:
        return None
    lines = source.splitlines(keepends=True)
    indent = " " * function.col_offset
    lines.insert(function.lineno - 1, f'{indent}@__import__("torch").compiler.disable\n')
    return "".join(lines)


def _not_compiling(name: str) -> Callable[[str, Reproduction], str | None]:
    return lambda source, _: without_compiling(source, name)


def _with_line(line: str) -> Callable[[str, Reproduction], str | None]:
    """Return a rewrite that puts a line before the innermost one that the failure names."""

    def rewrite(source: str, reproduction: Reproduction) -> str | None:
        lines, numbers = source.splitlines(keepends=True), _user_lines(reproduction)
        if not numbers or numbers[0] > len(lines):
            return None
        at = numbers[0] - 1
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines.insert(at, f"{indent}{line}\n")
        text = "".join(lines)
        try:
            ast.parse(text)
        except SyntaxError:
            return None
        return text

    return rewrite


def with_dims(source: str, dims: Mapping[str, str]) -> str | None:
    """Return the program with other dynamic dimensions, as torch.export suggests them; None if it names none of these.

    Args:
        source: of the program.
        dims: what to assign to each name.
    """
    tree = ast.parse(source)
    is_changed = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
            value = dims.get(ast.unparse(node.targets[0]))
            if value is not None and ast.unparse(node.value.func).rpartition(".")[2] == "Dim":
                text = value.replace("Dim(", f"{ast.unparse(node.value.func)}(")
                node.value = ast.parse(text, mode="eval").body
                is_changed = True
    return ast.unparse(tree) + "\n" if is_changed else None
