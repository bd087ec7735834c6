"""Runs missing cells: environments are made, an engine is started in each, and jobs take the cells from one queue.

Each environment gets one job. When fewer environments remain than jobs, the idle ones help. One journal per
environment, written by this process alone; a killed run leaves what had finished for the next one.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Protocol

from pt2bugs.case.cells import Cell
from pt2bugs.case.model import Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.words import Outcome, Verdict
from pt2bugs.engine.client import Engine, EngineError, EngineSettings
from pt2bugs.engine.environment import CAPABILITY_VARIABLE
from pt2bugs.engine.facts import EnvironmentFacts
from pt2bugs.envs.environment import Environment, EnvironmentFailure, Key
from pt2bugs.envs.store import Store
from pt2bugs.results.matrix import Results
from pt2bugs.results.record import Record, new_record
from pt2bugs.results.writer import JournalError, JournalWriter, is_large
from pt2bugs.run.measurement import MeasureOptions, Measuring, OtherTorchError, new_run_id
from pt2bugs.run.schedule import CellQueue, RunOptions, Target, Work


@dataclass
class Progress:
    """What a run says; called from several threads, one at a time."""

    log: Callable[[str], None] = lambda _: None
    total: Callable[[int], None] = lambda _: None
    advance: Callable[[Record], None] = lambda _: None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Runs(Protocol):
    """Runs work into a results folder: here (`Runner`) or on the machines of a cluster."""

    def run(self, work: list[Work]) -> list[Work]: ...


class NewRunner(Protocol):
    """Makes what runs work; `Runner` is one."""

    def __call__(
        self,
        results: Results,
        store: Store,
        options: RunOptions,
        progress: Progress,
        record: Callable[[Record], None],
    ) -> Runs: ...


class Runner:
    """Runs work into a results folder. While one environment runs, the next one is being installed.

    Args:
        record: called with every line that was written to the journal.
    """

    def __init__(
        self,
        results: Results,
        store: Store,
        options: RunOptions,
        progress: Progress,
        record: Callable[[Record], None] = lambda _: None,
    ) -> None:
        self.results, self.store, self.options, self.progress = results, store, options, progress
        self.record = record
        self.run_id = new_run_id()
        self._cases: dict[str, Case] = {}
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._has_told_removed = False
        self._needed: set[Key] = set()
        """Environments that this run has made, or found, and not finished with."""

    def run(self, work: list[Work]) -> list[Work]:
        """Run everything; the same list, each with the `failure` of its environment if it had one.

        Raises:
            JournalError: the results folder cannot be written. Nothing was run then.
            KeyboardInterrupt: the user stopped it; what had finished is in the journal.
        """
        require_writable(self.results.journal_folder)
        self._cases = {cell.case.id: cell.case for one in work for cell in one.cells}
        self.progress.total(sum(len(one.cells) for one in work))
        jobs = max(1, min(self.options.jobs, sum(len(one.cells) for one in work)))
        # Installed ahead: one environment more than run at once, so that the disk never holds them all.
        ahead = threading.Semaphore(jobs + 1)
        with ThreadPoolExecutor(1, "install") as installer, ThreadPoolExecutor(jobs, "job") as pool:
            environments = [
                _EnvironmentRun(self, one, installer.submit(self._make, one, ahead), partial(self._let_go, one, ahead))
                for one in work
            ]
            running = [pool.submit(self._job, number, environments) for number in range(jobs)]
            try:
                for one in running:
                    one.result()
            except BaseException:
                self._stop(environments)
                for _ in work:
                    ahead.release()
                raise
        return work

    def _let_go(self, work: Work, ahead: threading.Semaphore) -> None:
        """An environment is finished: the next may be made, and the budget may take this one."""
        self._needed.discard(work.target.key)
        ahead.release()

    def _make(self, work: Work, ahead: threading.Semaphore) -> Environment | None:
        ahead.acquire()
        if work.target.python is not None or self._stopping.is_set():
            return None
        try:
            self._needed.add(work.target.key)
            return self.store.create(work.target.key, self.log, tuple(self._needed))
        except EnvironmentFailure as error:
            if not self._stopping.is_set():
                work.failure = str(error)
                self.log(f"{work.target}: {error}")
            return None

    def _job(self, number: int, environments: list[_EnvironmentRun]) -> None:
        """Take cells until there are none: of environments that nobody has begun first, then helping others."""
        while not self._stopping.is_set():
            begun = self._begin(environments)
            if begun is None:
                return
            try:
                begun.run(from_the_end=number % 2 == 1, stopping=self._stopping)
            finally:
                with self._changed:
                    begun.leave()
                    self._changed.notify_all()

    def _begin(self, environments: list[_EnvironmentRun]) -> _EnvironmentRun | None:
        with self._changed:
            fresh = (one for one in environments if not one.has_begun)
            begun = next(fresh, None)
            if begun is None:
                open_ = [one for one in environments if one.queue.cells and not one.work.failure]
                begun = max(open_, key=lambda one: len(one.queue.cells), default=None)
            if begun is not None:
                begun.enter()
            return begun

    def _stop(self, environments: list[_EnvironmentRun]) -> None:
        self._stopping.set()
        self.store.interrupt()
        for one in environments:
            one.stop()

    def journal_path(self, target: Target, record: Record) -> Path:
        """The journal that a line of an environment goes to."""
        return journal_path(self.results, self._cases.get(record["case"]), target, record)

    def log(self, text: str) -> None:
        """Say something to the user."""
        with self.progress.lock:
            self.progress.log(text)

    def tell_removed(self, names: tuple[str, ...]) -> None:
        """Say once which of the user's variables the cells do not get."""
        with self._changed:
            is_news = names and not self._has_told_removed
            self._has_told_removed |= bool(names)
        if is_news:
            self.log(f"kept from the cells, as they change what a compiler does: {', '.join(names)}")

    def add(self, record: Record, *, final: bool) -> None:
        """Take a line that is in the journal into account."""
        with self.progress.lock:
            self.record(record)
            if final:
                self.progress.advance(record)


