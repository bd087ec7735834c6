"""Runs missing cells: environments are made, and pytest processes in them run the cells.

Nothing travels between the processes but the journal: each appends its lines, and what a killed run had
finished is there for the next one.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from harness.environments import Environment, EnvironmentFailure, Key, Store
from harness.isolation import DIE_WITH_PARENT, Scratch
from harness.journal import JournalError, JournalWriter, Record, new_record
from harness.matrix import CellKey, Results, is_complete, public_or_empty
from harness.outcome import Observation, Outcome, Verdict
from harness.plan import Cell
from harness.plugin import CLAIM, new_run_id

HUGE_PAGES = "glibc.malloc.hugetlb=1"
"""A setting of glibc 2.35 and newer, read when a process starts; others have no reader for it. Fewer pages to copy for
a cell, and to clear for each 32 MiB with which Dynamo flushes the CPU's cache after it has made guards (torch 2.6 and
newer, `profile_guard_manager`)."""


@dataclass(frozen=True)
class Target:
    """An environment to run in: one to be made from its key, or the running interpreter (`python` set)."""

    key: Key
    python: Path | None = None

    def __str__(self) -> str:
        return f"torch {self.key.torch}" + "".join(f" +{extra}" for extra in self.key.extras)


@dataclass
class Options:
    """How cells are run. `jobs` is how many pytest processes run at once."""

    jobs: int = 1
    repeat: int = 1
    confirm: int = 1
    threads: int = 1
    backends: tuple[str, ...] = ()


@dataclass
class Work:
    """The cells one environment still owes."""

    target: Target
    cells: list[Cell]
    failure: str = ""
    seconds: float = 0.0


def answered(lines: dict[CellKey, Record], key: Key, cell: Cell) -> Record | None:
    """The journal line that makes running the cell unnecessary, if there is one."""
    record = line_of(lines, key, cell)
    return record if record is not None and is_complete(record) else None


def line_of(lines: dict[CellKey, Record], key: Key, cell: Cell) -> Record | None:
    """The newest line of a cell, an error of its environment included."""
    case, check, device, backend = cell.key
    return lines.get((case, check, device, backend, "+".join(key.extras), key.torch, key.python))


def belongs(cell: Cell, key: Key) -> bool:
    """Whether a cell is run in that environment.

    An environment with extras is there for the cases that need them; all others are answered without.
    """
    return cell.case.extra in key.extras if key.extras else not cell.case.extra


def missing(
    targets: Iterable[Target], cells: Sequence[Cell], lines: dict[CellKey, Record], *, rerun: bool = False
) -> list[Work]:
    """What is to be run: per target the cells that the journal does not answer, empty ones left out."""
    work = []
    for target in targets:
        wanted = [
            cell for cell in cells if belongs(cell, target.key) and (rerun or answered(lines, target.key, cell) is None)
        ]
        if wanted:
            work.append(Work(target, wanted))
    return work


@dataclass
class Progress:
    """What a run tells: called from several threads."""

    talk: Callable[[str], None] = lambda _: None
    total: Callable[[int], None] = lambda _: None
    advance: Callable[[Record], None] = lambda _: None
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Shared:
    """What the processes of one environment share: it, claims on its cells, its canaries, its journal, who tells of it.

    Args:
        environment: waits for the environment; None if it is not ours, or could not be made.
        processes: how many there will be; `done` is called when the last of them has left.
    """

    def __init__(
        self,
        runner: Runner,
        work: Work,
        environment: Callable[[], Environment | None],
        package: Path,
        processes: int,
        done: Callable[[], None],
    ) -> None:
        self._runner, self.work, self.environment, self.package = runner, work, environment, package
        self.journal = runner.journal_path(work.target)
        self.folder = Path(tempfile.mkdtemp(prefix="share-", dir=package))
        self._position = self.journal.stat().st_size if self.journal.exists() else 0
        self._left, self._done = processes, done
        self._lock = threading.Lock()

    def all_claimed(self) -> bool:
        """Whether all cells are run by some process, or have been."""
        return sum(1 for _ in self.folder.glob(f"{CLAIM}*")) >= len(self.work.cells)

    def tell(self) -> None:
        """Report the lines that this run has added to the journal since the last time."""
        with self._lock:
            if not self.journal.exists():
                return
            with self.journal.open("rb") as file:
                file.seek(self._position)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            self._position += len(whole)
            for record in _records(whole):
                if record.get("run_id") == self._runner.run_id and record["repeat"] == record["repeats"]:
                    self._runner.advance(record)

    def leave(self) -> None:
        """A process has nothing to do any more."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._done()


