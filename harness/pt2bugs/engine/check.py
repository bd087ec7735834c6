"""The body of a cell: one check, run in this process, seen as an `Observation`."""

from __future__ import annotations

import builtins
import faulthandler
import gc
import json
import json.encoder
import linecache
import os
import random
import re
import resource
import signal
import sys
import time
import tokenize
import traceback
import types
from collections.abc import Callable, Mapping
from types import CodeType, ModuleType
from typing import Any

from pt2bugs.case.observation import NOT_IMPORTED, Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.backend import enter
from pt2bugs.engine.counts import COUNTS, Counts
from pt2bugs.engine.messages import CheckInCell, CheckReport
from pt2bugs.engine.observe import CheckTimeout, observe_exception, render, timeout_in, type_name
from pt2bugs.engine.protocol import GRACE_S, ReportPipe

SEED = 0
_type, _PASS = type, Outcome.PASS
_clock, _setitimer, _REAL = time.perf_counter, signal.setitimer, signal.ITIMER_REAL
_dump, _dump_later = faulthandler.dump_traceback, faulthandler.dump_traceback_later
NOTHING_COMPILED = (
    "nothing was compiled: the check passed, but Dynamo captured no graph; "
    "make it compile (before a call that must be refused, one that is not), or say `compiles = false` in its header"
)


class Originals:
    """Modules and functions that a report needs, as they were before the check could patch them."""

    MODULES = (builtins, json, json.encoder, os, re, time, linecache, tokenize, traceback, types)

    def __init__(self) -> None:
        self._saved = [(vars(module).update, dict(vars(module))) for module in self.MODULES]
        self._tracing = ((sys.gettrace, sys.settrace), (sys.getprofile, sys.setprofile))
        self._set_recursion_limit, self._recursion_limit = sys.setrecursionlimit, sys.getrecursionlimit()
        self._getrlimit, self._setrlimit = resource.getrlimit, resource.setrlimit

    def stop_tracing(self) -> None:
        """Stop what a check has left to look on."""
        # Only where one is set: to set it calls audit hooks, and one that the check has left may raise.
        for find, replace in self._tracing:
            if find() is not None:
                replace(None)

    def restore(self) -> None:
        """Set back what a report needs, and stop what looks on."""
        self.stop_tracing()
        self._set_recursion_limit(self._recursion_limit)
        self._lift_memory_limit()
        for update, names in self._saved:
            update(names)

    def _lift_memory_limit(self) -> None:
        """Lift a limit of the check: without address space it could not report, and a report may be long."""
        try:
            soft, hard = self._getrlimit(resource.RLIMIT_AS)
            # Only where it was lowered: an audit hook that the check has left hears of every setting.
            if soft != hard:
                self._setrlimit(resource.RLIMIT_AS, (hard, hard))
        except BaseException:
            return


_originals: Originals | None = None


def remember_originals() -> Originals:
    """Take down how things are, after torch has been imported and before any check runs."""
    global _originals
    _originals = Originals()
    return _originals


def run_check(request: CheckInCell, pipe: ReportPipe) -> None:
    """Run the check that the request names, and report.

    Args:
        request: names file, check and arguments.
        pipe: takes the report.
    """
    seen, error = observe_check(request, pipe.start)
    text = render(error) if error is not None else ""
    pipe.send("report", CheckReport(observation=seen.as_dict(), text=text))


def observe_check(request: CheckInCell, begin: Callable[[], None]) -> tuple[Observation, BaseException | None]:
    """Import the case file and call the check; torch must be importable.

    Args:
        request: names file, check and arguments.
        begin: called when the check starts; deadlines count from there.

    Returns:
        What was seen, and the exception that left the check, if any.
    """
    path, timeout_s = request["path"], request["timeout_s"]
    try:
        enter(request)
    except BaseException as error:
        seen = observe_exception(error, path)
        seen.outcome, seen.message = Outcome.ERROR, f"the backend cannot be set up: {seen.message}"
        return seen, error
    seed(request["device"], request["threads"])
    try:
        check = vars(import_file(path, code=request.get("code")))[request["check"]]
    except BaseException as error:
        seen = observe_exception(error, path)
        seen.outcome, seen.message = Outcome.ERROR, f"{NOT_IMPORTED}: {seen.message}"
        return seen, error
    COUNTS.watch()
    before = COUNTS.now()
    originals = _originals or remember_originals()
    timer = SoftTimeout(timeout_s)
    begin()
    started = _clock()
    result, failure = _call(check, request["arguments"], timer)
    duration_s = _clock() - started
    originals.restore()
    try:
        counts, problem = COUNTS.now().since(before), ""
    except Exception as error:
        counts, problem = Counts(0), str(error)
    is_late = duration_s >= timeout_s
    compiled = counts.graphs > 0 or not request["compiles"]
    if failure is None and not problem and result is None and not is_late and compiled:
        return Observation(_PASS, duration_s=duration_s, **counts._asdict()), None
    if problem:
        return Observation(Outcome.ERROR, message=problem, duration_s=duration_s), failure
    if failure is not None:
        seen = observe_exception((is_late and timeout_in(failure)) or failure, path)
    else:
        seen = Observation(Outcome.ERROR, message=NOTHING_COMPILED)
        if result is not None:
            # A verdict that is returned, a generator or a task that never ran: none of them says that all is well.
            kind = type_name(_type(result))
            seen.message = f"the check returned a {kind}; a check says by an exception that its bug is there"
    seen.duration_s = duration_s
    seen.graphs, seen.breaks, seen.kernels, seen.fallbacks = counts
    if seen.outcome is Outcome.TIMEOUT:
        seen.error_type, seen.message = "", f"still running after its timeout of {timeout_s:g} s"
    elif is_late:
        # A check that swallows the timer's exception has been too slow all the same.
        seen.outcome, seen.message = Outcome.TIMEOUT, f"ended after its timeout of {timeout_s:g} s"
    return seen, failure


