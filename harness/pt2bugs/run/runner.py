"""Runs work on this machine: environments are made, an engine is started in each, and jobs take the cells from a queue.

Each environment gets one job. When fewer environments remain than jobs, the idle ones help. This process alone writes
the journal; a killed run leaves what had finished for the next one.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Protocol

from pt2bugs.case.cells import Cell
from pt2bugs.case.model import Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome, Verdict
from pt2bugs.engine.client import Engine, EngineError, EngineSettings
from pt2bugs.engine.environment import CAPABILITY_VARIABLE, EnvironmentFacts
from pt2bugs.engine.folders import cache_home
from pt2bugs.envs.environment import Environment, EnvironmentFailure, Key
from pt2bugs.envs.store import Store
from pt2bugs.results.folder import Results
from pt2bugs.results.journal import JournalError, JournalWriter, Record, is_large, new_record
from pt2bugs.run.measurement import MeasureOptions, Measuring, OtherTorchError, new_run_id
from pt2bugs.run.plan import RunOptions, Target, Work


@dataclass
class Progress:
    """Callbacks of a run. Several threads call them, one at a time, under `lock`."""

    log: Callable[[str], None] = lambda _: None
    more: Callable[[int], None] = lambda _: None
    """Says how many cells are to run besides those of which it was told: `run --bisect` decides as it goes."""
    advance: Callable[[Record], None] = lambda _: None
    lock: threading.Lock = field(default_factory=threading.Lock)


LINE_EVERY_S = 30.0
"""Seconds between lines of progress where stderr is no terminal: the log of a CI shows that the run goes on."""


@contextlib.contextmanager
def _progress_lines() -> Iterator[Progress]:
    counts = {"cells": 0, "done": 0}
    ended = threading.Event()

    def tell() -> None:
        while not ended.wait(LINE_EVERY_S):
            if counts["cells"]:
                print(f"{counts['done']} of {counts['cells']} cells", file=sys.stderr, flush=True)

    def advance(_: Record) -> None:
        counts["done"] += 1

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield Progress(
            log=lambda text: print(text, file=sys.stderr, flush=True),
            more=lambda count: counts.update(cells=counts["cells"] + count),
            advance=advance,
        )
    finally:
        ended.set()
        teller.join()


@contextlib.contextmanager
def progress_of_cells() -> Iterator[Progress]:
    """Count cells on stderr as they finish: a live bar on a terminal, in a pipe a line every half minute."""
    if not sys.stderr.isatty():
        with _progress_lines() as progress:
            yield progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        # Cells come in bursts, one for each environment: the last few minutes tell little about the rest.
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True, expand=True, speed_estimate_period=600) as bar:
        task = bar.add_task("cells", total=None)

        def more(count: int) -> None:
            bar.update(task, total=(bar.tasks[0].total or 0) + count)

        def advance(record: Record) -> None:
            text = f"torch {record['torch']} {record['case']} {record['verdict']}"
            bar.update(task, advance=1, description=text)

        yield Progress(
            log=lambda text: console.print(text, highlight=False, markup=False),
            more=more,
            advance=advance,
        )


class Runs(Protocol):
    """A runner of work into a results folder: here (`Runner`) or on the machines of a cluster."""

    def run(self, work: list[Work]) -> list[Work]: ...


class NewRunner(Protocol):
    """Makes a runner; `Runner` is one."""

    def __call__(
        self,
        results: Results,
        store: Store,
        options: RunOptions,
        progress: Progress,
        record: Callable[[Record], None],
    ) -> Runs: ...


class Journals:
    """The journals that a run writes, each opened with its first line; several threads may append."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._lock = threading.Lock()
        self._writers: dict[Path, JournalWriter] = {}

    def append(self, record: Record, case: Case, target: Target) -> None:
        """Append a line to the journal of its environment.

        Args:
            record: the line.
            case: its case; a backend's own cases may have a folder of results of their own.
            target: its environment.

        Raises:
            JournalError: the journal cannot be written.
        """
        with self._lock:
            for results in filter(None, (self._results, self._results.copy)):
                path = results.journal_folder_of(record, case) / f"{target.key.folder}.jsonl"
                if path not in self._writers:
                    self._writers[path] = JournalWriter(path, shares_facts=is_large(results.folder))
                self._writers[path].append(record)

    def close(self) -> None:
        """Close all journals."""
        while self._writers:
            self._writers.popitem()[1].close()


