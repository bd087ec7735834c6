"""Runs one check in an environment, as it is, with functions swapped in memory, or with other text, and compares."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import re
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pt2bugs.case.failure import Failure, Level
from pt2bugs.case.header import read_regular
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.client import Engine, EngineError, EngineSettings, Worker
from pt2bugs.engine.folders import RunFolder
from pt2bugs.engine.normalize import Normalizer
from pt2bugs.engine.protocol import ChildExit, Limits, StopReason
from pt2bugs.envs.environment import Environment
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.isolate.inside import Place
from pt2bugs.isolate.patched import PatchedTorch, patched_torch
from pt2bugs.isolate.search import Answer
from pt2bugs.isolate.units import PatchError, Selection, Unit, Wheels
from pt2bugs.run.measurement import MeasureOptions, Measuring, observe_exit

TRACE_FACTOR = 5
"""Factor for the time of a check while its calls are traced."""
TRACE, MAX_TRACE = "executed", 64 << 20
"""The file that takes a line for each code object, and the bytes that are read of it."""
_FUNCTION = "pt2bugs.isolate.inside:run"
_WORSE = {"breaks": 1, "fallbacks": 1, "skipped": 1, "compilations": 1, "operators": -1, "graphs": -1}
"""The counts, and whether more of each is worse."""


class TrialError(InputError):
    """A run that the machine did not let take place; it says nothing of what was to run.

    Cause: a full disk, no more processes, or somebody ended the processes around it.
    Remedy: the message names the cause; the same command asks again.
    """


def check_took_place(ended: ChildExit) -> None:
    """Do nothing if a child ran.

    Args:
        ended: how it ended.

    Raises:
        TrialError: it did not, for a reason that lies in the machine.
    """
    if ended.stopped in (StopReason.SETUP, StopReason.OUTSIDE):
        raise TrialError(f"a run did not take place: {ended.detail or 'its processes were ended from outside'}")


@dataclass(frozen=True)
class Check:
    """The check that is run: of a case, or without a name a script as a whole."""

    path: Path
    name: str
    arguments: Mapping[str, str]
    device: str
    backend: str
    timeout_s: float
    memory_mib: int | None
    compiles: bool = True
    isolation: str = "fork"
    env: Mapping[str, str] = field(default_factory=dict)
    network: bool = False


@dataclass(frozen=True)
class Run:
    """One run of a check.

    `counts` are those of Dynamo and Inductor, empty where the process died; `defaults` those of the compiler's
    configuration, by file and name; `unswapped` file and line in the mixed text of what could not be put into memory;
    `executed` the code objects of torch that ran, if it was traced: file relative to the torch folder, first line.
    """

    seen: Observation
    counts: Mapping[str, int]
    text: str = ""
    defaults: Mapping[str, str] = field(default_factory=dict)
    unswapped: frozenset[Place] = frozenset()
    executed: frozenset[Place] = frozenset()

    @property
    def failure(self) -> Failure | None:
        """Its failure; None if it passed or could not say."""
        return Failure.of(self.seen)

    @property
    def passed(self) -> bool:
        """True if the check passed, by whatever way."""
        return self.seen.outcome is Outcome.PASS

    def worse_than(self, other: Run) -> dict[str, tuple[int, int]]:
        """Return the counts that are worse than those of another run that passed, with both numbers.

        A bug that is not met because Dynamo broke the graph before it, skipped the frame, captured less or called eager
        kernels is not fixed.

        Args:
            other: of the good release.
        """
        return {
            name: (self.counts[name], other.counts[name])
            for name, sign in _WORSE.items()
            if name in self.counts and name in other.counts and sign * (self.counts[name] - other.counts[name]) > 0
        }


class Workers:
    """Workers of an engine. A run takes one that is free, so that several threads may run checks at once.

    Args:
        engine: of which they are.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._free = engine, list[Worker]()

    @contextlib.contextmanager
    def taken(self) -> Iterator[Worker]:
        """Lend a worker that is free.

        Raises:
            EngineError: there is none, and the engine cannot be started.
        """
        try:
            worker = self._free.pop()
        except IndexError:
            # Not asked for before: another thread may take the last one in between.
            worker = self._engine.open()
        try:
            yield worker
        finally:
            self._free.append(worker)

    def close(self) -> None:
        """End them."""
        for worker in self._free:
            worker.close()


