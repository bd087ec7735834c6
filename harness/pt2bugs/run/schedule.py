"""What is to be run: which cells each environment still owes, and in which order jobs take them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pt2bugs.case.cells import NOT_CLAIMED, Cell, unclaimed
from pt2bugs.case.words import Outcome
from pt2bugs.engine.backend import BackendSetup
from pt2bugs.envs.environment import Key
from pt2bugs.results.matrix import CellKey, is_complete
from pt2bugs.results.record import Record


@dataclass(frozen=True)
class Target:
    """An environment to run in: one to be made from its key, or an interpreter that exists (`python` set).

    `build` tells a build of torch from others, where the interpreter does not stand for a release. With a `setup` it is
    there for the cells of that backend alone; without, for those of all backends but `others`, which have targets of
    their own.
    """

    key: Key
    python: Path | None = None
    build: str = ""
    setup: BackendSetup | None = None
    others: frozenset[str] = frozenset()

    def __str__(self) -> str:
        name = f"torch {self.build or self.key.torch}"
        if self.setup is not None:
            return f"{name} {self.setup.name}"
        return name + "".join(f" +{extra}" for extra in self.key.extras)


@dataclass(frozen=True)
class RunOptions:
    """How cells are run. `jobs` is how many cells run at once, `capability` limits the CPU's vector instructions."""

    jobs: int = 1
    repeat: int = 1
    confirm: int = 1
    threads: int = 1
    capability: str = ""


@dataclass
class Work:
    """The cells one environment still owes; `failure` says why it could not answer them."""

    target: Target
    cells: list[Cell]
    failure: str = ""
    seconds: float = 0.0


def answered(lines: Mapping[CellKey, Record], target: Target, cell: Cell) -> Record | None:
    """The journal line that makes running the cell unnecessary, if there is one."""
    record = line_of(lines, target, cell)
    if record is None or not is_complete(record):
        return None
    # What a backend claims may have changed since.
    claim = unclaimed(cell, target.setup.not_claimed if target.setup else ())
    was_claim = record["outcome"] == Outcome.SKIP and record["message"].startswith(NOT_CLAIMED)
    return record if (record["message"] == claim if claim or was_claim else True) else None


def line_of(lines: Mapping[CellKey, Record], target: Target, cell: Cell) -> Record | None:
    """The newest line of a cell, an error of its environment included. A line of another build is none."""
    key = target.key
    record = lines.get(CellKey(*cell.key, "+".join(key.extras), key.torch, key.python))
    return record if record is not None and record.get("build", "") == target.build else None


def belongs(cell: Cell, target: Target) -> bool:
    """Whether a cell is run in that environment.

    An environment with extras is there for the cases that need them, and for the backend that it was made for; all
    others are answered without.
    """
    extras = target.key.extras
    if target.setup is not None:
        return cell.backend == target.setup.name and cell.case.extra in ("", *extras)
    return cell.backend not in target.others and (cell.case.extra in extras if extras else not cell.case.extra)


def whole(targets: Iterable[Target], cells: Sequence[Cell]) -> list[Work]:
    """Per target the cells that belong there, whatever the journal answers; empty ones left out."""
    work = [Work(target, [cell for cell in cells if belongs(cell, target)]) for target in targets]
    return [one for one in work if one.cells]


def owed(work: Iterable[Work], lines: Mapping[CellKey, Record]) -> list[Work]:
    """What of this work the journal does not answer; empty ones left out."""
    left = [Work(one.target, [cell for cell in one.cells if answered(lines, one.target, cell) is None]) for one in work]
    return [one for one in left if one.cells]


def missing(
    targets: Iterable[Target], cells: Sequence[Cell], lines: Mapping[CellKey, Record], *, rerun: bool = False
) -> list[Work]:
    """What is to be run: per target the cells that the journal does not answer, empty ones left out."""
    work = whole(targets, cells)
    return work if rerun else owed(work, lines)


@dataclass
class CellQueue:
    """The cells of one environment, taken from both ends.

    Cells of one backend, which need the same canary and cost alike, stand together; what may hang comes last. Every
    second job takes from the other end, so that two jobs pay for different canaries.
    """

    cells: deque[Cell] = field(default_factory=deque)

    @classmethod
    def of(cls, cells: Iterable[Cell]) -> CellQueue:
        ordered = sorted(cells, key=lambda cell: (cell.case.symptom == "hang", cell.device, cell.backend))
        return cls(deque(ordered))

    def take(self, *, from_the_end: bool) -> Cell | None:
        """The next cell; None if all have been taken."""
        if not self.cells:
            return None
        return self.cells.pop() if from_the_end else self.cells.popleft()


def default_jobs(threads: int = 1) -> int:
    """As many cells at once as there are cores, or fewer where a cell has several threads."""
    return max(1, len(os.sched_getaffinity(0)) // threads)
