"""Runs a whole program in a cell, as `python FILE` does, or one of its functions with the compiler switched off."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pt2bugs.case.observation import Observation
from pt2bugs.case.words import Outcome
from pt2bugs.engine.check import SoftTimeout, import_file, seed
from pt2bugs.engine.observe import observe_exception, render, type_name
from pt2bugs.engine.protocol import ReportPipe


def run_program(request: Mapping[str, Any], pipe: ReportPipe) -> None:
    """Run the file of the request, and report.

    The request has `path`, `timeout_s`, `threads` and `device`; `argv` for the program; with `check` and `arguments`
    only that function is called, after `torch.compile` was made to do nothing.
    """
    path: str = request["path"]
    seed(request["device"], request["threads"])
    own_backends: list[Any] = []
    timer = SoftTimeout(request["timeout_s"])
    failure: BaseException | None = None
    pipe.start()
    try:
        try:
            timer.start()
            if "check" in request:
                switch_compiler_off(own_backends)
                vars(import_file(path))[request["check"]](**request["arguments"])
            else:
                sys.argv = [path, *request.get("argv", ())]
                import_file(path, "__main__")
        finally:
            timer.stop()
    except BaseException as error:
        failure = error
    if failure is None or _left_well(failure):
        seen, failure = Observation(Outcome.PASS), None
    elif own_backends:
        seen = Observation(Outcome.SKIP, message="a backend of its own looks at the graph")
    else:
        seen = observe_exception(failure, path)
    pipe.send("report", {"observation": seen.as_dict(), "text": render(failure) if failure is not None else ""})


def _left_well(error: BaseException) -> bool:
    return type_name(type(error)) == "SystemExit" and getattr(error, "code", 1) in (None, 0)


def switch_compiler_off(own_backends: list[Any]) -> None:
    """Make `torch.compile` do nothing; the backends that are functions of the case itself go to `own_backends`."""
    import torch

    def identity(model: Any = None, *, backend: Any = "", **_: Any) -> Any:
        if callable(backend):
            own_backends.append(backend)
        return model if model is not None else identity

    torch.compile = identity
    torch.nn.Module.compile = lambda self, *args, **kwargs: None
