# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/118260"
# fix = "https://github.com/pytorch/pytorch/pull/173568"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "dynamic=False is forgotten while another thread leaves the same function"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["threads"]
# demands = []
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'with dynamic=False a size is symbolic in the graphs \[False, False, False, True\], option False'
# ///
"""A compiled function sets the options that dynamic=False stands for while it runs and restores the former ones after it.
The options are global: a thread that leaves restores them for one that is inside, which then compiles with dynamic
sizes, and the last one to leave keeps its own setting for good. Correct: sizes are constants in every thread, and the
options are as before.
Source: pytorch issue 118260.
"""

import threading

import torch
from torch._dynamo import config, lookup_backend


def test_two_threads_in_one_function(backend: str) -> None:
    symbolic, before = [], config.automatic_dynamic_shapes
    entered = {name: threading.Event() for name in ("first", "second")}
    released = {name: threading.Event() for name in ("first", "second")}

    def compiler(graph: torch.fx.GraphModule, inputs: list):
        symbolic.append(any(isinstance(size, torch.SymInt) for x in inputs for size in getattr(x, "shape", [x])))
        return lookup_backend(backend)(graph, inputs)

    @torch._dynamo.disable
    def pause() -> None:
        if (name := threading.current_thread().name) in entered:
            entered[name].set()
            released[name].wait(20)

    def double_and_raise(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        pause()
        return y + 1

    compiled = torch.compile(double_and_raise, backend=compiler, dynamic=False)
    compiled(torch.ones(3))
    threads = [
        threading.Thread(target=compiled, args=(torch.ones(size),), name=name)
        for name, size in (("first", 3), ("second", 4))
    ]
    for thread in threads:
        thread.start()
        entered[thread.name].wait(20)
    for thread in threads:
        released[thread.name].set()
        thread.join(20)
    after, config.automatic_dynamic_shapes = config.automatic_dynamic_shapes, before
    assert not any(symbolic), f"with dynamic=False a size is symbolic in the graphs {symbolic}, option {after}"
    assert after == before, f"automatic_dynamic_shapes is {after} afterwards"


if __name__ == "__main__":
    test_two_threads_in_one_function("eager")
