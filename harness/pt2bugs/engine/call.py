"""The body of a cell that calls a function of another room: how rooms above run code of their own in a child."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from pt2bugs.engine.check import remember_originals
from pt2bugs.engine.messages import CallRequest, CheckReport
from pt2bugs.engine.observe import observe_exception, render
from pt2bugs.engine.protocol import ReportPipe

_pipe: ReportPipe | None = None


def run_call(request: CallRequest, pipe: ReportPipe) -> None:
    """Import the module of ``"MODULE:FUNCTION"``, call the function with the request, and report what it returns.

    The child is that of any other cell: forked from the zygote with torch imported (or a fresh interpreter, where the
    request says ``"isolation": "spawn"``), with the same folder, limits and deadline, which counts from the call. The
    `env` of the request is set before the module is imported; only a fresh interpreter has it before torch is. Seeds,
    torch's number of threads and a soft timeout are the function's own matter: see `check.seed`, `check.SoftTimeout`.

    The module must need the standard library alone, and importing it must not import torch: it travels into every
    environment. An exception that leaves it, or its import, is reported as that of a check is: an observation and
    the traceback as text.

    Args:
        request: has `kind`, `function`, and whatever the function reads from it.
        pipe: takes the report.
    """
    global _pipe
    _pipe = pipe
    originals = remember_originals()
    os.environ.update(request.get("env", {}))
    pipe.start()
    try:
        report = _function_of(request["function"])(request)
        originals.restore()
        pipe.send("report", report)
    except BaseException as error:
        originals.restore()
        # Without a case file no assertion is a check's own oracle.
        seen = observe_exception(error, path="")
        pipe.send("report", CheckReport(observation=seen.as_dict(), text=render(error)))


def tell(kind: str, value: Any) -> None:
    """Report something at once, so that it is known even if the child then crashes.

    It arrives in `ChildExit.frames` under `kind`; a later one of the same kind replaces it. Does nothing outside a
    child that was started by `run_call`.

    Args:
        kind: a word without spaces, but not ``report``, ``started`` or ``setup``.
        value: what JSON can hold.
    """
    if _pipe is not None:
        _pipe.send(kind, value)


def _function_of(name: str) -> Callable[[CallRequest], Any]:
    """Return the function that ``MODULE:FUNCTION`` names.

    Raises:
        ImportError: there is no such module.
        AttributeError: it has no such function.
    """
    module, _, function = name.partition(":")
    loaded: Callable[[CallRequest], Any] = getattr(import_module(module), function)
    return loaded
