"""Run a whole program and write down everything that the compiler made of it, inside a child of the engine.

The record is a file of JSON lines, written as things happen, so that a crash leaves what came before it. Texts come
from torch's structured trace, which every release since 2.3 writes for its own tools.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from pt2bugs.engine.check import seed
from pt2bugs.engine.messages import CallRequest, CheckReport
from pt2bugs.engine.observe import in_one_line, render
from pt2bugs.engine.program import kept_stdout, observe_counted, run_as_main
from pt2bugs.isolate.inside import FileSwap, swapped, traced
from pt2bugs.triage.inside import kernels
from pt2bugs.triage.inside.redirect import Entries, install
from pt2bugs.upgrade.inside.comparison import Comparison
from pt2bugs.upgrade.inside.graphs import Capture, described

FUNCTION = "pt2bugs.upgrade.inside.recording:run"
"""The function that a request of kind ``call`` names."""
ARTIFACTS = {
    "dynamo_output_graph": "graphs",
    "aot_inference_graph": "AOT graphs",
    "aot_joint_graph": "AOT graphs",
    "aot_forward_graph": "AOT graphs",
    "aot_backward_graph": "AOT graphs",
    "inductor_output_code": "generated code",
    "dynamo_cpp_guards_str": "guards",
}
"""Entries of the structured trace that are kept, and the word for each."""
_METRICS = ("guard_count", "entire_frame_compile_time_s", "fail_type", "fail_reason")


class RecordedRequest(CallRequest):
    """A program and how it is run.

    Attributes:
        record: The file that takes the record.
        trace: A file that takes a line for each code object of torch that is executed, or empty.
        swap: Functions to swap in memory.
        swap_back: Whether they are taken back before the program runs.
        compare: Whether calls of compiled graphs are compared with eager.
        capture: Whether graphs are written down such that they can be replayed.
        kernels: Folder of the compiled kernels that runs share, or empty.
        redirect: See `triage.inside.redirect.install`.
    """

    path: str
    device: str
    threads: int
    timeout_s: float
    argv: Sequence[str]
    record: str
    trace: str
    swap: list[FileSwap]
    swap_back: bool
    compare: bool
    capture: bool
    kernels: str
    redirect: dict[str, Any]


class RecordedReport(CheckReport):
    """The report of a run; `unswapped` is the file and line of functions that could not be swapped."""

    stdout: str
    lines: list[int]
    unswapped: list[tuple[str, int]]


class Record:
    """The file of JSON lines."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._write, self._encode = os.write, json.JSONEncoder(default=str).encode

    def add(self, kind: str, **values: Any) -> None:
        """Add an entry.

        Args:
            kind: its kind.
            values: of plain types.
        """
        data = f"{self._encode({'kind': kind, **values})}\n".encode("utf-8", "replace")
        while data:
            data = data[self._write(self._fd, data) :]


def run(request: RecordedRequest) -> RecordedReport:
    """Run a file as a program, and return how it ended; what was compiled goes to the record.

    Args:
        request: The file, and how it is run.
    """
    import torch

    path, folder = request["path"], f"{os.path.dirname(torch.__file__)}/"  # noqa: PTH120
    seed(request["device"], request["threads"])
    record = Record(request["record"])
    with contextlib.ExitStack() as stack:
        unswapped: list[tuple[str, int]] = []
        if request["swap"]:
            inner = stack.enter_context(contextlib.ExitStack())
            unswapped = inner.enter_context(swapped(request["swap"], folder))
            if request["swap_back"]:
                inner.close()
        if request["kernels"]:
            kernels.share(request["kernels"])
        if request["redirect"]:
            install(request["redirect"], Entries(path, lambda _: None))
        watch(
            record,
            path,
            comparison=Comparison(record.add) if request["compare"] else None,
            capture=Capture(record.add) if request["capture"] else None,
        )
        return _run(request, record, folder, unswapped)


def _run(request: RecordedRequest, record: Record, folder: str, unswapped: list[tuple[str, int]]) -> RecordedReport:
    path = request["path"]
    tracing = traced(request["trace"], folder) if request["trace"] else contextlib.nullcontext()

    def body() -> None:
        with tracing:
            run_as_main(path, request["argv"])

    with kept_stdout() as printed:
        seen, failure = observe_counted(path, request["timeout_s"], body)
    record.add("breaks", breaks=_breaks())
    with contextlib.suppress(Exception):
        import torch

        if torch.cuda.is_initialized():
            record.add("device memory", mb=torch.cuda.max_memory_allocated() / 2**20)
    walked = traceback.walk_tb(failure.__traceback__) if failure is not None else ()
    return {
        "observation": seen.as_dict(),
        "text": render(failure, __file__) if failure is not None else "",
        "stdout": "".join(printed),
        "lines": [line for frame, line in walked if frame.f_code.co_filename == path],
        "unswapped": unswapped,
    }


