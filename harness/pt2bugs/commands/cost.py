"""The cost of a run, printed instead of it: ``--dry-run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pt2bugs.case.vocabulary import number_of
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say
from pt2bugs.commands.options import RunningOptions
from pt2bugs.commands.selection import open_store, run_options
from pt2bugs.envs.size import format_size
from pt2bugs.results.journal import Record
from pt2bugs.results.line import CellKey
from pt2bugs.run.plan import Work, cost


def render_cost(
    options: RunningOptions, work: Sequence[Work], lines: Mapping[CellKey, Record], *, as_json: bool
) -> int:
    """Print what work would cost. Return the exit code.

    Args:
        options: with the jobs, and the sources of packages.
        work: what the journal does not answer.
        lines: the newest line of each cell, by which seconds are expected.
        as_json: print numbers for a program.
    """
    expected = cost(work, open_store(options), lines, run_options(options).jobs)
    if as_json:
        facts = {"cells": expected.cells, "bytes": expected.disk, "seconds": round(expected.seconds)}
        print_json({**facts, "made": list(map(str, expected.made)), "to_install": list(map(str, expected.unmade))})
        return OK
    width = max((len(str(part.target)) for part in work), default=0)
    for part in work:
        how = "to be installed" if part.target.key in expected.unmade else "is there"
        print(f"{part.target!s:{width}}  {len(part.cells):5} cells  environment {how}")
    say(
        f"would run {number_of(expected.cells, 'cell')} in {number_of(len(work), 'environment')}, "
        f"{len(expected.unmade)} of them to be "
        f"installed: about {format_size(expected.disk)} and {max(1, round(expected.seconds / 60))} minutes"
    )
    return OK
