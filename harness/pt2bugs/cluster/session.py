"""The driver's view of a cluster: who is there, what they said of themselves, and what happens to them."""

from __future__ import annotations

import contextlib
import queue
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pt2bugs import __version__
from pt2bugs.cluster.connection import ClusterError, connected, local_workers
from pt2bugs.cluster.task import code_hash

if TYPE_CHECKING:
    from distributed import Client, Future

GPU = "GPU"
"""The resource of workers that run cells on a GPU: ``dask worker --resources "GPU=1"``."""
REFRESH_S = 5.0
"""Seconds between two questions who is there, beside the scheduler's own events."""


@dataclass(frozen=True)
class Happening:
    """Something that the driver has to act on.

    `kind` is ``event`` (a worker sent something: attempt, kind, number, value), ``ended`` (the future of an attempt),
    ``named`` (the future of a worker that said who it is) or ``crew`` (a worker came or went).
    """

    kind: str
    name: str = ""
    value: Any = None


@dataclass
class Worker:
    """A worker that may get tasks. `seats` is how many at once, `gpus` how many of them on a GPU."""

    address: str
    name: str
    site: str
    offers: frozenset[str]
    environments: set[str]
    seats: int
    gpus: int
    install_s: float | None

    def __str__(self) -> str:
        return self.address if self.name in ("", self.address) else f"{self.name} ({self.address})"

    def seat_names(self) -> list[str]:
        return [f"{self.address}#{number}" for number in range(self.seats)]

    def offers_of(self, seat: str) -> frozenset[str]:
        """What the placement may ask of one seat: the first ones have the GPUs."""
        number = int(seat.rpartition("#")[2])
        return self.offers | {f"site {self.site}"} | ({GPU} if number < self.gpus else frozenset())