@dataclass
class CellQueue:
    """The cells of one environment, taken from both ends.

    Cells of one backend need the same canary and cost alike: they stand together. Cells that may hang come last. Every
    second job takes from the other end, so that two jobs pay for different canaries.
    """

    cells: deque[Cell] = field(default_factory=deque)

    @classmethod
    def of(cls, cells: Iterable[Cell]) -> CellQueue:
        """Return a queue of these cells.

        Args:
            cells: of one environment.
        """
        ordered = sorted(cells, key=lambda cell: (cell.case.symptom == "hang", cell.device, cell.backend))
        return cls(deque(ordered))

    def take(self, *, from_the_end: bool) -> Cell | None:
        """Return the next cell; None if all have been taken.

        Args:
            from_the_end: whether the caller works from the end.
        """
        if not self.cells:
            return None
        return self.cells.pop() if from_the_end else self.cells.popleft()


class Runner:
    """Runs work into a results folder. While one environment runs, the next one is being installed.

    Args:
        record: called with every line that was written to the journal.
        told: variables of which the user was told that cells do not get them. The runners of one command share it.
    """

    def __init__(
        self,
        results: Results,
        store: Store,
        options: RunOptions,
        progress: Progress,
        record: Callable[[Record], None] = lambda _: None,
        told: set[str] | None = None,
    ) -> None:
        self._told = set[str]() if told is None else told
        self.results, self.store, self.options, self.progress = results, store, options, progress
        self.record = record
        self.run_id = new_run_id()
        self._journals = Journals(results)
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._needed: set[Key] = set()
        """Environments that this run has ready and not finished with; the budget must not remove them."""

    def run(self, work: list[Work]) -> list[Work]:
        """Run everything; return the same list, each with the `failure` of its environment if it had one.

        Args:
            work: the plan, without what the journal answers.

        Raises:
            JournalError: the results folder cannot be written. Nothing was run then.
            KeyboardInterrupt: the user stopped it; what had finished is in the journal.
        """
        require_writable(self.results.journal_folder)
        cells = sum(len(part.cells) for part in work)
        self.progress.more(cells)
        jobs = max(1, min(self.options.jobs, cells))
        # Installed ahead: one environment more than run at once, so that the disk never holds them all.
        ahead = threading.Semaphore(jobs + 1)
        with (
            contextlib.closing(self._journals),
            ThreadPoolExecutor(1, "install") as installer,
            ThreadPoolExecutor(jobs, "job") as pool,
        ):
            environments = [
                _EnvironmentRun(
                    self, part, installer.submit(self._make, part, ahead), partial(self._let_go, part, ahead)
                )
                for part in work
            ]
            running = [pool.submit(self._job, number, environments) for number in range(jobs)]
            try:
                for job in running:
                    job.result()
            except BaseException:
                self._stop(environments)
                for _ in work:
                    ahead.release()
                raise
        return work

    def _let_go(self, work: Work, ahead: threading.Semaphore) -> None:
        """Let an environment go that is finished: the next may be made, and the budget may take this one."""
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
        """Take cells until there are none: of environments that no other job has begun first, then helping others."""
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
            begun = next((run for run in environments if not run.has_begun), None)
            if begun is None:
                unfinished = [run for run in environments if run.queue.cells and not run.work.failure]
                begun = max(unfinished, key=lambda run: len(run.queue.cells), default=None)
            if begun is not None:
                begun.enter()
            return begun

    def _stop(self, environments: list[_EnvironmentRun]) -> None:
        self._stopping.set()
        self.store.interrupt()
        for run in environments:
            run.stop()

    def log(self, text: str) -> None:
        """Say something to the user.

        Args:
            text: one line.
        """
        with self.progress.lock:
            self.progress.log(text)

    def tell_removed(self, names: tuple[str, ...]) -> None:
        """Say once which of the user's variables the cells do not get.

        Args:
            names: of the variables.
        """
        with self._changed:
            is_news = not self._told.issuperset(names)
            self._told.update(names)
        if is_news:
            self.log(f"kept from the cells, as they change what a compiler does: {', '.join(names)}")

    def add(self, record: Record, cell: Cell, work: Work, *, final: bool) -> None:
        """Write a line, and count its cell if it is the last of a series.

        Args:
            record: the line.
            cell: what was run.
            work: of which the cell is part.
            final: whether it is the last line of its series.
        """
        self._journals.append(record, cell.case, work.target)
        with self.progress.lock:
            self.record(record)
            if final:
                self.progress.advance(record)


