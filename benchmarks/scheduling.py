"""How far the placement of cells on many workers is from the best there can be: a simulation with measured durations.

Cases and releases are drawn, with a fixed seed, from those of the committed journal; a drawn cell lasts as long as the
measured one did. The placement knows what the journal tells a driver: the mean and the longest of each check over the
releases, and how much slower a release is than the others.
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from measure import log
from pt2bugs.case.cells import CellName
from pt2bugs.results.journal import journal_files, read_journal
from pt2bugs.results.matrix import CellKey, cell_key
from pt2bugs.results.record import Record
from pt2bugs.run.estimate import durations, release_factors
from pt2bugs.run.placement import Batch, Costs, Placement

ROOT = Path(__file__).resolve().parent.parent
Cell = tuple[str, int]
"""A release and the number of a check."""
READY: Cell = ("", -1)


@dataclass(frozen=True)
class Load:
    """What is to be run: the true seconds of every cell, those that a driver expects, and the most it has seen."""

    seconds: dict[Cell, float]
    expected: dict[Cell, float]
    longest: dict[Cell, float]

    @property
    def releases(self) -> list[str]:
        return sorted({release for release, _ in self.seconds})

    def lower_bound(self, workers: int, setup: float) -> float:
        """No schedule ends sooner: every environment is set up once at least, and so does every worker that helps."""
        total = sum(self.seconds.values()) + max(len(self.releases), workers) * setup
        return max(total / workers, setup + max(self.seconds.values()))


def newest_lines() -> dict[CellKey, Record]:
    """The newest line of each cell of the committed journal, also of cases that were edited since."""
    found: dict[CellKey, Record] = {}
    for record in read_journal(journal_files(ROOT / "results" / "journal"), log):
        key = cell_key(record)
        if key.torch and not key.extras and (key not in found or found[key]["started"] <= record["started"]):
            found[key] = record
    return found


def draw(cases: int, releases: int, overhead: float) -> Load:
    """That many cases and releases; a measured one may stand for several."""
    lines = newest_lines()
    usual, factors = durations(lines), release_factors(lines)
    rows: dict[str, list[CellName]] = {}
    for row in sorted(usual):
        rows.setdefault(row.case, []).append(row)
    seconds = {(key.cell, key.torch): record["duration_s"] for key, record in lines.items()}
    longest: dict[CellName, float] = {}
    for (row, _), took in seconds.items():
        longest[row] = max(longest.get(row, 0.0), took)
    source = random.Random(0)
    ids, names = sorted(rows), sorted(factors)
    chosen = source.sample(ids, min(cases, len(ids))) + source.choices(ids, k=max(0, cases - len(ids)))
    columns = [(f"r{number:02}", name) for number, name in enumerate(source.choices(names, k=releases))]
    load = Load({}, {}, {})
    for check, row in enumerate(row for case in chosen for row in rows[case]):
        for release, name in columns:
            if (measured := seconds.get((row, name))) is not None:
                cell = (release, check)
                load.seconds[cell] = measured + overhead
                load.expected[cell] = usual[row] * factors[name] + overhead
                load.longest[cell] = longest[row] + overhead
    return load


@dataclass(frozen=True)
class Outcome:
    """Seconds until the last cell, and how often an environment was installed."""

    makespan: float
    installs: int


Ask = Callable[[str], Batch[Cell] | None]
Tell = Callable[[str, Cell | None], None]
"""A worker has finished a cell; without one: its environment and its engine are there."""


def simulate(load: Load, workers: int, costs: Costs, ask: Ask, tell: Tell) -> Outcome:
    """Play it through. A worker keeps its engine while its next batch is of the same environment."""
    names = [f"w{number:04}" for number in range(workers)]
    at: dict[str, str] = {}
    events: list[tuple[float, int, str, Cell | None]] = [(0.0, number, name, None) for number, name in enumerate(names)]
    heapq.heapify(events)
    installs, end, number = 0, 0.0, workers
    left: dict[str, int] = {}
    while events:
        now, _, name, cell = heapq.heappop(events)
        if cell == READY:
            tell(name, None)
            continue
        if cell is not None:
            tell(name, cell)
            end = max(end, now)
            left[name] -= 1
            if left[name]:
                continue
        batch = ask(name)
        if batch is None:
            continue
        if at.get(name) != batch.environment:
            now += costs.start + (costs.install if batch.installs else 0.0)
            installs += batch.installs
            at[name] = batch.environment
            number += 1
            heapq.heappush(events, (now, number, name, READY))
        left[name] = len(batch.items)
        for item in batch.items:
            now += load.seconds[item]
            number += 1
            heapq.heappush(events, (now, number, name, item))
    if any(left.values()):
        raise SystemExit("cells were left")
    return Outcome(end, installs)


def placed(load: Load, workers: int, costs: Costs) -> Outcome:
    """By the placement of pt2bugs."""
    placement: Placement[Cell] = Placement(costs)
    for release in load.releases:
        cells = [(cell, seconds) for cell, seconds in load.expected.items() if cell[0] == release]
        placement.add(release, cells, longest=load.longest)
    for number in range(workers):
        placement.add_worker(f"w{number:04}")

    def tell(name: str, cell: Cell | None) -> None:
        if cell is None:
            placement.ready(name)
        else:
            placement.done(name, cell)

    outcome = simulate(load, workers, costs, placement.next_batch, tell)
    if not placement.is_finished:
        raise SystemExit("the placement did not hand out all cells")
    return outcome


def one_queue(load: Load, workers: int, costs: Costs) -> Outcome:
    """The alternative: whoever is free takes the next ten seconds of one queue, release by release."""

    def batches() -> Iterator[tuple[Cell, ...]]:
        for release in load.releases:
            taken: list[Cell] = []
            total = 0.0
            for cell in (one for one in load.expected if one[0] == release):
                taken.append(cell)
                total += load.expected[cell]
                if total >= 10:
                    yield tuple(taken)
                    taken, total = [], 0.0
            if taken:
                yield tuple(taken)

    queue = batches()
    has: dict[str, set[str]] = {}

    def ask(name: str) -> Batch[Cell] | None:
        items = next(queue, None)
        if items is None:
            return None
        release, there = items[0][0], has.setdefault(name, set())
        installs = release not in there
        there.add(release)
        return Batch(release, items, 0.0, installs)

    return simulate(load, workers, costs, ask, lambda *_: None)


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
        ours, theirs = placed(load, workers, costs), one_queue(load, workers, costs)
        sizes = [f"{one.installs} environments, {one.installs * options.env_gib:,.0f} GiB" for one in (ours, theirs)]
        print(
            f"| {workers:,} | {ours.makespan:,.0f} s | {bound:,.0f} s | {ours.makespan / bound:.2f} | {sizes[0]} "
            f"| {theirs.makespan / bound:.2f} | {sizes[1]} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
