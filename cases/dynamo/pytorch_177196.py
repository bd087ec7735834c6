# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/177196"
# fix = "https://github.com/pytorch/pytorch/pull/177876"
# title = "next() on an itertools.count made outside the compiled function is a graph break"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["iterator"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.12"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = '\(next\) \[UserDefinedObjectVariable|UserDefinedObjectVariable\(count\) __next__|__next__` of class `count`'
# ///
"""Dynamo models an itertools.count that the compiled function makes, but one that exists already was
wrapped as an unknown user object whose __next__ cannot be traced, and nothing could write the advanced
state back. Correct: no graph break, the result equals eager's, and the live counter has moved on by one.
fullgraph=True, since the bug is the break. Source: issue 177196, PR 177876.
"""

import itertools

import torch


def scale(x: torch.Tensor, counter: itertools.count) -> torch.Tensor:
    return x * next(counter)


def test_next_on_existing_counter(device: str, backend: str) -> None:
    counter = itertools.count(3)
    x = torch.arange(4.0, device=device)
    compiled = torch.compile(scale, backend=backend, fullgraph=True)
    torch.testing.assert_close(compiled(x, counter), x * 3, rtol=0, atol=0)
    following = next(counter)
    assert following == 4, f"the counter gives {following}, not 4, after the compiled call"


if __name__ == "__main__":
    test_next_on_existing_counter("cpu", "eager")
