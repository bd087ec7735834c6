"""`pt2bugs plan`: how a selection is divided into shards, for a CI that starts a machine for each."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pt2bugs.case.cells import Cell
from pt2bugs.commands import OK
from pt2bugs.commands.asked import MatrixOptions, add_matrix, asked, durations_file, durations_for, on_this_machine
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import count
from pt2bugs.commands.targets import open_store, run_options
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.results.folder import open_results
from pt2bugs.results.matrix import CellKey
from pt2bugs.results.record import Record
from pt2bugs.run.durations import write_durations
from pt2bugs.run.estimate import cost_of_environment, durations
from pt2bugs.run.schedule import Work, owed
from pt2bugs.run.shards import MOST, SETUP_S, Division

EXAMPLES = (
    ("pt2bugs plan --torch minors --shards 10", "what each of ten machines would run"),
    ("pt2bugs plan --torch minors --shards 10 --json", "the same for the matrix of a CI"),
    ("pt2bugs plan --update-durations", "write results/durations.csv anew from the journal; commit it"),
)


@dataclass(frozen=True, kw_only=True)
class Options(MatrixOptions):
    """What the command takes."""

    shards: int = 0
    update_durations: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_matrix(parser)
    parser.add_argument("--shards", type=count, default=0, metavar="N", help=f"into so many parts, at most {MOST}")
    parser.add_argument(
        "--update-durations", action="store_true", help="write the file of durations anew from the journal, and end"
    )
    parser.add_argument("--json", action="store_true", help="print the shards that have something to run as JSON")


def run(options: Options) -> int:
    if options.update_durations:
        return _update(options)
    if not 1 <= options.shards <= MOST:
        raise InputError(f"plan: say into how many parts with --shards N, at most {MOST}")
    what = asked(options)
    division = what.divided(options, options.shards)
    work = on_this_machine(what.work, options.device, options.cluster)
    lines = open_results(options.results, options.backend).load(what.corpus, warn).lines()
    seconds = durations_for(options).of
    shards = [_Shard(division, number, options, lines, seconds) for number in range(1, options.shards + 1)]
    due = [shard for shard in shards if shard.work]
    if options.json:
        size = _bytes(options)
        print_json([shard.as_dict(size) for shard in due])
    elif due:
        _print_table(due, _bytes(options))
    cells = sum(len(one.cells) for one in work)
    to_run = sum(shard.cells for shard in due)
    say(
        f"{cells} cells in {len(work)} environments, divided into {options.shards} shards ({division.digest}): "
        f"{cells - to_run} answered by the journal, {to_run} to run in {len(due)} shards"
    )
    return OK


class _Shard:
    """One shard: what it has to run, and what that costs."""

    def __init__(
        self,
        division: Division,
        number: int,
        options: Options,
        lines: Mapping[CellKey, Record],
        seconds: Callable[[Cell], float],
    ) -> None:
        self.name, self.number = division.name(number), number
        whole = on_this_machine(division.shards[number - 1], options.device, options.cluster, lambda _: None)
        self.work: Sequence[Work] = whole if options.rerun else owed(whole, lines)
        self.cells = sum(len(one.cells) for one in self.work)
        body = sum(seconds(cell) for one in self.work for cell in one.cells) / run_options(options).jobs
        self.minutes = (body + SETUP_S * len(self.work)) / 60

    @property
    def environments(self) -> list[str]:
        return [str(one.target) for one in self.work]

    @property
    def cache(self) -> str:
        """Names the set of environments, for the key of a cache."""
        names = sorted(one.target.key.folder for one in self.work)
        return hashlib.sha256(" ".join(names).encode()).hexdigest()[:12]

    def gigabytes(self, size: int) -> float:
        """Of a machine that has none of its environments yet."""
        return size * sum(one.target.python is None for one in self.work) / 1e9

    def as_dict(self, size: int) -> dict[str, Any]:
        return {
            "shard": str(self.name),
            "number": self.number,
            "cells": self.cells,
            "minutes": round(self.minutes, 1),
            "gigabytes": round(self.gigabytes(size), 1),
            "environments": self.environments,
            "cache": self.cache,
        }


def _print_table(shards: Sequence[_Shard], size: int) -> None:
    width = max(len(str(shard.name)) for shard in shards)
    print(f"{'shard':{width}}  {'cells':>6}  {'minutes':>7}  {'GB':>6}  environments")
    for shard in shards:
        numbers = f"{shard.cells:6}  {shard.minutes:7.1f}  {shard.gigabytes(size):6.1f}"
        print(f"{shard.name!s:{width}}  {numbers}  {', '.join(shard.environments)}")


def _bytes(options: Options) -> int:
    """What an environment takes on disk."""
    return cost_of_environment(open_store(options))[0]


def _update(options: Options) -> int:
    from pt2bugs.commands.selection import select_cases

    corpus, _ = select_cases(options)
    results = open_results(options.results)
    known = durations(results.load(corpus, warn).lines())
    if not known:
        raise NothingSelected(f"no durations: {results.folder} has no results of this corpus")
    path = options.durations or results.folder / durations_file(options).name
    write_durations(path, known)
    say(f"{path}: the durations of {len(known)} checks")
    return OK
