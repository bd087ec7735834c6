"""The cost of a run, printed instead of it: ``--dry-run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pt2bugs.bisect.search import budget
from pt2bugs.case.vocabulary import number_of
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say
from pt2bugs.commands.options import RunningOptions
from pt2bugs.commands.selection import open_store, run_options
from pt2bugs.envs.size import format_size
from pt2bugs.results.journal import Record
from pt2bugs.results.line import CellKey
from pt2bugs.run.plan import Cost, Work, cost


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
        print_json(_facts(expected))
        return OK
    _print_work(work, expected)
    say(f"would run {_told(work, expected)}" if work else "would run nothing: the journal has the answers")
    return OK


def render_search_cost(
    options: RunningOptions,
    first: Sequence[Work],
    work: Sequence[Work],
    lines: Mapping[CellKey, Record],
    *,
    as_json: bool,
) -> int:
    """Print what a search would begin with, and what it would cost at most. Return the exit code.

    Args:
        options: with the jobs, and the sources of packages.
        first: what it begins with.
        work: what the journal does not answer; nothing else is run.
        lines: the newest line of each cell, by which seconds are expected.
        as_json: print numbers for a program.
    """
    store, jobs = open_store(options), run_options(options).jobs
    begins, most = cost(first, store, lines, jobs), cost(work, store, lines, jobs)
    if as_json:
        print_json({**_facts(begins), "at_most": _facts(most)})
        return OK
    _print_work(first, begins)
    say(f"would begin with {_told(first, begins)}")
    count = len({part.target.key.torch for part in work})
    if (once := budget(count)) < count:
        disk = format_size(store.cost_of_one()[0] * min(once, len(most.unmade)))
        say(f"a check that changes once needs {once} of the {count} releases at most: about {disk}")
    say(f"would run at most {_told(work, most)}")
    return OK


def _facts(expected: Cost) -> dict[str, object]:
    facts = {"cells": expected.cells, "bytes": expected.disk, "seconds": round(expected.seconds)}
    return {**facts, "made": list(map(str, expected.made)), "to_install": list(map(str, expected.unmade))}


def _print_work(work: Sequence[Work], expected: Cost) -> None:
    width = max((len(str(part.target)) for part in work), default=0)
    for part in work:
        how = "to be installed" if part.target.key in expected.unmade else "is there"
        print(f"{part.target!s:{width}}  {len(part.cells):5} cells  environment {how}")


def _told(work: Sequence[Work], expected: Cost) -> str:
    return (
        f"{number_of(expected.cells, 'cell')} in {number_of(len(work), 'environment')}, "
        f"{len(expected.unmade)} of them to be installed: "
        f"about {format_size(expected.disk)} and {number_of(max(1, round(expected.seconds / 60)), 'minute')}"
    )