def _breaks() -> list[list[Any]]:
    """Return the reason of each graph break, and file and line of the program's innermost frame."""
    graph: Any = sys.modules.get("torch._dynamo.output_graph")
    breaks = []
    for reason in getattr(graph, "graph_break_reasons", ()):
        stack = list(getattr(reason, "user_stack", None) or ())
        file, line = (stack[-1].filename, stack[-1].lineno) if stack else ("", 0)
        breaks.append([str(reason.reason).partition("\n")[0][:300], file, line])
    return breaks


# --- what the compiler makes ----------------------------------------------------------------------------


def watch(record: Record, path: str, comparison: Comparison | None, capture: Capture | None) -> None:
    """Have everything that is compiled from now on written down.

    Args:
        record: takes it.
        path: of the program, whose lines are told.
        comparison: compares calls of compiled graphs; None: they are left alone.
        capture: writes graphs down; None: they are not.
    """
    with contextlib.suppress(Exception):
        trace_log = importlib.import_module("torch._logging._internal").trace_log
        trace_log.addHandler(_TraceHandler(record))
    if comparison is None and capture is None:
        return
    try:
        owner = importlib.import_module("torch._dynamo.output_graph").OutputGraph
    except (ImportError, AttributeError) as error:
        record.add("not compared", reason=in_one_line(error))
        return
    original = owner.call_user_compiler

    def call_user_compiler(self: Any, module: Any, *rest: Any) -> Any:
        place = _place(self, path)
        watched = graph = None
        try:
            watched = comparison.prepare(module, place) if comparison is not None else None
        except Exception as error:
            record.add("not compared", reason=in_one_line(error)[:300])
        try:
            graph = described(module) if capture is not None else None
        except Exception as error:
            record.add("not captured", place=place, reason=str(error)[:300])
        compiled = original(self, module, *rest)
        if watched is not None:
            compiled = watched.around(compiled)
        if capture is not None and graph is not None:
            compiled = capture.around(compiled, graph, place, _backend_of(self))
        return compiled

    owner.call_user_compiler = call_user_compiler


def _backend_of(output: Any) -> str:
    """Return the name of the backend that compiles a graph; ``inductor`` where it is no backend of torch."""
    chosen = getattr(output, "compiler_fn", None)
    name = str(getattr(chosen, "compiler_name", "") or getattr(chosen, "__name__", ""))
    known = importlib.import_module("torch._dynamo").list_backends(exclude_tags=())
    return name if name in known else "inductor"


def _place(output: Any, path: str) -> str:
    """Return file, line and name of the frame that is compiled; of a frame below the program, the program's line."""
    code = getattr(getattr(output, "root_tx", None), "f_code", None)
    if code is None:
        return ""
    if code.co_filename == path:
        return f"{os.path.basename(path)}:{code.co_firstlineno} {code.co_name}"  # noqa: PTH119
    frame: Any = sys._getframe()
    while frame is not None and frame.f_code.co_filename != path:
        frame = frame.f_back
    return f"{os.path.basename(path)}:{frame.f_lineno} ({code.co_name})" if frame is not None else code.co_name  # noqa: PTH119


class _TraceHandler(logging.Handler):
    """Writes down what is kept of torch's structured trace."""

    def __init__(self, record: Record) -> None:
        super().__init__(logging.DEBUG)
        self._record = record

    def emit(self, record: logging.LogRecord) -> None:
        """Keep an entry of the trace.

        Args:
            record: of the log; its metadata names the entry, its payload is the text.
        """
        metadata: Any = getattr(record, "metadata", {})
        for name in ARTIFACTS:
            if name in metadata:
                self._record.add("artifact", name=name, text=str(getattr(record, "payload", "")))
                return
        metrics = metadata.get("compilation_metrics")
        if isinstance(metrics, dict):
            kept = {name: metrics.get(name) for name in _METRICS}
            again = bool(metadata.get("frame_compile_id"))
            self._record.add("compiled", again=again, name=str(metrics.get("co_name")), **kept)
