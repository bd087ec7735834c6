"""Which worker runs which cells next, where environments are costly and workers come and go.

Pure: no clock, no process, no network. The driver of a cluster asks it, and so does `benchmarks/scheduling.py`.
"""

from __future__ import annotations

import bisect
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)

BATCHES_LEFT = 20
"""No batch takes more than this part of what a worker has left to do: the end of a run stays divisible."""

WORTH = 0.01
"""Another worker must bring the end of an environment closer by this part at least; gigabytes are not free."""


@dataclass(frozen=True)
class Costs:
    """What the placement weighs, in seconds.

    `install` makes an environment on a worker, `start` starts its engine there, and a batch is not made smaller than
    `batch` (it holds one item at least).
    """

    install: float = 90.0
    start: float = 10.0
    batch: float = 2.0


@dataclass(frozen=True)
class Batch(Generic[Item]):
    """What a worker is to run next; `installs` says that it does not have the environment yet."""

    environment: str
    items: tuple[Item, ...]
    seconds: float
    installs: bool


@dataclass(frozen=True)
class _Queued(Generic[Item]):
    item: Item
    seconds: float
    longest: float
    order: int

    @property
    def rank(self) -> tuple[float, int]:
        """Among equals the first one added is the first one handed out."""
        return self.longest, -self.order


@dataclass
class _Group(Generic[Item]):
    """The items of one environment that need the same of a worker. The queue is sorted, what may last longest last."""

    environment: str
    needs: frozenset[str]
    queue: list[_Queued[Item]] = field(default_factory=list)
    queued: float = 0.0
    running: float = 0.0
    setup: float = 0.0
    """Seconds of installing and starting that its workers have not proven done yet."""
    workers: int = 0

    @property
    def left(self) -> float:
        return self.queued + self.running

    @property
    def ends(self) -> float:
        """Seconds until it ends with the workers it has."""
        return (self.left + self.setup) / self.workers if self.workers else float("inf")


@dataclass
class _Worker(Generic[Item]):
    offers: frozenset[str]
    has: set[str]
    refused: set[str] = field(default_factory=set)
    at: _Group[Item] | None = None
    setup: float = 0.0
    running: dict[Item, _Queued[Item]] = field(default_factory=dict)


