"""Run captured graphs, made anew, compiled and in eager, inside a child that has torch alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from pt2bugs.engine.check import seed
from pt2bugs.engine.messages import CallRequest
from pt2bugs.engine.observe import in_one_line
from pt2bugs.triage.inside import kernels
from pt2bugs.upgrade.inside.comparison import compare, copies
from pt2bugs.upgrade.inside.graphs import made, made_values
from pt2bugs.upgrade.inside.recording import Record

FUNCTION = "pt2bugs.upgrade.inside.replay:run"
"""The function that a request of kind ``call`` names."""
TIMING_S = 0.5
"""Seconds for the timed calls of a graph, eager and compiled each."""


class ReplayRequest(CallRequest):
    """Graphs to replay.

    Attributes:
        graphs: The file that has them, as JSON.
        kernels: Folder of the compiled kernels that replays share.
        record: The file that takes a line for each.
    """

    device: str
    threads: int
    graphs: str
    kernels: str
    record: str


def run(request: ReplayRequest) -> dict[str, Any]:
    """Replay each graph, and write down how its compiled calls differ from eager.

    Args:
        request: The graphs.
    """
    import torch

    seed(request["device"], request["threads"])
    kernels.share(request["kernels"])
    torch._inductor.config.fallback_random = True
    with open(request["graphs"], encoding="utf-8") as file:  # noqa: PTH123
        graphs = json.load(file)
    record = Record(request["record"])
    for graph in graphs:
        record.add("begun", graph=graph["id"])
        try:
            record.add("replayed", graph=graph["id"], **_replay(graph))
        except Exception as error:
            record.add("not replayed", graph=graph["id"], reason=in_one_line(error)[:300])
    return {}


def _replay(graph: dict[str, Any]) -> dict[str, Any]:
    import torch

    torch._dynamo.reset()
    module = made(graph["graph"])
    inputs = [made_values(told) for told in graph["inputs"]]

    def eager(*args: Any) -> Any:
        return module(*args)

    compiled = torch.compile(eager, backend=graph["backend"], dynamic=True if graph["graph"]["is_dynamic"] else None)
    differences: list[Any] = []
    digests = []
    with torch.set_grad_enabled(graph["grad"]):
        for args in inputs:
            told, digest = compare(eager, compiled, args)
            differences += told
            digests.append(digest)
        times = [_best(function, inputs[0]) for function in (eager, compiled)] if not differences else [None, None]
    return {"differences": differences, "digests": digests, "eager_s": times[0], "compiled_s": times[1]}


def _best(function: Callable[..., Any], args: Sequence[Any]) -> float:
    """Return the seconds of the fastest of many calls; the first one, which may compile, does not count."""
    function(*copies(args)[1])
    best, until = float("inf"), time.monotonic() + TIMING_S
    while best == float("inf") or time.monotonic() < until:
        # A call that changes its inputs would hand the next one others, and have it compiled anew.
        _, given = copies(args)
        began = time.perf_counter()
        function(*given)
        best = min(best, time.perf_counter() - began)
    return best