class _EnvironmentRun:
    """One environment during a run: its engine, its queue, its journal, and how many jobs are in it."""

    def __init__(self, runner: Runner, work: Work, made: Future[Environment | None], done: Callable[[], None]) -> None:
        self._runner, self.work, self._made, self._done = runner, work, made, done
        self.queue = CellQueue.of(work.cells)
        self.has_begun = False
        self._jobs = 0
        self._lock = threading.Lock()
        self._measuring: Measuring | None = None
        self._journals: dict[Path, JournalWriter] = {}
        self._held = contextlib.ExitStack()
        self._began = 0.0

    def enter(self) -> None:
        """A job comes in."""
        self.has_begun = True
        self._jobs += 1

    def leave(self) -> None:
        """A job goes; the last one closes the engine."""
        self._jobs -= 1
        if self._jobs == 0:
            self._held.close()
            if self._began:
                self.work.seconds += time.monotonic() - self._began
            if not self.queue.cells:
                self._done()

    def stop(self) -> None:
        """End it from another thread."""
        if self._measuring is not None:
            self._measuring.engine.stop()

    def run(self, *, from_the_end: bool, stopping: threading.Event) -> None:
        """Measure cells until the queue is empty."""
        made = self._made.result()
        if stopping.is_set():
            return
        if made is None and self.work.target.python is None:
            self._record_failure()
            return
        measuring = self._open(made)
        worker = measuring.engine.open()
        try:
            while not stopping.is_set() and (cell := self._take(from_the_end=from_the_end)) is not None:
                for one in measuring.measure(cell, worker):
                    if stopping.is_set():
                        return
                    self._add(one.record, final=one.final)
                if measuring.failure:
                    self._fail(measuring.failure)
        except OtherTorchError as error:
            self._fail(str(error))
            with self._lock:
                self.queue.cells.clear()
        finally:
            worker.close()

    def _take(self, *, from_the_end: bool) -> Cell | None:
        with self._lock:
            return self.queue.take(from_the_end=from_the_end)

    def _open(self, made: Environment | None) -> Measuring:
        """The measuring of this environment; the first job here starts its engine."""
        with self._lock:
            if self._measuring is None or self._jobs == 1:
                self._began = time.monotonic()
                self._held = contextlib.ExitStack()
                if made is not None:
                    self._held.enter_context(self._runner.store.using(made))
                self._measuring = self._new_measuring(made)
                self._held.callback(self._measuring.engine.close)
            return self._measuring

    def _new_measuring(self, made: Environment | None) -> Measuring:
        target, options = self.work.target, self._runner.options
        python = made.python if made is not None else target.python
        if python is None:
            raise EngineError(f"{target}: there is no interpreter")
        pairs = {(cell.device, cell.backend) for cell in self.work.cells}
        return new_measuring(python, target, options, self._runner.run_id, pairs, keeps_python_path=made is None)

    def _add(self, record: Record, *, final: bool) -> None:
        with self._lock:
            path = self._runner.journal_path(self.work.target, record)
            if path not in self._journals:
                if not self._journals:
                    self._held.callback(self._close_journals)
                self._journals[path] = JournalWriter(path, shares_facts=is_large(self._runner.results.folder))
            self._journals[path].append(record)
        self._runner.add(record, final=final)
        if self._measuring is not None:
            self._runner.tell_removed(self._measuring.engine.removed)

    def _close_journals(self) -> None:
        while self._journals:
            self._journals.popitem()[1].close()

    def _fail(self, reason: str) -> None:
        with self._lock:
            is_news = not self.work.failure
            self.work.failure = reason
        if is_news:
            self._runner.log(f"{self.work.target}: {reason}")

    def _record_failure(self) -> None:
        """An environment that cannot be made is an error of all its cells."""
        while (cell := self._take(from_the_end=False)) is not None:
            self._add(record_of_unmade(cell, self.work, self._runner.run_id), final=True)


