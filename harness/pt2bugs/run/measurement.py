"""Measures a cell: as often as asked, each time in a new child, with a verdict on all runs together.

Part of the half that runs inside every environment: the pytest plugin measures in the user's own.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

from packaging.version import Version
from pt2bugs.case.cells import Cell, unclaimed
from pt2bugs.case.expectation import Judgement, Where, elsewhere, is_available, judge, pinned
from pt2bugs.case.observation import MESSAGE_LIMIT, RAW_LIMIT, Observation, bounded
from pt2bugs.case.versions import public
from pt2bugs.case.vocabulary import EXPECTED, Outcome, Verdict
from pt2bugs.engine import warmup
from pt2bugs.engine.backend import BackendSetup
from pt2bugs.engine.client import Engine, EngineError, Worker
from pt2bugs.engine.environment import EnvironmentFacts
from pt2bugs.engine.linux import has_namespaces
from pt2bugs.engine.messages import CanaryReport, CanaryRequest, CheckRequest, Needs, Setup
from pt2bugs.engine.normalize import Normalizer
from pt2bugs.engine.protocol import (
    EXIT_S,
    GRACE_S,
    MAX_PROCESSES,
    START_S,
    ChildExit,
    Limits,
    StopReason,
)
from pt2bugs.errors import InputError
from pt2bugs.results.journal import Record, new_record

_signal_names = {number.value: number.name for number in signal.Signals}
NOTHING_REGISTERS = "nothing here registers it, docs/guides/backends.md says how to name what does: "
"""Goes before torch's words for a backend that it does not find."""

_BAD_ALLOC = "terminate called after throwing an instance of 'std::bad_alloc'"


class OtherTorchError(InputError):
    """The environment imports another torch, or limits the CPU otherwise, than asked for. Nothing is run there."""


@dataclass(frozen=True)
class MeasureOptions:
    """Settings with which cells are measured.

    Args:
        repeat: runs of each cell; `confirm`: runs of one whose first verdict is unexpected.
        timeout_cap_s: seconds that no check may take longer, whatever its header says.
        torch: the only release that is measured; empty: whichever there is.
        python: its version, for lines of an environment that does not start.
        capability: the word for the CPU's vector instructions that torch must say; empty: whichever it says.
        build: what tells this build of torch from others, where it does not stand for a release.
        setups: how backends are reached that torch does not find by their name alone, by name.
    """

    run_id: str
    threads: int = 1
    repeat: int = 1
    confirm: int = 1
    timeout_cap_s: float = float("inf")
    torch: str = ""
    python: str = field(default_factory=platform.python_version)
    extras: tuple[str, ...] = ()
    capability: str = ""
    build: str = ""
    setups: Mapping[str, BackendSetup] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """One run of a cell. `text` is the traceback; the last run of a series is `final` and has the verdict on all."""

    observation: Observation
    judgement: Judgement
    text: str
    record: Record
    final: bool


@dataclass
class _CanaryResult:
    """Answer of the canary of a device and backend: healthy, absent or broken, and why."""

    outcome: Outcome
    message: str = ""
    device_name: str = ""
    needs: Needs | None = None


