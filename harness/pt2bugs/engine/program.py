"""Runs a whole program in a cell, as `python FILE` does, or one of its functions with the compiler switched off."""

from __future__ import annotations

import os
import sys
from typing import Any

from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.check import SoftTimeout, import_file, seed
from pt2bugs.engine.messages import CheckReport, ProgramRequest
from pt2bugs.engine.observe import observe_exception, render, type_name
from pt2bugs.engine.protocol import ReportPipe


def run_program(request: ProgramRequest, pipe: ReportPipe) -> None:
    """Run the file of the request, or its check after `torch.compile` was made to do nothing, and report.

    Args:
        request: names the file, and the check if one is meant.
        pipe: takes the report.
    """
    path = request["path"]
    seed(request["device"], request["threads"])
    own_backends: list[Any] = []
    timer = SoftTimeout(request["timeout_s"])
    failure: BaseException | None = None
    pipe.start()
    try:
        try:
            timer.start()
            if request["check"]:
                switch_compiler_off(own_backends)
                vars(import_file(path))[request["check"]](**request["arguments"])
            else:
                run_as_main(path, ())
        finally:
            timer.stop()
    except BaseException as error:
        failure = error
    if failure is None or left_well(failure):
        seen, failure = Observation(Outcome.PASS), None
    elif own_backends:
        seen = Observation(Outcome.SKIP, message="a backend of its own looks at the graph")
    else:
        seen = observe_exception(failure, path)
    text = render(failure) if failure is not None else ""
    pipe.send("report", CheckReport(observation=seen.as_dict(), text=text))


def run_as_main(path: str, argv: Any, beside: str = "") -> None:
    """Run a file as `python FILE` does.

    Args:
        path: The file.
        argv: Its arguments.
        beside: A further folder whose modules it may import; empty for none.
    """
    sys.argv = [path, *argv]
    sys.path[:0] = [os.path.dirname(path), *([beside] if beside else [])]  # noqa: PTH120
    import_file(path, "__main__")


def left_well(error: BaseException) -> bool:
    """Return whether an exception ends a program without a failure.

    Args:
        error: that left the program.
    """
    return type_name(type(error)) == "SystemExit" and getattr(error, "code", 1) in (None, 0)


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
