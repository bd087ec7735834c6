"""The plan of a run: cells by environment. The part that the journal does not answer is work, whose cost is estimated.

    plan(cells, targets) - journal = work

A shard is a slice of a plan (`run.shards`). `run.runner` runs work here, `cluster.driver` on the workers of a cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

from pt2bugs.case.cells import NOT_CLAIMED, Cell, CellName, unclaimed
from pt2bugs.case.vocabulary import Outcome, number_of
from pt2bugs.engine.backend import BackendSetup
from pt2bugs.envs.environment import Key
from pt2bugs.results.journal import Record
from pt2bugs.results.line import CellKey, is_complete

if TYPE_CHECKING:
    from pt2bugs.envs.store import Store

CELL_S = 1.0
"""Assumed seconds of a cell whose duration is not known."""

_DEVICE_SIGNS = {
    # NVIDIA's driver on a PC, on Jetson, under WSL; AMD's.
    "cuda": ("/dev/nvidiactl", "/dev/nvhost-ctrl-gpu", "/dev/nvgpu", "/dev/dxg", "/dev/kfd"),
    "xpu": ("/dev/dri", "/dev/dxg"),
}


@dataclass(frozen=True)
class Target:
    """An environment to run in: made from its key, or an interpreter that exists (`python` set).

    Args:
        build: tells a build of torch from others, where the interpreter does not stand for a release.
        setup: the backend whose cells alone are run here. Without it, the cells of every backend but `others`.
        others: backends that have targets of their own.
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
    """Options of a run. `jobs` is how many cells run at once, `capability` limits the CPU's vector instructions.

    `timeout_cap_s` limits the seconds of every check, whatever its header says.
    """

    jobs: int = 1
    repeat: int = 1
    confirm: int = 1
    threads: int = 1
    capability: str = ""
    timeout_cap_s: float = float("inf")


@dataclass
class Work:
    """Cells of one environment. After a run, `failure` says why it could not answer them."""

    target: Target
    cells: list[Cell]
    failure: str = ""
    seconds: float = 0.0


def plan(cells: Sequence[Cell], targets: Iterable[Target]) -> list[Work]:
    """Return the cells of each environment, whatever the journal answers.

    Args:
        cells: the selection.
        targets: the environments; those that no cell belongs to are left out.
    """
    work = [Work(target, [cell for cell in cells if belongs(cell, target)]) for target in targets]
    return [part for part in work if part.cells]


def owed(planned: Iterable[Work], lines: Mapping[CellKey, Record]) -> list[Work]:
    """Return what the journal does not answer of a plan.

    Args:
        planned: the plan, or a slice of it.
        lines: the newest line of each cell.
    """
    work = [
        Work(part.target, [cell for cell in part.cells if not is_answered(lines, part.target, cell)])
        for part in planned
    ]
    return [part for part in work if part.cells]


def belongs(cell: Cell, target: Target) -> bool:
    """Return whether a cell is run in an environment.

    An environment with extras is for the cases that need them and for the backend that it was made for. All others are
    answered without extras.

    Args:
        cell: of the plan.
        target: the environment.
    """
    extras = target.key.extras
    if target.setup is not None:
        return cell.backend == target.setup.name and cell.case.extra in ("", *extras)
    return cell.backend not in target.others and (cell.case.extra in extras if extras else not cell.case.extra)


def line_of(lines: Mapping[CellKey, Record], target: Target, cell: Cell) -> Record | None:
    """Return the newest line of a cell, also an error of its environment; None if it is of another build.

    Args:
        lines: the newest line of each cell.
        target: the environment.
        cell: of the plan.
    """
    key = target.key
    record = lines.get(CellKey(*cell.key, "+".join(key.extras), key.torch, key.python))
    return record if record is not None and record.get("build", "") == target.build else None


def is_answered(lines: Mapping[CellKey, Record], target: Target, cell: Cell) -> bool:
    """Return whether the journal makes running the cell unnecessary.

    Args:
        lines: the newest line of each cell.
        target: the environment.
        cell: of the plan.
    """
    record = line_of(lines, target, cell)
    if record is None or not is_complete(record):
        return False
    # The cells that a backend claims may have changed since.
    claim = unclaimed(cell, target.setup.not_claimed if target.setup else ())
    was_claim = record["outcome"] == Outcome.SKIP and record["message"].startswith(NOT_CLAIMED)
    return record["message"] == claim if claim or was_claim else True


