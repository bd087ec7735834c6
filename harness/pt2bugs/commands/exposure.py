"""`pt2bugs exposure`: which documented bugs of a release concern a program of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, say
from pt2bugs.commands.options import ProgramOptions, option
from pt2bugs.commands.program import exposure_command, select_interpreters, select_known, select_program
from pt2bugs.commands.selection import interpreter_of, open_environments
from pt2bugs.upgrade.exposure import EXECUTED, Exposure, exposure_of

EXAMPLES = (
    ("pt2bugs exposure train.py --torch 2.12.1", "which documented bugs of 2.12.1 change what is made of train.py"),
    ("pt2bugs exposure train.py --torch 2.12.1 --with timm --json", "with its packages, as JSON"),
)


@dataclass(frozen=True, kw_only=True)
class Options(ProgramOptions):
    """Options of `exposure`."""

    torch: str | None = option("--torch", metavar="RELEASE", help="the release to ask about (default: the current one)")
    python_exe: Path | None = option("--python-exe", parse=Path, metavar="PATH", help="ask about its torch instead")


def run(options: Options) -> int:
    """Select, measure, render. Return the exit code.

    Args:
        options: of the command.

    Raises:
        InputError: the program is none, or its release cannot be had.
        EnvironmentFailure: the interpreter has no torch.
    """
    program = select_program(options)
    known = select_known(options)
    with open_environments(options) as environments:
        interpreters = select_interpreters(options, environments)
        there = interpreter_of(options.python_exe, options.torch)
        python = interpreters.existing(there) if there is not None else interpreters.of(str(options.torch))
        command = partial(exposure_command, options)
        exposure = exposure_of(program, python, known, interpreters, say, command)
    render(options, exposure)
    return UNEXPECTED if any(bug.level == "bites" for bug in exposure.bugs) else OK


# --- render --------------------------------------------------------------------------------------------


def render(options: Options, exposure: Exposure) -> None:
    """Print the answer.

    Args:
        options: of the command.
        exposure: of the program.
    """
    if options.json:
        print_json(exposure.as_dict())
        return
    for line in lines(exposure):
        print(fit(line))


def lines(exposure: Exposure) -> Iterator[str]:
    """Yield the answer as text: what concerns the program first, and what is not known in numbers.

    Args:
        exposure: of the program.
    """
    yield f"torch {exposure.torch}: {'; '.join(exposure.covered)}"
    for bug in exposure.bugs:
        if bug.level in ("bites", "differs") or (bug.level == "unknown" and bug.units):
            where = f" at {bug.where}" if bug.where else ""
            yield f"{bug.level:8}  {bug.case}{where}: {bug.what} (fix: {', '.join(bug.units[:2])})"
    for level in ("same", "not-executed"):
        cases = sorted({bug.case for bug in exposure.bugs if bug.level == level})
        if cases:
            yield f"{level}: {', '.join(cases)}"
    unknown = [bug for bug in exposure.bugs if bug.level == "unknown" and not bug.units]
    ran = sum(bug.what.endswith(EXECUTED) for bug in unknown)
    if unknown:
        yield (
            f"unknown: {len(unknown)} documented bugs of torch {exposure.torch} that no fix is isolated for; "
            f"the function that fails was executed for {ran} of them (--json names them)"
        )
    yield "No match is not proof: what the program did not execute in this run was not asked."
