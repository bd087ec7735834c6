# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/106067"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "The size of a tensor that is never used makes the function recompile"
# component = "dynamic-shapes"
# symptom = "recompilation"
# devices = ["cpu"]
# backends = ["eager"]
# demands = ["dynamic-shapes"]
# labels = ["recompilation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = "2 compilations for one graph"
# ///
"""A size of 0 or 1 is specialised when the argument becomes a graph input, before it is known whether anything
reads it; the guard stays though the argument is not used. Correct: one compilation for both calls. Source: pytorch
issue 106067.
"""

import torch
import torch._dynamo.testing


def second(unused: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return x + 2


def test_unused_argument_of_size_zero() -> None:
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(second, backend=counter)
    for size in (0, 2):
        compiled(torch.ones(size), torch.ones(2))
    assert counter.frame_count == 1, f"{counter.frame_count} compilations for one graph"


if __name__ == "__main__":
    test_unused_argument_of_size_zero()
