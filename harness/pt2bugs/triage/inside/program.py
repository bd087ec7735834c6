"""Run a whole program with its compiler redirected, inside a child of the engine: standard library and torch alone."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import unittest
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from pt2bugs.engine.call import tell
from pt2bugs.engine.check import import_file, seed
from pt2bugs.engine.messages import CallRequest, CheckReport
from pt2bugs.engine.observe import render
from pt2bugs.engine.program import kept_stdout, observe_program, run_as_main
from pt2bugs.triage.inside import kernels
from pt2bugs.triage.inside.redirect import NONE, Entries, HandledExceptions, install
from pt2bugs.triage.inside.redirect import __file__ as redirect_file

FUNCTION = "pt2bugs.triage.inside.program:run"
"""The function that a request of kind ``call`` names."""


class RedirectedRequest(CallRequest):
    """A file with its compiler redirected, see `redirect.install`.

    Attributes:
        stdout: Whether what it prints is reported.
        unit_test: Whether its tests are what runs.
        beside: A further folder whose modules it may import, or empty.
        kernels: Folder of the kernels that runs of this triage share.
    """

    path: str
    device: str
    threads: int
    timeout_s: float
    argv: Sequence[str]
    redirect: Mapping[str, Any]
    stdout: bool
    unit_test: bool
    beside: str
    kernels: str


class Counts(TypedDict):
    """Numbers that torch counted: see `_counts`."""

    graphs: int
    breaks: int
    recompiles: int
    applied: dict[str, int]


class RedirectedReport(CheckReport, Counts):
    """Record of what a program did and asked of the compiler (see `Entries`), and what torch counted."""

    entered: list[str]
    backends: list[str]
    refused: bool
    own_compilers: bool
    caught: list[dict[str, Any]]
    absent: list[str]
    disabled: str
    precision: list[str]
    difference: str
    handled: list[list[str]]
    lines: list[int]
    stdout: str


def run(request: RedirectedRequest) -> RedirectedReport:
    """Run a file as a program with its compiler redirected, and return what it did and asked of the compiler.

    Args:
        request: The file and the redirection.
    """
    path, redirect = request["path"], request["redirect"]
    entries = Entries(path, lambda kind: tell(f"entered-{kind}", True))
    seed(request["device"], request["threads"])
    install(redirect, entries)
    kernels.share(request["kernels"])
    handled = HandledExceptions(path) if redirect.get("backend") == NONE else None

    def body() -> None:
        if request["unit_test"]:
            _run_unit_tests(path)
            return
        with handled or contextlib.nullcontext():
            run_as_main(path, request["argv"], request["beside"])

    with kept_stdout(wanted=request["stdout"]) as printed:
        seen, failure = observe_program(path, request["timeout_s"], body)
    lines = _own_lines(failure, path)
    report: RedirectedReport = {
        "observation": seen.as_dict(),
        "text": render(failure, redirect_file) if failure is not None else "",
        "entered": entries.kinds,
        "backends": entries.backends,
        "refused": entries.refused,
        "own_compilers": entries.own_compilers,
        "caught": entries.caught,
        "absent": entries.absent,
        "disabled": entries.disabled,
        "precision": entries.precision,
        "difference": entries.difference,
        "handled": handled.seen if handled is not None else [],
        "lines": lines,
        "stdout": "".join(printed),
        **_counts(),
    }
    return report


def _run_unit_tests(path: str) -> None:
    """Run the tests of a file such that the exception of the first one that fails comes out as it is."""
    # Else PyTorch's own TestCase adds to every message how to run the test again.
    os.environ["PYTORCH_PRINT_REPRO_ON_FAILURE"] = "0"
    _provide_expecttest()
    module = import_file(path)
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__:
            for test in unittest.defaultTestLoader.getTestCaseNames(value):
                value(test).debug()


def _provide_expecttest() -> None:
    """Have `torch.testing._internal` importable where expecttest, which only its expected texts need, is not there."""
    try:
        import expecttest  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        from types import ModuleType

        stand_in: Any = ModuleType("expecttest")
        stand_in.TestCase, stand_in.ACCEPT = unittest.TestCase, False
        sys.modules["expecttest"] = stand_in


def _own_lines(failure: BaseException | None, path: str) -> list[int]:
    """Return the lines of the program that the exception went through, the outermost first."""
    if failure is None:
        return []
    return [line for frame, line in traceback.walk_tb(failure.__traceback__) if frame.f_code.co_filename == path]


def _counts() -> Counts:
    """Return Dynamo's numbers of graphs, breaks and repeated compilations, and what torch's bisector counted."""
    counters: Any = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    frames: Any = getattr(sys.modules.get("torch._dynamo.convert_frame"), "FRAME_COMPILE_COUNTER", None)
    applied: Any = getattr(sys.modules.get("torch._inductor.compiler_bisector"), "subsystem_call_counter", {})
    counts: Counts = {"graphs": 0, "breaks": 0, "recompiles": 0, "applied": dict(applied)}
    with contextlib.suppress(Exception):
        counts["graphs"] = int(counters["stats"]["unique_graphs"])
        counts["breaks"] = sum(counters["graph_break"].values())
    with contextlib.suppress(Exception):
        counts["recompiles"] = sum(max(0, times - 1) for times in frames.values())
    return counts
