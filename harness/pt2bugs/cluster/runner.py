"""Runs work on the workers of a cluster. The driver places batches and writes the journal; workers make environments.

A task is one environment with a batch of cells. Dask brings it to the worker that was chosen for it, and says when that
has gone. Lines come back as events while the task runs, and all of them again as its result; a cell is answered by the
first whole series of lines that arrives, so an event that is lost or late changes nothing.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from pt2bugs.case.observation import Observation, telling_line
from pt2bugs.case.words import Outcome, Verdict
from pt2bugs.cluster.connection import ClusterError
from pt2bugs.cluster.ledger import Attempt, Ledger, Owed
from pt2bugs.cluster.plan import Plan, Settings
from pt2bugs.cluster.session import GPU, Happening, Session, Worker
from pt2bugs.cluster.task import LINE, LOG, READY, Answer
from pt2bugs.engine.facts import EnvironmentFacts
from pt2bugs.results.matrix import Results
from pt2bugs.results.record import Record, new_record
from pt2bugs.run.measurement import new_run_id
from pt2bugs.run.placement import Batch
from pt2bugs.run.runner import Progress, record_of_unmade, require_writable
from pt2bugs.run.schedule import RunOptions, Work

if TYPE_CHECKING:
    from distributed import Future

ROLL_CALL_S = 10.0
MAX_LOSSES = 3
"""Workers lost while they ran a cell, after which it is taken to be the cell's doing."""
POLL_S = 0.5


