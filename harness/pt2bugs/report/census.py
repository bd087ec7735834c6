"""The corpus in numbers: how many bugs it has, what of it was measured, how long bugs live."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pt2bugs.bisect.search import State
from pt2bugs.case.cells import cells_of
from pt2bugs.case.model import Case
from pt2bugs.case.words import Verdict
from pt2bugs.report.history import History
from pt2bugs.report.trends import Trends
from pt2bugs.results.tables import version_key


@dataclass(frozen=True)
class Census:
    """Counts over the cases and the rows of the matrix (`pt2bugs.report.history.histories`)."""

    cases: Sequence[Case]
    rows: Sequence[History]

    @cached_property
    def releases(self) -> list[str]:
        """The releases that were measured, in version order."""
        return sorted({release for row in self.rows for release in row.matrix_cells}, key=version_key)

    @cached_property
    def cells_by_release(self) -> list[tuple[str, int, int]]:
        """Of each release the cells that gave an answer on the CPU, and those that were skipped."""
        answers: Counter[str] = Counter()
        skips: Counter[str] = Counter()
        for row in self.rows:
            for release, matrix_cell in row.matrix_cells.items():
                if row.cell.device == "cpu" and matrix_cell.record["verdict"] != Verdict.ERROR:
                    (skips if matrix_cell.record["verdict"] == Verdict.SKIP else answers)[release] += 1
        return [(release, answers[release], skips[release]) for release in self.releases]

    @cached_property
    def cpu_cells(self) -> int:
        """How many cells each release has on the CPU."""
        return sum(1 for case in self.cases for cell in cells_of(case, ("cpu",)) if cell.device == "cpu")

    @cached_property
    def guards(self) -> list[Case]:
        return [case for case in self.cases if case.guard]

    @cached_property
    def gpu_cases(self) -> list[Case]:
        """Cases that make no sense on the CPU."""
        return [case for case in self.cases if "cpu" not in case.devices]

    @cached_property
    def also_cuda(self) -> list[Case]:
        return [case for case in self.cases if {"cpu", "cuda"} <= set(case.devices)]

    @cached_property
    def measured_devices(self) -> dict[str, set[str]]:
        """Ids of the cases that were measured on each device."""
        found: dict[str, set[str]] = {}
        for row in self.rows:
            if any(matrix_cell.record["verdict"] != Verdict.ERROR for matrix_cell in row.matrix_cells.values()):
                found.setdefault(row.cell.device, set()).add(row.cell.case.id)
        return found

    @cached_property
    def seen_failing(self) -> set[str]:
        """Ids of the cases, guards aside, that a release was seen to fail as documented."""
        return {
            row.cell.case.id for row in self.rows if not row.cell.case.guard and State.BUG in row.search.states.values()
        }

    @cached_property
    def distinct_bugs(self) -> int:
        """Bugs seen failing: cases that name each other as `same-fix` are one."""
        return len({_root(id_, {case.id: case.same_fix for case in self.cases}) for id_ in self.seen_failing})

    @cached_property
    def twins(self) -> list[Case]:
        """Cases that have their root in common with another one."""
        return [case for case in self.cases if case.same_fix]

    @cached_property
    def unseen(self) -> list[Case]:
        """Cases for the CPU that are no guards and were not seen failing yet."""
        left = (case for case in self.cases if not case.guard and "cpu" in case.devices)
        return [case for case in left if case.id not in self.seen_failing]

    @cached_property
    def outcomes(self) -> list[tuple[str, int]]:
        """How cases fail by their entries, most frequent first; a case may fail in several ways."""
        ways = Counter(way for case in self.cases for way in {str(b.outcome) for b in case.bugs if not b.blocked})
        return ways.most_common()

    @cached_property
    def trends(self) -> Trends:
        return Trends.of([row for row in self.rows if row.cell.device == "cpu"], self.releases)

    @cached_property
    def lives(self) -> dict[str, object]:
        """How long bugs live: counts, and the median of the minor releases that have a bug which is gone now."""
        lives = [life for life in self.trends.lives if life.open_in]
        first = self.releases[0] if self.releases else ""
        gone = [life for life in lives if not life.is_open]
        spans = [len({_minor(release) for release in life.open_in}) for life in gone]
        return {
            "seen": len(lives),
            "open": len(lives) - len(gone),
            "gone": len(gone),
            "from_first": sum(not life.introduced for life in lives),
            "came": sum(bool(life.introduced) for life in lives),
            "came_back": sum(len(life.introduced) > 1 or len(life.fixed) > 1 for life in lives),
            "median": f"{statistics.median(spans):g}" if spans else "",
            "spans": sorted(Counter(spans).items()),
            "first": first,
        }


def _minor(release: str) -> str:
    return ".".join(release.split(".")[:2])


def _root(id_: str, same_fix: dict[str, str]) -> str:
    """The case that stands for all that were fixed with it."""
    met = {id_}
    while (other := same_fix.get(id_, "")) and other not in met:
        met.add(other)
        id_ = other
    # Two that name each other have no first: the least id stands for both.
    return min(met) if other else id_


def by_area(areas: Iterable[tuple[object, list[Case]]], census: Census) -> list[tuple[object, int, int, int]]:
    """Of each area: its cases, those seen failing, those for accelerators alone."""
    gpu = {case.id for case in census.gpu_cases}
    return [
        (area, len(cases), sum(one.id in census.seen_failing for one in cases), sum(one.id in gpu for one in cases))
        for area, cases in areas
    ]
