"""Runs in the worker processes: describes the worker, makes environments, measures cells.

Dask starts these functions by name, so a worker needs the driver's version of this package.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pt2bugs import __version__
from pt2bugs.case.cells import Cell
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import Case, CaseError
from pt2bugs.cluster.host import site, this_host
from pt2bugs.cluster.task import Answer, Batch, Task, code_hash
from pt2bugs.engine.client import EngineError, Worker
from pt2bugs.envs.environment import EnvironmentFailure, Key
from pt2bugs.envs.machine import has_python
from pt2bugs.envs.sources import Sources, sources
from pt2bugs.envs.store import Store
from pt2bugs.files import write_bytes
from pt2bugs.results.journal import as_line
from pt2bugs.run.measurement import Measuring, OtherTorchError
from pt2bugs.run.plan import Target
from pt2bugs.run.runner import new_measuring

if TYPE_CHECKING:
    import distributed

IDLE_S = 30.0
"""Seconds after which the engine of an environment that no task uses is ended."""
WATCH_S = 0.25
"""Seconds between two looks at whether anybody still waits for a task."""


def dask_setup(_: object) -> None:
    """Shield a worker of ``--cluster local:N`` from Ctrl-C, which is for the driver. Dask calls this as it starts."""
    with contextlib.suppress(OSError):  # it leads a session already
        os.setsid()
    # The driver starts its workers with the signal blocked. Cells are to see it as ever.
    signal.sigtimedwait({signal.SIGINT}, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def identify(pythons: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the driver must know of this worker, in plain words: the two may not be of one version.

    Args:
        pythons: minor versions; the offers name those that are here. Each takes a second to look for.
    """
    store = Store(Sources())
    return {
        "version": __version__,
        "code": code_hash(),
        "site": site(),
        "host": str(this_host()),
        "offers": sorted(this_host().platforms | {f"python {python}" for python in pythons if _has_python(python)}),
        "environments": sorted(environment.path.name for environment in store.environments()),
        "install_s": store.cost_of_one()[1],
    }


_has_python = lru_cache(has_python)


def run_cell(task: Task) -> Answer:
    """Measure the cell of a task, in an environment that is made if it is not there.

    Args:
        task: as the driver submitted it.
    """
    import distributed

    _drop_variables_of_dask()
    dask_worker = distributed.get_worker()
    try:
        case = _case_of(task, Path(dask_worker.local_directory) / "pt2bugs-cases")
    except CaseError as error:
        return Answer(refused=str(error))
    if case.hash != task.case_hash:
        problem = f"this worker reads version {case.hash} of the case in it, the driver {task.case_hash}"
        return Answer(refused=f"{task.file}: {problem}")
    cell = Cell(case, case.check(task.check), task.device, task.backend)
    environment = _environments.enter(task.batch)
    try:
        with _ended_when_unwanted(dask_worker, environment), environment.worker(dask_worker) as (measuring, worker):
            lines = []
            for measurement in measuring.measure(cell, worker):
                measurement.record["host"] = str(this_host())
                lines.append(as_line(measurement.record))
            return Answer(tuple(lines), failure=measuring.failure)
    except EnvironmentFailure as error:
        return Answer(unmade=str(error))
    except OtherTorchError as error:
        return Answer(other_torch=str(error))
    finally:
        _environments.leave(environment)