def may_be_here(device: str, root: Path = Path("/")) -> bool:
    """Return False where the machine shows no sign of a device; True for devices whose signs are not known.

    torch is not asked: that takes an environment, which is gigabytes.

    Args:
        device: the word of torch for it.
        root: where the file system of the machine begins.
    """
    signs = _DEVICE_SIGNS.get(device)
    return signs is None or any((root / sign.lstrip("/")).exists() for sign in signs)


def without_absent_devices(planned: Sequence[Work]) -> tuple[list[Work], list[str]]:
    """Return the plan without cells on devices that cannot be here, and a sentence for each such device.

    Args:
        planned: the plan, or a slice of it.
    """
    devices = [cell.device for part in planned for cell in part.cells]
    absent = [device for device in dict.fromkeys(devices) if not may_be_here(device)]
    left = [Work(part.target, [cell for cell in part.cells if cell.device not in absent]) for part in planned]
    return [part for part in left if part.cells], [
        f"left out: {number_of(devices.count(device), 'cell')} on {device}; this machine has no such device "
        f"(--device {device} asks torch itself)"
        for device in absent
    ]


@dataclass(frozen=True)
class Cost:
    """Cost of running work: `disk` in bytes, without what wheels share; `seconds` of wall time, installations included.

    Args:
        made: environments that exist.
        unmade: environments that would be installed.
    """

    cells: int
    made: Sequence[Key]
    unmade: Sequence[Key]
    disk: int
    seconds: float


def cost(work: Sequence[Work], store: Store, lines: Mapping[CellKey, Record], jobs: int) -> Cost:
    """Return what running work would cost.

    Args:
        work: what is to be run.
        store: the environments of this machine.
        lines: the journal; it says how long checks take.
        jobs: cells at once.
    """
    keys = [part.target.key for part in work if part.target.python is None]
    made = [key for key in keys if store.find(key) is not None]
    unmade = [key for key in keys if key not in made]
    size, seconds = store.cost_of_one()
    known = mean_durations(lines)
    usual = median(known.values()) if known else CELL_S
    body = sum(known.get(cell.key, usual) for part in work for cell in part.cells)
    return Cost(
        cells=sum(len(part.cells) for part in work),
        made=made,
        unmade=unmade,
        disk=size * len(unmade),
        # Installations go on beside the cells, but the first is waited for.
        seconds=max(body / max(1, jobs), seconds * len(unmade)) + (seconds if unmade else 0),
    )


def mean_durations(lines: Mapping[CellKey, Record]) -> dict[CellName, float]:
    """Return the seconds of each check on its device and backend: the mean over the releases of a journal.

    Args:
        lines: the newest line of each cell.
    """
    seconds: dict[CellName, list[float]] = {}
    for key, record in lines.items():
        seconds.setdefault(key.cell, []).append(record["duration_s"])
    return {cell: mean(values) for cell, values in seconds.items()}


def expected_seconds(lines: Mapping[CellKey, Record]) -> Callable[[Target, Cell], tuple[float, float]]:
    """Return a function that gives the expected and the longest duration of a cell.

    A cell is expected to last as its check does on average, times how much slower its release is than the others.

    Args:
        lines: the journal.
    """
    usual = mean_durations(lines)
    longest: dict[CellName, float] = defaultdict(float)
    took: dict[str, float] = defaultdict(float)
    mean_took: dict[str, float] = defaultdict(float)
    for key, record in lines.items():
        longest[key.cell] = max(longest[key.cell], record["duration_s"])
        took[key.torch] += record["duration_s"]
        mean_took[key.torch] += usual[key.cell]

    def seconds(target: Target, cell: Cell) -> tuple[float, float]:
        if cell.key not in usual:
            return (cell.case.timeout if cell.case.symptom == "hang" else CELL_S,) * 2
        release = target.key.torch
        factor = took[release] / mean_took[release] if mean_took[release] > 0 else 1.0
        return usual[cell.key] * factor, max(longest[cell.key], usual[cell.key] * factor)

    return seconds