def _call(
    check: Callable[..., Any],
    arguments: Mapping[str, Any],
    timer: SoftTimeout,
    gettrace: Callable[[], Any] = sys.gettrace,
    settrace: Callable[[None], None] = sys.settrace,
    anything: type[BaseException] = BaseException,
) -> tuple[Any, BaseException | None]:
    """Return the result of the check and the exception that left it. The alarm may come until the stop."""
    try:
        try:
            timer.start()
            return check(**arguments), None
        finally:
            # A trace function of the check would be called for the next function, and may raise there.
            if gettrace() is not None:
                settrace(None)
            timer.stop()
    except anything as caught:
        return None, caught


def seed(device: str, threads: int) -> None:
    """Fix what results may depend on: seeds, and the threads of torch.

    Args:
        device: whose generators are seeded, beside those of the CPU.
        threads: that torch may use.
    """
    import torch

    # The zygote has set it, but a fork leaves torch without its pool of threads. Who asks for that first makes a new
    # one; if that is left to the threads of autograd, several may do it at once, and abort the process.
    torch.set_num_threads(threads)
    if device == "cpu":
        # `torch.manual_seed` also queues seeds for accelerators, each with a formatted stack: 14 ms of every cell.
        torch.default_generator.manual_seed(SEED)
    else:
        torch.manual_seed(SEED)
    random.seed(SEED)


def compile_file(path: str) -> CodeType:
    """Return the code of a file, with assertions, whatever PYTHONOPTIMIZE says.

    Args:
        path: of the file.

    Raises:
        Exception: it cannot be read or compiled.
    """
    with open(path, "rb") as file:  # noqa: PTH123
        return compile(file.read(), path, "exec", dont_inherit=True, optimize=0)


def import_file(path: str, name: str | None = None, code: CodeType | None = None) -> ModuleType:
    """Return the file as a module of its own name; like a script it has no import spec.

    Args:
        path: of the file.
        name: of the module; by default made of that of the file.
        code: of the file, if it was compiled before.
    """
    name = name or f"pt2bugs_case_{path.rpartition('/')[2].removesuffix('.py')}"
    module = ModuleType(name)
    module.__file__ = path
    # Dataclasses, pickling and Dynamo look modules up by name.
    sys.modules[name] = module
    exec(code or compile_file(path), module.__dict__)
    return module


class SoftTimeout:
    """Raises `CheckTimeout` in the main thread when the time is over, after the stacks were printed.

    `catch_alarms` must have been called in this process, or in one that it was forked from.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._deadline = 0.0
        self._is_running = False

    def start(self) -> None:
        global _timeout
        _timeout = self
        self._is_running = True
        self._deadline = _clock() + self._timeout_s
        # It dumps the stacks even while C code holds the interpreter lock, or where signals are ignored.
        _dump_later(self._timeout_s + GRACE_S / 2)
        _setitimer(_REAL, self._timeout_s)

    def stop(self) -> None:
        self._is_running = False
        _setitimer(_REAL, 0)

    def expire(self) -> bool:
        """Take an alarm; False if it is not this timer's.

        Raises:
            CheckTimeout: the time is over.
        """
        if not self._is_running:
            return True
        if _clock() < self._deadline - 0.01:
            return False
        _dump(file=2, all_threads=True)
        raise CheckTimeout


_timeout: SoftTimeout | None = None


def catch_alarms() -> None:
    """Have alarms end in the running `SoftTimeout`; it is done before the fork, as it costs a cell more than the rest.

    An alarm that the check sends itself is not ours: it does what an alarm does, and ends the process.
    """

    def expire(*_: object) -> None:
        if _timeout is None or not _timeout.expire():
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGALRM)

    signal.signal(signal.SIGALRM, expire)


def freeze() -> None:
    """Take what is there now out of the garbage collector's sight.

    In a child it would otherwise write to every object of every module, and so have each page copied: more
    than half of the time of a first compile. What a check makes is collected as ever.
    """
    gc.collect()
    gc.freeze()