class Measuring:
    """Measures cells in one environment; several threads may do so at once, each with a worker of its own."""

    def __init__(self, engine: Engine, options: MeasureOptions) -> None:
        self.engine, self.options = engine, options
        self.failure = ""
        """Why no cell can be measured here, once that is known."""
        self._canaries: dict[tuple[str, str], _CanaryResult] = {}
        self._canary_locks: dict[tuple[str, str], threading.Lock] = {}
        self._lock = threading.Lock()
        self._normalizer = Normalizer({})

    @property
    def facts(self) -> EnvironmentFacts:
        """Return what is known of the environment; empty before torch was imported."""
        return self.engine.facts

    def measure(self, cell: Cell, worker: Worker) -> Iterator[Measurement]:
        """Run the cell as often as asked.

        Args:
            cell: what is run.
            worker: of the engine of this environment.

        Raises:
            OtherTorchError: the environment imports another torch than the options name.
        """
        seen: list[tuple[Observation, Judgement]] = []
        wanted = self.options.repeat
        while len(seen) < wanted:
            started = datetime.now(timezone.utc)
            observation, text = self._observe(cell, worker)
            observation.present(partial(self._normalizer.hide, case=cell.case.path))
            judgement = judge(cell.case, cell.check.name, self._where(cell), observation)
            seen.append((observation, judgement))
            if len(seen) == 1 and judgement.verdict not in {*EXPECTED, Verdict.ERROR}:
                wanted = max(wanted, self.options.confirm)
            final = len(seen) == wanted
            if final and wanted > 1:
                observation, judgement = _weigh(seen)
            record = self._record(cell, observation, judgement, started, len(seen), wanted)
            yield Measurement(observation, judgement, text, record, final)

    def _observe(self, cell: Cell, worker: Worker) -> tuple[Observation, str]:
        """Return what one child showed, and its failure as text."""
        case = cell.case
        if case.extra and case.extra not in self.options.extras:
            message = f"needs the extra {case.extra!r}: pt2bugs run {case.id} --extra {case.extra}"
            return Observation(Outcome.SKIP, message=message), ""
        try:
            self._start()
        except EngineError as error:
            return Observation(Outcome.ERROR, message=f"the environment is broken: {error}"), ""
        if not is_available(case, public(self.facts.torch)):
            return Observation(Outcome.SKIP, message=f"needs torch {case.requires_torch}"), ""
        if why := elsewhere(case, cell.check.name, self._where(cell)):
            return Observation(Outcome.SKIP, message=why), ""
        setup = self.options.setups.get(cell.backend)
        if why := unclaimed(cell, setup.not_claimed if setup else ()):
            return Observation(Outcome.SKIP, message=why), ""
        if (unfit := self.provide(cell.device, cell.backend, worker)) is not None:
            return unfit, ""
        timeout_s = min(case.timeout, self.options.timeout_cap_s)
        memory = case.memory if cell.device == "cpu" else None
        try:
            ended = worker.run(self._request(cell, timeout_s), Limits(timeout_s, memory))
        except EngineError as error:
            return Observation(Outcome.ERROR, message=str(error)), ""
        return observe_exit(ended, timeout_s, case.memory)

    def provide(self, device: str, backend: str, worker: Worker) -> Observation | None:
        """Have the modules that a compile needs imported for the cells of a worker, as the canary showed them.

        Args:
            device: of the cells.
            backend: of the cells.
            worker: of the engine, which runs.

        Returns:
            None, or what is to be said of every cell there: the device is absent, or the canary failed.
        """
        canary = self._canary(device, backend, worker)
        if canary.outcome is not Outcome.PASS:
            return Observation(canary.outcome, message=canary.message)
        if canary.needs is not None:
            worker.provide(f"{device} {backend}", canary.needs)
        return None

    def _start(self) -> None:
        """Start the engine, if it does not run.

        Raises:
            EngineError: it cannot be started; asked again, it says so without another try.
            OtherTorchError: it imports another torch than asked for.
        """
        with self._lock:
            if self.failure:
                raise EngineError(self.failure)
            try:
                facts = self.engine.start()
            except EngineError as error:
                self.failure = str(error)
                raise
            self._normalizer = Normalizer(facts.paths)
        asked = self.options.torch
        if asked and Version(public(facts.torch)) != Version(asked):
            message = f"asked for torch {asked}, but this environment imports torch {facts.torch}; nothing was run"
            raise OtherTorchError(message)
        # Until torch 2.1 it said NO AVX for the least.
        said = facts.cpu_capability.lower().replace("no avx", "default")
        if self.options.capability not in ("", said):
            message = f"asked for the CPU capability {self.options.capability}, but torch {facts.torch} says {said}"
            raise OtherTorchError(f"{message}; nothing was run")

    def _request(self, cell: Cell, timeout_s: float) -> CheckRequest:
        backend, setup = self._backend(cell.backend)
        given = {"device": cell.device, "backend": backend}
        return {
            "kind": "check",
            "path": str(cell.case.path.resolve()),
            "check": cell.check.name,
            "arguments": {name: given[name] for name in cell.check.parameters},
            "device": cell.device,
            "threads": self.options.threads,
            "timeout_s": timeout_s,
            "compiles": cell.case.compiles,
            "isolation": cell.case.isolation,
            "env": dict(cell.case.env),
            "network": cell.case.network,
            "setup": setup,
        }

    def _backend(self, name: str) -> tuple[str, Setup | None]:
        """Return what torch.compile gets for a backend, and what must be imported and set before."""
        setup = self.options.setups.get(name)
        return (setup.backend, setup.request()) if setup else (name, None)

    def _canary(self, device: str, backend: str, worker: Worker) -> _CanaryResult:
        with self._lock:
            lock = self._canary_locks.setdefault((device, backend), threading.Lock())
        with lock:
            known = self._canaries.get((device, backend))
            if known is None:
                known = self._canaries[device, backend] = self._run_canary(device, backend, worker)
            return known

    def _run_canary(self, device: str, backend: str, worker: Worker) -> _CanaryResult:
        known = warmup.is_known(self.facts, device, backend)
        name, setup = self._backend(backend)
        request: CanaryRequest = {
            "kind": "canary",
            "device": device,
            "backend": name,
            "threads": self.options.threads,
            "record_modules": not known,
            "setup": setup,
        }
        try:
            ended = worker.run(request, Limits(START_S, None))
        except EngineError as error:
            return _CanaryResult(Outcome.ERROR, f"canary: {error}")
        report: CanaryReport | None = ended.frames.get("report") or ended.frames.get("healthy")
        if not _is_canary_report(report):
            seen, _ = observe_exit(ended, START_S, 0)
            seen.present(partial(self._normalizer.hide, case=Path("canary")))
            return _CanaryResult(Outcome.ERROR, f"canary on {device} with {backend}: {seen.summary}")
        if "absent" in report:
            return _CanaryResult(Outcome.SKIP, report["absent"])
        if "failed" in report:
            hint = NOTHING_REGISTERS if report["failed"].startswith("InvalidBackend") else ""
            return _CanaryResult(Outcome.ERROR, f"canary on {device} with {backend}: {hint}{report['failed']}")
        needs = Needs(modules=report["modules"])
        if not known:
            warmup.remember(self.facts, device, backend, needs)
        return _CanaryResult(Outcome.PASS, device_name=report["device_name"], needs=needs)

    def _where(self, cell: Cell) -> Where:
        facts = self.facts
        return Where(
            torch=public(facts.torch) if facts.torch else "0",
            python=facts.python or "0",
            device=cell.device,
            backend=cell.backend,
            platform=facts.platform,
            capability=facts.cpu_capability,
            packages=pinned(self.options.extras),
        )

    def _record(
        self, cell: Cell, seen: Observation, judgement: Judgement, started: datetime, repeat: int, repeats: int
    ) -> Record:
        canary = self._canaries.get((cell.device, cell.backend))
        facts = replace(
            self.facts,
            # Where torch did not even import, the line still says which environment is broken.
            torch=self.facts.torch or self.options.torch,
            python=self.facts.python or self.options.python,
            device_name=canary.device_name if canary else "",
        )
        return new_record(
            cell, seen, judgement.verdict, facts,
            run_id=self.options.run_id, started=started, extras=self.options.extras,
            repeat=repeat, repeats=repeats, build=self.options.build,
        )  # fmt: skip