def require_writable(folder: Path) -> None:
    """Fail before anything is installed, not after.

    Raises:
        JournalError: nothing can be written to the folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        problem = f"{folder}: cannot be written: {error.strerror}; choose another folder with --results"
        raise JournalError(problem) from None


def journal_path(results: Results, case: Case | None, target: Target, record: Record) -> Path:
    """The journal that a line of an environment goes to."""
    return results.journal_folder_of(record, case) / f"{target.key.folder}.jsonl"


def new_measuring(
    python: Path,
    target: Target,
    options: RunOptions,
    run_id: str,
    pairs: Collection[tuple[str, str]],
    *,
    keeps_python_path: bool,
) -> Measuring:
    """What measures the cells of a target in its interpreter; `pairs` are their devices and backends."""
    settings = EngineSettings(
        python=python,
        threads=options.threads,
        targets=tuple(sorted(pairs)),
        imports=target.setup.imports if target.setup else (),
        env={
            **(target.setup.env if target.setup else {}),
            **({CAPABILITY_VARIABLE: options.capability} if options.capability else {}),
        },
        keeps_python_path=keeps_python_path,
    )
    return Measuring(
        Engine(settings),
        MeasureOptions(
            run_id=run_id,
            threads=options.threads,
            capability=options.capability,
            repeat=options.repeat,
            confirm=options.confirm,
            torch=target.key.torch,
            python=target.key.python,
            extras=target.key.extras,
            build=target.build,
            setups={target.setup.name: target.setup} if target.setup else {},
        ),
    )


def record_of_unmade(cell: Cell, work: Work, run_id: str) -> Record:
    """The line of a cell whose environment cannot be made, as `work.failure` says."""
    key = work.target.key
    seen = Observation(Outcome.ERROR, message=f"the environment cannot be made: {work.failure}")
    facts = EnvironmentFacts(torch=key.torch, python=key.python)
    return new_record(
        cell, seen, Verdict.ERROR, facts,
        run_id=run_id, started=datetime.now(timezone.utc), extras=key.extras,
    )  # fmt: skip
