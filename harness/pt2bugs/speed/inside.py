"""Time one bench, eager beside compiled, and count what the compiler made of it, inside a child of the engine."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from pt2bugs.engine.check import import_file, seed
from pt2bugs.engine.counts import COUNTS
from pt2bugs.engine.messages import CallRequest

FUNCTION = "pt2bugs.speed.inside:run"
"""The function that a request of kind ``call`` names."""
TIMING_S = 1.0
"""Seconds of timed calls, eager and compiled by turns."""
LEAST_CALLS = 5
METRICS = {
    "kernels": "generated_kernel_count",
    "vector_kernels": "generated_cpp_vec_kernel_count",
    "nodes": "ir_nodes_pre_fusion",
}
"""Counters of `torch._inductor.metrics`: kernels, those that use vector instructions, nodes before fusion."""


class BenchRequest(CallRequest):
    """A bench.

    Attributes:
        path: The case file.
        bench: The name of the function.
        arguments: Its arguments.
        backend: Compiles the function that it returns.
    """

    path: str
    bench: str
    arguments: Mapping[str, str]
    device: str
    backend: str
    threads: int


def run(request: BenchRequest) -> dict[str, Any]:
    """Time a bench, and return seconds and counts: those that repeat exactly, and the fastest call of each side.

    Args:
        request: Names file, function and arguments.

    Raises:
        TypeError: The bench returns something else than a function and its arguments.
    """
    import torch

    device = request["device"]
    seed(device, request["threads"])
    function, arguments = _made(vars(import_file(request["path"]))[request["bench"]], request["arguments"])
    COUNTS.watch()
    before, metrics = COUNTS.now(), _metrics()
    code: list[str] = []
    _keep_code(code)
    compiled = torch.compile(function, backend=request["backend"])
    wait = getattr(torch, device).synchronize if device != "cpu" else _nothing
    function(*arguments)
    compiled(*arguments)
    wait()
    counts = COUNTS.now().since(before)
    made = {name: value - metrics[name] for name, value in _metrics().items() if name in metrics}
    eager_s, compiled_s = _times(function, compiled, arguments, wait)
    return {
        "eager_s": eager_s,
        "compiled_s": compiled_s,
        "counts": {
            "graphs": counts.graphs,
            "breaks": counts.breaks,
            **{name: made.get(name) for name in METRICS},
            "lines": sum(_lines(text) for text in code),
        },
    }


def _nothing() -> None:
    """Stand for the synchronization of a device that needs none."""


def _made(bench: Callable[..., Any], arguments: Mapping[str, str]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    made = bench(**arguments)
    if not isinstance(made, tuple) or len(made) != 2 or not callable(made[0]) or not isinstance(made[1], tuple):
        raise TypeError(f"a bench returns a function and a tuple of its arguments, not {type(made).__name__}")
    return made


def _times(
    eager: Callable[..., Any], compiled: Callable[..., Any], arguments: tuple[Any, ...], wait: Callable[[], None]
) -> tuple[float, float]:
    """Return the seconds of the fastest call of each. By turns, so that a busy machine is one for both."""
    best = [float("inf"), float("inf")]
    calls, until = 0, time.monotonic() + TIMING_S
    while calls < LEAST_CALLS or time.monotonic() < until:
        for side, function in enumerate((eager, compiled)):
            began = time.perf_counter()
            function(*arguments)
            wait()
            best[side] = min(best[side], time.perf_counter() - began)
        calls += 1
    return best[0], best[1]


def _metrics() -> dict[str, int]:
    """Return Inductor's counters, as far as this torch has them."""
    try:
        metrics: Any = importlib.import_module("torch._inductor.metrics")
    except ImportError:
        return {}
    return {name: getattr(metrics, counter) for name, counter in METRICS.items() if hasattr(metrics, counter)}


def _keep_code(code: list[str]) -> None:
    """Have the text of the modules that Inductor generates noted.

    Args:
        code: takes a text for each.
    """
    try:
        cache: Any = importlib.import_module("torch._inductor.codecache").PyCodeCache
        write = cache.write
    except (ImportError, AttributeError):
        return

    def noted(source_code: str, *args: Any, **kwargs: Any) -> Any:
        code.append(source_code)
        return write(source_code, *args, **kwargs)

    cache.write = staticmethod(noted)


def _lines(text: str) -> int:
    """Count the lines that are neither blank nor a comment."""
    lines = (line.strip() for line in text.splitlines())
    return sum(bool(line) and not line.startswith(("#", "//")) for line in lines)