class Release:
    """An environment in which checks are run; several threads may do so at once."""

    def __init__(self, environment: Environment, copies: Path, threads: int = 1) -> None:
        self.environment, self._copies, self.threads = environment, copies, threads
        self._stack = contextlib.ExitStack()
        self._lock = threading.Lock()
        self._engines: set[Engine] = set()
        self._copy: PatchedTorch | None = None
        self._patched = contextlib.ExitStack()
        self._asked: tuple[Mapping[str, str], EngineSettings, PatchedRelease] | None = None
        self._opened: tuple[Measuring, Workers] | None = None
        self.scratch = self._stack.enter_context(RunFolder.create("isolate"))

    @property
    def traces(self) -> Path:
        """The folder that keeps what checks execute in this release."""
        return self._copies / "traces" / self.environment.build

    @cached_property
    def build(self) -> str:
        """The local part of the version that the wheel has, such as ``cu130``."""
        text = (self.environment.torch / "version.py").read_text()
        match = re.search(r"__version__ = ['\"][^'\"+]*\+?([^'\"]*)", text)
        return match[1] if match else ""

    def run(self, check: Check, swap: Iterable[Mapping[str, Any]] = (), *, trace: bool = False) -> Run:
        """Run the check in the release as it is, or with functions swapped in memory.

        Args:
            check: what to run.
            swap: as `inside.FileSwap`.
            trace: say which code objects are executed.

        Returns:
            What was seen and counted.

        Raises:
            EngineError: the environment is broken.
        """
        measuring, workers = self._open(check)
        with workers.taken() as worker:
            unfit = measuring.provide(check.device, check.backend, worker)
            # Of a device that is absent the check itself speaks.
            if unfit is not None and unfit.outcome is Outcome.ERROR:
                raise EngineError(unfit.message)
            return _run(worker, measuring.engine, check, swap=list(swap), trace=trace, read=[self.scratch])

    def executed_by(self, check: Check) -> frozenset[Place]:
        """Return the code objects that a check executes, found out once for all isolations; none if it does not pass.

        Args:
            check: what to run.

        Raises:
            EngineError: the environment is broken.
        """
        return executed_by(check, self, self.traces)

    def _open(self, check: Check) -> tuple[Measuring, Workers]:
        with self._lock:
            if self._opened is None:
                engine = self._stack.enter_context(self._engine(self._settings(check)))
                engine.start()
                workers = self._stack.enter_context(contextlib.closing(Workers(engine)))
                self._opened = Measuring(engine, MeasureOptions(run_id="", threads=self.threads)), workers
            return self._opened

    @contextlib.contextmanager
    def _engine(self, settings: EngineSettings) -> Iterator[Engine]:
        with contextlib.closing(Engine(settings)) as engine:
            self._engines.add(engine)
            try:
                yield engine
            finally:
                self._engines.discard(engine)

    def stop(self) -> None:
        """End its engines for good: a thread that waits for a run gets no answer, and cannot start another."""
        for engine in list(self._engines):
            engine.stop()

    def _settings(self, check: Check) -> EngineSettings:
        return EngineSettings(
            python=self.environment.python,
            threads=self.threads,
            targets=((check.device, check.backend),),
            keeps_python_path=False,
        )

    def patched(self, texts: Mapping[str, str], check: Check) -> PatchedRelease:
        """Return a copy of the release with other texts, in a process that imports it anew.

        There is one copy: it ends when it is asked for with other texts, and is the same as long as they are.

        Args:
            texts: by file, relative to the torch folder.
            check: for which it is prepared.

        Raises:
            CopyError: the copy cannot be made.
        """
        if self._copy is None:
            home = self._copies
            self._copy = self._stack.enter_context(
                patched_torch(self.environment.torch, home, self.environment.key.folder)
            )
            self._stack.enter_context(self._patched)
        settings = replace(self._settings(check), paths=(self._copy.path,), env={"PT2BUGS_HOME": str(self._copy.home)})
        if self._asked is None or self._asked[:2] != (texts, settings):
            self._asked = None
            self._patched.close()
            self._copy.patch(texts)
            if self._opened is not None:
                self._copy.remember(Path(self._opened[0].facts.memory))
            engine = self._patched.enter_context(self._engine(settings))
            patched = self._patched.enter_context(contextlib.closing(PatchedRelease(engine)))
            self._asked = texts, settings, patched
        return self._asked[2]

    def close(self) -> None:
        """End its processes and remove its copy. A thread that still waits for a run gets no answer."""
        self.stop()
        self._stack.close()


