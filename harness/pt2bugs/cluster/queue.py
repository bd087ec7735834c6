"""The cells that a run on a cluster still owes, and which of them a worker gets next. Pure: no clock, no network.

Dask does not choose it, since it cannot weigh that an environment costs gigabytes and minutes: a task that it steals
installs, and a task with a loose restriction (`allow_other_workers`) loses its resources when its worker has gone. So
the rule is that of the jobs in `run.runner`: a worker stays in its environment, then begins one that no worker has
begun, then helps where most is left.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pt2bugs.case.cells import Cell
from pt2bugs.case.expectation import Where, expected_bug
from pt2bugs.envs.store import INSTALL_S
from pt2bugs.run.plan import Target, Work

GPU = "GPU"
"""The resource of workers that run cells on a GPU: ``dask worker --resources "GPU=1"``."""
SHORT_S = 2.0
"""Seconds. Behind a cell that never took longer another one is submitted, so that its worker does not wait."""
MAX_LOSSES = 3
"""Number of workers lost while they ran a cell, after which the cell counts as the cause."""


@dataclass(eq=False)
class OwedCell:
    """A cell that has no answer yet.

    Args:
        number: of its work in the list of the run.
        seconds: its expected duration.
        longest: the longest that its check was seen to take.
        wants: offers of workers that it prefers: the Python of its environment, and the platform its bug shows on.
        failed_at: sites where it came out as an error of the environment.
        losses: workers that were lost while they ran it.
    """

    number: int
    work: Work
    cell: Cell
    seconds: float
    longest: float
    wants: frozenset[str]
    failed_at: frozenset[str] = frozenset()
    losses: int = 0

    @property
    def needs_gpu(self) -> bool:
        """True for cells that go to workers with the resource `GPU` alone."""
        return self.cell.device != "cpu"


@dataclass(eq=False)
class ClusterWorker:
    """A worker that takes part.

    Args:
        site: its disk; workers of one site share their environments.
        offers: what it says it has, in the words of `OwedCell.wants`.
        gpus: how many of its threads may be on a GPU at once.
        install_s: seconds that an environment takes there.
        current: number of the work that its last cell was of.
        sent: its cells, in the order in which it runs them.
    """

    address: str
    name: str = ""
    site: str = ""
    offers: frozenset[str] = frozenset()
    threads: int = 1
    gpus: int = 0
    install_s: float = INSTALL_S
    current: int | None = None
    sent: list[OwedCell] = field(default_factory=list)

    def __str__(self) -> str:
        return self.address if self.name in ("", self.address) else f"{self.name} ({self.address})"

    def has_room(self, *, on_gpu: bool = False) -> bool:
        """Return whether another cell may be submitted.

        Args:
            on_gpu: whether the cell needs a GPU.
        """
        cells = [owed for owed in self.sent if owed.needs_gpu] if on_gpu else self.sent
        limit = self.gpus if on_gpu else self.threads
        return len(cells) < limit or (len(cells) == limit > 0 and any(owed.longest < SHORT_S for owed in cells))


class CellQueues:
    """The owed cells of a run by environment.

    Args:
        work: of the run.
        seconds: expected and longest duration of a cell.
        workers: who takes part, by address; call `workers_changed` when that changes.
        made: folders of the environments of each site, also of those that are being made.
    """

    def __init__(
        self,
        work: Sequence[Work],
        seconds: Callable[[Target, Cell], tuple[float, float]],
        workers: Mapping[str, ClusterWorker],
        made: dict[str, set[str]],
    ) -> None:
        self._work, self._workers, self._made = work, workers, made
        self._queues: list[deque[OwedCell]] = []
        for number, part in enumerate(work):
            cells = [_owed(number, part, cell, *seconds(part.target, cell)) for cell in part.cells]
            # The most constrained first, then those that may end last.
            self._queues.append(deque(sorted(cells, key=lambda owed: (not owed.needs_gpu, -owed.longest))))
        self._seconds = [sum(owed.seconds for owed in queue) for queue in self._queues]
        self._begun: set[int] = set()
        self._unfit: set[tuple[str, int]] = set()
        self._inside: Counter[int | None] = Counter()
        self._fitting: dict[tuple[object, ...], set[str]] = {}

    def __iter__(self) -> Iterator[OwedCell]:
        return (owed for queue in self._queues for owed in queue)

    def workers_changed(self) -> None:
        """Look anew at who is there."""
        self._inside = Counter(worker.current for worker in self._workers.values())
        self._fitting.clear()

    def take(self, worker: ClusterWorker) -> OwedCell | None:
        """Return the next cell for a worker; None if there is none for it now.

        Args:
            worker: which has answered.
        """
        if not worker.has_room():
            return None
        on_gpu = worker.has_room(on_gpu=True)
        numbers = range(len(self._queues)) if worker.current is None else [worker.current, *range(len(self._queues))]
        best: tuple[tuple[float, ...], OwedCell] | None = None
        for number in numbers:
            rank = self._rank(worker, number) if self._queues[number] else None
            if rank is None or (best is not None and best[0] <= rank):
                continue
            fits = (
                owed for owed in self._queues[number] if self._fits(worker, owed) and (on_gpu or not owed.needs_gpu)
            )
            if (owed := next(fits, None)) is not None:
                best = rank, owed
                if number == worker.current:
                    break
        if best is None:
            return None
        self._hand_to(worker, best[1])
        return best[1]

    def _rank(self, worker: ClusterWorker, number: int) -> tuple[float, ...] | None:
        """Return how soon a worker takes cells of an environment, the least first; None if it does not pay."""
        if number == worker.current:
            return (0,)
        is_made = self._work[number].target.key.folder in self._made.get(worker.site, ())
        if number not in self._begun:
            return (1, not is_made, number)
        others = self._inside[number]
        # Another installation must end before those who are there are through.
        if not is_made and others and self._seconds[number] / others < worker.install_s:
            return None
        return (2, -self._seconds[number] / (others + 1), number)

    def _hand_to(self, worker: ClusterWorker, owed: OwedCell) -> None:
        self._queues[owed.number].remove(owed)
        self._seconds[owed.number] -= owed.seconds
        self._inside[worker.current] -= 1
        self._inside[owed.number] += 1
        self._begun.add(owed.number)
        self._made.setdefault(worker.site, set()).add(owed.work.target.key.folder)
        worker.current = owed.number
        worker.sent.append(owed)

    def put_back(self, cells: Sequence[OwedCell]) -> None:
        """Queue cells again, in front.

        Args:
            cells: that were taken and not run.
        """
        for owed in reversed(cells):
            self._queues[owed.number].appendleft(owed)
            self._seconds[owed.number] += owed.seconds

    def drop(self, cells: Iterable[OwedCell]) -> None:
        """Take out cells that are not to be run.

        Args:
            cells: that are queued.
        """
        for owed in cells:
            self._queues[owed.number].remove(owed)
            self._seconds[owed.number] -= owed.seconds

    def avoid(self, site: str, number: int) -> bool:
        """Give a site nothing more of an environment; returns whether that is new.

        Args:
            site: of the workers.
            number: of the environment in the plan.
        """
        is_new = (site, number) not in self._unfit
        self._unfit.add((site, number))
        self._fitting.clear()
        return is_new

    def able(self, owed: OwedCell) -> list[ClusterWorker]:
        """Return the workers that could run a cell.

        Args:
            owed: the cell.
        """
        return [
            worker
            for worker in self._workers.values()
            if (worker.gpus or not owed.needs_gpu)
            and worker.site not in owed.failed_at
            and (worker.site, owed.number) not in self._unfit
        ]

    def _fits(self, worker: ClusterWorker, owed: OwedCell) -> bool:
        """Return whether a worker is able to run a cell, and offers as much of its wants as any that is."""
        key = (owed.number, owed.needs_gpu, owed.wants, owed.failed_at)
        if key not in self._fitting:
            able = self.able(owed)
            most = max((len(owed.wants & other.offers) for other in able), default=0)
            self._fitting[key] = {other.address for other in able if len(owed.wants & other.offers) == most}
        return worker.address in self._fitting[key]


def _owed(number: int, work: Work, cell: Cell, seconds: float, longest: float) -> OwedCell:
    key = work.target.key
    # Of no machine in particular: on which does the entry for this cell say that the bug shows?
    bug = expected_bug(cell.case, cell.check.name, Where(key.torch, key.python, cell.device, cell.backend))
    platform = {bug.platform.lower()} if bug is not None and bug.platform else set()
    return OwedCell(number, work, cell, seconds, longest, frozenset({f"python {key.python}", *platform}))