@dataclass(eq=False)
class _OpenEnvironment:
    """An environment with its engine. It stays open for a while, so that the next cell starts at once."""

    batch: Batch
    store: Store
    users: int = 0
    used: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _measuring: Measuring | None = None
    _workers: list[Worker] = field(default_factory=list)

    @contextlib.contextmanager
    def worker(self, dask_worker: distributed.Worker) -> Iterator[tuple[Measuring, Worker]]:
        """Lend the measuring and a worker of its engine; the environment is made if it is not there.

        Args:
            dask_worker: in which the task runs.
        """
        with self._lock:
            measuring = self._measuring or self._open(dask_worker)
            worker = self._workers.pop() if self._workers else measuring.engine.open()
        try:
            yield measuring, worker
        finally:
            self._workers.append(worker)

    def _open(self, dask_worker: distributed.Worker) -> Measuring:
        batch, store = self.batch, self.store
        with contextlib.ExitStack() as stack:

            def log(text: str) -> None:
                dask_worker.log_event(batch.topic, (dask_worker.address, text))

            environment = store.create(batch.key, log, _environments.keys())
            stack.enter_context(store.using(environment))
            target = Target(batch.key, setup=batch.setup)
            self._measuring = new_measuring(
                environment.python, target, batch.options, batch.run_id, batch.pairs, keeps_python_path=False
            )
            stack.callback(self._measuring.engine.close)
            self._held = stack.pop_all()
        return self._measuring

    def stop(self) -> None:
        """End what runs in it, from another thread."""
        self.store.interrupt()
        if self._measuring is not None:
            with contextlib.suppress(EngineError):
                self._measuring.engine.stop()

    def close(self) -> None:
        """End its engine."""
        while self._workers:
            self._workers.pop().close()
        self._held.close()


class _Environments:
    """The open environments of this process. Idle ones end when another is wanted: torch in memory is large."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenEnvironment] = {}
        self._lock = threading.Lock()

    def enter(self, batch: Batch) -> _OpenEnvironment:
        with self._lock:
            environment = self._open.get(batch.name)
            if environment is None:
                self._close_idle()
                packages = batch.packages
                source = sources(packages.index, packages.find_links, packages.torch_backend)
                environment = _OpenEnvironment(batch, Store(source, budget=packages.budget))
                self._open[batch.name] = environment
            environment.users += 1
            return environment

    def leave(self, environment: _OpenEnvironment) -> None:
        with self._lock:
            environment.users -= 1
            environment.used = time.monotonic()
            if not environment.users and self._open.get(environment.batch.name) is not environment:
                environment.close()
        timer = threading.Timer(IDLE_S + 0.1, self._tick)
        timer.daemon = True
        timer.start()

    def forget(self, environment: _OpenEnvironment) -> None:
        """Open it anew for the next task: it was stopped.

        Args:
            environment: which was stopped.
        """
        with self._lock:
            if self._open.get(environment.batch.name) is environment:
                del self._open[environment.batch.name]

    def keys(self) -> list[Key]:
        return [environment.batch.key for environment in list(self._open.values())]

    def _tick(self) -> None:
        with self._lock:
            self._close_idle(IDLE_S)

    def _close_idle(self, seconds: float = 0.0) -> None:
        late = time.monotonic() - seconds
        for name, environment in list(self._open.items()):
            if not environment.users and environment.used <= late:
                del self._open[name]
                environment.close()


_environments = _Environments()


@contextlib.contextmanager
def _ended_when_unwanted(dask_worker: distributed.Worker, environment: _OpenEnvironment) -> Iterator[None]:
    """End the cell once its task is not wanted any more: it was cancelled, or the worker is being closed."""
    from distributed import Status

    key = dask_worker.get_current_task()
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(WATCH_S):
            state = dask_worker.state.tasks.get(key)
            is_wanted = state is not None and state.state not in ("cancelled", "resumed")
            if not is_wanted or dask_worker.status not in (Status.running, Status.paused):
                _environments.forget(environment)
                environment.stop()
                return

    thread = threading.Thread(target=watch, name="pt2bugs watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


_cases: dict[Path, Case] = {}
_cases_lock = threading.Lock()


def _case_of(task: Task, folder: Path) -> Case:
    """Return the case, its file written to this worker's own folder.

    Raises:
        CaseError: the file is no case here.
    """
    # One folder for each text: a file that is edited between two runs has the same name.
    path = folder / hashlib.sha256(task.text).hexdigest()[:16] / task.file
    with _cases_lock:
        if path not in _cases or not path.exists():
            write_bytes(path, task.text)
            _cases[path] = parse_case(path)
        return _cases[path]


def _drop_variables_of_dask() -> None:
    """Remove the variables that Dask sets for its workers, among them one of malloc: cells see none of them."""
    import dask

    for section in ("pre-spawn-environ", "environ"):
        for name, value in dask.config.get(f"distributed.nanny.{section}", {}).items():
            if os.environ.get(name) == str(value):
                del os.environ[name]
