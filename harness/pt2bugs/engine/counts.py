"""Counts of what the compiler did in a cell, kept where a check cannot reset them.

A check may clear Dynamo's counters, call `torch._dynamo.reset()` or `torch._inductor.metrics.reset()`. So nothing is
read from there at the end: each thing that torch counts with is replaced by one that notes every addition here.
"""

from __future__ import annotations

import sys
from collections import Counter
from types import ModuleType
from typing import Any, NamedTuple

_FIRST_WITH_BREAKS = (2, 6)
"""Before it torch leaves out many kinds of breaks."""
_KERNELS = "generated_kernel_count"


class Counts(NamedTuple):
    """Graphs that Dynamo captured, its graph breaks, kernels that Inductor generated, operators that it left to ATen.

    All but the graphs are None where they cannot be counted: in a fresh interpreter, for which this torch is too old,
    or after the check has replaced what counts them.
    """

    graphs: int
    breaks: int | None = None
    kernels: int | None = None
    fallbacks: int | None = None

    def since(self, before: Counts) -> Counts:
        """Return what was added after `before`.

        Args:
            before: an earlier reading of the same counters.
        """
        graphs, *others = (
            None if new is None or old is None else new - old for new, old in zip(self, before, strict=True)
        )
        return Counts(graphs or 0, *others)


class CompilerCounts:
    """Counts of this process and of those that it is forked from."""

    def __init__(self) -> None:
        self.graphs = self.breaks = self.kernels = self.fallbacks = 0
        self._counters: Any = None
        self._reasons: Any = None
        self._metrics: Any = None
        self._fallback_kernel: Any = None

    def watch(self) -> None:
        """Count from now on, as far as the modules of the compiler have been imported."""
        # A torch that has none of these differently than any before it is measured without its counts.
        for watch in (self._watch_graphs, self._watch_breaks, self._watch_kernels, self._watch_fallbacks):
            try:
                watch()
            except (AttributeError, TypeError):
                continue

    def _watch_graphs(self) -> None:
        """Make Dynamo's counters use a `Counter` that notes additions to ``["stats"]["unique_graphs"]``."""
        counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
        if counters is None or counters is self._counters:
            return
        totals = self

        class Stats(Counter[str]):
            def __setitem__(self, key: str, value: int) -> None:
                if key == "unique_graphs":
                    totals.graphs += max(0, value - self.get(key, 0))
                super().__setitem__(key, value)

        counters.default_factory = Stats
        if "stats" in counters:
            counters["stats"] = Stats(counters["stats"])
        self._counters = counters

    def _watch_breaks(self) -> None:
        """Replace the list to which Dynamo adds the reason of each graph break.

        Its counter ``["graph_break"]`` has no breaks at branches that depend on data.
        """
        utils: Any = sys.modules.get("torch._dynamo.utils")
        graph: Any = sys.modules.get("torch._dynamo.output_graph")
        if self._reasons is not None or utils is None or graph is None or _release() < _FIRST_WITH_BREAKS:
            return
        totals = self

        class Reasons(list[Any]):
            def append(self, reason: Any) -> None:
                totals.breaks += 1
                super().append(reason)

        reasons = Reasons(graph.graph_break_reasons)
        for module in (sys.modules.get("torch._dynamo"), utils, graph):
            vars(module)["graph_break_reasons"] = reasons
        self._reasons = reasons

    def _watch_kernels(self) -> None:
        """Give the module of Inductor's metrics a type that notes every change of the number of kernels."""
        metrics: Any = sys.modules.get("torch._inductor.metrics")
        if metrics is None or metrics is self._metrics or _KERNELS not in vars(metrics):
            return
        totals = self

        def get(module: ModuleType) -> Any:
            return module.__dict__[_KERNELS]

        def note(module: ModuleType, value: int) -> None:
            # Inductor takes kernels back that it generates twice. To zero it is a check that resets it.
            change = value - module.__dict__[_KERNELS]
            if value or change == -1:
                totals.kernels += change
            module.__dict__[_KERNELS] = value

        metrics.__class__ = type("Metrics", (ModuleType,), {_KERNELS: property(get, note)})
        self._metrics = metrics

    def _watch_fallbacks(self) -> None:
        """Count where a `FallbackKernel` is made; not in its `__init__`, which would add a frame to tracebacks."""
        kernel: Any = getattr(sys.modules.get("torch._inductor.ir"), "FallbackKernel", None)
        if kernel is None or kernel is self._fallback_kernel or kernel.__new__ is not object.__new__:
            return
        totals, make = self, object.__new__

        def new(cls: type[Any], *_: object, **__: object) -> Any:
            totals.fallbacks += 1
            return make(cls)

        kernel.__new__ = new
        self._fallback_kernel = kernel

    def now(self) -> Counts:
        """Return the counts so far.

        Raises:
            RuntimeError: Dynamo's counters were replaced, so that graphs cannot be counted.
        """
        modules = sys.modules
        utils: Any = modules.get("torch._dynamo.utils")
        graphs = self.graphs
        if utils is not None:
            if self._counters is None:  # imported by the check
                graphs = utils.counters["stats"]["unique_graphs"]
            elif getattr(utils, "counters", None) is not self._counters:
                raise RuntimeError("the check replaced Dynamo's counters: graphs cannot be counted")
        dynamo: Any = modules.get("torch._dynamo.output_graph")
        inductor: Any = modules.get("torch._inductor.ir")
        breaks_count = self._reasons is not None and getattr(dynamo, "graph_break_reasons", None) is self._reasons
        kernels_count = self._metrics is not None and modules.get("torch._inductor.metrics") is self._metrics
        fallbacks_count = (
            self._fallback_kernel is not None and getattr(inductor, "FallbackKernel", None) is self._fallback_kernel
        )
        return Counts(
            graphs,
            self.breaks if breaks_count else None,
            self.kernels if kernels_count else None,
            self.fallbacks if fallbacks_count else None,
        )


def _release() -> tuple[int, ...]:
    """Return the release of the imported torch, major and minor; (0,) if it does not say."""
    version = str(getattr(sys.modules.get("torch"), "__version__", ""))
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdecimal() for part in parts) else (0,)


COUNTS = CompilerCounts()
