"""Runs work on the workers of a Dask cluster. The driver alone writes the journal.

A task is one cell, submitted for one worker (`workers=`), with its device as a resource. Its result is the lines of the
cell, so that a cell is answered once and as a whole. A worker has no more tasks than threads, and one behind a short
cell: what it had when it was lost was running there.
"""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, cast

from pt2bugs import __version__
from pt2bugs.case.cells import Cell
from pt2bugs.case.observation import Observation, telling_line
from pt2bugs.case.vocabulary import Outcome, Verdict
from pt2bugs.cluster.connection import ClusterError, connected
from pt2bugs.cluster.queue import GPU, MAX_LOSSES, CellQueues, ClusterWorker, OwedCell
from pt2bugs.cluster.task import Answer, Batch, InstallOptions, Task, code_hash
from pt2bugs.engine.environment import EnvironmentFacts
from pt2bugs.envs.store import INSTALL_S
from pt2bugs.errors import first_line, install_command
from pt2bugs.results.folder import Results
from pt2bugs.results.journal import Record, new_record
from pt2bugs.run.measurement import new_run_id
from pt2bugs.run.plan import RunOptions, Target, Work
from pt2bugs.run.runner import Journals, Progress, record_of_unmade, require_writable

if TYPE_CHECKING:
    from distributed import Client, Future, as_completed

PATIENCE_S = 120.0
"""Seconds that a run waits for a worker that can take what is left."""
ROLL_CALL_S = 10.0
"""Seconds that a run waits for workers to identify themselves before the first cell is submitted."""
REFRESH_S = 1.0
"""Seconds between two looks at who is there."""
POLL_S = 0.02
RETRIES = 2
"""Number of times that Dask tries a task again that raised; what a check raises is no such exception."""


class Cluster:
    """A connection for as long as a command takes, and the workers that take part.

    Args:
        where: the value of ``--cluster``.
        log: is told which workers take no part, and why.
    """

    def __init__(self, client: Client, where: str, log: Callable[[str], None]) -> None:
        self.client, self.where, self.log = client, where, log
        self.workers: dict[str, ClusterWorker] = {}
        self.refused: dict[str, str] = {}
        self.made: dict[str, set[str]] = {}
        """Folders of the environments of each site, also of those that are being made."""
        self._pythons: list[str] = []
        self._known: dict[str, Mapping[str, Any]] = {}
        self._identifying: dict[str, Future] = {}

    def roll_call(self, pythons: Iterable[str] = (), wait_s: float = ROLL_CALL_S) -> None:
        """Have every worker identify itself anew.

        Args:
            pythons: minor versions that the workers are to look for.
            wait_s: how long to wait for their answers; later ones are taken by `refresh`.

        Raises:
            ClusterError: the scheduler does not answer.
        """
        self._pythons = sorted(set(pythons))
        self._known.clear()
        self._identifying.clear()
        self.workers.clear()
        self.refused.clear()
        deadline = time.monotonic() + wait_s
        self.refresh()
        while self._identifying and time.monotonic() < deadline:
            time.sleep(POLL_S)
            self.refresh()

    def refresh(self) -> list[ClusterWorker]:
        """Have new workers identify themselves, and return those that have gone.

        Raises:
            ClusterError: the scheduler does not answer.
        """
        try:
            # Not `scheduler_info`: the client's own timer replaces that by one without workers at any time.
            there = self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"]
        except (OSError, RuntimeError, AttributeError):
            raise self.gone() from None
        if self.client.status != "running":
            raise self.gone()
        for address in there.keys() - self._known.keys():
            self._known[address] = there[address]
            self._identify(address)
        lost = self._known.keys() - there.keys()
        for address in lost:
            del self._known[address]
            self._identifying.pop(address, None)
            self.refused.pop(address, None)
        for address in [address for address, future in self._identifying.items() if future.done()]:
            self._take_identity(address, self._identifying.pop(address))
        return [worker for address in lost if (worker := self.workers.pop(address, None))]

    @property
    def is_waiting(self) -> bool:
        """True while a worker has not identified itself."""
        return bool(self._identifying)

    def gone(self) -> ClusterError:
        """Return what to raise when the scheduler does not answer any more."""
        return ClusterError(
            f"--cluster {self.where}: the scheduler is gone; what had come back is in the journal, "
            "the same command goes on from there"
        )

    def refuse(self, address: str, why: str) -> ClusterWorker | None:
        """Leave a worker out from now on, and say so.

        Args:
            address: of the worker.
            why: for the user.
        """
        worker = self.workers.pop(address, None)
        self.refused[address] = why
        self.log(f"worker {worker or address} takes no part: {why}")
        return worker

    def _identify(self, address: str) -> None:
        from pt2bugs.cluster.worker import identify

        self._identifying[address] = self.client.submit(
            identify, self._pythons, key=f"pt2bugs-{uuid.uuid4().hex}", workers=[address], pure=False
        )

    def _take_identity(self, address: str, future: Future) -> None:
        if future.status == "error":
            message = first_line(error := cast(BaseException, future.exception()))
            why = f"it cannot say what it is: {message}"
            if isinstance(error, ImportError | AttributeError | TypeError):
                why = f"it lacks what this pt2bugs needs there ({message}); "
                why += f"install there what is installed here, as by: {install_command('run,cluster')}"
            self.refuse(address, why)
            return
        try:
            identity = future.result(timeout=60)
        except Exception:  # it has gone since
            return
        ours, its = f"{__version__} ({code_hash()})", f"{identity.get('version')} ({identity.get('code')})"
        if ours != its:
            self.refuse(address, f"it has pt2bugs {its}, this is {ours}; install the same on both")
            return
        facts = self._known[address]
        self.made.setdefault(identity["site"], set()).update(identity["environments"])
        self.workers[address] = ClusterWorker(
            address=address,
            name=str(facts.get("name", "")),
            site=identity["site"],
            offers=frozenset(identity["offers"]),
            threads=int(facts.get("nthreads", 1)),
            gpus=int((facts.get("resources") or {}).get(GPU, 0)),
            install_s=identity["install_s"] or INSTALL_S,
        )


