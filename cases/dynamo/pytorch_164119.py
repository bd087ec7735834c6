# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/164119"
# fix = "https://github.com/pytorch/pytorch/pull/164992"
# title = "Compiled function recompiles on every call under an infra TorchDispatchMode"
# component = "dynamo"
# symptom = "recompilation"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["recompilation"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = "compiled 4 times for 4 identical calls"
# ///
"""A TorchDispatchMode that says it is infrastructure does not make Dynamo skip the frame, so it is
compiled; but a guard fails on every further call under the mode, although nothing changed, and the
recompilation report names no condition for it. Identical calls compile until the limit. Correct: one
compilation for four identical calls. Source: issue 164119; issue 144787 reports the same.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Transparent(TorchDispatchMode):
    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_identical_calls_compile_once(device: str) -> None:
    compilations = []

    def backend(graph_module, example_inputs):
        compilations.append(graph_module)
        return graph_module

    def increment(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    compiled = torch.compile(increment, backend=backend)
    x = torch.arange(4.0, device=device)
    for _ in range(4):
        with Transparent():
            actual = compiled(x)
        torch.testing.assert_close(actual, x + 1, rtol=0, atol=0)
    assert len(compilations) == 1, f"compiled {len(compilations)} times for 4 identical calls"


if __name__ == "__main__":
    test_identical_calls_compile_once("cpu")
