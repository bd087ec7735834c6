# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/130750"
# fix = "https://github.com/pytorch/pytorch/pull/135074"
# title = "map is run at once instead of when its elements are asked for"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["iterator"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "^3 calls for one element"
# ///
"""Dynamo called the function for each element when map was called, and kept a tuple. Python's map is lazy: the
function runs when an element is taken. Correct: one call for one element taken.
Source: pytorch issue 130750, PR 135074.
"""

import torch


def mapped(x: torch.Tensor) -> torch.Tensor:
    calls = []

    def double(n: int) -> int:
        calls.append(n)
        return 2 * n

    elements = map(double, [1, 2, 3])
    next(iter(elements))
    return x + len(calls)


def test_map_is_lazy(device: str, backend: str) -> None:
    actual = torch.compile(mapped, backend=backend)(torch.zeros(1, device=device)).item()
    assert actual == 1.0, f"{actual:.0f} calls for one element"


if __name__ == "__main__":
    test_map_is_lazy("cpu", "eager")