def _weigh(seen: list[tuple[Observation, Judgement]]) -> tuple[Observation, Judgement]:
    """Return the verdict on all repeats together: what they agree on, or flaky with n/k.

    An error of the environment among them is no disagreement; it spoils the series.
    """
    observation, judgement = seen[-1]
    for spoilt, error in seen:
        if error.verdict is Verdict.ERROR:
            return spoilt, error
    if len({(weighed.verdict, run.outcome) for run, weighed in seen}) == 1:
        return observation, judgement
    kinds = [str(run.outcome) if run.outcome is not Outcome.CRASH else f"crash {run.signal}" for run, _ in seen]
    counts = ", ".join(f"{kind} {kinds.count(kind)}/{len(kinds)}" for kind in dict.fromkeys(kinds))
    reason = f"repeats disagree: {counts}"
    observation.message = bounded(f"{reason}\n{observation.message}".strip(), MESSAGE_LIMIT)
    return observation, Judgement(Verdict.FLAKY, reason, judgement.bug)


def learn_needs(facts: EnvironmentFacts, worker: Worker, device: str, backend: str) -> None:
    """Have the modules that a compile needs imported for a worker and for later runs, if they are not known yet.

    Args:
        facts: of the environment.
        worker: runs the canary; its later cells have the modules.
        device: of the compile.
        backend: of the compile.

    Raises:
        EngineError: the worker cannot be started.
    """
    if warmup.is_known(facts, device, backend):
        return
    request: CanaryRequest = {
        "kind": "canary",
        "device": device,
        "backend": backend,
        "threads": 1,
        "record_modules": True,
        "setup": None,
    }
    report = worker.run(request, Limits(START_S, None)).frames.get("report")
    if _is_canary_report(report) and "modules" in report:
        needs = Needs(modules=report["modules"])
        warmup.remember(facts, device, backend, needs)
        worker.provide(f"{device} {backend}", needs)


def _is_canary_report(report: Any) -> TypeGuard[CanaryReport]:
    """Return whether the canary's process has reported as it does: a backend that it loads may write anything."""
    if not isinstance(report, dict):
        return False
    if "absent" in report or "failed" in report:
        return all(isinstance(report.get(key, ""), str) for key in ("absent", "failed"))
    modules = report.get("modules")
    return (
        isinstance(modules, list)
        and all(isinstance(name, str) for name in modules)
        and isinstance(report.get("device_name"), str)
    )