class Runner:
    """Runs work into a results folder.

    While one environment runs, the next one is being installed; `jobs` pytest processes run at once.
    """

    def __init__(self, results: Results, store: Store, options: Options, progress: Progress) -> None:
        self.results, self.store, self.options, self.progress = results, store, options, progress
        self.run_id = new_run_id()
        self._processes: set[subprocess.Popen[str]] = set()
        self._stopping = threading.Event()

    def run(self, work: list[Work]) -> list[Work]:
        """Run everything; the same list, each with the `failure` of its environment if it had one.

        Raises:
            JournalError: the results folder cannot be written. Nothing was run then.
            KeyboardInterrupt: the user stopped it; what had finished is in the journal.
        """
        self._require_writable()
        self.progress.total(sum(len(one.cells) for one in work))
        jobs = max(1, self.options.jobs)
        with (
            self._package() as package,
            ThreadPoolExecutor(1, "install") as installer,
            ThreadPoolExecutor(jobs, "run") as runners,
        ):
            # Installed ahead: one environment more than run at once, so that the disk never holds them all.
            ahead = threading.Semaphore(jobs + 1)
            ready = [installer.submit(self._environment, one, ahead) for one in work]
            running: list[Future[None]] = []
            try:
                for shared, cells in self._processes_of(work, ready, jobs, package, ahead.release):
                    running.append(runners.submit(self._run_process, shared, cells))
                for one_run in running:
                    one_run.result()
            except BaseException:
                self._stop()
                pending: list[Future[Any]] = [*ready, *running]
                for future in pending:
                    future.cancel()
                for _ in work:
                    ahead.release()
                raise
        return work

    def _processes_of(
        self,
        work: list[Work],
        ready: list[Future[Environment | None]],
        jobs: int,
        package: Path,
        done: Callable[[], None],
    ) -> Iterator[tuple[_Shared, list[Cell]]]:
        """The processes in the order of their start, each with the order in which it takes the cells: one per
        environment first, as another one has to start anew; then, where some would have nothing to do at the end of
        the run, further ones for the last environments."""
        last = len(work) - jobs
        plans: list[tuple[_Shared, list[list[Cell]]]] = []
        for index, (one, environment) in enumerate(zip(work, ready, strict=True)):
            orders = _orders(one.cells, jobs if index >= last else 1)
            plans.append((_Shared(self, one, environment.result, package, len(orders), done), orders))
        yield from ((shared, orders[0]) for shared, orders in plans)
        for turn in range(1, jobs):
            yield from ((shared, orders[turn]) for shared, orders in reversed(plans) if turn < len(orders))

    def _require_writable(self) -> None:
        """Fail before anything is installed, not after."""
        folder = self.results.journal_folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise JournalError(
                f"{folder}: cannot be written: {error.strerror}; choose another folder with --results"
            ) from None

    @contextmanager
    def _package(self) -> Iterator[Path]:
        """A folder to put on the path of an environment: this package, and nothing beside it."""
        scratch = Scratch.create()
        try:
            (scratch.path / "harness").symlink_to(Path(__file__).resolve().parent)
            yield scratch.path
        finally:
            scratch.remove()

    def _environment(self, work: Work, ahead: threading.Semaphore) -> Environment | None:
        ahead.acquire()
        if work.target.python is not None or self._stopping.is_set():
            return None
        try:
            return self.store.create(work.target.key, self.progress.talk)
        except EnvironmentFailure as error:
            if self._stopping.is_set():
                return None
            work.failure = str(error)
            self.progress.talk(f"{work.target}: {error}")
            self._record_failure(work)
            return None

    def _record_failure(self, work: Work) -> None:
        """An environment that cannot be made is an error of all its cells."""
        seen = Observation(Outcome.ERROR, message=f"the environment cannot be made: {work.failure}")
        facts = {"torch": work.target.key.torch, "python": work.target.key.python}
        journal = JournalWriter(self.journal_path(work.target))
        try:
            for cell in work.cells:
                record = new_record(
                    cell, seen, Verdict.ERROR, facts,
                    run_id=self.run_id, started=datetime.now(timezone.utc), extras=work.target.key.extras,
                )  # fmt: skip
                journal.append(record)
                self.advance(record)
        finally:
            journal.close()

    def journal_path(self, target: Target) -> Path:
        return self.results.journal_folder / f"{target.key.folder}.jsonl"

    def _run_process(self, shared: _Shared, cells: list[Cell]) -> None:
        work = shared.work
        try:
            made = shared.environment()
            python = work.target.python or (made.python if made else None)
            if python is None or self._stopping.is_set():
                return
            if work.failure or shared.all_claimed():
                return
            with self.store.using(made) if made else nullcontext():
                began = time.monotonic()
                failure = self._pytest(python, work.target, cells, shared)
                work.seconds += time.monotonic() - began
            if failure and not self._stopping.is_set():
                work.failure = failure
                self.progress.talk(f"{work.target}: {failure}")
        finally:
            shared.leave()

    def _pytest(self, python: Path, target: Target, cells: list[Cell], shared: _Shared) -> str:
        """One pytest process over these cells. Returns what went wrong with the process itself."""
        option = self.options
        with tempfile.TemporaryDirectory(prefix="pytest-", dir=shared.package) as folder:
            selected = Path(folder, "cells.txt")
            selected.write_text("".join(f"{cell.case.path.resolve()}::{cell.name}\n" for cell in cells))
            command = [
                *(str(python), "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", folder, "--noconftest"),
                *("-p", "no:cacheprovider", "-p", "pytest_timeout", "-p", "harness.plugin"),
                *("--journal", str(shared.journal.resolve()), "--expect-torch", target.key.torch),
                *("--share", str(shared.folder)),
                *("--run-id", self.run_id, "--repeat", str(option.repeat), "--confirm", str(option.confirm)),
                *("--threads", str(option.threads)),
                *(part for device in _devices(cells) for part in ("--device", device)),
                *(part for backend in option.backends for part in ("--backend", backend)),
                f"@{selected}",
            ]
            environ = {
                **os.environ,
                "PYTHONPATH": str(shared.package),
                "PYTHONSAFEPATH": "1",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "PYTEST_ADDOPTS": "",
                "GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES") or HUGE_PAGES,
                DIE_WITH_PARENT: str(os.getpid()),
            }
            environ.pop("VIRTUAL_ENV", None)
            with Path(folder, "output").open("w+") as output:
                process = subprocess.Popen(
                    command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True, text=True,
                )  # fmt: skip
                self._processes.add(process)
                try:
                    while process.poll() is None:
                        shared.tell()
                        time.sleep(0.1)
                    shared.tell()
                finally:
                    self._processes.discard(process)
                output.seek(0)
                words = output.read()
        # 0: all passed or failed as documented, 1: some did not. All else is about the process.
        if process.returncode in (0, 1):
            return ""
        return f"pytest ended with status {process.returncode}: {_last_line(words)}"

    def advance(self, record: Record) -> None:
        """Tell of a cell that has its answer."""
        with self.progress.lock:
            self.progress.advance(record)

    def _stop(self) -> None:
        self._stopping.set()
        self.store.interrupt()
        for process in list(self._processes):
            process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + 10
        for process in list(self._processes):
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()


