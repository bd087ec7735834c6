"""The part of the matrix that a command line means: cases, cells, environments, and its division into shards."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.model import Case
from pt2bugs.commands.console import say
from pt2bugs.commands.options import (
    ResultsOptions,
    RunningOptions,
    SelectionOptions,
    add_results,
    add_run,
    add_selection,
)
from pt2bugs.commands.selection import results_folder, select_cases, select_cells
from pt2bugs.commands.targets import in_interpreter, releases_for, targets_for
from pt2bugs.envs.releases import FORMS
from pt2bugs.errors import InputError
from pt2bugs.run.devices import told, without_absent
from pt2bugs.run.durations import NAME, Durations, read_durations
from pt2bugs.run.interpreter import named_interpreter, running_interpreter
from pt2bugs.run.schedule import Target, Work, whole
from pt2bugs.run.shards import Division, divide


@dataclass(frozen=True, kw_only=True)
class MatrixOptions(SelectionOptions, ResultsOptions, RunningOptions):
    """Which cells in which environments; with `rerun` also those that the journal answers."""

    torch: Sequence[str] = ()
    python_exe: Path | None = None
    rerun: bool = False
    durations: Path | None = None


def add_matrix(parser: argparse.ArgumentParser) -> None:
    """The options of `MatrixOptions`."""
    add_selection(parser)
    add_results(parser)
    add_run(parser)
    parser.add_argument(
        "--torch",
        action="append",
        default=[],
        metavar="SPEC",
        help="the releases, each written as " + FORMS.replace("%", "%%") + "; default: the torch of this Python",
    )
    parser.add_argument(
        "--python-exe",
        type=Path,
        metavar="PATH",
        help="measure the torch of this interpreter, which needs nothing else; asks for --results",
    )
    parser.add_argument("--rerun", action="store_true", help="run also what the journal answers")
    parser.add_argument(
        "--durations",
        type=Path,
        metavar="FILE",
        help="seconds of each check, by which shards are divided (default: durations.csv in the folder of results)",
    )


@dataclass(frozen=True)
class Asked:
    """`work` is all that was asked for, whatever the journal answers."""

    corpus: Sequence[Case]
    cases: Sequence[Case]
    work: Sequence[Work]

    def divided(self, options: MatrixOptions, shards: int) -> Division:
        """The shards of it.

        Raises:
            InputError: the file of durations is damaged.
        """
        return divide(self.work, shards, durations_for(options).of)


def asked(options: MatrixOptions) -> Asked:
    """What the selection and the releases of a command line mean.

    Raises:
        InputError: bad usage; a case file that breaks the contract; releases that do not exist.
        NothingSelected: the filters leave nothing.
    """
    corpus, cases = select_cases(options)
    cells = select_cells(options, cases)
    return Asked(corpus, cases, whole(_targets(options), cells))


def on_this_machine(
    work: Sequence[Work], device: Sequence[str], cluster: str | None, log: Callable[[str], None] = say
) -> Sequence[Work]:
    """Without the cells on devices that are not here, where none were asked for; `log` is told how many those are.

    It comes after the division into shards, which is the same on all machines.

    Args:
        device, cluster: the options of the command. Workers of a cluster may have what this machine has not.
    """
    if device or cluster:
        return work
    left, absent = without_absent(work)
    for message in told(absent):
        log(message)
    return left


def durations_file(options: MatrixOptions) -> Path:
    """The file named, else that of the results asked for, else that of the results here or of the installed ones."""
    if options.durations is not None:
        return options.durations
    own = options.results / NAME if options.results is not None else None
    return own if own is not None and own.exists() else results_folder() / NAME


def durations_for(options: MatrixOptions) -> Durations:
    """The committed durations.

    Raises:
        InputError: a file that was named is not there, or the file is damaged.
    """
    path = durations_file(options)
    if options.durations is not None and not path.exists():
        raise InputError(f"--durations {path}: there is no such file")
    return read_durations(path)


def _targets(options: MatrixOptions) -> list[Target]:
    if options.python_exe:
        if options.torch:
            raise InputError("--python-exe names one interpreter; leave --torch out")
        if options.results is None:
            problem = "name a folder for its results, with --results"
            raise InputError(f"--python-exe {options.python_exe}: is no release; {problem}")
        return in_interpreter(options, named_interpreter(options.python_exe), options.backend)
    if not options.torch:
        return in_interpreter(options, running_interpreter(), options.backend)
    return targets_for(options, releases_for(options, options.torch), options.backend)
