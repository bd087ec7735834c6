"""A smaller program with the same failure at the same layer.

Numbers of epochs, steps and layers become small first, as every later candidate then runs faster. Calls of the
program's own functions and modules become one of their arguments, settings become their values, and what nothing uses
goes with them. Whole statements go next, in halves, quarters and one by one; loops become one pass, small functions
what they compute, and names that are read once their values. The rest is pysource-minimize's, which takes away and
simplifies nodes of the syntax tree. Each candidate is answered by the engine: the same identity on the rung that fails
first, and a pass on the rung below.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pt2bugs.case.failure import Level
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.curate.script import inline_main, lines_of_code
from pt2bugs.engine.client import EngineError
from pt2bugs.errors import install_command
from pt2bugs.files import write_text
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.identity import Identity, is_repeated, is_repeated_verbatim
from pt2bugs.triage.inlining import with_bodies, with_one_pass, with_settings, with_values
from pt2bugs.triage.ladder import BELOW, EXPORTS, LAYERS, Ladder
from pt2bugs.triage.program import Program, expects_exception
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.runner import ProgramRunner, RunResult
from pt2bugs.triage.unused import without_calls, without_unused

_FIRST_PART = 0.85
"""Part of the budget after which what the syntax tree still has is folded."""
_MADE_UP = re.compile(r"unique_name_\d+")
"""Name that pysource-minimize gives to a target that it cannot take away."""


@dataclass(frozen=True)
class Minimized:
    """The smallest program. `tries` candidates were run; `why_not` says what kept or cut it off."""

    source: str
    lines_before: int
    lines_after: int
    tries: int = 0
    why_not: str = ""


class _Spent(Exception):
    """The budget of the reduction is over."""


class Interesting:
    """Predicate of the reduction: a candidate has the same failure at the same layer.

    If a layer below fails in the same words with another result, it must do so with the candidate, too. If the program
    expects an exception that does not come, so must the candidate, and without the compiler one of that type comes.
    """

    def __init__(
        self, runner: ProgramRunner, folder: Path, program: Program, reproduction: Reproduction, ladder: Ladder
    ) -> None:
        self._runner, self._reproduction = runner, reproduction
        self._path = folder / "candidate.py"
        self._at, self._below = _redirects(ladder)
        self._other = _other_result(ladder, reproduction)
        self._wants_refusal = reproduction.outcome is Outcome.WRONG and expects_exception(
            program.source, reproduction.identity.line
        )
        self._expected = _expected(program.source)
        below = ladder.step(ladder.below)
        self._refusals = _handled(below.result) if self._wants_refusal and below is not None else frozenset()
        self._timeout_s = max(10.0, min(120.0, 4 * reproduction.result.seconds))
        self.identity = reproduction.identity
        self.tries = 0

    @property
    def can_tell(self) -> bool:
        """True where some rung tells the failure from that of a program which only asserts what is false."""
        return self.identity.outcome is not Outcome.WRONG or self._below is not None or self._other is not None

    def __call__(self, source: str) -> bool:
        """Return whether a candidate has the failure.

        Args:
            source: of the candidate.

        Raises:
            EngineError: the engine cannot be started.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(source, "candidate", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return False
        self.tries += 1
        write_text(self._path, source)
        # The layer below compiles less, and tells what no longer runs at all.
        if not self._passes_below():
            return False
        result = self._run(self._at)
        if not self._is_same(result):
            return False
        if self._wants_refusal and not self._still_wants(source, result):
            return False
        if not set(result.backends) <= set(self._reproduction.result.backends) and not self._is_same(self._run({})):
            # The rung puts its backend in the place of any other, one that there is not among them.
            return False
        return self._differs_from_other(result)

    def _still_wants(self, source: str, result: RunResult) -> bool:
        """Return whether a fix would make the candidate pass: a handler of the program expects an exception there."""
        return _expected(source) <= self._expected and expects_exception(source, result.identity.line)

    def _passes_below(self) -> bool:
        if self._below is None:
            return True
        below = self._run(self._below)
        if self._refusals and not self._refusals & _handled(below):
            return False
        return below.outcome is Outcome.PASS and not below.is_caught

    def _differs_from_other(self, result: RunResult) -> bool:
        if self._other is None:
            return True
        other = self._run(self._other)
        return self._is_same(other) and other.identity.message != result.identity.message

    def _run(self, redirect: dict[str, Any]) -> RunResult:
        return self._runner.run(self._path, redirect, timeout_s=self._timeout_s)

    def _is_same(self, result: RunResult) -> bool:
        return (
            has_same_failure(result.identity, self.identity) and result.is_caught == self._reproduction.result.is_caught
        )


def has_same_failure(seen: Identity, wanted: Identity) -> bool:
    """Return whether a smaller program shows the failure of the program.

    Args:
        seen: of the smaller program.
        wanted: of the program.
    """
    if seen.failure is None:
        return False
    # FRAME, of exceptions: a reducer slides from one bug into another that says the same elsewhere. A wrong result has
    # other numbers in each smaller program, so MESSAGE; its line moves, so that does not count.
    level = Level.FRAME if wanted.outcome is Outcome.RAISE else Level.MESSAGE
    return seen.failure.same(wanted.failure, level)


def _redirects(ladder: Ladder) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the redirection on which a candidate must fail, and the one on which it must pass."""
    first = ladder.first_failing
    at: dict[str, Any] = {}
    if first in LAYERS[1:]:
        at = {"backend": first}
    elif first in EXPORTS:
        at = dict(EXPORTS[first])
    name = ladder.below
    if not name and first not in (*LAYERS, *EXPORTS) and ladder.heals("none"):
        # Above all layers: a backend of the program's own, or a ladder that the budget cut short.
        name = "none"
    below = BELOW.get(name, {"backend": name})
    return at, dict(below) if name else None


def _other_result(ladder: Ladder, reproduction: Reproduction) -> dict[str, Any] | None:
    """Return the redirection to a layer below that gives another result in the same words; None if one passes."""
    first = ladder.step(ladder.first_failing)
    if (
        first is None
        or ladder.first_failing not in LAYERS
        or not is_repeated_verbatim(first.identity, reproduction.identity)
    ):
        return None
    for rung in reversed(LAYERS[: LAYERS.index(ladder.first_failing)]):
        step = ladder.step(rung)
        if step is None or step.identity.outcome is Outcome.PASS:
            return None
        if is_repeated(step.identity, reproduction.identity) and step.identity.message != reproduction.identity.message:
            return {"backend": rung}
    return None


def _expected(source: str) -> frozenset[str]:
    """Return the exceptions that the handlers of a program name."""
    handlers = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ExceptHandler)]
    return frozenset(ast.unparse(handler.type) if handler.type is not None else "" for handler in handlers)


def _handled(result: RunResult | None) -> frozenset[str]:
    """Return the types of the exceptions that a run without the compiler raised and handled."""
    return frozenset(kind for kind, _, _ in result.handled) if result is not None else frozenset()


def minimize(
    runner: ProgramRunner,
    program: Program,
    reproduction: Reproduction,
    ladder: Ladder,
    folder: Path,
    budget: Budget,
    log: Callable[[str], None],
) -> Minimized:
    """Reduce the program as far as the budget goes, and return the smallest one.

    Args:
        runner: runs programs.
        program: as it was given.
        reproduction: its failure.
        ladder: the rungs that were tried.
        folder: for candidates.
        budget: of this step.
        log: told of progress.

    Raises:
        EngineError: the engine cannot be started.
    """
    before = lines_of_code(program.source)
    if reproduction.oracle.reference is not None:
        return Minimized(program.source, before, before, why_not="what it prints is compared: every line counts")
    try:
        from pysource_minimize import minimize as reduce
    except ImportError:
        reason = f"pysource-minimize is not installed: {install_command('triage')}"
        return Minimized(program.source, before, before, why_not=reason)
    asks = Interesting(runner, folder, program, reproduction, ladder)
    if not asks.can_tell:
        reason = "no rung passes or gives another result, so any program with that assertion would do"
        return Minimized(program.source, before, before, why_not=reason)
    best, size = program.source, (before, len(program.source))
    answers: dict[str, bool] = {}
    limit = budget.share(_FIRST_PART)

    def check(source: str) -> bool:
        nonlocal best, size
        if limit.is_over:
            raise _Spent
        if source not in answers:
            answers[source] = asks(source)
        if not answers[source]:
            return False
        new = (lines_of_code(source), len(source))
        if new < size or best == program.source:
            best, size = source, new
            log(f"minimize: {size[0]} of {before} lines, {asks.tries} programs tried")
        return True

    def fold() -> None:
        check(without_unused(best))
        with_one_pass(best, check)
        with_bodies(best, check)
        without_more_statements(best, check)
        with_values(best, check)

    def shrink() -> None:
        if not check(ast.unparse(ast.parse(program.source)) + "\n"):
            return
        with_small_counts(best, check)
        check(without_unused(best))
        without_calls(best, check)
        with_settings(best, check)
        without_more_statements(best, check)
        fold()
        reduce(best, check, retries=0)

    why_not = _why_not(shrink)
    if not why_not and not any(answers.values()):
        reason = "without its comments it does not fail in the same way"
        return Minimized(program.source, before, before, asks.tries, reason)
    limit = budget
    if any(answers.values()):
        # What the syntax tree has lost may leave a function that is one expression.
        why_not = _why_not(fold) or why_not
    for tidied in (without_idle_statements, without_empty_names, without_main):
        if (tidy := tidied(best)) != best and asks(tidy):
            best = tidy
    if lines_of_code(best) > before:
        # It was only written out, a statement a line.
        best = program.source
    return Minimized(best, before, lines_of_code(best), asks.tries, why_not)


def _why_not(reduce: Callable[[], None]) -> str:
    """Run steps of a reduction, and return what ended them early; empty if nothing did."""
    try:
        reduce()
    except _Spent:
        return "its share of the budget was spent"
    except EngineError:
        raise
    except Exception as error:
        return f"the reducer gave up: {type(error).__name__}"
    return ""


def uncaught(runner: ProgramRunner, program: Program, reproduction: Reproduction, folder: Path) -> Program | None:
    """Return the program without its handlers, if the failure that it caught then leaves it; else None.

    Args:
        runner: runs programs.
        program: as it was given.
        reproduction: the failure that it catches.
        folder: for the program.

    Raises:
        EngineError: the engine cannot be started.
    """
    path = folder / f"{program.name}.py"
    write_text(path, without_handlers(program.source))
    result = runner.run(path)
    # MESSAGE: with the handler gone it leaves the program by way of another function of torch.
    failure = result.identity.failure
    if failure is None or not failure.same(reproduction.identity.failure, Level.MESSAGE):
        return None
    return Program(path, path.read_text(encoding="utf-8"))


_COUNTS = re.compile(r"(?i)epoch|step|iter|layer|depth|block|repeat|batch|rounds|times|^n_|^num_|^n$")
"""Names of numbers that say how often something is done."""


def with_small_counts(source: str, check: Callable[[str], bool]) -> str:
    """Return the program with its numbers of epochs, steps and layers made 1, as far as a check allows: all, or each.

    Args:
        source: of the program.
        check: says whether a candidate will do.
    """
    tree = ast.parse(source)
    counts = [number for number in _counts(tree) if isinstance(number.value, int) and number.value > 1]
    for group in [counts, *([number] for number in counts if len(counts) > 1)]:
        before = [number.value for number in group]
        if not group or all(value == 1 for value in before):
            continue
        for number in group:
            number.value = 1
        if not check(ast.unparse(tree) + "\n"):
            for number, value in zip(group, before, strict=True):
                number.value = value
    return ast.unparse(tree) + "\n"


def _counts(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the numbers that a range, a variable, a parameter or an argument with such a name counts by."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            yield from (argument for argument in node.args[:2][-1:] if isinstance(argument, ast.Constant))
        elif isinstance(node, ast.keyword) and node.arg and _COUNTS.search(node.arg):
            yield from [node.value] if isinstance(node.value, ast.Constant) else []
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            named = [target.id for target in node.targets if isinstance(target, ast.Name)]
            yield from [node.value] if any(map(_COUNTS.search, named)) else []
        elif isinstance(node, ast.arguments):
            defaults = zip(reversed(node.args), reversed(node.defaults), strict=False)
            yield from (value for arg, value in defaults if isinstance(value, ast.Constant) and _COUNTS.search(arg.arg))


def without_more_statements(source: str, check: Callable[[str], bool]) -> str:
    """Return the program without statements, tried until none goes: a definition goes once nothing uses it.

    Args:
        source: of the program.
        check: says whether a candidate will do.
    """
    while (smaller := without_statements(source, check)) != source and check(smaller):
        source = smaller
    return source


def without_statements(source: str, check: Callable[[str], bool]) -> str:
    """Return the program without the statements that a check allows to go, from the outermost block inwards.

    Args:
        source: of the program.
        check: says whether a candidate will do.
    """
    tree = ast.parse(source)
    blocks: list[list[ast.stmt]] = [tree.body]
    while blocks:
        block = blocks.pop(0)
        size = max(1, len(block) // 2)
        while block:
            # From the end: what uses a name goes before what binds it.
            for start in reversed(range(0, len(block), size)):
                chunk = block[start : start + size]
                if _still_used(tree, chunk):
                    continue
                rest = [ast.Pass()] if block is not tree.body and len(chunk) == len(block) else []
                if [type(statement) for statement in chunk] == [ast.Pass]:
                    continue
                block[start : start + size] = rest
                if not check(ast.unparse(tree) + "\n"):
                    block[start : start + len(rest)] = chunk
            if size == 1:
                break
            size //= 2
        for statement in block:
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(statement, name, None)
                if isinstance(inner, list) and inner:
                    blocks.append(inner)
    return ast.unparse(tree) + "\n"


def _still_used(tree: ast.Module, chunk: Sequence[ast.stmt]) -> bool:
    """Return whether statements import or define a name that the rest of the program reads; not worth a run."""
    inside = {id(node) for statement in chunk for node in ast.walk(statement)}
    bound = {alias.asname or alias.name.partition(".")[0] for statement in chunk for alias in _aliases(statement)}
    bound |= {node.name for node in chunk if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return any(node.id in bound and id(node) not in inside for node in names)


def _aliases(statement: ast.stmt) -> list[ast.alias]:
    return statement.names if isinstance(statement, (ast.Import, ast.ImportFrom)) else []


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
    """Return the program with nothing that catches exceptions, so that they leave it.

    Args:
        source: of the program.
    """
    return ast.unparse(ast.fix_missing_locations(_Unguarded().visit(ast.parse(source)))) + "\n"


def without_idle_statements(source: str) -> str:
    """Return the program without statements that are a constant or a name alone: a reducer leaves them for calls.

    Args:
        source: of the program.
    """
    return ast.unparse(ast.fix_missing_locations(_Busy().visit(ast.parse(source)))) + "\n"


def without_empty_names(source: str) -> str:
    """Return the program without the targets that a reducer made up and nothing reads; `_` where a name must stand.

    Args:
        source: of the program.
    """
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
    if any(isinstance(part, ast.Starred) for pair in pairs for part in pair):
        return
    kept = [pair for pair in pairs if not (_is_unread(pair[0]) and isinstance(pair[1], (ast.Constant, ast.Name)))]
    if len(kept) == 1:
        node.targets[0], node.value = kept[0]


def _is_unread(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "_"


def without_main(source: str) -> str:
    """Return the program with what its `main` does in place of the call.

    Args:
        source: of the program.
    """
    tree = ast.parse(source)
    tree.body = inline_main(tree.body)
    return ast.unparse(tree) + "\n"


class _Busy(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                busy = [statement for statement in block if not _is_idle(statement)]
                setattr(node, name, busy or ([ast.Pass()] if name == "body" else []))
        return node


def _is_idle(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.Name))
    )