@contextlib.contextmanager
def open_cluster(where: str, log: Callable[[str], None]) -> Iterator[Cluster]:
    """Connect to the cluster that ``--cluster`` names.

    Args:
        where: the address of a scheduler, its file, or ``local:N``.
        log: for the user.

    Raises:
        ClusterError: there is none.
    """
    with connected(where, log) as client:
        yield Cluster(client, where, log)


class ClusterRunner:
    """Runs work into a results folder, as `run.runner.Runner` does, on the workers of a cluster.

    Args:
        connect: returns the cluster; called with the first work.
        packages: where workers take packages from.
        seconds: expected and longest duration of a cell.
        record: called with every line that was written to the journal.
        patience_s: how long to wait for a worker that can take what is left.
    """

    def __init__(
        self,
        connect: Callable[[], Cluster],
        packages: InstallOptions,
        seconds: Callable[[Target, Cell], tuple[float, float]],
        results: Results,
        options: RunOptions,
        progress: Progress,
        record: Callable[[Record], None] = lambda _: None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._connect, self._packages, self._seconds, self._patience_s = connect, packages, seconds, patience_s
        self._options, self._progress, self._run_id = options, progress, new_run_id()
        self._results, self._record = results, record
        self._journals = Journals(results)
        self._topic = f"pt2bugs-{self._run_id}"
        self._queues = CellQueues([], seconds, {}, {})
        self._tasks: dict[Future, tuple[ClusterWorker, OwedCell]] = {}
        self._healthy: set[tuple[str, int]] = set()
        """Sites, and numbers of works of which a cell was measured there."""
        self._told: set[tuple[str, str]] = set()

    def run(self, work: list[Work]) -> list[Work]:
        """Run everything; return the same list, each with the `failure` of its environment if it had one.

        Args:
            work: the plan, without what the journal answers.

        Raises:
            JournalError: the results folder cannot be written.
            ClusterError: the scheduler has gone, or no worker is there for the work; what came back is in the journal.
            KeyboardInterrupt: the user stopped it; what came back is in the journal.
        """
        from distributed import as_completed

        if not work:
            return work
        require_writable(self._results.journal_folder)
        self.cluster = cluster = self._connect()
        if any(part.target.python is not None for part in work):
            problem = "makes its environments on the workers: name releases with --torch"
            raise ClusterError(f"--cluster {self.cluster.where}: {problem}")
        self._progress.more(sum(len(part.cells) for part in work))
        client = cluster.client
        cluster.roll_call({part.target.key.python for part in work})
        self._queues = CellQueues(work, self._seconds, cluster.workers, cluster.made)
        client.subscribe_topic(self._topic, self._tell)
        completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        try:
            self._work_off(completed)
        except BaseException:
            with contextlib.suppress(ClusterError):
                self._receive(completed)
            raise
        finally:
            with contextlib.suppress(Exception):  # a scheduler that has gone has nothing to cancel
                client.cancel(list(self._tasks), force=True)
                client.unsubscribe_topic(self._topic)
            self._journals.close()
        return work

    def _work_off(self, completed: as_completed) -> None:
        waiting_since = refreshed = 0.0
        while self._tasks or any(self._queues):
            if time.monotonic() - refreshed > REFRESH_S:
                self._lose(self.cluster.refresh())
                self._queues.workers_changed()
                refreshed = time.monotonic()
            self._submit(completed)
            if self._receive(completed):
                continue
            if self._tasks or self.cluster.is_waiting:
                waiting_since = 0.0
            elif not waiting_since:
                waiting_since = time.monotonic()
                self._log(f"waiting for a worker: {self._missing()}")
            elif time.monotonic() - waiting_since > self._patience_s:
                self._give_up()
                return
            time.sleep(POLL_S)

    def _submit(self, completed: as_completed) -> None:
        from pt2bugs.cluster.worker import run_cell

        for worker in self.cluster.workers.values():
            while (owed := self._queues.take(worker)) is not None:
                future = self.cluster.client.submit(
                    run_cell,
                    self._task(owed),
                    key=f"pt2bugs-{owed.work.target.key.folder}-{uuid.uuid4().hex}",
                    workers=[worker.address],
                    allow_other_workers=False,
                    resources={GPU: 1} if owed.needs_gpu else None,
                    retries=RETRIES,
                    pure=False,
                )
                self._tasks[future] = worker, owed
                completed.add(future)

    def _task(self, owed: OwedCell) -> Task:
        target, case = owed.work.target, owed.cell.case
        pairs = tuple(sorted({(cell.device, cell.backend) for cell in owed.work.cells}))
        batch = Batch(self._topic, self._run_id, target.key, target.setup, pairs, self._options, self._packages)
        cell = owed.cell
        return Task(
            batch, case.path.name, case.path.read_bytes(), case.hash, cell.check.name, cell.device, cell.backend
        )

    def _tell(self, event: tuple[float, Any]) -> None:
        """Say what a worker says while it makes an environment; once, where workers of one machine say the same."""
        address, text = event[1]
        worker = self.cluster.workers.get(address)
        if worker is not None and (worker.site, text) not in self._told:
            self._told.add((worker.site, text))
            self._log(f"worker {worker}: {text}")

    def _log(self, text: str) -> None:
        with self._progress.lock:
            self._progress.log(text)

    def _receive(self, completed: as_completed) -> bool:
        """Take what tasks came to; returns whether there were any.

        Raises:
            ClusterError: the scheduler has gone.
        """
        batch = completed.next_batch(block=False)
        for future, answer in batch:
            # The task of a worker that was lost since is left out: its cell is queued again.
            if (sent := self._tasks.pop(future, None)) is not None:
                sent[0].sent.remove(sent[1])
                self._take(*sent, future, answer)
        return bool(batch)

    def _take(self, worker: ClusterWorker, owed: OwedCell, future: Future, answer: Any) -> None:
        from distributed.scheduler import KilledWorker

        if not isinstance(answer, Answer):
            if future.status != "error":  # cancelled
                if self.cluster.client.status != "running":
                    raise self.cluster.gone()
                self._queues.put_back([owed])
                return
            error = cast(BaseException, future.exception())
            if isinstance(error, KilledWorker):
                self._put_back_lost([owed], 1)
                return
            answer = Answer(refused=f"a task failed there: {type(error).__name__}: {first_line(error)}")
        if answer.refused:
            self._queues.put_back([owed])
            self._recall(worker)
            self.cluster.refuse(worker.address, answer.refused)
            self._queues.workers_changed()
        elif reason := answer.unmade or answer.other_torch:
            self._avoid(worker, owed, reason)
            self._queues.put_back([owed])
            self._fail_stranded(owed.work, reason, has_lines=bool(answer.unmade))
        else:
            self._take_lines(worker, owed, answer)

    def _take_lines(self, worker: ClusterWorker, owed: OwedCell, answer: Answer) -> None:
        records = [cast(Record, json.loads(line)) for line in answer.lines]
        if records[-1]["verdict"] != Verdict.ERROR:
            self._healthy.add((worker.site, owed.number))
        elif not owed.failed_at and self._has_other_site(worker, owed):
            # An environment in which nothing has worked yet is taken to be at fault.
            if (worker.site, owed.number) not in self._healthy:
                self._avoid(worker, owed, answer.failure or telling_line(records[-1]["message"]))
            owed.failed_at = frozenset({worker.site})
            self._queues.put_back([owed])
            return
        if answer.failure:
            self._fail(owed.work, answer.failure)
        self._write(owed, records)

    def _has_other_site(self, worker: ClusterWorker, owed: OwedCell) -> bool:
        return any(other.site != worker.site for other in self._queues.able(owed))

    def _write(self, owed: OwedCell, records: Sequence[Record]) -> None:
        """Answer a cell with all its lines."""
        for record in records:
            self._journals.append(record, owed.cell.case, owed.work.target)
            with self._progress.lock:
                self._record(record)
        with self._progress.lock:
            self._progress.advance(records[-1])

    def _lose(self, workers: Sequence[ClusterWorker]) -> None:
        """Have others run what workers that have gone had not finished."""
        for worker in workers:
            if worker.sent:
                self._log(f"worker {worker.address} was lost; {len(worker.sent)} cells go to others")
                self._recall(worker, lost=worker.threads)

    def _recall(self, worker: ClusterWorker, lost: int = 0) -> None:
        """Queue the cells of a worker again."""
        futures = [future for future, (other, _) in self._tasks.items() if other is worker]
        for future in futures:
            del self._tasks[future]
        self.cluster.client.cancel(futures, force=True)
        self._put_back_lost(worker.sent, lost)
        worker.sent = []

    def _put_back_lost(self, cells: Sequence[OwedCell], lost: int) -> None:
        """Queue cells again. The first `lost` of them ran on a worker that was lost, which may be their doing."""
        for owed in cells[:lost]:
            owed.losses += 1
        self._queues.put_back([owed for owed in cells if owed.losses < MAX_LOSSES])
        for owed in cells[:lost]:
            if owed.losses >= MAX_LOSSES:
                key = owed.work.target.key
                seen = Observation(Outcome.ERROR, message=f"{MAX_LOSSES} workers were lost while they ran it")
                record = new_record(
                    owed.cell, seen, Verdict.ERROR, EnvironmentFacts(torch=key.torch, python=key.python),
                    run_id=self._run_id, started=datetime.now(timezone.utc), extras=key.extras,
                )  # fmt: skip
                self._write(owed, [record])

    def _avoid(self, worker: ClusterWorker, owed: OwedCell, reason: str) -> None:
        """Give a site nothing more of an environment that fails there."""
        if self._queues.avoid(worker.site, owed.number) and self._queues.able(owed):
            self._log(f"worker {worker}: {owed.work.target} fails there, others take it: {reason}")

    def _fail_stranded(self, work: Work, reason: str, *, has_lines: bool) -> None:
        """Answer the cells of an environment that cannot be made on any machine that could take them."""
        stranded = [owed for owed in self._queues if owed.work is work and not self._queues.able(owed)]
        self._queues.drop(stranded)
        for owed in stranded:
            self._fail(work, reason)
            if has_lines:
                self._write(owed, [record_of_unmade(owed.cell, work, self._run_id)])

    def _fail(self, work: Work, reason: str) -> None:
        if not work.failure:
            self._log(f"{work.target}: {reason}")
        work.failure = reason

    def _missing(self) -> str:
        left = list(self._queues)
        if not self.cluster.workers:
            return f"{len(left)} cells to run, and no worker is there (`dask worker ADDRESS` starts one)"
        on_gpu = [owed for owed in left if owed.needs_gpu and not self._queues.able(owed)]
        if on_gpu:
            requirement = f'has the resource {GPU} (`dask worker ADDRESS --resources "{GPU}=1"`)'
            return f"{len(on_gpu)} cells are for {on_gpu[0].cell.device}, and none {requirement}"
        return f"{len(left)} cells to run, and none that is there can take them"

    def _give_up(self) -> None:
        """End the run where no worker came. The cells stay owed, for the same command to go on with."""
        missing = self._missing()
        if not self.cluster.workers:
            raise ClusterError(f"--cluster {self.cluster.where}: {missing}; the same command goes on")
        for owed in self._queues:
            self._fail(owed.work, f"not all of it was run: {missing}")
