# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197811"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Two closures over different tensor methods share one graph"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10"
# outcome = "wrong"
# error = "AssertionError"
# match = 'sum and product are \[9\.0, 9\.0\]'
# ///
"""The methods torch.Tensor.__add__ and __mul__ are method descriptors. Dynamo takes one that a closure captured
for a constant and installs no guard for it, and both closures have one code object. Correct: the second closure
multiplies. Source: pytorch issue 197811.
"""

from collections.abc import Callable

import torch


def make(operator: Callable) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    def apply(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return operator(x, y)

    return apply


def test_second_closure_multiplies(device: str, backend: str) -> None:
    x, y = torch.tensor(6.0, device=device), torch.tensor(3.0, device=device)
    functions = (make(torch.Tensor.__add__), make(torch.Tensor.__mul__))
    actual = [torch.compile(function, backend=backend, dynamic=True)(x, y).item() for function in functions]
    assert actual == [9.0, 18.0], f"sum and product are {actual}"


if __name__ == "__main__":
    test_second_closure_multiplies("cpu", "eager")
