"""Step 1: runs the program as it is, several times, to see which failure it has, and how often."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pt2bugs.case.versions import public
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.errors import NothingSelected
from pt2bugs.triage.identity import PRINTS_OTHERWISE, Identity, is_repeated
from pt2bugs.triage.program import CannotRun, Program, is_unused
from pt2bugs.triage.runner import ProgramRunner, RunResult
from pt2bugs.triage.statements import stated

TIMES = 3
MISSING = re.compile(r"No module named '([^']+)'")
"""The message of an import of a module that is not installed."""


_COMPILER = re.compile(r"\btorch[./](_dynamo|_inductor|_functorch|export|compile)\b")
_ELSEWHERE = "; what another process compiles that it starts is not seen: let it call that function by itself"


class NeverCompiles(NothingSelected):
    """The program never enters the compiler. Exit code 3."""


@dataclass(frozen=True)
class Oracle:
    """Judge of what a run of the program shows.

    `reference` is what it prints without the compiler, where that counts. `counts_caught` says whether an exception of
    the compiler that the program catches and prints is a failure: not where the program has another one.
    """

    reference: str | None = None
    counts_caught: bool = True

    def identity(self, result: RunResult) -> Identity:
        """Return the identity of a run; of one that prints another text than the reference, that of a wrong result.

        Args:
            result: the run.
        """
        identity = result.identity if self.counts_caught else result.own_identity
        if identity.is_failure or self.reference in (None, result.stdout) or result.outcome is not Outcome.PASS:
            return identity
        return Identity(Outcome.WRONG, "", f"{PRINTS_OTHERWISE}: {first_difference(self.reference, result.stdout)}")


def first_difference(expected: str, actual: str) -> str:
    """Return the first lines that differ, in words.

    Args:
        expected: a text.
        actual: another.
    """
    ours, theirs = actual.splitlines(), expected.splitlines()
    for index in range(max(len(ours), len(theirs))):
        got, want = (lines[index] if index < len(lines) else None for lines in (ours, theirs))
        if got != want:
            return f"line {index + 1} is {_quoted(got)}, not {_quoted(want)}"
    return "only its line breaks differ"


def _quoted(line: str | None) -> str:
    return "missing" if line is None else repr(line if len(line) <= 120 else f"{line[:117]}...")


@dataclass(frozen=True)
class Reproduction:
    """The program as it is: `failed` of `runs` showed `identity`, which is no failure where it passes."""

    result: RunResult
    identity: Identity
    failed: int
    runs: int
    oracle: Oracle
    note: str = ""

    @property
    def is_failure(self) -> bool:
        return self.identity.is_failure

    @property
    def outcome(self) -> Outcome:
        return self.identity.outcome


def reproduce(
    runner: ProgramRunner,
    program: Program,
    times: int = TIMES,
    *,
    compare_output: bool = False,
    entries_needed: bool = True,
) -> Reproduction:
    """Run the program several times, or until a tenth of the budget is spent.

    Args:
        runner: runs programs.
        program: the program.
        times: how often.
        compare_output: whether what it prints is compared with what it prints without the compiler.
        entries_needed: whether a program that never compiles is refused.

    Raises:
        CannotRun: it cannot be run here.
        NeverCompiles: it runs, and never enters the compiler.
        EngineError: the engine cannot be started.
    """
    first = runner.run(program.path, stdout=compare_output)
    refuse(program, first, runner)
    if entries_needed and not first.entered and not first.graphs:
        raise NeverCompiles(
            f"{program.path.name}: never enters the compiler (no torch.compile, export, make_fx or fake tensors) "
            f"and ends with {first.observation.summary}{_ELSEWHERE if _COMPILER.search(first.text) else ''}"
        )
    oracle, note = Oracle(counts_caught=first.is_caught or first.outcome is Outcome.PASS), ""
    if compare_output:
        oracle, note = comparing(runner, program, first, oracle)
    identity, result, failed, runs = oracle.identity(first), first, 0, 0
    failed, runs = int(identity.is_failure), 1
    slow = first.seconds > runner.budget.left_s / 10
    while runs < times and not slow and not runner.budget.is_over:
        again = runner.run(program.path, stdout=compare_output)
        seen = oracle.identity(again)
        runs += 1
        if seen.is_failure and not identity.is_failure:
            identity, result = seen, again
        failed += int(is_repeated(seen, identity))
    return Reproduction(result, identity, failed, runs, oracle, note)


def comparing(runner: ProgramRunner, program: Program, first: RunResult, oracle: Oracle) -> tuple[Oracle, str]:
    """Return an oracle that also compares what is printed, or why it cannot: two runs without the compiler differ.

    Args:
        runner: runs programs.
        program: the program.
        first: a run of it as it is.
        oracle: the one that it is made of.

    Raises:
        EngineError: the engine cannot be started.
    """
    plain, again = (runner.run(program.path, {"backend": "none"}, stdout=True) for _ in range(2))
    if plain.outcome is not Outcome.PASS:
        return oracle, "what it prints was not compared: without the compiler it fails"
    if plain.stdout != again.stdout and first.stdout != plain.stdout:
        varies = first_difference(plain.stdout, again.stdout)
        return oracle, f"what it prints was not compared: it differs from run to run without the compiler ({varies})"
    return Oracle(plain.stdout, oracle.counts_caught), ""


def refuse(program: Program, result: RunResult, runner: ProgramRunner) -> None:
    """Tell a program that cannot be run here from one that fails.

    Args:
        program: the program.
        result: a run of it.
        runner: that made it.

    Raises:
        CannotRun: with the reason.
    """
    seen, name = result.observation, program.path.name
    where = f"torch {public(runner.torch)}"
    message = seen.message
    kind = seen.error_type
    if seen.outcome is Outcome.ERROR:
        raise CannotRun(f"{name}: could not be run with {where}: {message.splitlines()[0] if message else 'no reason'}")
    if kind == "SyntaxError" and not seen.frame:
        raise CannotRun(f"{name}: is not Python for the interpreter of {where}: {message}")
    if kind in ("ModuleNotFoundError", "ImportError") and (not seen.frame or "torch" not in message):
        hint = ""
        if (module := MISSING.search(message)) and is_unused(program.source, module[1]):
            hint = "; the program never uses it, and --drop-unused-imports leaves it out"
        raise CannotRun(f"{name}: cannot import what it needs with {where}: {message.splitlines()[0]}{hint}")
    if kind == "EOFError" and "EOF when reading a line" in message:
        raise CannotRun(f"{name}: asks for input; there is no input here, so give it its values as arguments after --")
    if kind == "FileNotFoundError" and not seen.frame:
        raise CannotRun(f"{name}: needs a file that is not there: {message}; it runs in an empty folder of its own")
    if kind == "SystemExit" and message == "2" and "usage:" in seen.output_tail:
        raise CannotRun(f"{name}: asks for other arguments; give them after --")
    statement = program.source.splitlines()[result.lines[-1] - 1] if result.lines else ""
    wants_gpu = not result.entered and re.search(r"\b(?:cuda|xpu|hip|mps)\.is_available", statement)
    is_refused = bool(stated("no-accelerator", message))
    if seen.outcome in (Outcome.RAISE, Outcome.WRONG) and (is_refused or wants_gpu):
        why = seen.summary if is_refused else statement.strip()
        raise CannotRun(f"{name}: needs a GPU, and this machine has none ({why})")
