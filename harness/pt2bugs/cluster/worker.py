"""Runs in the worker processes: says what the worker is, makes environments, measures cells, sends lines as they come.

Dask starts these functions by name, so a worker needs the driver's version of this package.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pt2bugs import __version__
from pt2bugs.case.cells import Cell
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import Case, CaseError
from pt2bugs.cluster.engines import Engines
from pt2bugs.cluster.host import site, this_host
from pt2bugs.cluster.task import LINE, LOG, READY, Answer, CaseFile, InstallOptions, Task, code_hash
from pt2bugs.envs.environment import EnvironmentFailure
from pt2bugs.envs.machine import has_python
from pt2bugs.envs.sources import Sources, sources
from pt2bugs.envs.store import Store
from pt2bugs.errors import Pt2bugsError
from pt2bugs.files import write_bytes
from pt2bugs.results.record import Record
from pt2bugs.results.writer import as_line
from pt2bugs.run.measurement import Measuring, OtherTorchError
from pt2bugs.run.runner import new_measuring
from pt2bugs.run.schedule import Target

WATCH_S = 0.25
"""Seconds between two looks at whether anybody still waits for a task."""

_engines = Engines()
_cases: dict[str, Case] = {}
_cases_lock = threading.Lock()


class OtherCaseError(Pt2bugsError):
    """A case file in which this worker reads something else than the driver.

    Cause: different versions of pt2bugs, or a file that changed after the run was planned.
    Remedy: the same pt2bugs on all machines, and the command again.
    """


def identify(pythons: Sequence[str] = ()) -> dict[str, Any]:
    """What the driver must know of this worker, in plain words: the two may not be of one version.

    Args:
        pythons: minor versions; which of them are here is among the offers. To find out takes a second for each.
    """
    store = Store(Sources())
    cost = store.cost_of_one()
    return {
        "version": __version__,
        "code": code_hash(),
        "site": site(),
        "host": str(this_host()),
        "offers": sorted(this_host().platforms | {f"python {one}" for one in pythons if _has_python(one)}),
        "environments": sorted(one.path.name for one in store.environments()),
        "install_s": cost[1] if cost else None,
    }


_has_python = lru_cache(has_python)


def run_task(task: Task) -> Answer:
    """Measure the cells of a task; every line is sent as soon as it is there, and once more with the answer."""
    _drop_variables_of_dask()
    post = _Post(task)
    try:
        cells = _cells_of(task, post.folder)
    except (CaseError, OtherCaseError) as error:
        return Answer(refused=str(error))
    store = Store(_sources(task.packages), budget=task.packages.budget)
    name = repr((task.run_id, task.key, task.setup, task.options))
    opener = partial(_open, task, store, post)

    def stop() -> None:
        store.interrupt()
        _engines.stop(name)

    with _watched(post, stop):
        try:
            with _engines.use(name, task.key, opener) as measuring:
                post.ready()
                _measure(cells, measuring, post)
        except EnvironmentFailure as error:
            post.answer.unmade = str(error)
        except OtherTorchError as error:
            post.answer.other_torch = str(error)
    return post.answer


def _open(task: Task, store: Store, post: _Post, stack: contextlib.ExitStack) -> Measuring:
    environment = store.create(task.key, post.log, _engines.keys())
    stack.enter_context(store.using(environment))
    target = Target(task.key, setup=task.setup)
    return new_measuring(environment.python, target, task.options, task.run_id, task.pairs, keeps_python_path=False)


def _measure(cells: list[Cell], measuring: Measuring, post: _Post) -> None:
    worker = measuring.engine.open()
    try:
        for number, cell in enumerate(cells):
            for one in measuring.measure(cell, worker):
                if not post.is_wanted():
                    return
                post.line(number, one.record)
    finally:
        worker.close()
        post.answer.failure = measuring.failure


class _Post:
    """Sends what a task has to say while it runs, and keeps the lines for its answer."""

    def __init__(self, task: Task) -> None:
        from distributed import get_worker

        self.answer = Answer()
        self._task, self._worker = task, get_worker()
        self._key = self._worker.get_current_task()
        self.folder = Path(self._worker.local_directory) / "pt2bugs-cases"

    def is_wanted(self) -> bool:
        """Whether anybody waits for the task: not once it was cancelled, nor when the worker is being closed."""
        from distributed import Status

        state = self._worker.state.tasks.get(self._key)
        alive = self._worker.status in (Status.running, Status.paused)
        return alive and state is not None and state.state not in ("cancelled", "resumed")

    def line(self, number: int, record: Record) -> None:
        record["host"] = str(this_host())
        line = as_line(record)
        self.answer.lines.append((number, line))
        self._send(LINE, number, line)

    def ready(self) -> None:
        """The environment is there."""
        self._send(READY, 0, "")

    def log(self, text: str) -> None:
        self._send(LOG, 0, text)

    def _send(self, kind: str, number: int, value: bytes | str) -> None:
        self._worker.log_event(self._task.topic, (self._task.attempt, kind, number, value))


@contextlib.contextmanager
def _watched(post: _Post, stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` from another thread once nobody waits for the task any more."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(WATCH_S):
            if not post.is_wanted():
                stop()
                return

    thread = threading.Thread(target=watch, name="pt2bugs watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _cells_of(task: Task, folder: Path) -> list[Cell]:
    """The cells, their case files written to this worker's own folder.

    Raises:
        OtherCaseError: a file is read otherwise here than by the driver.
        CaseError: a file is no case here.
    """
    cases = [_case_of(file, folder) for file in task.files]
    return [Cell(case := cases[one.file], case.check(one.check), one.device, one.backend) for one in task.cells]


def _case_of(file: CaseFile, folder: Path) -> Case:
    digest = hashlib.sha256(file.text).hexdigest()
    # One folder for each text: a file that is edited between two runs has the same name.
    path = folder / digest[:16] / file.name
    with _cases_lock:
        if path.as_posix() not in _cases or not path.exists():
            write_bytes(path, file.text)
            _cases[path.as_posix()] = parse_case(path)
        case = _cases[path.as_posix()]
    if case.hash != file.hash:
        message = f"{file.name}: this worker reads version {case.hash} of the case in it, the driver {file.hash}"
        raise OtherCaseError(message)
    return case


def _sources(options: InstallOptions) -> Sources:
    return sources(options.index, options.find_links, options.torch_backend)


def _drop_variables_of_dask() -> None:
    """Dask sets variables for its worker processes, among them one of malloc; cells are to see none of them."""
    import dask

    for section in ("pre-spawn-environ", "environ"):
        for name, value in dask.config.get(f"distributed.nanny.{section}", {}).items():
            if os.environ.get(name) == str(value):
                del os.environ[name]