@dataclass
class Session:
    """A connection to a cluster for as long as a command takes.

    Args:
        workers: those that take part, by address.
        refused: why others do not.
        pythons: minor versions that workers are asked for.
    """

    client: Client
    where: str
    log: Callable[[str], None]
    workers: dict[str, Worker] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    pythons: frozenset[str] = frozenset()
    happened: queue.SimpleQueue[Happening] = field(default_factory=queue.SimpleQueue)
    topic: str = field(default_factory=lambda: f"pt2bugs-{uuid.uuid4().hex[:12]}")
    _asked: dict[str, Future] = field(default_factory=dict)
    _known: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _refreshed_at: float = 0.0

    def start(self) -> None:
        """Listen to the cluster."""
        self.client.subscribe_topic(self.topic, self._take_event)
        self.client.subscribe_topic("all", self._take_news)

    def _take_event(self, event: tuple[float, Any]) -> None:
        attempt, *value = event[1]
        self.happened.put(Happening("event", attempt, value))

    def _take_news(self, event: tuple[float, Any]) -> None:
        if isinstance(event[1], dict) and event[1].get("action") in ("add-worker", "remove-worker"):
            self.happened.put(Happening("crew"))

    @property
    def is_alive(self) -> bool:
        return bool(self.client.status == "running")

    @property
    def is_waiting(self) -> bool:
        """Whether somebody has yet to say who it is."""
        return bool(self._asked)

    def gone(self) -> ClusterError:
        """What to raise when the scheduler does not answer any more."""
        return ClusterError(
            f"--cluster {self.where}: the scheduler is gone; what had come back is in the journal, "
            "the same command goes on from there"
        )

    def refresh_if_due(self) -> list[str]:
        """`refresh`, if that was not done for a while."""
        return self.refresh() if time.monotonic() - self._refreshed_at > REFRESH_S else []

    def refresh(self) -> list[str]:
        """Ask those who are new who they are; returns the addresses of workers that have gone.

        Raises:
            ClusterError: the scheduler does not answer.
        """
        self._refreshed_at = time.monotonic()
        try:
            # Not `scheduler_info`: the client's own timer replaces that by one without workers at any time.
            there = self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"]
        except (OSError, RuntimeError, AttributeError):
            raise self.gone() from None
        if not self.is_alive:
            raise self.gone()
        for address, facts in there.items():
            if address not in self._known:
                self._known[address] = facts
                self._ask(address)
        lost = [address for address in self._known if address not in there]
        for address in lost:
            del self._known[address]
            self._asked.pop(address, None)
            self.refused.pop(address, None)
        return [address for address in lost if self.workers.pop(address, None) is not None]

    def _ask(self, address: str) -> None:
        from pt2bugs.cluster.worker import identify

        future = self.client.submit(
            identify,
            sorted(self.pythons),
            workers=[address],
            allow_other_workers=False,
            pure=False,
            key=f"pt2bugs-{uuid.uuid4().hex}",
        )
        self._asked[address] = future
        future.add_done_callback(lambda done: self.happened.put(Happening("named", address, done)))

    def named(self, address: str, future: Future) -> Worker | None:
        """Take what a worker said of itself; None if it does not take part, which is told."""
        if address not in self._asked or self._asked[address] is not future:
            return None  # it was asked again since, or has gone
        del self._asked[address]
        problem, said = "", {}
        if future.status == "finished":
            try:
                said = future.result(timeout=60)
            except Exception:  # it has gone with what it said
                return None
            mine, its = f"{__version__} ({code_hash()})", f"{said.get('version')} ({said.get('code')})"
            problem = "" if mine == its else f"it has pt2bugs {its}, this is {mine}; install the same on both"
        elif future.status == "error":
            problem = _why_unnamed(future.exception())
        else:
            return None
        if problem:
            self.refuse(address, problem)
            return None
        facts = self._known[address]
        resources = facts.get("resources") or {}
        worker = Worker(
            address=address,
            name=str(facts.get("name", "")),
            site=said["site"],
            offers=frozenset(said["offers"]),
            environments=set(said["environments"]),
            seats=int(facts.get("nthreads", 1)),
            gpus=int(resources.get(GPU, 0)),
            install_s=said["install_s"],
        )
        self.workers[address] = worker
        return worker

    def refuse(self, address: str, why: str) -> None:
        """Leave a worker out from now on, and say so."""
        name = str(self.workers.pop(address, address))
        self.refused[address] = why
        self.log(f"worker {name} takes no part: {why}")

    def roll_call(self, wait_s: float, pythons: Iterable[str] = ()) -> None:
        """Have everybody who is there say who it is and which of these Pythons it has, and wait so long at most.

        Raises:
            ClusterError: the scheduler does not answer.
        """
        if not self.pythons.issuperset(pythons):
            self.pythons = self.pythons.union(pythons)
            for address in self._known:
                self._ask(address)
        self.refresh()
        deadline = time.monotonic() + wait_s
        while self._asked and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                one = self.happened.get(timeout=min(left, 1.0))
                if one.kind == "named":
                    self.named(one.name, one.value)
                elif one.kind == "crew":
                    self.refresh()


def _why_unnamed(error: BaseException) -> str:
    message = (str(error).splitlines() or [type(error).__name__])[0][:300]
    if isinstance(error, ImportError | AttributeError | TypeError):
        return f"it lacks what this pt2bugs needs there ({message}); pip install 'pt2bugs[run,cluster]=={__version__}'"
    return f"it cannot say what it is: {message}"


@contextlib.contextmanager
def open_session(where: str, log: Callable[[str], None]) -> Iterator[Session]:
    """A session with the scheduler that ``--cluster`` names.

    Raises:
        ClusterError: there is none.
    """
    with connected(where) as client:
        session = Session(client, where, log)
        session.start()
        if link := _dashboard(client, where):
            log(f"dashboard: {link}")
        yield session


def _dashboard(client: Client, where: str) -> str:
    """The address of Dask's dashboard; empty where there is none. A scheduler draws it if it has bokeh."""
    if local_workers(where) and find_spec("bokeh") is None:
        return ""
    try:
        return str(client.dashboard_link or "")
    except (KeyError, AttributeError, ValueError):
        return ""