class _EnvironmentRun:
    """One environment during a run: its engine, its queue, and how many jobs are in it."""

    def __init__(self, runner: Runner, work: Work, made: Future[Environment | None], done: Callable[[], None]) -> None:
        self._runner, self.work, self._made, self._done = runner, work, made, done
        self.queue = CellQueue.of(work.cells)
        self.has_begun = False
        self._jobs = 0
        self._lock = threading.Lock()
        self._measuring: Measuring | None = None
        self._held = contextlib.ExitStack()
        self._began = 0.0

    def enter(self) -> None:
        """Count a job that comes in."""
        self.has_begun = True
        self._jobs += 1

    def leave(self) -> None:
        """Count a job that goes; the last one closes the engine."""
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
        """Measure cells until the queue is empty.

        Args:
            from_the_end: whether this job takes from the end of the queue.
            stopping: set when the run is to end.
        """
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
                for measurement in measuring.measure(cell, worker):
                    if stopping.is_set():
                        return
                    self._runner.add(measurement.record, cell, self.work, final=measurement.final)
                    self._runner.tell_removed(measuring.engine.removed)
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
        """Return the measuring of this environment; the first job here starts its engine."""
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

    def _fail(self, reason: str) -> None:
        with self._lock:
            is_news = not self.work.failure
            self.work.failure = reason
        if is_news:
            self._runner.log(f"{self.work.target}: {reason}")

    def _record_failure(self) -> None:
        """Record an environment that cannot be made as an error of all its cells."""
        while (cell := self._take(from_the_end=False)) is not None:
            self._runner.add(record_of_unmade(cell, self.work, self._runner.run_id), cell, self.work, final=True)


def require_writable(folder: Path) -> None:
    """Fail before anything is installed, not after.

    Args:
        folder: of the results.

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


def new_measuring(
    python: Path,
    target: Target,
    options: RunOptions,
    run_id: str,
    pairs: Collection[tuple[str, str]],
    *,
    keeps_python_path: bool,
) -> Measuring:
    """Return the measuring of a target's cells.

    Args:
        python: the interpreter.
        target: its environment.
        options: how cells are run.
        run_id: of the lines.
        pairs: devices and backends of the cells.
        keeps_python_path: whether PYTHONPATH reaches the interpreter: it does where that is the user's own.
    """
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
            timeout_cap_s=options.timeout_cap_s,
            torch=target.key.torch,
            python=target.key.python,
            extras=target.key.extras,
            build=target.build,
            setups={target.setup.name: target.setup} if target.setup else {},
        ),
    )


def record_of_unmade(cell: Cell, work: Work, run_id: str) -> Record:
    """Return the line of a cell whose environment cannot be made.

    Args:
        cell: the cell.
        work: its `failure` says why.
        run_id: of the line.
    """
    key = work.target.key
    # The line may be committed: where this machine keeps its environments is nobody else's matter.
    why = work.failure.replace(str(cache_home()), "<cache>")
    seen = Observation(Outcome.ERROR, message=f"the environment cannot be made: {why}")
    facts = EnvironmentFacts(torch=key.torch, python=key.python)
    return new_record(
        cell, seen, Verdict.ERROR, facts,
        run_id=run_id, started=datetime.now(timezone.utc), extras=key.extras,
    )  # fmt: skip
