"""The body of a cell: one check, run in this process, seen as an `Observation`."""

from __future__ import annotations

import errno
import random
import re
import sys
import time
import traceback
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import pytest

from harness.outcome import MESSAGE_LIMIT, Observation, Outcome, bounded
from harness.plan import Cell

SEED = 0
NOTHING_COMPILED = (
    "nothing was compiled: the check passed, but Dynamo captured no graph; "
    "make it compile, or say `compiles = false` in its header"
)

_NO_SPACE = "No space left on device"
_NO_MEMORY = re.compile(r"DefaultCPUAllocator: (can't allocate|not enough) memory|bad_alloc|out of memory", re.I)


def run_cell(cell: Cell, threads: int, begin: Callable[[], None]) -> tuple[Observation, BaseException | None]:
    """Import the case file and call the check; torch must be importable.

    Args:
        threads: intra-op threads of torch, fixed because results can depend on it.
        begin: called when the check starts; deadlines count from there.

    Returns:
        What was seen, and the exception that left the check, if any.
    """
    import torch

    entered = time.perf_counter()
    torch.set_num_threads(threads)
    if cell.device == "cpu":
        # `torch.manual_seed` also queues seeds for accelerators, each with a formatted stack: 14 ms of every cell.
        torch.default_generator.manual_seed(SEED)
    else:
        torch.manual_seed(SEED)
    random.seed(SEED)
    path = cell.case.path
    try:
        module = _import_file(path)
        check = getattr(module, cell.check.name)
    except BaseException as error:
        seen = observe_exception(error, path)
        seen.outcome, seen.message = Outcome.ERROR, f"the case file cannot be imported: {seen.message}"
        return seen, error
    arguments = {
        name: value
        for name, value in (("device", cell.device), ("backend", cell.backend))
        if name in cell.check.parameters
    }
    before = _captured_graphs()
    begin()
    started = time.perf_counter()
    failure: BaseException | None = None
    try:
        check(**arguments)
        seen = Observation(Outcome.PASS)
    except BaseException as caught:
        failure = caught
        seen = observe_exception(caught, path)
    seen.duration_s = time.perf_counter() - started
    seen.graphs = _captured_graphs() - before
    if seen.outcome is not Outcome.TIMEOUT and time.perf_counter() - entered > 0.98 * cell.case.timeout:
        # A check that swallows the timer's exception has been too slow all the same. The timer runs from
        # a moment before we were entered.
        seen.outcome, seen.message = Outcome.TIMEOUT, f"ended after its timeout of {cell.case.timeout:g} s"
    if seen.outcome is Outcome.PASS and cell.case.compiles and seen.graphs == 0:
        seen.outcome, seen.message = Outcome.ERROR, NOTHING_COMPILED
    return seen, failure


def _import_file(path: Path) -> ModuleType:
    """The case file as a module of its own name; like a script it has no import spec."""
    name = f"pt2bugs_case_{path.stem}"
    module = ModuleType(name)
    module.__file__ = str(path)
    # Dataclasses, pickling and Dynamo look modules up by name.
    sys.modules[name] = module
    exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), module.__dict__)
    return module


def _captured_graphs() -> int:
    """Graphs Dynamo has captured in this process."""
    dynamo: Any = sys.modules.get("torch._dynamo.utils")
    return int(dynamo.counters["stats"]["unique_graphs"]) if dynamo else 0


def observe_exception(error: BaseException, path: Path) -> Observation:
    """The outcome and identity of an exception that left a check of the file `path`."""
    frames = _frames(error.__traceback__)
    message = bounded(_text(error), MESSAGE_LIMIT)
    seen = Observation(_classify(error, message, frames, path), type_name(type(error)), message)
    for filename, line, function in reversed(frames):
        if inside := _inside_torch(filename):
            seen.frame = f"{inside}:{line} {function}"
            break
    return seen


def _classify(error: BaseException, message: str, frames: list[tuple[str, int, str]], path: Path) -> Outcome:
    if isinstance(error, (unittest.SkipTest, pytest.skip.Exception)):
        return Outcome.SKIP
    if isinstance(error, pytest.fail.Exception) and message.startswith("Timeout"):
        return Outcome.TIMEOUT
    if _NO_SPACE in message or any(
        isinstance(one, OSError) and one.errno in (errno.ENOSPC, errno.EDQUOT) for one in _chain(error)
    ):
        return Outcome.ERROR
    if (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, RuntimeError) and _NO_MEMORY.search(message))
    ):
        return Outcome.OOM
    if isinstance(error, AssertionError):
        # The oracle's own assertion, or one inside torch: what stands below the last frame of the file?
        ours = [index for index, (filename, _, _) in enumerate(frames) if filename == str(path)]
        below = frames[ours[-1] + 1 :] if ours else frames
        if ours and not any(_inside_torch(filename) for filename, _, _ in below):
            return Outcome.WRONG
    return Outcome.RAISE


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it came from."""
    met: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in met:
        met.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def _frames(tb: TracebackType | None) -> list[tuple[str, int, str]]:
    found = []
    for frame, line in traceback.walk_tb(tb):
        found.append((frame.f_code.co_filename, line, frame.f_code.co_name))
    return found


def _inside_torch(filename: str) -> str:
    """The part of a torch file's path from ``torch/`` on; empty for other files and for torch.testing."""
    _, found, rest = filename.replace("\\", "/").rpartition("/torch/")
    return f"torch/{rest}" if found and not rest.startswith("testing/") else ""


def type_name(cls: type[BaseException]) -> str:
    """Dotted name; built-in types bare."""
    module = cls.__module__
    name = cls.__qualname__
    return name if module == "builtins" else f"{module}.{name}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as second:
        return f"<str() of the exception raised {type_name(type(second))}>"


def render(error: BaseException) -> str:
    """The traceback as text, bounded, also for exceptions that cannot be printed."""
    try:
        lines = traceback.TracebackException.from_exception(error, limit=-30, compact=True).format()
        text = "".join(bounded(line, MESSAGE_LIMIT) for line in lines)
    except BaseException:
        text = f"{type_name(type(error))}: {_text(error)}"
    return bounded(text, 4 * MESSAGE_LIMIT)