class Placement(Generic[Item]):
    """Hands out items (cells, or names of them) in batches, one environment each.

    A worker stays in its environment while that has items. Then it begins one that nobody has begun, first of all one
    that it has on its disk; then it helps where the end is farthest, if that comes sooner with it than without it,
    although it may have to install the environment first. So an environment is on few workers, and all are busy.

    What may last longest is handed out first, and batches shrink towards the end, so that workers finish together.
    """

    def __init__(self, costs: Costs | None = None) -> None:
        self.costs = costs or Costs()
        self._groups: dict[tuple[str, frozenset[str]], _Group[Item]] = {}
        self._workers: dict[str, _Worker[Item]] = {}
        self._added = 0
        self._left = 0.0

    def add(
        self,
        environment: str,
        items: Iterable[tuple[Item, float]],
        needs: Iterable[str] = (),
        longest: Mapping[Item, float] | None = None,
    ) -> None:
        """Take items and their expected seconds; only workers that offer all `needs` get them.

        Args:
            longest: seconds that an item may last, where that is more than is expected of it.
        """
        key = (environment, frozenset(needs))
        group = self._groups.setdefault(key, _Group(*key))
        for item, seconds in items:
            most = max(seconds, (longest or {}).get(item, 0.0))
            self._put(group, _Queued(item, seconds, most, self._added))
            self._added += 1

    def add_worker(self, name: str, has: Iterable[str] = (), offers: Iterable[str] = ()) -> None:
        """A worker came, with these environments on its disk."""
        self._workers[name] = _Worker(frozenset(offers), set(has))

    def installed(self, environment: str, names: Iterable[str]) -> None:
        """These workers have the environment now: they share the disk of one that made it."""
        for name in names:
            self._workers[name].has.add(environment)

    def next_batch(self, name: str) -> Batch[Item] | None:
        """What a free worker is to do. None: nothing now; ask again after `lose`, `refuse`, `add`."""
        worker = self._workers[name]
        group = self._choose(worker)
        if group is None:
            self._leave(worker)
            return None
        installs = group.environment not in worker.has
        if worker.at is not group:
            setup = self._setup(worker, group)
            self._leave(worker)
            worker.at, worker.setup = group, setup
            group.workers += 1
            group.setup += setup
            worker.has.add(group.environment)
        return self._take(worker, group, installs)

    def ready(self, name: str) -> None:
        """A worker has the environment of its batch, and the engine is up; `done` says so, too, only later."""
        self._set_up(self._workers[name])

    def done(self, name: str, item: Item) -> None:
        """A worker has finished an item."""
        worker = self._workers[name]
        self._set_up(worker)
        queued = worker.running.pop(item, None)
        if worker.at is not None and queued is not None:
            worker.at.running -= queued.seconds
            self._left -= queued.seconds

    def give_back(self, name: str) -> list[Item]:
        """What the worker had not finished goes to the queue again; returns it."""
        worker = self._workers[name]
        items = list(worker.running)
        if worker.at is not None:
            for queued in worker.running.values():
                worker.at.running -= queued.seconds
                self._left -= queued.seconds
                self._put(worker.at, queued)
        worker.running.clear()
        return items

    def lose(self, name: str) -> list[Item]:
        """A worker has gone; returns what it had not finished, which is in the queue again."""
        items = self.give_back(name)
        self._leave(self._workers.pop(name))
        return items

    def refuse(self, name: str, environment: str) -> list[Item]:
        """The environment does not work on that worker, which gets none of its items any more; as `lose` otherwise."""
        items = self.give_back(name)
        worker = self._workers[name]
        self._leave(worker)
        worker.has.discard(environment)
        worker.refused.add(environment)
        return items

    def abandon(self, environment: str) -> list[Item]:
        """Take all that is queued of an environment out; what runs goes on."""
        items: list[Item] = []
        for group in self._groups.values():
            if group.environment == environment:
                items += [queued.item for queued in group.queue]
                self._left -= group.queued
                group.queue, group.queued = [], 0.0
        return items

    def stranded(self) -> list[str]:
        """Environments with items that no worker of now can take."""
        queued = [group for group in self._groups.values() if group.queue]
        workers = self._workers.values()
        return sorted({g.environment for g in queued if not any(self._may(worker, g) for worker in workers)})

    @property
    def is_finished(self) -> bool:
        """Whether nothing is queued and nothing runs."""
        return not any(group.queue for group in self._groups.values()) and not any(
            worker.running for worker in self._workers.values()
        )

    def _put(self, group: _Group[Item], queued: _Queued[Item]) -> None:
        bisect.insort(group.queue, queued, key=lambda one: one.rank)
        group.queued += queued.seconds
        self._left += queued.seconds

    def _take(self, worker: _Worker[Item], group: _Group[Item], installs: bool) -> Batch[Item]:
        expected = max(group.workers, len(self._workers) * group.left / max(self._left, 1e-9))
        share = min(group.queued / (2 * max(1.0, expected)), self._left / (len(self._workers) * BATCHES_LEFT))
        wanted = max(share, self.costs.batch)
        taken: list[_Queued[Item]] = []
        most = 0.0
        # Nothing waits behind an item that may last long.
        while group.queue and (not taken or most + group.queue[-1].longest <= wanted):
            taken.append(group.queue.pop())
            most += taken[-1].longest
        worker.running.update({queued.item: queued for queued in taken})
        total = sum(queued.seconds for queued in taken)
        group.queued -= total
        group.running += total
        return Batch(group.environment, tuple(queued.item for queued in taken), total, installs)

    def _choose(self, worker: _Worker[Item]) -> _Group[Item] | None:
        open_ = [group for group in self._groups.values() if group.queue and self._may(worker, group)]
        # What few workers can do comes first on those that can.
        special = [group for group in open_ if group.needs]
        return self._choose_among(worker, special) or self._choose_among(worker, open_)

    def _choose_among(self, worker: _Worker[Item], groups: list[_Group[Item]]) -> _Group[Item] | None:
        if any(group is worker.at for group in groups):
            return worker.at
        fresh = [group for group in groups if not group.workers and self._is_mine(worker, group)]
        if fresh:
            return max(fresh, key=lambda group: (group.environment in worker.has, group.left))
        helped = [group for group in groups if group.workers and self._helps(worker, group)]
        return max(helped, key=lambda group: group.ends - self._setup(worker, group), default=None)

    def _helps(self, worker: _Worker[Item], group: _Group[Item]) -> bool:
        """Whether the environment ends sooner with this worker than without it, by an amount that matters."""
        sooner = (group.ends - self._setup(worker, group)) / (group.workers + 1)
        return sooner > WORTH * group.ends

    def _is_mine(self, worker: _Worker[Item], group: _Group[Item]) -> bool:
        """Whether the worker should begin it: it has the environment, or those that have it are busy for too long."""
        if group.environment in worker.has:
            return True
        owners = [one for one in self._workers.values() if group.environment in one.has and self._may(one, group)]
        soonest = min((self._backlog(owner, group) for owner in owners), default=float("inf"))
        return soonest > self._setup(worker, group)

    def _backlog(self, worker: _Worker[Item], but: _Group[Item]) -> float:
        """Seconds until a worker has done what it is at, and what else waits for it."""
        waiting = sum(
            group.queued
            for group in self._groups.values()
            if group is not but and not group.workers and group.environment in worker.has
        )
        return (worker.at.ends if worker.at else 0.0) + waiting

    def _may(self, worker: _Worker[Item], group: _Group[Item]) -> bool:
        return group.needs <= worker.offers and group.environment not in worker.refused

    def _setup(self, worker: _Worker[Item], group: _Group[Item]) -> float:
        if worker.at is not None and worker.at.environment == group.environment:
            return self.costs.start
        return self.costs.start + (0.0 if group.environment in worker.has else self.costs.install)

    def _set_up(self, worker: _Worker[Item]) -> None:
        if worker.at is not None:
            worker.at.setup -= worker.setup
        worker.setup = 0.0

    def _leave(self, worker: _Worker[Item]) -> None:
        if worker.at is not None:
            self._set_up(worker)
            worker.at.workers -= 1
            worker.at = None
