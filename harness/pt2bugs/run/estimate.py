"""What a run would cost: cells, environments, disk and time, from what the journal and the environments here say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from pt2bugs.case.cells import CellName
from pt2bugs.envs.environment import Key
from pt2bugs.envs.store import Store
from pt2bugs.results.matrix import CellKey
from pt2bugs.results.record import Record
from pt2bugs.run.schedule import Work

CELL_S = 1.0
"""Seconds that a cell is taken to last where the journal has never seen any."""
INSTALL_S, INSTALL_BYTES = 90.0, 5 << 30
"""What an environment is taken to cost where none was made here yet: a CUDA build from the default index."""
CPU_BYTES = 1 << 30
"""The same of a CPU build."""


@dataclass(frozen=True)
class Estimate:
    """`made` and `unmade` are the environments of the run that exist and that would be installed.

    `disk` is in bytes, without what wheels share; `seconds` of wall time, installations included.
    """

    cells: int
    made: Sequence[Key]
    unmade: Sequence[Key]
    disk: int
    seconds: float


def estimate(work: Sequence[Work], store: Store, lines: Mapping[CellKey, Record], jobs: int) -> Estimate:
    """What running this work would cost, `jobs` cells at once."""
    keys = [one.target.key for one in work if one.target.python is None]
    made = [key for key in keys if store.find(key) is not None]
    unmade = [key for key in keys if key not in made]
    size, seconds = cost_of_environment(store)
    known = durations(lines)
    usual = median(known.values()) if known else CELL_S
    body = sum(known.get(cell.key, usual) for one in work for cell in one.cells)
    return Estimate(
        cells=sum(len(one.cells) for one in work),
        made=made,
        unmade=unmade,
        disk=size * len(unmade),
        # Installations go on beside the cells, but the first is waited for.
        seconds=max(body / max(1, jobs), seconds * len(unmade)) + (seconds if unmade else 0),
    )


def cost_of_environment(store: Store) -> tuple[int, float]:
    """Bytes and seconds that making an environment takes: as it was here, else as a build of that kind usually does."""
    size = CPU_BYTES if store.source.torch_backend == "cpu" else INSTALL_BYTES
    return store.cost_of_one() or (size, INSTALL_S)


def durations(lines: Mapping[CellKey, Record]) -> dict[CellName, float]:
    """Seconds of each check on its device and backend: the mean over the releases that have it."""
    found: dict[CellName, list[float]] = {}
    for key, record in lines.items():
        found.setdefault(key.cell, []).append(record["duration_s"])
    return {cell: mean(seconds) for cell, seconds in found.items()}


def release_factors(lines: Mapping[CellKey, Record]) -> dict[str, float]:
    """How much longer the checks of each release take than on average; 1 for a release that is as the others."""
    usual = durations(lines)
    took: dict[str, float] = {}
    expected: dict[str, float] = {}
    for key, record in lines.items():
        took[key.torch] = took.get(key.torch, 0.0) + record["duration_s"]
        expected[key.torch] = expected.get(key.torch, 0.0) + usual[key.cell]
    return {release: took[release] / expected[release] for release in took if expected[release] > 0}
