"""What a run on a cluster owes, what each cell asks of a worker, and the tasks that are made of it."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pt2bugs.case.cells import Cell
from pt2bugs.case.expectation import Where, expected_bug
from pt2bugs.cluster.ledger import Attempt, Owed
from pt2bugs.cluster.session import GPU, Session, Worker
from pt2bugs.cluster.task import CaseFile, InstallOptions, Task, TaskCell
from pt2bugs.run.placement import Batch, Costs, Placement
from pt2bugs.run.schedule import RunOptions, Work

CELL_S = 0.5
"""Seconds that a cell is taken to last where no journal has seen its check."""
OVERHEAD_S = 0.05
"""Seconds of a cell beyond its body."""
PATIENCE_S = 120.0
"""Seconds that a run waits for a worker that can take what is left."""


@dataclass(frozen=True)
class Settings:
    """What a run on a cluster takes from the command line, beside the options of every run.

    Args:
        durations: seconds by case, check, device and backend: the mean over the releases, and `longest` of them.
        factors: how much longer than on average the checks of a release take.
    """

    packages: InstallOptions
    durations: Mapping[tuple[str, str, str, str], float] = field(default_factory=dict)
    longest: Mapping[tuple[str, str, str, str], float] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
    patience_s: float = PATIENCE_S


class Plan:
    """The cells of a run, the queue they wait in, and the seats of the workers that take them from it."""

    def __init__(
        self, session: Session, settings: Settings, options: RunOptions, run_id: str, work: Sequence[Work]
    ) -> None:
        self.owed: list[Owed] = []
        self._session, self._settings, self._options, self._run_id = session, settings, options, run_id
        self._files: dict[str, CaseFile] = {}
        # Works that reach backends in different ways may share a folder: to the placement they are environments apart.
        self._environments = {id(one): f"{one.target.key.folder}#{number}" for number, one in enumerate(work)}
        self._work = work
        costs = [one.install_s for one in session.workers.values() if one.install_s]
        self.placement: Placement[int] = Placement(Costs(install=sum(costs) / len(costs)) if costs else None)
        for one in work:
            for cell in one.cells:
                self._add(one, cell)
        for owed in self.owed:
            self.put(owed)

    def _add(self, work: Work, cell: Cell) -> None:
        if cell.case.id not in self._files:
            path = cell.case.path
            self._files[cell.case.id] = CaseFile(path.name, path.read_bytes(), cell.case.hash)
        key = work.target.key
        # Of no machine in particular: on which does the entry for this cell say that the bug shows?
        bug = expected_bug(cell.case, cell.check.name, Where(key.torch, key.python, cell.device, cell.backend))
        platform = {bug.platform.lower()} if bug is not None and bug.platform else set()
        expected = self._settings.durations.get(cell.key, CELL_S) * self._settings.factors.get(key.torch, 1.0)
        longest = max(expected, self._settings.longest.get(cell.key, 0.0))
        self.owed.append(
            Owed(
                number=len(self.owed),
                work=work,
                cell=cell,
                seconds=(expected + OVERHEAD_S) * self._options.repeat,
                longest=(longest + OVERHEAD_S) * self._options.repeat,
                needs=frozenset() if cell.device == "cpu" else frozenset({GPU}),
                wants=frozenset({f"python {key.python}", *platform}),
            )
        )

    def put(self, owed: Owed, site: str = "") -> None:
        """Queue a cell; where `site` is given, for that one alone."""
        offered = frozenset().union(*(one.offers for one in self._session.workers.values()))
        needs = owed.needs | (owed.wants & offered) | ({f"site {site}"} if site else frozenset())
        longest = {owed.number: owed.longest}
        self.placement.add(self.environment(owed.work), [(owed.number, owed.seconds)], needs, longest)

    def put_stranded(self) -> None:
        """What nobody here can take is queued anew: with those who are there now, it may ask for less."""
        stranded = set(self.placement.stranded())
        for work in self._work:
            if self.environment(work) in stranded:
                for number in self.placement.abandon(self.environment(work)):
                    self.put(self.owed[number])

    def environment(self, work: Work) -> str:
        """What the placement calls the environment of a work."""
        return self._environments[id(work)]

    def seat(self, worker: Worker) -> list[str]:
        """A worker takes part; returns the names of its seats."""
        there = {name for name in self._environments.values() if name.rpartition("#")[0] in worker.environments}
        seats = worker.seat_names()
        for seat in seats:
            self.placement.add_worker(seat, there, worker.offers_of(seat))
        return seats

    def has(self, worker: Worker, work: Work, seats: Collection[str]) -> None:
        """The environment was made on a worker, and so on all of its site; `seats` are those that take part."""
        folder = work.target.key.folder
        if folder in worker.environments:
            return
        mates = [one for one in self._session.workers.values() if one.site == worker.site]
        for one in mates:
            one.environments.add(folder)
        for name in self._environments.values():
            if name.rpartition("#")[0] == folder:
                self.placement.installed(name, [seat for one in mates for seat in one.seat_names() if seat in seats])

    def fitting(self, owed: Owed) -> Iterable[Worker]:
        """The workers that can run a cell."""
        everybody = self._session.workers.values()
        return [one for one in everybody if owed.needs <= {*one.offers, *([GPU] if one.gpus else [])}]

    def attempt(self, seat: str, batch: Batch[int]) -> tuple[Attempt, Task]:
        """A batch for a seat, and the task that is sent for it."""
        owed = [self.owed[number] for number in batch.items]
        work = owed[0].work
        target = work.target
        attempt = Attempt(f"pt2bugs-{target.key.folder}-{uuid.uuid4().hex}", seat, work, owed)
        index_of = {id_: index for index, id_ in enumerate(dict.fromkeys(one.cell.case.id for one in owed))}
        cells = [
            TaskCell(index_of[one.cell.case.id], one.cell.check.name, one.cell.device, one.cell.backend) for one in owed
        ]
        task = Task(
            attempt=attempt.name,
            topic=self._session.topic,
            run_id=self._run_id,
            key=target.key,
            setup=target.setup,
            pairs=tuple(sorted({(cell.device, cell.backend) for cell in work.cells})),
            options=self._options,
            packages=self._settings.packages,
            files=tuple(self._files[id_] for id_ in index_of),
            cells=tuple(cells),
        )
        return attempt, task
