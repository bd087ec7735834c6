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
from collections import Counter
from collections.abc import Callable, Mapping
from types import CodeType, ModuleType
from typing import Any

from pt2bugs.case.observation import Observation
from pt2bugs.case.words import Outcome
from pt2bugs.engine.backend import enter
from pt2bugs.engine.messages import CheckInCell, CheckReport
from pt2bugs.engine.observe import CheckTimeout, observe_exception, render, timeout_in
from pt2bugs.engine.protocol import GRACE_S, ReportPipe

SEED = 0
_type, _PASS = type, Outcome.PASS
_clock, _setitimer, _REAL = time.perf_counter, signal.setitimer, signal.ITIMER_REAL
_dump, _dump_later = faulthandler.dump_traceback, faulthandler.dump_traceback_later
NOTHING_COMPILED = (
    "nothing was compiled: the check passed, but Dynamo captured no graph; "
    "make it compile (before a call that must be refused, one that is not), or say `compiles = false` in its header"
)
_NEVER_RUNS = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


_NUMBERS = {"duration_s": "%(duration_s)r", "graphs": "%(graphs)d"}
PASSED = json.dumps({"observation": {**Observation(Outcome.PASS).as_dict(), **_NUMBERS}, "text": ""})
for _number in _NUMBERS.values():
    PASSED = PASSED.replace(f'"{_number}"', _number)
"""The report of a pass, but for its seconds and the number of graphs."""


class GraphCount:
    """Counts the graphs that Dynamo captures where a check cannot reset them.

    Dynamo adds to ``counters["stats"]["unique_graphs"]``. The counters are made to use a `Counter` that notes every
    addition; clearing them takes nothing back.
    """

    def __init__(self) -> None:
        self.total = 0
        self._counters: Any = None

    def watch(self) -> None:
        """Count from now on, if Dynamo has been imported."""
        utils: Any = sys.modules.get("torch._dynamo.utils")
        counters = getattr(utils, "counters", None)
        if counters is None or counters is self._counters:
            return
        count = self

        class Stats(Counter[str]):
            def __setitem__(self, key: str, value: int) -> None:
                if key == "unique_graphs":
                    count.total += max(0, value - self.get(key, 0))
                super().__setitem__(key, value)

        counters.default_factory = Stats
        if "stats" in counters:
            counters["stats"] = Stats(counters["stats"])
        self._counters = counters

    def captured(self, getattr: Callable[..., Any] = getattr) -> int:
        """Graphs captured in this process. It uses nothing of builtins that a check can have replaced.

        Raises:
            RuntimeError: the counters were replaced.
        """
        utils: Any = sys.modules.get("torch._dynamo.utils")
        if utils is None:
            return self.total
        if self._counters is None:  # imported by the check
            return int(utils.counters["stats"]["unique_graphs"])
        if getattr(utils, "counters", None) is not self._counters:
            raise RuntimeError("the check replaced Dynamo's counters: graphs cannot be counted")
        return self.total


GRAPHS = GraphCount()


class Originals:
    """What the report of a cell needs, as it was before the check could patch it.

    Setting back touches every object, and so has its page copied in every cell. The report of a pass needs none of
    them, so after a pass only what looks on is stopped.
    """

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
        """Set back what a report needs."""
        self._set_recursion_limit(self._recursion_limit)
        self._lift_memory_limit()
        for update, names in self._saved:
            update(names)

    def _lift_memory_limit(self) -> None:
        """A check that left itself no address space has none for its report, which may be long."""
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
    """Run the check that the request names, and report."""
    seen, error = observe_check(request, pipe.start)
    if seen.outcome is _PASS and error is None:
        # Its text is known but for two numbers: to encode an object costs a cell more than all else after the check.
        pipe.send_text("report", PASSED % {"duration_s": seen.duration_s, "graphs": seen.graphs})
        return
    text = render(error) if error is not None else ""
    pipe.send("report", CheckReport(observation=seen.as_dict(), text=text))


def observe_check(request: CheckInCell, begin: Callable[[], None]) -> tuple[Observation, BaseException | None]:
    """Import the case file and call the check; torch must be importable.

    Args:
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
        seen.outcome, seen.message = Outcome.ERROR, f"the case file cannot be imported: {seen.message}"
        return seen, error
    GRAPHS.watch()
    before = GRAPHS.captured()
    originals = _originals or remember_originals()
    timer = SoftTimeout(timeout_s)
    begin()
    started = _clock()
    result, failure = _call(check, request["arguments"], timer)
    duration_s = _clock() - started
    originals.stop_tracing()
    try:
        graphs, problem = GRAPHS.captured() - before, ""
    except Exception as error:
        graphs, problem = 0, str(error)
    never_ran = result is not None and _type(result) in _NEVER_RUNS
    is_late = duration_s >= timeout_s
    compiled = graphs > 0 or not request["compiles"]
    if failure is None and not problem and not never_ran and not is_late and compiled:
        return Observation(_PASS, duration_s=duration_s, graphs=graphs), None
    originals.restore()
    if problem:
        return Observation(Outcome.ERROR, message=problem, duration_s=duration_s), failure
    if failure is not None:
        seen = observe_exception((is_late and timeout_in(failure)) or failure, path)
    else:
        seen = Observation(Outcome.ERROR, message=NOTHING_COMPILED)
        if never_ran:
            seen.message = f"the check returned a {type(result).__name__}, which never ran; write a plain function"
    seen.duration_s, seen.graphs = duration_s, graphs
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
    """What the check returned, and the exception that left it. The alarm may come at any moment up to the stop."""
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
    """Fix what results may depend on: seeds, and the threads of torch."""
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
    """The code of a file, with assertions, whatever PYTHONOPTIMIZE says.

    Raises:
        Exception: it cannot be read or compiled.
    """
    with open(path, "rb") as file:  # noqa: PTH123
        return compile(file.read(), path, "exec", dont_inherit=True, optimize=0)


def import_file(path: str, name: str | None = None, code: CodeType | None = None) -> ModuleType:
    """The file as a module of its own name; like a script it has no import spec."""
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
