"""The distance of the queue of a cluster's driver from the best there can be: a simulation with measured durations.

Cases and releases are drawn, with a fixed seed, from those of the committed journal; a drawn cell lasts as long as the
measured one did. The queue knows what the journal tells a driver: the mean and the longest of each check over the
releases, and how much slower a release is than the others.
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from measure import log
from pt2bugs.case.cells import CellName
from pt2bugs.cluster.queue import CellQueues, ClusterWorker
from pt2bugs.envs.environment import Key
from pt2bugs.results.journal import Record, journal_files, read_journal
from pt2bugs.results.line import CellKey, cell_key
from pt2bugs.run.plan import Target, Work, expected_seconds

ROOT = Path(__file__).resolve().parent.parent
Cell = tuple[str, int]
"""A release and the number of a check."""


@dataclass(frozen=True)
class Costs:
    """Seconds of making an environment on a worker, and of starting its engine there."""

    install: float
    start: float


@dataclass(frozen=True)
class Load:
    """What is to be run: the true seconds of every cell, and the usual and longest ones that a driver expects."""

    seconds: dict[Cell, float]
    expected: dict[Cell, tuple[float, float]]

    @property
    def releases(self) -> list[str]:
        return sorted({release for release, _ in self.seconds})

    def lower_bound(self, workers: int, setup: float) -> float:
        """No schedule ends sooner: every environment is set up once at least, and so does every worker that helps."""
        total = sum(self.seconds.values()) + max(len(self.releases), workers) * setup
        return max(total / workers, setup + max(self.seconds.values()))


def newest_lines() -> dict[CellKey, Record]:
    """Return the newest line of each cell of the committed journal, also of cases that were edited since."""
    newest: dict[CellKey, Record] = {}
    for record in read_journal(journal_files(ROOT / "results" / "journal"), log):
        key = cell_key(record)
        if key.torch and not key.extras and (key not in newest or newest[key]["started"] <= record["started"]):
            newest[key] = record
    return newest


def draw(cases: int, releases: int, overhead: float) -> Load:
    """That many cases and releases; a measured one may stand for several."""
    lines = newest_lines()
    expected = expected_seconds(lines)
    rows: dict[str, list[CellName]] = {}
    for row in sorted({key.cell for key in lines}):
        rows.setdefault(row.case, []).append(row)
    seconds = {(key.cell, key.torch): record["duration_s"] for key, record in lines.items()}
    source = random.Random(0)
    ids, names = sorted(rows), sorted({key.torch for key in lines})
    chosen = source.sample(ids, min(cases, len(ids))) + source.choices(ids, k=max(0, cases - len(ids)))
    columns = [(f"r{number:02}", name) for number, name in enumerate(source.choices(names, k=releases))]
    load = Load({}, {})
    for check, row in enumerate(row for case in chosen for row in rows[case]):
        for release, name in columns:
            if (measured := seconds.get((row, name))) is not None:
                cell = (release, check)
                load.seconds[cell] = measured + overhead
                alike: Any = SimpleNamespace(key=row)
                usual, longest = expected(Target(Key(name, "")), alike)
                load.expected[cell] = usual + overhead, longest + overhead
    return load


@dataclass(frozen=True)
class Outcome:
    """Seconds until the last cell, and how often an environment was installed."""

    makespan: float
    installs: int


Ask = Callable[[str, Cell | None], Sequence[Cell]]
"""Returns the next cells of a worker, which has finished one or has just come."""


def simulate(load: Load, workers: int, costs: Costs, ask: Ask) -> Outcome:
    """Play it through. A worker installs an environment once, and keeps its engine until it gets a cell of another."""
    names = [f"w{number:04}" for number in range(workers)]
    at: dict[str, str] = {}
    has: dict[str, set[str]] = {name: set() for name in names}
    waiting: dict[str, list[Cell]] = {name: [] for name in names}
    events: list[tuple[float, int, str, Cell | None]] = [(0.0, number, name, None) for number, name in enumerate(names)]
    installs, end, number, done = 0, 0.0, workers, 0
    while events:
        now, _, name, cell = heapq.heappop(events)
        if cell is not None:
            end, done = max(end, now), done + 1
        waiting[name] += ask(name, cell)
        if not waiting[name]:
            continue
        item = waiting[name].pop(0)
        if at.get(name) != item[0]:
            is_new = item[0] not in has[name]
            now += costs.start + (costs.install if is_new else 0.0)
            installs += is_new
            has[name].add(item[0])
            at[name] = item[0]
        number += 1
        heapq.heappush(events, (now + load.seconds[item], number, name, item))
    if done != len(load.seconds):
        raise SystemExit("cells were left")
    return Outcome(end, installs)


def queued(load: Load, workers: int, costs: Costs) -> Outcome:
    """By the queue of pt2bugs."""
    case: Any = SimpleNamespace(bugs=(), backends=(), devices=("cpu",), symptom="", timeout=1.0)
    work = []
    for release in load.releases:
        cells: list[Any] = [
            SimpleNamespace(key=cell, case=case, check=SimpleNamespace(name=""), device="cpu", backend="")
            for cell in load.expected
            if cell[0] == release
        ]
        work.append(Work(Target(Key(release, "3.11")), cells))
    setup = costs.install + costs.start
    there = {f"w{n:04}": ClusterWorker(f"w{n:04}", site=f"w{n:04}", install_s=setup) for n in range(workers)}
    expected: Any = load.expected
    queues = CellQueues(work, lambda _, cell: expected[cell.key], there, {})
    queues.workers_changed()

    def ask(name: str, cell: Cell | None) -> list[Cell]:
        worker = there[name]
        if cell is not None:
            del worker.sent[0]
        taken: list[Any] = []
        while (owed := queues.take(worker)) is not None:
            taken.append(owed.cell.key)
        return taken

    return simulate(load, workers, costs, ask)


def one_queue(load: Load, workers: int, costs: Costs) -> Outcome:
    """The alternative: whoever is free takes the next ten seconds of one queue, release by release."""

    def batches() -> Iterator[tuple[Cell, ...]]:
        for release in load.releases:
            taken: list[Cell] = []
            total = 0.0
            for cell in (cell for cell in load.expected if cell[0] == release):
                taken.append(cell)
                total += load.expected[cell][0]
                if total >= 10:
                    yield tuple(taken)
                    taken, total = [], 0.0
            if taken:
                yield tuple(taken)

    queue = batches()
    left: dict[str, int] = {}

    def ask(name: str, cell: Cell | None) -> Sequence[Cell]:
        left[name] = left.get(name, 0) - (cell is not None)
        if left[name] > 0:
            return ()
        items = next(queue, ())
        left[name] = len(items)
        return items

    return simulate(load, workers, costs, ask)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default, help_text in (
        ("--cases", int, 500, "cases"),
        ("--releases", int, 60, "torch releases"),
        ("--install-s", float, 18.0, "seconds to install an environment"),
        ("--start-s", float, 19.0, "seconds to start an engine in an environment for the first time"),
        ("--cell-s", float, 0.05, "seconds that a cell takes beside its check"),
        ("--env-gib", float, 5.2, "size of an environment"),
    ):
        parser.add_argument(name, type=kind, default=default, help=f"{help_text} (default: {default})")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 10, 100, 1000], help="numbers of workers")
    options = parser.parse_args()
    load = draw(options.cases, options.releases, options.cell_s)
    costs = Costs(options.install_s, options.start_s)
    total = sum(load.seconds.values())
    log(f"{len(load.seconds):,} cells, {total / 3600:.1f} hours of cells, {options.releases} environments")
    print("| workers | makespan | lower bound | makespan / bound | installed | one queue / bound | installed |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for workers in options.workers:
        bound = load.lower_bound(workers, costs.install + costs.start)
        ours, theirs = queued(load, workers, costs), one_queue(load, workers, costs)
        sizes = [f"{it.installs} environments, {it.installs * options.env_gib:,.0f} GiB" for it in (ours, theirs)]
        print(
            f"| {workers:,} | {ours.makespan:,.0f} s | {bound:,.0f} s | {ours.makespan / bound:.2f} | {sizes[0]} "
            f"| {theirs.makespan / bound:.2f} | {sizes[1]} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