def _records(data: bytes) -> Iterator[Record]:
    import json

    for line in data.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _devices(cells: Iterable[Cell]) -> list[str]:
    return sorted({cell.device for cell in cells})


def _orders(cells: list[Cell], count: int) -> list[list[Cell]]:
    """All cells, in the order in which each of so many processes takes those that no other one has taken.

    Cells of one backend, which need the same canary and cost alike, stand together; what may hang comes last. Every
    second process begins at the other end.
    """
    ordered = sorted(cells, key=lambda cell: (cell.case.symptom == "hang", cell.device, cell.backend))
    count = min(count, len(cells))
    orders = []
    for number in range(count):
        start = len(cells) * (number // 2) // ((count + 1) // 2)
        order = ordered[start:] + ordered[:start]
        orders.append(order[::-1] if number % 2 else order)
    return orders


def _last_line(text: str) -> str:
    """What pytest says ended it, else the last thing it printed."""
    if found := re.search(r"^!+ .*?Exit: (.*?) !+$", text, re.MULTILINE):
        return found[1]
    lines = [line.strip() for line in text.splitlines() if line.strip().strip("=-! ")]
    return lines[-1][:400] if lines else "no output"


def default_jobs(threads: int = 1) -> int:
    """As many pytest processes as cores, or fewer where a cell has several threads: no core has two to run."""
    return max(1, len(os.sched_getaffinity(0)) // threads)


def current_target() -> Target:
    """The running interpreter and the torch it has.

    Raises:
        EnvironmentFailure: it has none.
    """
    from importlib import metadata

    from harness.extras import installed_extras

    try:
        torch = public_or_empty(metadata.version("torch"))
    except metadata.PackageNotFoundError:
        raise EnvironmentFailure("this Python has no torch; install one, or say which with --torch") from None
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Target(Key(torch, python, installed_extras()), Path(sys.executable))