def observe_exit(ended: ChildExit, timeout_s: float, memory_mib: int) -> tuple[Observation, str]:
    """Return what a child's end means: its report if it made one and left in peace, else how it was ended.

    Its texts are raw: `Observation.present` makes them fit to be kept.

    Args:
        ended: the end of the child.
        timeout_s: seconds that it was given.
        memory_mib: memory that it was given.
    """
    clean = ended.signal is None and ended.exit_status == 0 and ended.stopped is None
    if clean and (reported := _reported(ended.frames.get("report"))) is not None:
        seen, text = reported
    else:
        seen, text = _observe_death(ended, timeout_s, memory_mib), ""
        seen.duration_s = ended.duration_s
        seen.signal = _signal_names.get(ended.signal or 0, str(ended.signal or ""))
    seen.exit_status = ended.exit_status
    seen.peak_rss_mb = ended.peak_rss_mb
    output = _OWN_FRAMES.sub("", ended.output_tail) if seen.outcome is Outcome.CRASH else ended.output_tail
    seen.output_tail = bounded(output, RAW_LIMIT)
    return seen, text


def _reported(report: Any) -> tuple[Observation, str] | None:
    """Return the observation and the text of a report; None if it is not one that the harness writes.

    A check that finds the pipe and its nonce may write anything.
    """
    told = report.get("observation") if isinstance(report, dict) else None
    if not isinstance(told, dict) or told.get("outcome") not in list(Outcome):
        return None
    seen = Observation.from_dict(told)
    texts = (seen.error_type, seen.message, seen.frame, seen.outside, seen.signal, seen.output_tail, report.get("text"))
    counts = (seen.exit_status, seen.graphs, seen.breaks, seen.kernels, seen.fallbacks)
    seconds = (seen.duration_s, seen.peak_rss_mb)
    is_ours = (
        all(isinstance(text, str) for text in texts)
        and isinstance(seen.frames, list)
        and all(isinstance(frame, str) for frame in seen.frames)
        and all(count is None or (type(count) is int and abs(count) < 1 << 63) for count in counts)
        and all(type(number) in (int, float) and 0 <= number < 1 << 63 for number in seconds)
    )
    return (seen, report["text"]) if is_ours else None


_OWN_FRAMES = re.compile(
    r'^  File "[^"\n]*pt2bugs/engine/\w+\.py", line \d+ in .*\n|^  File "<string>", line \d+ in <module>\n'
    r"|^\n?Extension modules: .*\n?",
    re.MULTILINE,
)
"""Text of Python's fault handler about the harness below a check. Without it the stack of the check fits the line,
whose innermost frames come first."""


def _observe_death(ended: ChildExit, timeout_s: float, memory_mib: int) -> Observation:
    if ended.stopped is StopReason.SETUP:
        return Observation(Outcome.ERROR, message=f"the cell could not be set up: {ended.detail}")
    if ended.stopped is StopReason.OUTSIDE:
        return Observation(Outcome.ERROR, message=f"ended from outside: {ended.detail}")
    if ended.stopped is StopReason.LOST:
        message = f"the check took the process that supervises it along: {ended.detail}"
        return Observation(Outcome.CRASH, message=message)
    outcome, message = _how_it_ended(ended, timeout_s, memory_mib)
    if "started" not in ended.frames:
        return Observation(Outcome.ERROR, message=f"the check had not started: {message}")
    return Observation(outcome, message=message)


def _how_it_ended(ended: ChildExit, timeout_s: float, memory_mib: int) -> tuple[Outcome, str]:
    if ended.stopped is StopReason.DEADLINE:
        return Outcome.TIMEOUT, f"still running {GRACE_S:g} s after its timeout of {timeout_s:g} s; killed"
    if ended.stopped is StopReason.EXIT:
        return Outcome.TIMEOUT, f"the check had ended, but its process was still there {EXIT_S:g} s later; killed"
    if ended.stopped is StopReason.START:
        return Outcome.TIMEOUT, f"nothing happened for {START_S:g} s; killed"
    if ended.stopped is StopReason.MEMORY:
        return Outcome.OOM, f"over its limit of {memory_mib} MiB; killed"
    if ended.stopped is StopReason.PROCESSES:
        return Outcome.CRASH, f"more than {MAX_PROCESSES} processes; killed"
    if ended.signal is not None:
        name = _signal_names.get(ended.signal, str(ended.signal))
        if ended.signal == signal.SIGABRT and _BAD_ALLOC in ended.output_tail:
            return Outcome.OOM, f"died by {name} after std::bad_alloc"
        return Outcome.CRASH, f"died by {name}"
    if "report" in ended.frames:
        return Outcome.CRASH, f"left with status {ended.exit_status} after a report that is none"
    return Outcome.CRASH, f"left with status {ended.exit_status} without reporting"


def new_run_id() -> str:
    """Return a name for a run: sortable by time, unique."""
    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"


def default_jobs(threads: int = 1) -> int:
    """Return the number of cells to run at once: one for each core, fewer where a cell has several threads.

    It is one without namespaces, where a cell can end the processes of another.

    Args:
        threads: of torch in each cell.
    """
    return max(1, len(os.sched_getaffinity(0)) // threads) if has_namespaces() else 1