class PatchedRelease:
    """A patched copy of a release, imported by a process of its own; several threads may run checks at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.workers = engine, Workers(engine)

    def run(self, check: Check, *, trace: bool = False) -> Run:
        """Run the check. A torch that does not import is an outcome, too: `error`.

        Args:
            check: what to run.
            trace: say which code objects are executed.

        Returns:
            What was seen and counted.
        """
        try:
            with self.workers.taken() as worker:
                return _run(worker, self._engine, check, swap=[], trace=trace)
        except EngineError as error:
            # Answers are kept: no folder of this machine may stand in them.
            message = str(error)
            for path in self._engine.settings.paths:
                message = message.replace(f"{path}/", "")
            return Run(Observation(Outcome.ERROR, message=message), {})

    def close(self) -> None:
        """End its workers."""
        self.workers.close()


@contextlib.contextmanager
def opened(environments: Iterable[Environment], copies: Path) -> Iterator[list[Release]]:
    """Yield releases that are closed at the end.

    Args:
        environments: of the releases.
        copies: the folder of patched copies and traces.
    """
    with contextlib.ExitStack() as stack:
        releases = [Release(environment, copies) for environment in environments]
        for release in releases:
            stack.callback(release.close)
        yield releases


def _run(
    worker: Worker,
    engine: Engine,
    check: Check,
    *,
    swap: list[Mapping[str, Any]],
    trace: bool,
    read: Iterable[Path] = (),
) -> Run:
    if not trace:
        return _run_once(worker, engine, check, swap, None, read)
    # A folder for this run alone: no check gets at what is noted of another.
    with RunFolder.create("trace") as folder:
        run = _run_once(worker, engine, check, swap, folder, read)
        return replace(run, executed=executed(folder / TRACE))


def _run_once(
    worker: Worker,
    engine: Engine,
    check: Check,
    swap: list[Mapping[str, Any]],
    trace: Path | None,
    read: Iterable[Path],
) -> Run:
    timeout_s = check.timeout_s * (TRACE_FACTOR if trace else 1)
    request: Any = {
        "kind": "call",
        "function": _FUNCTION,
        "path": str(check.path.resolve()),
        "check": check.name,
        "arguments": dict(check.arguments),
        "device": check.device,
        "threads": engine.settings.threads,
        "timeout_s": timeout_s,
        "compiles": check.compiles,
        "isolation": check.isolation,
        "env": dict(check.env),
        "network": check.network,
        "setup": None,
        "swap": swap,
        "trace": str(trace.resolve() / TRACE) if trace else "",
        "read": [str(folder.resolve()) for folder in read],
        "write": [str(trace.resolve())] if trace else [],
    }
    memory = check.memory_mib if check.device == "cpu" else None
    engine.start()
    ended = worker.run(request, Limits(timeout_s, memory))
    check_took_place(ended)
    seen, text = observe_exit(ended, timeout_s, memory or 0)
    normalizer = Normalizer(engine.facts.paths)
    seen.present(lambda value: normalizer.hide(value, case=check.path))
    report = ended.frames.get("report") or {}
    counts = {**report.get("counts", {})}
    if counts:
        # Dynamo counts no break at a branch that depends on data, and a check can clear its counters.
        counts["breaks"] = max(counts["breaks"], seen.breaks or 0)
        counted = {"graphs": seen.graphs, "fallbacks": seen.fallbacks}
        counts |= {name: value for name, value in counted.items() if value is not None}
    unswapped = frozenset((file, line) for file, line in report.get("unswapped", ()))
    return Run(seen, counts, text, report.get("defaults", {}), unswapped)


def executed_by(check: Check, release: Release | PatchedRelease, traces: Path) -> frozenset[Place]:
    """Return the code objects that a check executes, as `executed`; none if it does not pass. They are found out once.

    Args:
        check: what to run.
        release: where it is run.
        traces: the folder that keeps what checks execute in this release.

    Raises:
        EngineError: the environment is broken.
    """
    name = hashlib.sha256(f"{check.name} {check.device} {check.backend} ".encode() + check.path.read_bytes())
    path = traces / name.hexdigest()[:24]
    if path.exists():
        return executed(path)
    run = release.run(check, trace=True)
    met = run.executed if run.passed else frozenset()
    # What came from outside says nothing of the check: the next who asks runs it again.
    if run.seen.outcome not in (Outcome.ERROR, Outcome.OOM) and run.seen.signal != signal.SIGKILL.name:
        write_text(path, "".join(f"{line} {file}\n" for file, line in sorted(met)))
    return met


def mentions(check: Check, words: Iterable[str]) -> int:
    """Count the words that stand in the file of a check: what names a changed function is the likeliest to execute it.

    Args:
        check: a check of a case.
        words: in lower case.
    """
    text = check.path.read_text(encoding="utf-8").lower()
    return sum(word in text for word in words)


def executed(trace: Path) -> frozenset[Place]:
    """Return the code objects of a trace: file relative to the torch folder, first line.

    Args:
        trace: as `inside.run` writes it, or something else that a check has put there; its last line may be torn.
    """
    met = set()
    with contextlib.suppress(OSError, ValueError):
        for line in read_regular(trace)[:MAX_TRACE].decode(errors="replace").splitlines():
            number, _, file = line.partition(" ")
            if number.isdecimal() and file.endswith(".py"):
                met.add((file, int(number)))
    return frozenset(met)


class Judge:
    """Says of a run what it means for the search.

    Args:
        bad: the run of the bad release.
        good: that of the good one.
    """

    def __init__(self, bad: Run, good: Run) -> None:
        self.bad, self.good = bad, good
        self.around: dict[str, tuple[int, int]] = {}
        """Counts that were worse in a run that passed; it was not taken for a fix."""

    def unrelated(self, run: Run) -> dict[str, tuple[int, int]]:
        """Return the counts that are worse than in the good release, and as they always were in the bad one.

        The units did not make them worse. That they did not make them better in the good release either is for the
        proof to show. Only a check that ran to its wrong end in the bad release has counted everything there.

        Args:
            run: one that passed.
        """
        if self.bad.seen.outcome is not Outcome.WRONG:
            return {}
        worse = run.worse_than(self.good)
        return {name: pair for name, pair in worse.items() if self.bad.counts.get(name) == run.counts[name]}

    def answer(self, run: Run) -> Answer:
        """Return whether the bug is gone, there as ever, or something else happened.

        Args:
            run: of the bad release with some units of the good one.
        """
        if run.passed:
            worse = run.worse_than(self.good)
            self.around |= worse
            return Answer.OTHER if worse.keys() - self.unrelated(run) else Answer.GREEN
        failure = self.bad.failure
        # One program on one machine: the line that tells must be the same. Frames move where functions are swapped.
        return Answer.RED if failure is not None and failure.same(run.failure, Level.MESSAGE) else Answer.OTHER


def swaps_of(wheels: Wheels, selection: Selection, folder: Path) -> tuple[list[dict[str, Any]], dict[Unit, int]]:
    """Return what `inside.run` takes to swap a selection, and the line of each unit in its mixed text.

    Args:
        wheels: the two releases.
        selection: units of the good one, each of which `can_swap`.
        folder: takes the mixed texts.

    Raises:
        PatchError: units overlap, or one has no place there.
    """
    swaps, lines = [], dict[Unit, int]()
    for number, file in enumerate(sorted({unit.file for unit in selection})):
        pair = wheels.pair(file)
        if pair is None:
            raise PatchError(f"{file} is new")
        mixture = pair.mixed(selection)
        functions: list[tuple[int, int, bool]] = []
        added: list[tuple[int, str]] = []
        for unit, line in mixture.lines.items():
            if unit.change == "changed":
                old, new = pair.bad.by_key[unit.key], pair.good.by_key[unit.key]
                functions.append((old.start, line, _defaults(old.node) != _defaults(new.node)))
            else:
                item = pair.good.by_key.get(unit.key)
                added.append((line, item.owner.key[1] if item and item.owner else ""))
        path = folder / f"{number}-{Path(file).name}"
        write_text(path, mixture.text)
        swaps.append({"file": file, "text": str(path), "functions": functions, "added": added})
        lines |= mixture.lines
    return swaps, lines


def can_swap(wheels: Wheels, unit: Unit) -> bool:
    """Return whether a unit can be put into loaded modules: functions with the same decorators, and what is new.

    Args:
        wheels: the two releases.
        unit: one of their units.
    """
    pair = wheels.pair(unit.file)
    if pair is None or unit.change != "changed":
        return pair is not None
    if unit.kind != "function":
        return False
    old, new = (side.by_key[unit.key].node for side in (pair.bad, pair.good))
    return _decorators(old) == _decorators(new)


def _decorators(node: Any) -> list[str]:
    return [ast.dump(decorator) for decorator in node.decorator_list]


def _defaults(node: Any) -> list[str]:
    return [ast.dump(default) for default in (*node.args.defaults, *filter(None, node.args.kw_defaults))]
