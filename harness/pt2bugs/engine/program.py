"""A whole program in a cell: run as `python FILE` does, and seen as an `Observation`.

Every room that runs programs does so by these functions. A request of kind ``call`` names the function of that room,
or `run` here for a program, or a check, without the compiler.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.check import SoftTimeout, import_file, remember_originals, seed
from pt2bugs.engine.counts import COUNTS
from pt2bugs.engine.messages import CallRequest, CheckReport
from pt2bugs.engine.observe import observe_exception, render, type_name

FUNCTION = "pt2bugs.engine.program:run"
"""The function that a request of kind ``call`` names."""
STDOUT_LIMIT = 100_000
"""Characters of the standard output that are kept."""


class ProgramRequest(CallRequest):
    """A program as it is; or, where `check` names one, that check of the file after the compiler was switched off."""

    path: str
    device: str
    threads: int
    timeout_s: float
    check: str
    arguments: Mapping[str, str]


def run(request: ProgramRequest) -> CheckReport:
    """Run what the request names, and return how it ended.

    Args:
        request: names the file, and the check if one is meant.
    """
    path = request["path"]
    seed(request["device"], request["threads"])
    own_backends: list[Any] = []

    def body() -> None:
        if request["check"]:
            switch_compiler_off(own_backends)
            vars(import_file(path))[request["check"]](**request["arguments"])
        else:
            run_as_main(path, ())

    seen, failure = observe_program(path, request["timeout_s"], body)
    if failure is not None and own_backends:
        seen = Observation(Outcome.SKIP, message="a backend of its own looks at the graph")
    return CheckReport(observation=seen.as_dict(), text=render(failure) if failure is not None else "")


def observe_program(
    path: str, timeout_s: float, body: Callable[[], object]
) -> tuple[Observation, BaseException | None]:
    """Run a program, set back what it patched of the standard library, and return how it ended.

    Args:
        path: of its file.
        timeout_s: after which it is interrupted.
        body: runs it.

    Returns:
        What was seen, and the exception with which it failed, if it did; its traceback begins in the program.
    """
    originals, timer = remember_originals(), SoftTimeout(timeout_s)
    failure: BaseException | None = None
    try:
        try:
            timer.start()
            body()
        finally:
            timer.stop()
    except BaseException as error:
        failure = error
    originals.restore()
    if failure is None or _left_well(failure):
        return Observation(Outcome.PASS), None
    seen = observe_exception(failure, path)
    if seen.outcome is Outcome.TIMEOUT:
        seen.error_type, seen.message = "", f"still running after its timeout of {timeout_s:g} s"
    return seen, _from_the_program_on(failure, path)


def observe_counted(
    path: str, timeout_s: float, body: Callable[[], object]
) -> tuple[Observation, BaseException | None]:
    """Run a program as `observe_program` does, and note in the observation what the compiler did.

    Args:
        path: of its file.
        timeout_s: after which it is interrupted.
        body: runs it.
    """
    COUNTS.watch()
    before = COUNTS.now()
    seen, failure = observe_program(path, timeout_s, body)
    with contextlib.suppress(RuntimeError):
        seen.graphs, seen.breaks, seen.kernels, seen.fallbacks = COUNTS.now().since(before)
    return seen, failure


def _left_well(error: BaseException) -> bool:
    """Return whether an exception ends a program without a failure."""
    return type_name(type(error)) == "SystemExit" and getattr(error, "code", 1) in (None, 0)


def _from_the_program_on(failure: BaseException, path: str) -> BaseException:
    """Return the exception with a traceback that begins in the program, as a reader of it knows it."""
    tb = failure.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename != path:
        tb = tb.tb_next
    return failure.with_traceback(tb) if tb is not None else failure


def run_as_main(path: str, argv: Sequence[str], beside: str = "") -> None:
    """Run a file as `python FILE` does.

    Args:
        path: The file.
        argv: Its arguments.
        beside: A further folder whose modules it may import; empty for none.
    """
    sys.argv = [path, *argv]
    sys.path[:0] = [os.path.dirname(path), *([beside] if beside else [])]  # noqa: PTH120
    import_file(path, "__main__")


@contextlib.contextmanager
def kept_stdout(*, wanted: bool = True) -> Iterator[list[str]]:
    """Keep what is printed on standard output, by Python or by C, apart from the rest; bounded.

    Args:
        wanted: Whether it is kept at all.
    """
    printed: list[str] = []
    if not wanted:
        yield printed
        return
    name = "stdout.txt"
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    before = os.dup(1)
    os.dup2(file, 1)
    try:
        yield printed
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            ctypes.CDLL(None).fflush(None)
        os.dup2(before, 1)
        os.lseek(file, 0, os.SEEK_SET)
        printed.append(os.read(file, STDOUT_LIMIT).decode("utf-8", "backslashreplace"))
        os.close(file)


def switch_compiler_off(own_backends: list[Any]) -> None:
    """Make `torch.compile` do nothing; the backends that are functions of the case itself go to `own_backends`.

    Args:
        own_backends: takes the functions.
    """
    import torch

    def identity(model: Any = None, *, backend: Any = "", **_: Any) -> Any:
        if callable(backend):
            own_backends.append(backend)
        return model if model is not None else identity

    torch.compile = identity
    torch.nn.Module.compile = lambda self, *args, **kwargs: None