class ClusterRunner:
    """Runs work into a results folder, as `run.runner.Runner` does, on the workers of a session."""

    def __init__(
        self,
        session: Session,
        settings: Settings,
        results: Results,
        options: RunOptions,
        progress: Progress,
        record: Callable[[Record], None] = lambda _: None,
    ) -> None:
        self.session, self.settings, self.options = session, settings, options
        self.progress = progress
        self.run_id = new_run_id()
        self._results = results
        self._ledger = Ledger(results, progress, record)
        self._plan = Plan(session, settings, options, self.run_id, [])
        self._seats: dict[str, Attempt | None] = {}
        self._resting: set[str] = set()
        self._futures: dict[str, Future] = {}
        self._attempts: dict[str, Attempt] = {}
        self._told: set[tuple[str, str]] = set()
        self._unfit: set[tuple[str, str]] = set()
        """Sites, and environments that do not work there."""

    def run(self, work: list[Work]) -> list[Work]:
        """Run everything; the same list, each with the `failure` of its environment if it had one.

        Raises:
            JournalError: the results folder cannot be written.
            ClusterError: the scheduler has gone, or nobody is there for the work; what came back is in the journal.
            KeyboardInterrupt: the user stopped it; what came back is in the journal.
        """
        require_writable(self._results.journal_folder)
        for one in work:
            if one.target.python is not None:
                problem = "makes its environments on the workers: name releases with --torch"
                raise ClusterError(f"--cluster {self.session.where}: {problem}")
        self.progress.total(sum(len(one.cells) for one in work))
        try:
            self.session.roll_call(ROLL_CALL_S, {one.target.key.python for one in work})
            self._plan = Plan(self.session, self.settings, self.options, self.run_id, work)
            for worker in self.session.workers.values():
                self._seats.update(dict.fromkeys(self._plan.seat(worker)))
            self._work_off()
        except BaseException:
            with contextlib.suppress(queue.Empty):
                while True:
                    self._write_line(self.session.happened.get_nowait())
            raise
        finally:
            self._cancel(self._futures.values())
            self._ledger.close()
        return work

    # --- the loop ---------------------------------------------------------------------------------------

    def _work_off(self) -> None:
        waiting_since = 0.0
        while len(self._ledger.answered) < len(self._plan.owed):
            self._hand_out()
            if self._attempts or self.session.is_waiting:
                waiting_since = 0.0
            elif not waiting_since:
                waiting_since = time.monotonic()
                self._plan.put_stranded()
                self._resting.clear()
                self._hand_out()
                if not self._attempts:
                    self.progress.log(f"waiting for a worker: {self._what_is_missing()}")
            elif time.monotonic() - waiting_since > self.settings.patience_s:
                self._give_up()
                return
            try:
                self._act_on(self.session.happened.get(timeout=POLL_S))
                while not self.session.happened.empty():
                    self._act_on(self.session.happened.get_nowait())
            except queue.Empty:
                if not self.session.is_alive:
                    raise self.session.gone() from None
                self._lose(self.session.refresh_if_due())

    def _act_on(self, one: Happening) -> None:
        if one.kind == "crew":
            self._lose(self.session.refresh())
        elif one.kind == "named":
            worker = self.session.named(one.name, one.value)
            if worker is not None:
                self._seats.update(dict.fromkeys(self._plan.seat(worker)))
                self._plan.put_stranded()
                self._resting.clear()
        elif one.kind == "event" and one.value[0] == LOG:
            self._tell(one)
        elif one.kind == "event" and one.value[0] == READY:
            if (attempt := self._attempts.get(one.name)) and (worker := self._worker_of(attempt)):
                self._plan.placement.ready(attempt.seat)
                self._plan.has(worker, attempt.work, self._seats)
        elif one.kind == "event":
            self._write_line(one)
        elif one.kind == "ended" and (attempt := self._attempts.get(one.name)) is not None:
            self._end(attempt)

    def _tell(self, one: Happening) -> None:
        """Say what a worker says; once, where workers of one machine say the same."""
        attempt = self._attempts.get(one.name)
        worker = self._worker_of(attempt) if attempt is not None else None
        if worker is not None and (worker.site, one.value[2]) not in self._told:
            self._told.add((worker.site, one.value[2]))
            self.progress.log(f"worker {worker}: {one.value[2]}")

    def _hand_out(self) -> None:
        """Give every free seat a batch. One that there is nothing for rests until something is queued anew."""
        free = [seat for seat, attempt in self._seats.items() if attempt is None and seat not in self._resting]
        for seat in free:
            if (batch := self._plan.placement.next_batch(seat)) is not None:
                self._send(seat, batch)
            else:
                self._resting.add(seat)

    def _send(self, seat: str, batch: Batch[int]) -> None:
        from pt2bugs.cluster.worker import run_task

        attempt, task = self._plan.attempt(seat, batch)
        future = self.session.client.submit(
            run_task,
            task,
            key=attempt.name,
            workers=[seat.rpartition("#")[0]],
            allow_other_workers=False,
            pure=False,
            resources={GPU: 1} if any(one.needs for one in attempt.owed) else None,
        )
        self._attempts[attempt.name] = self._seats[seat] = attempt
        self._futures[attempt.name] = future
        happened = self.session.happened
        future.add_done_callback(lambda _: happened.put(Happening("ended", attempt.name)))

    # --- what comes back --------------------------------------------------------------------------------

    def _write_line(self, one: Happening) -> None:
        if one.kind == "event" and one.value[0] == LINE and (attempt := self._attempts.get(one.name)) is not None:
            _, place, line = one.value
            self._receive(attempt, place, line)

    def _receive(self, attempt: Attempt, place: int, line: bytes) -> None:
        series = attempt.receive(place, line)
        owed = attempt.owed[place]
        if not series or owed.number in self._ledger.answered:
            return
        self._plan.placement.done(attempt.seat, owed.number)
        worker = self._worker_of(attempt)
        if series[-1]["verdict"] == Verdict.ERROR and worker is not None:
            attempt.errors.add(place)
            owed.sites.add(worker.site)
            if len(owed.sites) < 2 and (other := self._other_site(owed, worker)):
                self._plan.put(owed, other)
                self._resting.clear()
                return
        self._ledger.write(owed, series)

    def _other_site(self, owed: Owed, worker: Worker) -> str:
        """Another site where a cell can be tried; empty if there is none."""
        environment = self._plan.environment(owed.work)
        wants = [one for one in self._plan.fitting(owed) if one.site != worker.site]
        return next((one.site for one in wants if (one.site, environment) not in self._unfit), "")

    def _end(self, attempt: Attempt) -> None:
        """A task has ended: whatever it did not answer is queued again."""
        future = self._futures[attempt.name]
        answer = Answer()
        if future.status == "finished":
            try:
                answer = future.result(timeout=60)
            except Exception:
                # The worker went with its result; nearly all of it had come as events.
                self._lose(self.session.refresh())
        elif future.status == "error":
            error = future.exception()
            answer.refused = (
                f"a task failed there: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:300]}"
            )
        elif not self.session.is_alive:
            raise self.session.gone()
        if attempt.name not in self._attempts:
            return
        for place, line in answer.lines:
            self._receive(attempt, place, line)
        worker = self._worker_of(attempt)
        self._forget(attempt)
        self._plan.placement.give_back(attempt.seat)
        self._resting.clear()
        if worker is None:
            return
        if answer.refused:
            self.session.refuse(worker.address, answer.refused)
            self._lose([worker.address])
        elif reason := answer.unmade or answer.other_torch:
            self._unmade(attempt, worker, reason, has_lines=bool(answer.unmade))
        elif attempt.errors and len(attempt.errors) == len(attempt.owed):
            first = attempt.lines[min(attempt.errors)]
            reason = answer.failure or telling_line(first[max(first)]["message"])
            if not self._avoid(attempt, worker, reason) and answer.failure:
                self._fail(attempt.work, answer.failure)

    def _forget(self, attempt: Attempt) -> None:
        del self._attempts[attempt.name]
        self._futures.pop(attempt.name).release()
        if self._seats.get(attempt.seat) is attempt:
            self._seats[attempt.seat] = None

    def _avoid(self, attempt: Attempt, worker: Worker, reason: str) -> bool:
        """Give a worker nothing more of an environment that fails there; False where there is nobody else for it."""
        if not self._other_site(attempt.owed[0], worker):
            return False
        environment = self._plan.environment(attempt.work)
        if (worker.site, environment) not in self._unfit:
            self._unfit.add((worker.site, environment))
            self.progress.log(f"worker {worker}: {attempt.work.target} fails there, others take it: {reason}")
        for one in self.session.workers.values():
            for seat in one.seat_names():
                # A seat that is at work comes to its own end.
                if one.site == worker.site and seat in self._seats and self._seats[seat] is None:
                    self._plan.placement.refuse(seat, environment)
        return True

    def _unmade(self, attempt: Attempt, worker: Worker, reason: str, *, has_lines: bool) -> None:
        """An environment cannot be made: somebody else may, and if not, that is an error of all its cells."""
        if self._avoid(attempt, worker, reason):
            return
        self._fail(attempt.work, reason)
        for number in self._plan.placement.abandon(self._plan.environment(attempt.work)):
            owed = self._plan.owed[number]
            if has_lines:
                self._ledger.write(owed, [record_of_unmade(owed.cell, attempt.work, self.run_id)])
            else:
                self._ledger.answered[number] = False

    def _fail(self, work: Work, reason: str) -> None:
        if not work.failure:
            self.progress.log(f"{work.target}: {reason}")
        work.failure = reason

    # --- workers that go --------------------------------------------------------------------------------

    def _lose(self, addresses: Iterable[str]) -> None:
        """Workers have gone: what they had not finished goes to others."""
        gone = set(addresses)
        for seat in [seat for seat in self._seats if seat.rpartition("#")[0] in gone]:
            attempt = self._seats[seat]
            if attempt is not None:
                left = attempt.unfinished(self._ledger.answered)
                self.progress.log(f"worker {seat.rpartition('#')[0]} was lost; {len(left)} cells go to others")
                self._cancel([self._futures[attempt.name]])
                self._forget(attempt)
                if left:
                    self._blame(left[0], attempt)
            self._plan.placement.lose(seat)
            del self._seats[seat]
            self._resting.clear()

    def _blame(self, owed: Owed, attempt: Attempt) -> None:
        """The cell that ran when a worker was lost may be what killed it."""
        owed.losses += 1
        if owed.losses < MAX_LOSSES:
            return
        self._plan.placement.done(attempt.seat, owed.number)
        key = owed.work.target.key
        seen = Observation(Outcome.ERROR, message=f"{MAX_LOSSES} workers were lost while they ran it")
        facts = EnvironmentFacts(torch=key.torch, python=key.python)
        record = new_record(
            owed.cell, seen, Verdict.ERROR, facts,
            run_id=self.run_id, started=datetime.now(timezone.utc), extras=key.extras,
        )  # fmt: skip
        self._ledger.write(owed, [record])

    def _cancel(self, futures: Iterable[Future]) -> None:
        with contextlib.suppress(Exception):  # a scheduler that has gone has nothing to cancel
            self.session.client.cancel(list(futures), force=True)

    def _worker_of(self, attempt: Attempt) -> Worker | None:
        return self.session.workers.get(attempt.seat.rpartition("#")[0])

    # --- nobody for the work ----------------------------------------------------------------------------

    def _left(self) -> list[Owed]:
        return [one for one in self._plan.owed if one.number not in self._ledger.answered]

    def _what_is_missing(self) -> str:
        left = self._left()
        if not self.session.workers:
            return f"{len(left)} cells to run, and nobody is there (`dask worker ADDRESS` starts one)"
        on_gpu = [one for one in left if one.needs and not list(self._plan.fitting(one))]
        if on_gpu:
            requirement = f'has the resource {GPU} (`dask worker ADDRESS --resources "{GPU}=1"`)'
            return f"{len(on_gpu)} cells are for {on_gpu[0].cell.device}, and none {requirement}"
        return f"{len(left)} cells to run, and none that is there can take them"

    def _give_up(self) -> None:
        """Nobody came. The cells stay owed, for the same command to go on with."""
        missing = self._what_is_missing()
        if not self.session.workers:
            raise ClusterError(f"--cluster {self.session.where}: {missing}; the same command goes on")
        for one in self._left():
            self._fail(one.work, f"not all of it was run: {missing}")
